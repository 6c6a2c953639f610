//! `kadenz msg type`: lists the types of `.lcm` files.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::types::{Definition, Types};
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

/// List the types of .lcm files with their fingerprints
///
/// Prints each type's name, its fingerprint as lcm-gen computes it, and the fewest bytes of a message; with --name
/// also the text of one type and of all types in it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg type types                            all types of a folder
  kadenz msg type types --name robot.state         one, with its text and that of its parts
  kadenz msg type types --json                     all of it for a script")]
pub(crate) struct Options {
    /// .lcm files, and folders that hold some
    #[arg(value_name = "FILE|FOLDER", required = true)]
    files: Vec<PathBuf>,

    /// One type only, by its full name, with the text of its closure
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct DescribedTypes {
    version: Version<1>,
    types: Vec<DescribedType>,
    /// Whether people get the text of each closure.
    #[serde(skip)]
    with_text: bool,
}

#[derive(JsonSchema, Serialize)]
struct DescribedType {
    name: String,
    #[schemars(extend("enum" = ["struct", "enum"]))]
    kind: &'static str,
    #[schemars(with = "kadenz::msg::message::Fingerprint")]
    fingerprint: String,
    least_bytes: usize,
    made_of: Vec<String>,
    /// The type and all types in it, in the language of .lcm.
    text: String,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<DescribedTypes> {
    let types = Types::from_files(&options.files)?;
    let wanted: Vec<&Definition> = match &options.name {
        None => types.iter().collect(),
        Some(name) => vec![types.get(name).with_context(|| {
            format!("no type {name} in these files; `kadenz msg type` without --name lists them")
        })?],
    };
    Ok(DescribedTypes {
        version: Version,
        types: wanted.into_iter().map(|it| of(&types, it)).collect(),
        with_text: options.name.is_some(),
    })
}

impl Answer for DescribedTypes {
    fn document(&self) -> Document {
        let mut document = Document::new();
        for it in &self.types {
            document = document.sentence(format!(
                "{}  {}  {} {} bytes or more",
                it.fingerprint, it.name, it.kind, it.least_bytes
            ));
            if self.with_text {
                document = document.listing(it.text.as_str());
            }
        }
        document
    }
}

fn of(types: &Types, definition: &Definition) -> DescribedType {
    let name = definition.name().to_string();
    let closure = types.closure(&name);
    DescribedType {
        kind: match definition {
            Definition::Struct(_) => "struct",
            Definition::Enum(_) => "enum",
        },
        fingerprint: types
            .fingerprint(&name)
            .map(|it| it.to_string())
            .unwrap_or_default(),
        // Includes the fingerprint before it.
        least_bytes: types.least_bytes(definition.name()).saturating_add(8),
        made_of: closure
            .iter()
            .skip(1)
            .map(|it| it.name().to_string())
            .collect(),
        text: types.text_of(&name).unwrap_or_default(),
        name,
    }
}
