//! `kadenz msg param`: the parameters of running programs.

use clap::{Args, Subcommand};
use kadenz::msg::service::parameters::{ParameterClient, ParameterInfo, ParameterType, Setting};
use kadenz::msg::service::request::CallError;
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::BusOption;
use crate::options::Span;
use crate::output;

/// Read and set the parameters of a running program.
#[derive(Debug, Subcommand)]
pub(crate) enum Param {
    List(ParamListOptions),
    Get(Get),
    Set(Set),
}

/// Options of every command of this group.
#[derive(Debug, Args)]
struct ParamOptions {
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
pub(crate) struct ParamListOptions {
    #[command(flatten)]
    asking: ParamOptions,
}

/// Print one parameter's value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg param get arm gain")]
pub(crate) struct Get {
    #[command(flatten)]
    asking: ParamOptions,

    /// Name of the parameter
    #[arg(value_name = "NAME")]
    name: String,
}

/// Set one parameter; the program refuses a forbidden value, and names the permitted ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg param set arm gain 0.75
  kadenz msg param set arm gain -- -0.75")]
pub(crate) struct Set {
    #[command(flatten)]
    asking: ParamOptions,

    /// Name of the parameter
    #[arg(value_name = "NAME")]
    name: String,

    /// Its new value: true or false, an integer, a number or a text
    #[arg(value_name = "VALUE")]
    value: String,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Parameters {
    version: Version<1>,
    program: String,
    parameters: Vec<ParameterInfo>,
    /// Whether people get the value alone.
    #[serde(skip)]
    value_only: bool,
}

pub(super) fn run(param: &Param) -> anyhow::Result<Parameters> {
    let (asking, parameters) = match param {
        Param::List(list) => {
            let asking = &list.asking;
            (asking, asking.client()?.list(asking.timeout.0)?)
        }
        Param::Get(get) => {
            let asking = &get.asking;
            let found = asking.client()?.get(&get.name, asking.timeout.0)?;
            (asking, vec![found])
        }
        Param::Set(set) => (&set.asking, vec![set.set()?]),
    };
    Ok(Parameters {
        version: Version,
        program: asking.program.clone(),
        parameters,
        value_only: !matches!(param, Param::List(_)),
    })
}

impl ParamOptions {
    fn client(&self) -> anyhow::Result<ParameterClient> {
        Ok(ParameterClient::new(&self.bus.open()?, &self.program)?)
    }
}

impl Set {
    fn set(&self) -> anyhow::Result<ParameterInfo> {
        let mut client = self.asking.client()?;
        let timeout = self.asking.timeout.0;
        let now = client.get(&self.name, timeout)?;
        let kind = now
            .value
            .as_ref()
            .map_or(ParameterType::Text, Setting::kind);
        let Some(value) = Setting::parse(&self.value, kind) else {
            let Self { name, value, .. } = self;
            anyhow::bail!("{value:?} is not a valid value of {name}, which is {kind}");
        };
        let set: Result<ParameterInfo, CallError> = client.set(&self.name, &value, timeout);
        Ok(set?)
    }
}

impl Answer for Parameters {
    fn document(&self) -> Document {
        if self.value_only {
            return self.parameters.iter().map(value).collect::<String>().into();
        }
        if self.parameters.is_empty() {
            return "no parameters".to_owned().into();
        }
        let longest = self.parameters.iter().map(|it| it.name.chars().count());
        let width = longest.max().unwrap_or(0);
        let lines = self.parameters.iter().map(|it| line(it, width));
        Document::new().listing(lines.collect::<Vec<_>>().join("\n"))
    }
}

fn line(parameter: &ParameterInfo, width: usize) -> String {
    let range = match (&parameter.least, &parameter.most) {
        (Some(least), Some(most)) => format!("  [{least} to {most}]"),
        _ => String::new(),
    };
    let (name, value) = (output::name(&parameter.name), value(parameter));
    let description = output::name(&parameter.description);
    let line = format!("{name:width$}  {value}{range}  {description}");
    line.trim_end().to_owned()
}

fn value(parameter: &ParameterInfo) -> String {
    let value = parameter.value.as_ref();
    value.map_or_else(
        || "-".to_owned(),
        |it| output::name(&it.to_string()).into_owned(),
    )
}
