//! Checks that the runs of a plan are valid commands: a mistake shows before the first run, not after a night.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command};
use kadenz::lab::campaign::Plan;

use crate::options::chosen;

/// Options that a command of a campaign must take: its run folder, and the end when standard input closes.
const NEEDED: [&str; 2] = ["out", "until-stdin-closes"];

/// Checks every value of every option once.
///
/// # Errors
/// The error of the command line parser.
pub(super) fn words(plan: &Plan) -> anyhow::Result<()> {
    let mut command = crate::command();
    for combination in plan.every_value_once() {
        let words = plan.words(combination);
        let typed = std::iter::once("kadenz".to_owned()).chain(words.iter().cloned());
        let matches = command
            .try_get_matches_from_mut(typed.map(OsString::from))
            .map_err(|error| refused(&words, &error))?;
        anyhow::ensure!(
            writes_a_run(&command, &matches),
            "`kadenz {}` makes no run folder of its own; name a command that measures and takes `--out`, such as \
             `timer cyclic`",
            words.join(" ")
        );
    }
    Ok(())
}

/// Shortens an error of clap to one line; help is not an error where the user requested it.
fn refused(words: &[String], error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
    let lines: Vec<&str> = lines
        .take_while(|it| !it.starts_with("Usage:") && !it.starts_with("For more information"))
        .take(6)
        .collect();
    let why = match error.use_stderr() {
        true => lines.join(" "),
        false => "it prints and measures nothing".to_owned(),
    };
    let why = why.trim_start_matches("error: ");
    anyhow::anyhow!("`kadenz {}` is not a valid command: {why}", words.join(" "))
}

fn writes_a_run(command: &Command, matches: &ArgMatches) -> bool {
    let (_, command, _) = chosen(command, matches);
    let options = command.get_arguments().filter_map(Arg::get_long);
    let options: Vec<&str> = options.collect();
    NEEDED.iter().all(|it| options.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(command: &str, vary: &str) -> Result<(), String> {
        let text = format!("name = \"a\"\ncommand = \"{command}\"\n[vary]\n{vary}\n");
        words(&Plan::parse(&text).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn commands_that_measure_can_be_repeated() {
        for command in [
            "timer cyclic --rate 1kHz --count 20",
            "hiccup --duration 1s",
            "check --rate 1kHz --deadline 1ms",
            "msg latency",
        ] {
            assert_eq!(
                checked(command, "policy = [\"other\", \"fifo:80\"]"),
                Ok(()),
                "{command}"
            );
        }
    }

    #[test]
    fn invalid_commands_are_reported_before_any_measurement() {
        for (command, vary, words) in [
            ("timer cylic", "", "cylic"),
            ("doctor", "", "no run folder"),
            ("campaign plan.toml", "", "no run folder"),
            ("hiccup", "polcy = [\"other\"]", "--polcy"),
            ("hiccup", "policy = [\"other\", \"fifo:800\"]", "fifo:800"),
            ("hiccup --help", "", "prints"),
        ] {
            let refused = checked(command, vary).unwrap_err();
            assert!(refused.contains(words), "{command}: {refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }
}
