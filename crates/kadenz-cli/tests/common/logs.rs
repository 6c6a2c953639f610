//! Helpers that the tests of `kadenz log` share.

use std::path::{Path, PathBuf};

use kadenz::msg::log::{self, Entry};

use crate::common::*;

/// A log that foreign software wrote.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/logs")
        .join(name)
}

/// All entries of a log.
pub(crate) fn entries(path: &Path) -> Vec<Entry> {
    let mut reader = log::open(path).unwrap();
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while reader.read(&mut entry).unwrap() {
        all.push(entry.clone());
    }
    all
}

/// Runs a command that must succeed; returns its output.
pub(crate) fn said_well(arguments: &[&str]) -> Said {
    let said = run(arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    said
}

/// A log as a bus.
pub(crate) fn url(path: &Path, parameters: &str) -> String {
    format!("file://{}?{parameters}", path.display())
}
