//! `kadenz completions SHELL`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::Cli;
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
    clap_complete::generate(options.shell, &mut Cli::command(), "kadenz", &mut script);
    output::say(&String::from_utf8(script)?);
    Ok(Outcome::Kept)
}
