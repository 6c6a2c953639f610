//! Commands that take `--json`, at any place on the command line.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// The commands without JSON output, and the alternative for each. All others take `--json`.
const WITHOUT_JSON: [(&str, &str); 7] = [
    ("run", "`--granted FILE` writes what was granted as JSON"),
    (
        "testbed run",
        "`kadenz testbed status --json` reports the testbed that is up",
    ),
    (
        "testbed exec",
        "`kadenz testbed status --json` reports the testbed that is up",
    ),
    ("report", "`kadenz show RUN --json` prints a run's figures"),
    ("export", "`kadenz show RUN --json` prints a run's figures"),
    (
        "completions",
        "leave it out: a shell reads what this prints",
    ),
    ("man", "leave it out: `man -l` reads what this prints"),
];

/// The command line without the help of `--json` for commands that have none.
pub(crate) fn without_json(command: Command) -> Command {
    fn hide(command: Command, words: &[&str]) -> Command {
        match words {
            // Replaces the global option.
            [] => command.arg(
                Arg::new("json")
                    .long("json")
                    .action(ArgAction::SetTrue)
                    .hide(true),
            ),
            [first, rest @ ..] => command.mut_subcommand(first, |it| hide(it, rest)),
        }
    }
    let each = WITHOUT_JSON.iter();
    each.fold(command, |command, (words, _)| {
        hide(command, &words.split(' ').collect::<Vec<_>>())
    })
}

/// Checks what clap does not check where `--json` precedes the command's name: that the command has JSON, and that no
/// other option of the command excludes it.
///
/// # Errors
/// An error of clap's with the reason and the alternative.
pub(crate) fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    if !matches.get_flag("json") {
        return Ok(());
    }
    let (words, chosen, matches) = chosen(command, matches);
    let remedy = WITHOUT_JSON.iter().find(|(it, _)| *it == words);
    let message = match (remedy, excluding(chosen, matches)) {
        (Some((_, remedy)), _) => format!("`kadenz {words}` has no `--json`: {remedy}"),
        (None, Some(other)) => {
            format!("`{other}` cannot be used with `--json`: leave one of them out")
        }
        (None, None) => return Ok(()),
    };
    Err(command.error(ErrorKind::ArgumentConflict, message))
}

/// The chosen command, with its words.
pub(crate) fn chosen<'c>(
    mut command: &'c Command,
    mut matches: &'c ArgMatches,
) -> (String, &'c Command, &'c ArgMatches) {
    let mut words = Vec::new();
    while let Some((name, inner)) = matches.subcommand() {
        let Some(subcommand) = command.find_subcommand(name) else {
            break;
        };
        words.push(name);
        (command, matches) = (subcommand, inner);
    }
    (words.join(" "), command, matches)
}

/// The given option that conflicts with `--json`.
fn excluding<'c>(command: &'c Command, matches: &ArgMatches) -> Option<&'c Arg> {
    let is_given = |arg: &&Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    };
    let excludes = |arg: &&Arg| {
        let conflicts = command.get_arg_conflicts_with(arg);
        conflicts.iter().any(|it| it.get_id() == "json")
    };
    command.get_arguments().filter(is_given).find(excludes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<bool, String> {
        let mut command = crate::command();
        let words = line.split(' ');
        let matches = command.try_get_matches_from_mut(words);
        let matches = matches.map_err(|error| error.to_string())?;
        check(&mut command, &matches).map_err(|error| error.to_string())?;
        Ok(matches.get_flag("json"))
    }

    #[test]
    fn json_stands_before_or_behind_the_command() {
        for line in [
            "kadenz --json doctor",
            "kadenz doctor --json",
            "kadenz msg --json list",
            "kadenz --json ethercat scan --sim 3",
        ] {
            assert_eq!(parsed(line), Ok(true), "{line}");
        }
        assert_eq!(parsed("kadenz doctor"), Ok(false));
        // An argument of the started program.
        assert_eq!(parsed("kadenz run -- ip --json"), Ok(false));
    }

    #[test]
    fn a_command_without_json_refuses_it_and_says_what_to_do() {
        for (words, remedy) in WITHOUT_JSON {
            let rest = match words {
                "run" => " true",
                "testbed run" => " baseline true",
                "testbed exec" => " device true",
                "report" => " night",
                "export" => " night --format csv",
                "completions" => " bash",
                _ => "",
            };
            for line in [
                format!("kadenz --json {words}{rest}"),
                format!("kadenz {words} --json{rest}"),
            ] {
                let refused = parsed(&line).unwrap_err();
                assert!(refused.contains(remedy), "{line}: {refused}");
            }
        }
    }

    #[test]
    fn help_offers_json_where_there_is_some() {
        let mut command = crate::command();
        command.build();
        let mut help_of = |words: &str| {
            let mut inner = &mut command;
            for word in words.split(' ') {
                inner = inner.find_subcommand_mut(word).unwrap();
            }
            inner.render_long_help().to_string()
        };
        for (words, _) in WITHOUT_JSON {
            assert!(!help_of(words).contains("      --json"), "{words}");
        }
        let help = help_of("msg list");
        let (_, output) = help.split_once("\nOutput:").unwrap();
        assert!(output.contains("      --json"), "{help}");
    }

    #[test]
    fn an_option_that_excludes_json_does_so_from_everywhere() {
        for line in [
            "kadenz --json ethercat sii read --sim 3 0 --hex",
            "kadenz ethercat sii read --sim 3 0 --hex --json",
        ] {
            let refused = parsed(line).unwrap_err();
            assert!(refused.contains("cannot be used with"), "{line}: {refused}");
        }
    }
}
