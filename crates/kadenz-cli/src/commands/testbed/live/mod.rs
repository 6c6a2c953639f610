//! Testbeds of this machine, on Linux.

pub(crate) mod run;
pub(crate) mod standing;
pub(crate) mod up;

use std::path::Path;

use anyhow::Context as _;
use kadenz::lab::testbed::inside::TOPOLOGY_FILE;
use kadenz::lab::testbed::live::{Status, Testbed};
use kadenz::lab::testbed::topology::Topology;
use kadenz::rt::net::claim::{self, HostRecord, Record};

use crate::options::session_plan;
use crate::output;

/// Builds a testbed with its run in this folder, and the topology's file beside it for later readers and for the
/// programs on its hosts, which it starts.
fn build(topology: &Topology, text: &str, out: &Path) -> anyhow::Result<Testbed> {
    let mut plan = session_plan("testbed", Some(out));
    plan.set("topology", topology.name.clone());
    let mut testbed = Testbed::build(topology, &plan)?;
    keep(out, TOPOLOGY_FILE, text)?;
    testbed.start_programs()?;
    Ok(testbed)
}

/// Prints the failures of programs, a line each.
fn note_troubles(testbed: &Testbed, noted: &mut usize) {
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
    // The states keep their order, but failures occur in any: each new one is printed once.
    if troubles.len() > *noted {
        *noted = troubles.len();
        output::note(&troubles.join("\n"));
    }
}

/// Writes the counts of all frames beside the run: `status.json`.
fn keep_status(out: &Path, status: &Status) -> anyhow::Result<()> {
    keep(out, "status.json", &serde_json::to_string_pretty(status)?)
}

fn keep(out: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = out.join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The running testbed.
fn standing() -> anyhow::Result<Record> {
    let found = claim::find()?.filter(|found| found.alive);
    let record = found.and_then(|found| found.record);
    record.context("no testbed is running; build one: sudo kadenz testbed up baseline")
}

/// A host of the testbed.
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
