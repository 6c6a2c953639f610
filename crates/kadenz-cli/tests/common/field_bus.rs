//! `kadenz ethercat` as a user types it.

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
