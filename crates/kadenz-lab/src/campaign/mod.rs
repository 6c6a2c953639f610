//! Many runs of one command with varying options, into one folder, whatever interrupts them.
//!
//! A [`Plan`] is read from a TOML file and says which runs there are, in which order: each combination of values
//! once a round, so that a machine that drifts spoils no combination alone. A [`Campaign`] is the folder with the
//! plan, the run folders and what failed. A run is done once its folder has its final name, which it gets when it is
//! complete; so no run is counted twice or partially, whatever kills the process. The caller measures each run.
//! docs/campaign.md describes the file.
//!
//! ```
//! use kadenz_lab::campaign::Plan;
//!
//! let plan = Plan::parse(
//!     "name = \"timers\"\ncommand = \"timer cyclic --count 1000 --rate 1kHz\"\nrounds = 3\n\
//!      [vary]\npolicy = [\"other\", \"fifo:80\"]\nload = [\"idle\", \"busy\"]\n",
//! )?;
//! assert_eq!(plan.count(), 12);
//! let first = plan.words(0).join(" ");
//! assert_eq!(first, "timer cyclic --count 1000 --rate 1kHz --policy other --load idle");
//!
//! let error = Plan::parse("name = \"timers\"\ncomand = \"hiccup\"\n").unwrap_err();
//! assert!(error.to_string().contains("line 2"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod folder;
mod plan;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use crate::file_error;

pub use crate::file_error::FileError;
pub use crate::lock::LockError;
pub use folder::{Campaign, CampaignError, Record};
pub use plan::{Pace, Parameter, Plan, PlannedRun, Value, measuring_time};

/// Limits of a plan; a plan beyond one is refused.
pub mod limits {
    /// Runs of all rounds.
    pub const RUNS: usize = 100_000;
    /// Options of which several values are measured.
    pub const PARAMETERS: usize = 20;
    /// Letters of a name.
    pub const NAME: usize = 64;
    /// Bytes of a file.
    pub const FILE: usize = 256 << 10;
}

/// The TOML file of a plan as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    name: Spanned<String>,
    command: Spanned<toml::Value>,
    rounds: Option<Spanned<u32>>,
    #[serde(default)]
    vary: BTreeMap<String, Spanned<toml::Value>>,
}

const EXAMPLE: &str = "write name, command, rounds and [vary] as in docs/campaign.md";
/// Options that a campaign gives its runs itself, or that would prevent reading the runs.
const OWN: [&str; 3] = ["out", "json", "until-stdin-closes"];

impl Plan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// [`FileError`] with the line, the cause and what to write instead.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let file = file_error::read(text, "a plan", limits::FILE, EXAMPLE)?;
        PlanChecker { text }.plan(file)
    }
}

/// Makes a checked plan of a file as written.
struct PlanChecker<'a> {
    text: &'a str,
}

impl PlanChecker<'_> {
    fn refuse<T>(
        &self,
        at: &Spanned<T>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> FileError {
        FileError::of(self.text, at, cause, remedy)
    }

    fn plan(&self, file: PlanFile) -> Result<Plan, FileError> {
        self.name(&file.name)?;
        let command = self.command(&file.command)?;
        let rounds = file.rounds.as_ref().map_or(1, |it| *it.get_ref());
        if let Some(at) = file.rounds.as_ref().filter(|_| rounds == 0) {
            return Err(self.refuse(at, "there are no rounds", "write rounds = 1 or more"));
        }
        let mut varied: Vec<_> = file.vary.into_iter().collect();
        // The order of the file.
        varied.sort_by_key(|(_, values)| values.span().start);
        if let Some((_, beyond)) = varied.get(limits::PARAMETERS) {
            let cause = format!("{} options vary", varied.len());
            let remedy = format!("let {} at most vary", limits::PARAMETERS);
            return Err(self.refuse(beyond, cause, remedy));
        }
        let parameters = varied
            .iter()
            .map(|(key, values)| self.parameter(key, values));
        let plan = Plan {
            name: file.name.into_inner(),
            command,
            rounds,
            parameters: parameters.collect::<Result<_, _>>()?,
        };
        match plan.count_checked() {
            Some(count) if count <= limits::RUNS => Ok(plan),
            count => Err(FileError::whole(
                match count {
                    Some(count) => format!("the plan has {count} runs"),
                    None => "the plan has more runs than can be counted".to_owned(),
                },
                format!(
                    "take fewer values or rounds, for {} runs at most",
                    limits::RUNS
                ),
            )),
        }
    }

    fn name(&self, name: &Spanned<String>) -> Result<(), FileError> {
        let text = name.get_ref();
        let fits = !text.trim().is_empty() && text.chars().count() <= limits::NAME;
        if fits && !text.chars().any(char::is_control) {
            return Ok(());
        }
        let remedy = format!("write 1 to {} letters on one line", limits::NAME);
        Err(self.refuse(name, "the name is empty, too long or not one line", remedy))
    }

    fn command(&self, command: &Spanned<toml::Value>) -> Result<Vec<String>, FileError> {
        let words = match command.get_ref() {
            toml::Value::String(line) => Some(line.split_whitespace().map(str::to_owned).collect()),
            toml::Value::Array(words) => words
                .iter()
                .map(|it| it.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let mut words = words.unwrap_or_default();
        if words.first().is_some_and(|it| it == "kadenz") {
            words.remove(0);
        }
        let refuse = |cause: &str, remedy: &str| Err(self.refuse(command, cause, remedy));
        if words.is_empty() {
            return refuse(
                "the command has no words",
                "write command = \"timer cyclic --rate 1kHz\", or a list of words where one has a space",
            );
        }
        if words.iter().any(|it| it.contains('\0')) {
            return refuse("a word of the command holds a zero byte", "leave it out");
        }
        if words.iter().any(|it| it == "--") {
            return refuse(
                "the command starts a program behind `--`",
                "leave it out: options of a campaign would go to the program",
            );
        }
        for own in OWN {
            let option = format!("--{own}");
            let given = |it: &String| *it == option || it.starts_with(&format!("{option}="));
            if words.iter().any(given) {
                return refuse(
                    &format!("the command has `{option}`"),
                    "leave it out: the campaign names the folder of each run and reads it itself",
                );
            }
        }
        Ok(words)
    }

    fn parameter(&self, key: &str, values: &Spanned<toml::Value>) -> Result<Parameter, FileError> {
        let fits = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
        if key.starts_with('-') || key.is_empty() || !key.chars().all(fits) {
            let shown: String = key.chars().take(40).collect();
            let cause = format!("`{shown}` is not a valid option name");
            let remedy = "write it without dashes before it: policy for `--policy`";
            return Err(self.refuse(values, cause, remedy));
        }
        if OWN.contains(&key) {
            let cause = format!("`{key}` cannot vary");
            let remedy = "leave it out: the campaign gives it to each run itself";
            return Err(self.refuse(values, cause, remedy));
        }
        let list = values.get_ref().as_array().filter(|it| !it.is_empty());
        let Some(list) = list else {
            let cause = format!("`{key}` has no list of values");
            return Err(self.refuse(values, cause, format!("write {key} = [\"one\", \"other\"]")));
        };
        let mut known = BTreeSet::new();
        let mut checked = Vec::new();
        for value in list {
            let value = self.value(key, values, value)?;
            if !known.insert(value.to_string()) {
                let cause = format!("`{key}` has the value `{value}` twice");
                let remedy = "leave one out; `rounds` repeats every combination";
                return Err(self.refuse(values, cause, remedy));
            }
            checked.push(value);
        }
        Ok(Parameter {
            key: key.to_owned(),
            values: checked,
        })
    }

    fn value(
        &self,
        key: &str,
        at: &Spanned<toml::Value>,
        value: &toml::Value,
    ) -> Result<Value, FileError> {
        match value {
            toml::Value::String(text) if !text.contains('\0') => Ok(Value::Text(text.clone())),
            toml::Value::Integer(number) => Ok(Value::Text(number.to_string())),
            toml::Value::Float(number) if number.is_finite() => Ok(Value::Text(number.to_string())),
            toml::Value::Boolean(given) => Ok(Value::Flag(*given)),
            _ => {
                let cause = format!("`{key}` has a value that no option takes");
                let remedy = "write texts in quotes, numbers, true or false";
                Err(self.refuse(at, cause, remedy))
            }
        }
    }
}
