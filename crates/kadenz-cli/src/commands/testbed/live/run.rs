//! `kadenz testbed run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::testbed::inside;
use kadenz::lab::testbed::live::{Testbed, filled, program};
use kadenz::lab::testbed::topology::{Role, Topology};
use kadenz::record::run::model::EndedBy;
use kadenz::rt::launch::SignalRelay;
use kadenz::rt::net::namespace::kill_with_this_thread;

use crate::commands::run::as_a_shell_says;
use crate::commands::{interrupt, outcome, testbed};
use crate::options::{complete, folder_or_now};
use crate::output::{Outcome, Reply};

/// Build a testbed, run one program in it, and take it down
///
/// Does the same as `up`, while the program runs. The output of the program stays its own; messages of the testbed go
/// to standard error. In the program's arguments `{NAME}` is the address of the host of that name, `{broadcast}` the
/// broadcast address; `kadenz` is this program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz testbed run baseline -- kadenz udp send --to {device}
  sudo kadenz testbed run forty-devices -- kadenz udp burst --to {broadcast} --devices 40
  sudo kadenz testbed run baseline -- ping -c 3 {device}
  sudo kadenz testbed run forty-devices -- ./controller
  sudo kadenz testbed run arm.toml --on logger -- ./logger

Exit codes: the program's own; 128 + N when signal N ended it; 2 when it did not start.")]
pub(crate) struct Options {
    /// A built-in topology (`kadenz testbed list`), or a file
    #[arg(value_name = "TOPOLOGY", value_parser = complete::<String>(testbed::built_in()), hide_possible_values = true)]
    topology: String,

    /// The host of the program [default: the first controller, else the first host]
    #[arg(long, value_name = "HOST")]
    on: Option<String>,

    /// Run folder [default: kadenz-testbed-<TIME> in this folder]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub(in super::super) fn run(options: &Options) -> anyhow::Result<Reply> {
    let (text, topology) = testbed::topology_with_text(&options.topology)?;
    let host = host(options, &topology)?;
    let out = folder_or_now(options.out.as_deref(), "testbed");
    // Ctrl-C reaches the program by itself; the testbed ends after it.
    let stop = interrupt::stop_on_interrupt()?;
    // `testbed down` and systemd signal this process alone, perhaps before the program has started.
    let relay = SignalRelay::install();
    let testbed = super::build(&topology, &text, &out)?;
    super::note_troubles(&testbed, &mut 0);
    let around = ProgramEnvironment {
        topology: &topology,
        host,
        folder: std::path::absolute(&out)?,
    };
    let status = if stop.requested() {
        None
    } else {
        Some(around.start(&options.program, &testbed, &relay)?)
    };
    let ended_by = if stop.requested() {
        EndedBy::Interrupted
    } else {
        EndedBy::ProgramEnded
    };
    let (_, at_end) = testbed.end(ended_by)?;
    super::keep_status(&out, &at_end)?;
    let outcome = status.map_or(Outcome::Incomplete, |status| {
        Outcome::Program(as_a_shell_says(status))
    });
    let reply = Reply::from(outcome).note(super::standing::lines(&at_end).join("\n"));
    Ok(outcome::with_notes_of_run(reply, &out))
}

fn host(options: &Options, topology: &Topology) -> anyhow::Result<usize> {
    let Some(name) = &options.on else {
        return Ok(topology.with_role(Role::Controller).next().unwrap_or(0));
    };
    topology.host(name).with_context(|| {
        let known: Vec<&str> = topology
            .hosts
            .iter()
            .map(|host| host.name.as_str())
            .collect();
        format!("there is no host `{name}`; there are {}", known.join(", "))
    })
}

/// Surroundings of the program.
struct ProgramEnvironment<'a> {
    topology: &'a Topology,
    host: usize,
    /// The testbed's run folder, independent of the program's working folder.
    folder: PathBuf,
}

impl ProgramEnvironment<'_> {
    /// Runs the program to its end on a thread in the host's network.
    fn start(
        &self,
        program: &[OsString],
        testbed: &Testbed,
        relay: &SignalRelay,
    ) -> anyhow::Result<ExitStatus> {
        let run = || {
            let mut command = self.command(program);
            kill_with_this_thread(&mut command);
            relay.wait(&mut command.spawn()?)
        };
        let status = testbed.network_of(self.host).run(run)?;
        status.with_context(|| format!("cannot run `{}`", program[0].to_string_lossy()))
    }

    fn command(&self, words: &[OsString]) -> Command {
        let filled = |word: &OsString| match word.to_str() {
            Some(word) => filled(self.topology, self.host, word).into(),
            None => word.clone(),
        };
        let mut command = Command::new(program(&words[0].to_string_lossy()));
        command.args(words[1..].iter().map(filled));
        command.env(inside::FOLDER, &self.folder);
        command.env(inside::HOST, &self.topology.hosts[self.host].name);
        command
    }
}
