//! `kadenz testbed status`.

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::testbed::live::Status;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use kadenz::rt::net::claim::{self, Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome};

/// Show the running testbed: hosts, programs, frames, and the lateness of the wire
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz testbed status
  sudo kadenz testbed status --json | jq '.status.lanes[] | select(.lost > 0)'

Exit codes: 0 a testbed is running, 2 none is.")]
pub(crate) struct Options {}

#[derive(JsonSchema, Serialize)]
pub(crate) struct StandingTestbed {
    version: Version<1>,
    testbed: Record,
    /// Status of the testbed; null until its first report.
    status: Option<Status>,
}

pub(in super::super) fn run(_: &Options) -> anyhow::Result<Outcome> {
    let testbed = super::standing()?;
    let status = claim::read_status().context("cannot read the testbed's status")?;
    output::answer(&StandingTestbed {
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
