//! Errors of the command line, and help and version as requested.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};

use crate::output;

/// Prints help and version as requested; wrong arguments are exit code 2.
pub(crate) fn print(mut error: clap::Error) -> ExitCode {
    name_the_command(&mut error);
    match error.use_stderr() {
        // An argument may be a file name of another user.
        true => output::complain(with_remedies(&error.render().to_string()).trim_end()),
        false => output::help(&error),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Commands of other tools, alone or in a group on messages or packets, and what to type instead: the resemblance of
/// words suggests others.
const KNOWN_ELSEWHERE: [(&str, &str, &str); 13] = [
    ("record", "record messages", "log record"),
    ("play", "play recorded messages", "log play"),
    ("replay", "play recorded messages", "log play"),
    ("bag", "record messages, also into a ROS bag", "log record"),
    (
        "rosbag",
        "record messages, also into a ROS bag",
        "log record",
    ),
    ("latency", "measure how long messages take", "msg latency"),
    ("echo", "print messages", "msg echo"),
    ("hz", "measure the rate of messages", "msg hz"),
    ("topic", "list channels and their messages", "msg spy"),
    ("spy", "list channels and their messages", "msg spy"),
    ("plot", "draw runs on a page", "report"),
    ("ping", "measure the round trips of packets", "udp send"),
    (
        "cyclictest",
        "measure how late a periodic loop wakes up",
        "timer cyclic",
    ),
];

/// Suggests the command of a word of other tools, instead of commands that resemble it.
fn name_the_command(error: &mut clap::Error) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    // A word of another group, as `camera record`, is about something else.
    let usage = error
        .get(ContextKind::Usage)
        .map(ToString::to_string)
        .unwrap_or_default();
    let is_other = ["camera", "ethercat", "timer", "testbed", "experiment"]
        .iter()
        .any(|group| usage.contains(&format!("kadenz {group} ")));
    if is_other {
        return;
    }
    let known = KNOWN_ELSEWHERE.iter().find(|(word, ..)| word == typed);
    if let Some((_, purpose, command)) = known {
        let tip = format!("to {purpose}, type `kadenz {command}`");
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
}

/// Texts of the standard library at the end of a line, and what to write instead of the refused value.
const REMEDIES: [(&str, &str); 3] = [
    (
        ": invalid digit found in string",
        ": write a whole number, as 1000000",
    ),
    (": invalid float literal", ": write a number, as 0.5"),
    (
        ": invalid socket address syntax",
        ": write an address and a port, as 127.0.0.1:8554",
    ),
];

/// The text of an error of clap, with a remedy in place of a text of the standard library.
fn with_remedies(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut known = REMEDIES.iter();
        let remedy = known.find_map(|(said, remedy)| Some((line.strip_suffix(*said)?, remedy)));
        remedy.map_or_else(
            || line.to_owned(),
            |(begin, remedy)| format!("{begin}{remedy}"),
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_other_tools_leads_to_the_command() {
        let said = |typed: &[&str]| {
            let arguments = std::iter::once(&"kadenz").chain(typed);
            let result = crate::command().try_get_matches_from(arguments);
            let mut error = result.expect_err("there is no such command");
            name_the_command(&mut error);
            error.to_string()
        };
        for typed in [&["record"][..], &["msg", "record"], &["bag"]] {
            let text = said(typed);
            assert!(text.contains("type `kadenz log record`"), "{text}");
            assert_eq!(text.matches("tip:").count(), 1, "{text}");
        }
        assert!(said(&["msg", "play"]).contains("type `kadenz log play`"));
        assert!(said(&["latency"]).contains("type `kadenz msg latency`"));
        assert!(said(&["plot"]).contains("type `kadenz report`"));
        assert!(said(&["doctr"]).contains("'doctor'"), "as before");
        let other = said(&["timer", "latency"]);
        assert!(!other.contains("msg latency"), "{other}");
    }

    #[test]
    fn the_commands_for_words_of_other_tools_exist() {
        for (word, _, path) in KNOWN_ELSEWHERE {
            let program = crate::command();
            let mut command = &program;
            assert!(
                command.find_subcommand(word).is_none(),
                "{word} is a command itself"
            );
            for name in path.split(' ') {
                let found = command.find_subcommand(name);
                command = found.expect(path);
            }
        }
    }

    #[test]
    fn a_text_of_the_standard_library_becomes_a_remedy() {
        let said =
            "error: invalid value '1e6' for '--count <N>': invalid digit found in string\n\nMore";
        assert_eq!(
            with_remedies(said),
            "error: invalid value '1e6' for '--count <N>': write a whole number, as 1000000\n\nMore"
        );
        let named = "error: unexpected ': invalid float literal' found";
        assert_eq!(with_remedies(named), named);
    }
}
