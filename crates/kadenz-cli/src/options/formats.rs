//! Commands that take `--json` and `--markdown`, at any place on the command line.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// The formats of an answer beside the terminal's.
const FORMATS: [&str; 2] = ["json", "markdown"];

/// The commands without an answer in these formats, and the alternative for each; `{}` stands for the format.
const WITHOUT_FORMATS: [(&str, &str); 7] = [
    ("run", "`--granted FILE` writes what was granted as JSON"),
    (
        "testbed run",
        "`kadenz testbed status --{}` reports the testbed that is up",
    ),
    (
        "testbed exec",
        "`kadenz testbed status --{}` reports the testbed that is up",
    ),
    ("report", "`kadenz show RUN --{}` prints a run's figures"),
    ("export", "`kadenz show RUN --{}` prints a run's figures"),
    (
        "completions",
        "leave it out: a shell reads what this prints",
    ),
    ("man", "leave it out: `man -l` reads what this prints"),
];

/// The command line without the help of `--json` and `--markdown` for commands that have neither.
pub(crate) fn without_formats(command: Command) -> Command {
    fn hide(command: Command, words: &[&str]) -> Command {
        let hidden = |format| {
            Arg::new(format)
                .long(format)
                .action(ArgAction::SetTrue)
                .hide(true)
        };
        match words {
            // Replaces the global options.
            [] => command.args(FORMATS.map(hidden)),
            [first, rest @ ..] => command.mut_subcommand(first, |it| hide(it, rest)),
        }
    }
    let each = WITHOUT_FORMATS.iter();
    each.fold(command, |command, (words, _)| {
        hide(command, &words.split(' ').collect::<Vec<_>>())
    })
}

/// Checks what clap does not check where `--json` or `--markdown` precedes the command's name: that the command has that
/// format, and that no other option of the command excludes it.
///
/// # Errors
/// An error of clap's with the reason and the alternative.
pub(crate) fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let mut given = FORMATS.iter().filter(|it| matches.get_flag(it));
    let Some(format) = given.next() else {
        return Ok(());
    };
    let second = given.next().map(|it| format!("--{it}"));
    let (words, chosen, matches) = chosen(command, matches);
    let remedy = WITHOUT_FORMATS.iter().find(|(it, _)| *it == words);
    let other = second.or_else(|| excluding(chosen, matches).map(ToString::to_string));
    let message = match (remedy, other) {
        (Some((_, remedy)), _) => {
            let remedy = remedy.replace("{}", format);
            format!("`kadenz {words}` has no `--{format}`: {remedy}")
        }
        (None, Some(other)) => {
            format!("`{other}` cannot be used with `--{format}`: leave one of them out")
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

/// The given option that leaves no choice of a format: one that conflicts with `--json`.
fn excluding<'c>(command: &'c Command, matches: &ArgMatches) -> Option<&'c Arg> {
    let is_given = |arg: &&Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    };
    let excludes = |arg: &&Arg| {
        let conflicts = command.get_arg_conflicts_with(arg);
        conflicts.iter().any(|it| it.get_id() == "json") && arg.get_id() != "markdown"
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
    fn a_command_without_a_format_refuses_it_and_says_what_to_do() {
        for (words, remedy) in WITHOUT_FORMATS {
            let rest = match words {
                "run" => " true",
                "testbed run" => " baseline true",
                "testbed exec" => " device true",
                "report" => " night",
                "export" => " night --format csv",
                "completions" => " bash",
                _ => "",
            };
            for (format, line) in [
                ("json", format!("kadenz --json {words}{rest}")),
                ("json", format!("kadenz {words} --json{rest}")),
                ("markdown", format!("kadenz {words} --markdown{rest}")),
            ] {
                let refused = parsed(&line).unwrap_err();
                let remedy = remedy.replace("{}", format);
                assert!(refused.contains(&remedy), "{line}: {refused}");
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
        for (words, _) in WITHOUT_FORMATS {
            let help = help_of(words);
            assert!(
                !help.contains("      --json") && !help.contains("--markdown"),
                "{words}"
            );
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
            "kadenz ethercat sii read --sim 3 0 --hex --markdown",
            "kadenz --json doctor --markdown",
            "kadenz --markdown doctor --json",
        ] {
            let refused = parsed(line).unwrap_err();
            assert!(refused.contains("cannot be used with"), "{line}: {refused}");
        }
    }
}
