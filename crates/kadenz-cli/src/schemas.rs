//! Compares docs/schema with the types that the commands print. `KADENZ_BLESS=1 cargo test -p kadenz-cli --bin kadenz
//! schemas` rewrites the files.

use std::fs;
use std::path::Path;

use kadenz::report::schema::SchemaFile;
use schemars::JsonSchema;
use serde_json::Value;

use crate::commands;

/// Collects the schema files of a group of commands.
pub(crate) struct Schemas {
    group: &'static str,
    /// The file in progress.
    open: Option<SchemaFile>,
    finished: Vec<SchemaFile>,
}

impl Schemas {
    /// Without files. In the group `each`, each command has a file of its own.
    pub(crate) fn new(group: &'static str) -> Self {
        Self {
            group,
            open: None,
            finished: Vec::new(),
        }
    }

    /// Begins the next command.
    pub(crate) fn command(&mut self) {
        if self.group == "each" {
            self.finished.extend(self.open.take());
        }
    }

    /// Adds an answer; `testbed-model` has a file of its own in the group `testbed`.
    pub(crate) fn answer<A: JsonSchema>(&mut self, name: &'static str) {
        let rest = name.strip_prefix(self.group);
        if rest.is_some_and(|it| it.starts_with('-')) {
            return self.finished.push(SchemaFile::root::<A>(name, 1));
        }
        let file = if self.group == "each" {
            name
        } else {
            self.group
        };
        let open = self.open.take();
        let open = open.unwrap_or_else(|| SchemaFile::new(file, 1));
        self.open = Some(open.answer::<A>(name));
    }

    /// Adds the files of a subordinate group.
    pub(crate) fn extend(&mut self, others: impl IntoIterator<Item = SchemaFile>) {
        self.finished.extend(others);
    }

    pub(crate) fn finish(mut self) -> Vec<SchemaFile> {
        self.finished.extend(self.open);
        self.finished
    }
}

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
            "docs/schema/{name} is not what the program prints: write it again with KADENZ_BLESS=1"
        );
    }
}
