//! `kadenz testbed down`.

use std::time::Duration;

use clap::Args;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::net::claim::{self, FoundClaim};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome};

/// End the running testbed, or clean up after one whose process was killed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz testbed down")]
pub(crate) struct Options {}

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

pub(in super::super) fn run(_: &Options) -> anyhow::Result<Outcome> {
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
    output::answer(&report)
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
