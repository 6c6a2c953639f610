//! Holds docs/schema against the types that the commands print. `KADENZ_BLESS=1 cargo test -p kadenz-cli
//! --bin kadenz schemas` writes the files anew.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::commands;

#[test]
fn the_schemas_in_docs_are_those_of_the_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for file in commands::schemas() {
        let name = file.file_name();
        let path = folder.join(&name);
        let there = fs::read_to_string(&path).unwrap_or_default();
        let there: Value = serde_json::from_str(&there).unwrap_or_default();
        let made = file.finish();
        if std::env::var_os("KADENZ_BLESS").is_some() {
            fs::write(&path, serde_json::to_string_pretty(&made).unwrap() + "\n").unwrap();
        }
        assert!(
            made == there || std::env::var_os("KADENZ_BLESS").is_some(),
            "docs/schema/{name} is not what the program prints: write it anew with KADENZ_BLESS=1"
        );
    }
}
