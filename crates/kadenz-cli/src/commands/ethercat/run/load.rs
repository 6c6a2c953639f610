//! The load beside which it is measured.

use kadenz_lab::load::LoadKind;
use kadenz_lab::stop::Stop;
use serde_json::Value;

use crate::commands::beside;
use crate::commands::child::Running;

/// Starts it and waits until it is under way.
pub(super) fn start(kind: LoadKind, stop: &Stop) -> anyhow::Result<Running> {
    let mut words: Vec<String> = ["load", kind.name(), "--json"].map(str::to_owned).to_vec();
    if matches!(kind, LoadKind::Heavy | LoadKind::Disk) {
        // Yoon's machine had memory for two of its files: what it wrote went to the disk.
        words.push("--fsync".to_owned());
    }
    Ok(beside::start(&words, stop)?)
}

/// Ends it; what it did, as it tells.
pub(super) fn end(load: Running) -> anyhow::Result<Value> {
    let said = load.finish()?;
    Ok(serde_json::from_slice(&said.stdout).unwrap_or(Value::Null))
}
