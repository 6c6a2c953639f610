//! `kadenz ethercat` as a user types it.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::Value;

use super::*;

/// What a command says that ends well, as JSON that its schema describes.
pub(crate) fn told(definition: &str, arguments: &[&str]) -> Value {
    let said = words(&[arguments, &["--json"]].concat());
    assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
    let json = said.json();
    assert_described("ethercat", definition, &json);
    json
}

/// What a command says to people.
pub(crate) fn words(arguments: &[&str]) -> Said {
    run(&[&["ethercat"], arguments].concat())
}

/// A loop ended as it should. A machine that is too busy for its axes stops them: that is said, and its exit
/// code.
pub(crate) fn assert_ended_well(said: &Said) {
    let stood = said.err.contains("the axes stood at the end: ");
    assert_eq!(said.code, i32::from(stood), "{}", said.err);
}
