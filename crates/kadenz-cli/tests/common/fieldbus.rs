//! `kadenz ethercat` as a user types it.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::Value;

use super::*;

/// Runs a command that must succeed; returns its JSON, which must match its schema.
pub(crate) fn answer_of(definition: &str, arguments: &[&str]) -> Value {
    let said = words(&[arguments, &["--json"]].concat());
    assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
    let json = said.json();
    assert_described("ethercat", definition, &json);
    json
}

/// Runs a command; returns its output in words.
pub(crate) fn words(arguments: &[&str]) -> Said {
    run(&[&["ethercat"], arguments].concat())
}

/// Asserts that a loop ended as it should. A machine that is too busy stops the axes: the loop then reports this, with
/// exit code 1.
pub(crate) fn assert_ended_well(said: &Said) {
    let stood = said.err.contains("the axes stood at the end: ");
    assert_eq!(said.code, i32::from(stood), "{}", said.err);
}
