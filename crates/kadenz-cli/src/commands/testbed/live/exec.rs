//! `kadenz testbed exec`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;
use kadenz::lab::testbed::inside;
use kadenz::rt::net::namespace::Namespace;

use crate::output::{self, Outcome};

/// Run a program on a host of the running testbed
///
/// Only the network is the host's; files, users and processes are this machine's.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz testbed exec controller -- ping -c 3 10.75.77.2
  sudo kadenz testbed exec device -- ./device
  sudo kadenz testbed exec controller -- kadenz run --priority 80 -- ./controller

Exit codes: the program's own; 127 when it was not found, 126 when it cannot be executed.")]
pub(crate) struct Options {
    /// The host (`kadenz testbed status` lists them)
    #[arg(value_name = "HOST")]
    host: String,

    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Replaces this process by the program; returns only if that fails.
pub(in super::super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let record = super::standing()?;
    let host = super::host(&record, &options.host)?;
    Namespace::of_process(record.pid, host.descriptor)?.enter()?;
    let error = command(&options.program).exec();
    let program = options.program[0].to_string_lossy();
    output::note(&format!("kadenz: cannot execute `{program}`: {error}"));
    Ok(Outcome::Program(match error.kind() {
        ErrorKind::NotFound => 127,
        _ => 126,
    }))
}

/// The program without the environment that `kadenz testbed run` may have given this process for another host: it
/// would use that host's links.
fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .env_remove(inside::FOLDER)
        .env_remove(inside::HOST);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_knows_nothing_of_the_testbed_around_this_one() {
        let command = command(&["ping".into(), "-c".into()]);
        for name in [inside::FOLDER, inside::HOST] {
            let removed = (std::ffi::OsStr::new(name), None);
            assert!(command.get_envs().any(|it| it == removed), "{name}");
        }
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-c"]);
    }
}
