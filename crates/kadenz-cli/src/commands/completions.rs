//! `kadenz completions SHELL`.

use std::fmt::Write as _;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::output::{self, Outcome};

/// Print a completion script.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz completions bash > ~/.local/share/bash-completion/completions/kadenz
  kadenz completions zsh  > ~/.zfunc/_kadenz
  kadenz completions fish > ~/.config/fish/completions/kadenz.fish")]
pub(crate) struct Options {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    let mut command = crate::command();
    clap_complete::generate(options.shell, &mut command, "kadenz", &mut script);
    let mut script = String::from_utf8(script)?;
    if options.shell == Shell::Fish {
        add_values(&command, &[], &mut script)?;
    }
    output::say(&script);
    Ok(Outcome::Kept)
}

/// Adds the values of arguments without a name, which `clap_complete` leaves out of scripts for fish.
fn add_values(command: &Command, words: &[&str], script: &mut String) -> std::fmt::Result {
    for arg in command.get_positionals() {
        let values = arg.get_possible_values();
        let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
        if let ([first, rest @ ..], false) = (words, values.is_empty()) {
            let rest: String = rest
                .iter()
                .map(|word| format!("; and __fish_seen_subcommand_from {word}"))
                .collect();
            let values = values.join(" ");
            writeln!(
                script,
                "complete -c kadenz -n \"__fish_kadenz_using_subcommand {first}{rest}\" -a \"{values}\""
            )?;
        }
    }
    for subcommand in command.get_subcommands() {
        add_values(
            subcommand,
            &[words, &[subcommand.get_name()]].concat(),
            script,
        )?;
    }
    Ok(())
}
