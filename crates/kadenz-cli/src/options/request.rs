//! The options of the command line as data for the run.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

use super::formats::chosen;

static REQUEST: OnceLock<BTreeMap<String, Value>> = OnceLock::new();

/// Stores the options of the chosen command. The program has one command line: a second call changes nothing.
pub(crate) fn keep(command: &Command, matches: &ArgMatches) {
    let _ = REQUEST.set(options(command, matches));
}

/// The stored options, defaults included; empty where there was no command line.
pub(crate) fn request() -> BTreeMap<String, Value> {
    REQUEST.get().cloned().unwrap_or_default()
}

/// Each option with a value, by its name. Hidden options are for programs that start this one.
fn options(command: &Command, matches: &ArgMatches) -> BTreeMap<String, Value> {
    let (_, command, matches) = chosen(command, matches);
    let asked = |it: &&Arg| !it.is_global_set() && !it.is_hide_set();
    let own = command.get_arguments().filter(asked);
    let values = own.filter_map(|arg| Some((name(arg), value(arg, matches)?)));
    values.collect()
}

fn name(arg: &Arg) -> String {
    let long = arg.get_long();
    long.unwrap_or(arg.get_id().as_str()).to_owned()
}

/// The value as typed; the command interprets it.
fn value(arg: &Arg, matches: &ArgMatches) -> Option<Value> {
    let id = arg.get_id().as_str();
    let several = match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => return Some(matches.get_flag(id).into()),
        ArgAction::Count => return Some(matches.get_count(id).into()),
        ArgAction::Set => arg.get_num_args().is_some_and(|it| it.max_values() > 1),
        ArgAction::Append => true,
        _ => return None,
    };
    let texts = matches.get_raw(id)?;
    let mut texts = texts.map(|text| Value::from(text.to_string_lossy()));
    if several {
        return Some(texts.collect());
    }
    texts.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> BTreeMap<String, Value> {
        let mut command = crate::command();
        let matches = command.try_get_matches_from_mut(line.split(' '));
        options(&command, &matches.expect("a command line"))
    }

    #[test]
    fn a_request_has_what_was_typed_and_what_was_left_to_its_default() {
        let request = of("kadenz --json udp send --rate 500Hz --to 10.0.0.1,10.0.0.2");
        assert_eq!(request["rate"], "500Hz");
        let devices = serde_json::json!(["10.0.0.1", "10.0.0.2"]);
        assert_eq!(request["to"], devices);
        assert_eq!(request["no-samples"], false);
        assert_eq!(request["interval"], "1s");
        assert!(
            !request.contains_key("json"),
            "how it is shown is not a request"
        );
        assert!(!request.contains_key("deadline"), "{request:?}");
    }
}
