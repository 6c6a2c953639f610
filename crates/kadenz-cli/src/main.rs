//! The program `kadenz`, one file per command.
//!
//! Measuring commands make a run folder and explain it in words; the other commands read run folders. Everything that
//! a script may rely on is in the output of `--json`, on standard output; words for people, progress and warnings go
//! to standard error or to standard output without `--json`.

mod commands;
mod options;
mod output;
#[cfg(all(test, target_os = "linux"))]
mod schemas;
mod usage;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::commands::Command;
use crate::output::{OutputOptions, Reply};

/// Can this machine keep your robot's beat?
///
/// Kadenz measures how a computer affects a robot's deadlines and reports it in words, tables and pages that rest on
/// percentiles instead of means.
#[derive(Debug, Parser)]
#[command(
    name = "kadenz",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "\
Examples:
  kadenz check --rate 1kHz --deadline 400us    one minute, one answer
  kadenz doctor                                what spoils real time here, and how to fix it
  kadenz hiccup --duration 24h --out night     jHiccup's measurement overnight
  kadenz report night --out night.html         everything on one page

Exit codes: 0 kept, 1 a limit was missed, 2 the command could not do its work.
In a build with zenoh:// or dds://, `RUST_LOG=debug` logs as much as `-vv`, also of one module; Kadenz itself \
does not log.")]
struct Cli {
    #[command(flatten)]
    output: OutputOptions,

    #[command(subcommand)]
    command: Command,
}

/// The command line, as help, completions and manual pages show it.
fn command() -> clap::Command {
    let command = options::without_formats(Cli::command());
    let examples = command.get_after_help().map(ToString::to_string);
    let purposes = by_purpose(&command);
    command.after_help(purposes + &examples.unwrap_or_default())
}

/// The commands of this build by their purposes, in the order of the first of each.
fn by_purpose(program: &clap::Command) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for &(command, purpose) in Command::PURPOSES {
        let command = command.to_lowercase();
        if program.find_subcommand(&command).is_none() {
            continue;
        }
        match lines.iter_mut().find(|(known, _)| *known == purpose) {
            Some((_, commands)) => commands.extend([", ", &command]),
            None => lines.push((purpose, command)),
        }
    }
    let lines = lines
        .iter()
        .map(|(purpose, commands)| format!("  {purpose:<12}{commands}\n"));
    format!("Commands by purpose:\n{}\n", lines.collect::<String>())
}

fn parse() -> Result<Cli, clap::Error> {
    let mut command = options::with_old_words(command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    options::check_formats(&mut command, &matches)?;
    options::keep_request(&command, &matches);
    Cli::from_arg_matches(&matches)
}

fn main() -> ExitCode {
    output::end(match parse() {
        Ok(cli) => run(&cli),
        Err(error) => usage::print(error),
    })
}

fn run(cli: &Cli) -> ExitCode {
    output::start(cli.output);
    let result = commands::run(&cli.command).and_then(Reply::print);
    options::remove_empty_folders();
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn help_says_of_each_command_what_it_is_for() {
        let command = super::command();
        let help = command.get_after_help().expect("groups").to_string();
        let (groups, _) = help.split_once("\n\n").expect("groups, then examples");
        let words: Vec<&str> = groups.split([' ', ',', '\n']).collect();
        for it in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = it.get_name();
            let times = words.iter().filter(|word| **word == name).count();
            assert_eq!(times, 1, "{name} has a purpose in its row");
        }
    }
}
