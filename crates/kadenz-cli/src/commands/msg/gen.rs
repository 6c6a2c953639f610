//! `kadenz msg gen`: code for `.lcm` files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz_msg::generate::{GeneratedFile, rust};
use kadenz_msg::types::Types;
use kadenz_report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome};

/// Write code for .lcm files.
///
/// Rust: a module a package, a struct a type, which encodes and decodes without copies more than it
/// must (docs/messages-types.md). Files that hold the same already are left alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg gen types --lang rust --out src/messages            all .lcm files of a folder
  kadenz msg gen pose.lcm scan.lcm --lang rust --out src/messages --crate-path kadenz::msg
  kadenz msg gen types --lang rust --out src/messages --check    is what is there up to date? (exit code 1: no)")]
pub(crate) struct Options {
    /// .lcm files, and folders that hold some
    #[arg(value_name = "FILE|FOLDER", required = true)]
    files: Vec<PathBuf>,

    /// The language
    #[arg(long, value_name = "LANGUAGE")]
    lang: Language,

    /// Folder for the code
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// The path by which the code finds Kadenz' messages
    #[arg(long, value_name = "PATH", default_value = "kadenz_msg")]
    crate_path: String,

    /// Write nothing: say which files would change, with exit code 1 if any would
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Language {
    /// Rust
    Rust,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Generated {
    version: Version<1>,
    types: usize,
    files: Vec<WrittenFile>,
    /// Whether nothing was to be written, for people.
    #[serde(skip)]
    checked: bool,
}

#[derive(JsonSchema, Serialize)]
struct WrittenFile {
    path: String,
    changed: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let types = Types::from_files(&options.files)?;
    let files = match options.lang {
        Language::Rust => rust::generate(
            &types,
            &rust::Options {
                crate_path: options.crate_path.clone(),
            },
        )?,
    };
    let mut written = Vec::with_capacity(files.len());
    for file in &files {
        let path = options.out.join(&file.path);
        let changed = !holds(&path, file);
        if changed && !options.check {
            write(&path, file)?;
        }
        let path = path.display().to_string();
        written.push(WrittenFile { path, changed });
    }
    let stale = options.check && written.iter().any(|it| it.changed);
    output::answer(&Generated {
        version: Version,
        types: types.len(),
        files: written,
        checked: options.check,
    })?;
    Ok(if stale {
        Outcome::Missed
    } else {
        Outcome::Kept
    })
}

fn holds(path: &Path, file: &GeneratedFile) -> bool {
    fs::read(path).is_ok_and(|it| it == file.text.as_bytes())
}

fn write(path: &Path, file: &GeneratedFile) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    fs::write(path, &file.text).with_context(|| format!("cannot write {}", path.display()))
}

impl Answer for Generated {
    fn document(&self) -> Document {
        let line = |file: &WrittenFile| {
            let word = match (file.changed, self.checked) {
                (false, _) => "unchanged",
                (true, false) => "written",
                (true, true) => "out of date",
            };
            format!("{word}: {}", file.path)
        };
        let lines = self.files.iter().map(line);
        lines.fold(Document::new(), Document::sentence)
    }
}
