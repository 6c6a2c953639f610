//! The load beside which it is measured: a `kadenz load` in a process of its own.

use std::process::Stdio;
use std::time::Duration;

use kadenz_lab::load::LoadKind;
use kadenz_lab::stop::Stop;
use serde_json::Value;

use crate::commands::child::{self, Notes, Running};

/// How long it runs before anything is measured, so that it is under way.
const SETTLE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Starts it and waits until it is under way.
pub(super) fn start(kind: LoadKind, stop: &Stop) -> anyhow::Result<Running> {
    let mut words: Vec<String> = ["load", kind.name(), "--json"].map(str::to_owned).to_vec();
    if matches!(kind, LoadKind::Heavy | LoadKind::Disk) {
        // The paper's machine had memory for two of its files: what it wrote went to the disk.
        words.push("--fsync".to_owned());
    }
    let mut load = child::start(&words, Stdio::piped(), Notes::Kept)?;
    for _ in 0..SETTLE.as_millis() / LOOK_EVERY.as_millis() {
        std::thread::sleep(LOOK_EVERY);
        if !load.runs() {
            let said = load.finish()?;
            anyhow::bail!(
                "the load ended before anything was measured: {}",
                String::from_utf8_lossy(&said.stderr).trim()
            );
        }
        if stop.requested() {
            break;
        }
    }
    Ok(load)
}

/// Ends it; what it did, as it tells.
pub(super) fn end(load: Running) -> anyhow::Result<Value> {
    let said = load.finish()?;
    Ok(serde_json::from_slice(&said.stdout).unwrap_or(Value::Null))
}
