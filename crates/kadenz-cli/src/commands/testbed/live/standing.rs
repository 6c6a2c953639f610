//! The commands about the running testbed: `kadenz testbed status`, `exec` and `down`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::testbed::inside;
use kadenz::lab::testbed::live::Status;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::net::claim::{self, FoundClaim, Record};
use kadenz::rt::net::namespace::Namespace;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome};

/// End the running testbed, or clean up after one whose process was killed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz testbed down")]
pub(crate) struct DownOptions {}

#[derive(Default, JsonSchema, Serialize)]
pub(crate) struct EndedOrCleared {
    version: Version<1>,
    /// Topology of the ended testbed.
    ended: Option<String>,
    /// Remains of a killed process.
    cleared: Vec<String>,
}

/// Programs get two seconds to end, twice; then the process completes its run.
const TIMEOUT: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(50);

pub(in super::super) fn down(_: &DownOptions) -> anyhow::Result<EndedOrCleared> {
    let mut report = EndedOrCleared::default();
    match claim::find()? {
        None => {}
        Some(FoundClaim { alive: false, .. }) => report.cleared = claim::restore()?,
        Some(FoundClaim { record, .. }) => {
            let record = super::standing().ok().or(record);
            if let Some(record) = record {
                if claim::ask_to_end(&record) {
                    wait(record.pid)?;
                }
                report.ended = Some(record.topology);
            }
        }
    }
    Ok(report)
}

impl Answer for EndedOrCleared {
    fn document(&self) -> Document {
        let text = match &self.ended {
            Some(topology) => format!("{topology} is down"),
            None if self.cleared.is_empty() => "no testbed is running".to_owned(),
            None => format!("cleared away:\n  {}", self.cleared.join("\n  ")),
        };
        text.into()
    }
}

/// Waits until the process has ended.
fn wait(pid: u32) -> anyhow::Result<()> {
    let mut waited = Duration::ZERO;
    while waited < TIMEOUT {
        let found = claim::find()?;
        let alive =
            found.is_some_and(|found| found.alive && found.record.is_some_and(|it| it.pid == pid));
        if !alive {
            return Ok(());
        }
        std::thread::sleep(STEP);
        waited += STEP;
    }
    anyhow::bail!(
        "process {pid} does not end; kill it (kill -9 {pid}) and call `kadenz testbed down` again"
    )
}

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
pub(crate) struct ExecOptions {
    /// The host (`kadenz testbed status` lists them)
    #[arg(value_name = "HOST")]
    host: String,

    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Replaces this process by the program; returns only if that fails.
pub(in super::super) fn exec(options: &ExecOptions) -> anyhow::Result<Outcome> {
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

/// Show the running testbed: hosts, programs, frames, and the lateness of the wire
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz testbed status
  sudo kadenz testbed status --json | jq '.status.lanes[] | select(.lost > 0)'

Exit codes: 0 a testbed is running, 2 none is.")]
pub(crate) struct StatusOptions {}

#[derive(JsonSchema, Serialize)]
pub(crate) struct StandingTestbed {
    version: Version<1>,
    testbed: Record,
    /// Status of the testbed; null until its first report.
    status: Option<Status>,
}

pub(in super::super) fn status(_: &StatusOptions) -> anyhow::Result<StandingTestbed> {
    let testbed = super::standing()?;
    let status = claim::read_status().context("cannot read the testbed's status")?;
    Ok(StandingTestbed {
        version: Version,
        testbed,
        status: serde_json::from_slice(&status).ok(),
    })
}

impl Answer for StandingTestbed {
    fn document(&self) -> Document {
        let Record { topology, pid, .. } = &self.testbed;
        let hosts = self.testbed.hosts.iter();
        let hosts = hosts.map(|host| format!("  {:<16}{}", host.name, host.address));
        let head = Document::from(format!("{topology} stands, process {pid}"));
        head.sentences(hosts)
            .sentences(self.status.iter().flat_map(lines))
    }
}

/// Frames, faults and troubles, a line each.
pub(super) fn lines(status: &Status) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(error) = status.wire_error {
        let max = error
            .max_ns
            .map_or_else(|| "-".to_owned(), |ns| numbers::value(ns as f64));
        lines.push(format!(
            "{} frames delivered, at most {max} late",
            numbers::thousands(error.count)
        ));
    }
    for lane in &status.lanes {
        let faults = [
            (lane.counts.lost, "lost on purpose"),
            (lane.counts.duplicated, "doubled on purpose"),
            (lane.counts.reordered, "reordered on purpose"),
            (lane.counts.overflowed, "dropped by a full buffer"),
            (lane.counts.cut, "met a cut"),
        ];
        for (count, what) in faults.into_iter().filter(|(count, _)| *count > 0) {
            let (count, of) = (
                numbers::thousands(count),
                numbers::thousands(lane.counts.begun),
            );
            lines.push(format!(
                "{} to {}: {count} of {of} {what}",
                lane.from, lane.to
            ));
        }
    }
    for (count, what) in [
        (
            status.no_room,
            "frames found no room in the wire itself: the testbed was overloaded",
        ),
        (
            status.refused,
            "frames were not taken by a host's interface",
        ),
    ] {
        if count > 0 {
            lines.push(format!("{} {what}", numbers::thousands(count)));
        }
    }
    for program in &status.programs {
        if let Some(trouble) = &program.trouble {
            lines.push(format!("{}: {}: {trouble}", program.host, program.program));
        }
    }
    lines
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
