//! `kadenz msg param`: the parameters of running programs.

use clap::{Args, Subcommand};
use kadenz::msg::service::parameters::{Kind, ParameterClient, ParameterInfo, Value};
use kadenz::msg::service::request::CallError;
use serde::Serialize;

use super::bus::BusOption;
use crate::options::Span;
use crate::output::{self, Outcome};

/// Read and set the parameters of a running program.
#[derive(Debug, Subcommand)]
pub(crate) enum Param {
    List(List),
    Get(Get),
    Set(Set),
}

/// What every one of them takes.
#[derive(Debug, Args)]
struct Asking {
    /// Name of the program
    #[arg(value_name = "PROGRAM")]
    program: String,

    #[command(flatten)]
    bus: BusOption,

    /// How long to wait for the answer
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    timeout: Span,
}

/// List all parameters with their values, ranges and descriptions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg param list arm
  kadenz msg param list arm --json")]
pub(crate) struct List {
    #[command(flatten)]
    asking: Asking,
}

/// Print one parameter's value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg param get arm gain")]
pub(crate) struct Get {
    #[command(flatten)]
    asking: Asking,

    /// Name of the parameter
    #[arg(value_name = "NAME")]
    name: String,
}

/// Set one parameter; a value that it may not have is refused with what it may be.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg param set arm gain 0.75
  kadenz msg param set arm gain -- -0.75")]
pub(crate) struct Set {
    #[command(flatten)]
    asking: Asking,

    /// Name of the parameter
    #[arg(value_name = "NAME")]
    name: String,

    /// Its new value: true or false, an integer, a number or a text
    #[arg(value_name = "VALUE")]
    value: String,
}

#[derive(Serialize)]
struct ParametersOutput {
    version: u32,
    program: String,
    parameters: Vec<ParameterOutput>,
}

#[derive(Serialize)]
struct ParameterOutput {
    name: String,
    value: serde_json::Value,
    least: serde_json::Value,
    most: serde_json::Value,
    description: String,
}

pub(super) fn run(param: &Param) -> anyhow::Result<Outcome> {
    match param {
        Param::List(list) => {
            let parameters = list.asking.client()?.list(list.asking.timeout.0)?;
            list.asking.tell(&parameters, table)
        }
        Param::Get(get) => {
            let found = get.asking.client()?.get(&get.name, get.asking.timeout.0)?;
            get.asking.tell(&[found], value)
        }
        Param::Set(set) => {
            let changed = set.set()?;
            set.asking.tell(&[changed], value)
        }
    }
}

impl Asking {
    fn client(&self) -> anyhow::Result<ParameterClient> {
        Ok(ParameterClient::new(&self.bus.open()?, &self.program)?)
    }

    fn tell(
        &self,
        parameters: &[ParameterInfo],
        text: impl Fn(&[ParameterInfo]) -> String,
    ) -> anyhow::Result<Outcome> {
        if output::is_json() {
            output::json(&ParametersOutput {
                version: 1,
                program: self.program.clone(),
                parameters: parameters.iter().map(ParameterOutput::of).collect(),
            })?;
        } else {
            output::say(&text(parameters));
        }
        Ok(Outcome::Kept)
    }
}

impl Set {
    fn set(&self) -> anyhow::Result<ParameterInfo> {
        let mut client = self.asking.client()?;
        let timeout = self.asking.timeout.0;
        let now = client.get(&self.name, timeout)?;
        let kind = now.value.as_ref().map_or(Kind::Text, Value::kind);
        let Some(value) = Value::parse(&self.value, kind) else {
            anyhow::bail!("{} is {kind}, and {:?} is none", self.name, self.value);
        };
        let set: Result<ParameterInfo, CallError> = client.set(&self.name, &value, timeout);
        Ok(set?)
    }
}

/// A line for each.
fn table(parameters: &[ParameterInfo]) -> String {
    if parameters.is_empty() {
        return "no parameters".to_owned();
    }
    let longest = parameters.iter().map(|it| it.name.chars().count()).max();
    let width = longest.unwrap_or(0);
    let lines = parameters.iter().map(|it| {
        let range = match (&it.least, &it.most) {
            (Some(least), Some(most)) => format!("  [{least} to {most}]"),
            _ => String::new(),
        };
        let (name, value) = (output::name(&it.name), of(it));
        let description = output::name(&it.description);
        format!("{name:width$}  {value}{range}  {description}")
            .trim_end()
            .to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn value(parameters: &[ParameterInfo]) -> String {
    parameters.iter().map(of).collect()
}

fn of(parameter: &ParameterInfo) -> String {
    let value = parameter.value.as_ref();
    value.map_or_else(
        || "-".to_owned(),
        |it| output::name(&it.to_string()).into_owned(),
    )
}

impl ParameterOutput {
    fn of(parameter: &ParameterInfo) -> Self {
        Self {
            name: parameter.name.clone(),
            value: json(parameter.value.as_ref()),
            least: json(parameter.least.as_ref()),
            most: json(parameter.most.as_ref()),
            description: parameter.description.clone(),
        }
    }
}

fn json(value: Option<&Value>) -> serde_json::Value {
    match value {
        None => serde_json::Value::Null,
        Some(Value::Bool(it)) => (*it).into(),
        Some(Value::Integer(it)) => (*it).into(),
        Some(Value::Number(it)) => (*it).into(),
        Some(Value::Text(it)) => it.as_str().into(),
    }
}
