//! Testbeds of this machine, on Linux.

pub(crate) mod down;
pub(crate) mod exec;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod up;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use kadenz::lab::session::SessionPlan;
use kadenz::lab::testbed::inside::TOPOLOGY_FILE;
use kadenz::lab::testbed::live::{Status, Testbed};
use kadenz::lab::testbed::topology::Topology;
use kadenz::rt::clock::ClockKind;
use kadenz::rt::net::claim::{self, HostRecord, Record};

use crate::options::{command_line, request};
use crate::output;

/// What a run of a testbed is.
fn plan(topology: &Topology, out: PathBuf) -> SessionPlan {
    SessionPlan {
        out,
        experiment: "testbed",
        command: command_line(),
        request: request(),
        parameters: BTreeMap::from([("topology".to_owned(), topology.name.clone().into())]),
        interval: Duration::from_secs(1),
        raw: false,
        clock: ClockKind::Monotonic,
        examine: true,
    }
}

/// What went wrong with programs, a line each.
fn tell_troubles(testbed: &Testbed, told: &mut usize) {
    let troubles: Vec<String> = testbed
        .status()
        .programs
        .iter()
        .filter_map(|it| {
            Some(format!(
                "{}: {}: {}",
                it.host,
                it.program,
                it.trouble.as_ref()?
            ))
        })
        .collect();
    // The states stand in one order, but troubles come in any: what is new is told once.
    if troubles.len() > *told {
        *told = troubles.len();
        output::note(&troubles.join("\n"));
    }
}

/// Keeps what became of all frames beside the run: `status.json`.
fn keep_status(out: &Path, status: &Status) -> anyhow::Result<()> {
    let path = out.join("status.json");
    let text = serde_json::to_string_pretty(status)?;
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Keeps the topology beside the run, for whoever wants to know later what was built, and for the
/// programs on its hosts.
fn keep_topology(out: &Path, text: &str) -> anyhow::Result<()> {
    let path = out.join(TOPOLOGY_FILE);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The testbed that stands.
fn standing() -> anyhow::Result<Record> {
    let found = claim::find()?.filter(|found| found.alive);
    let record = found.and_then(|found| found.record);
    record.context("no testbed stands; build one: sudo kadenz testbed up baseline")
}

/// A host of it.
fn host<'a>(record: &'a Record, name: &str) -> anyhow::Result<&'a HostRecord> {
    let found = record.hosts.iter().find(|host| host.name == name);
    found.with_context(|| {
        let known: Vec<&str> = record.hosts.iter().map(|host| host.name.as_str()).collect();
        format!(
            "the testbed {} has no host `{name}`; it has {}",
            record.topology,
            known.join(", ")
        )
    })
}
