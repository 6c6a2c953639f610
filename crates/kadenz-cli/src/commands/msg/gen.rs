//! `kadenz msg gen`: code for `.lcm` files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz::msg::generate::{self, GeneratedFile, Renamed, rust};
use kadenz::msg::types::Types;
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{Outcome, Reply};

/// Write code for .lcm files.
///
/// The code of all languages writes and reads the same bytes as LCM (docs/messages-types.md). A name that the
/// language does not allow gets a `_` at its end, and is printed. Files with the same content already stay unchanged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg gen types --lang rust --out src/messages            all .lcm files of a folder
  kadenz msg gen pose.lcm scan.lcm --lang rust --out src/messages  of some files
  kadenz msg gen types --lang python --out messages              a package for each LCM package; put messages on PYTHONPATH
  kadenz msg gen types --lang java --out src/main/java           classes for Java 8, beside Kadenz's jar
  kadenz msg gen types --lang c --out include                    headers alone; cc -Iinclude
  kadenz msg gen types --lang cpp --out include                  headers alone; c++ -std=c++17 -Iinclude
  kadenz msg gen types --lang matlab --out messages              for Octave, too; addpath messages
  kadenz msg gen types --lang rust --out src/messages --check    are the files up to date? (exit code 1: no)")]
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

    /// The path by which Rust finds Kadenz's messages [default: kadenz::msg]
    #[arg(long, value_name = "PATH")]
    crate_path: Option<String>,

    /// Write nothing: print which files would change, with exit code 1 if any would
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Language {
    /// Rust: a module per package, a struct per type
    Rust,
    /// Python 3.9 and newer: a Python package per LCM package, a class per type
    Python,
    /// Java 8 and newer: a class per type, for Kadenz's package for Java
    Java,
    /// C11: a header per type
    C,
    /// C++17: a header per type
    Cpp,
    /// MATLAB and GNU Octave: functions over structs
    Matlab,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct Generated {
    version: Version<1>,
    types: usize,
    files: Vec<WrittenFile>,
    /// Names that the language does not allow, with their names in the code.
    renamed: Vec<RenamedName>,
    /// Whether the command wrote nothing, for people.
    #[serde(skip)]
    checked: bool,
}

#[derive(JsonSchema, Serialize)]
struct WrittenFile {
    path: String,
    changed: bool,
}

#[derive(JsonSchema, Serialize)]
struct RenamedName {
    /// Name in the .lcm file.
    name: String,
    /// Type of that name, or with that member.
    of: String,
    /// Name in the code.
    called: String,
}

impl From<Renamed> for RenamedName {
    fn from(it: Renamed) -> Self {
        let Renamed { name, of, called } = it;
        Self { name, of, called }
    }
}

/// The code, and the names that differ.
fn code(types: &Types, options: &Options) -> anyhow::Result<generate::Generated> {
    use generate::Language as Other;
    let language = match options.lang {
        Language::Rust => {
            let mut with = rust::RustOptions::default();
            if let Some(path) = &options.crate_path {
                with.crate_path.clone_from(path);
            }
            let files = rust::generate(types, &with)?;
            let renamed = Vec::new();
            return Ok(generate::Generated { files, renamed });
        }
        Language::Python => Other::Python,
        Language::Java => Other::Java,
        Language::C => Other::C,
        Language::Cpp => Other::Cpp,
        Language::Matlab => Other::Matlab,
    };
    anyhow::ensure!(
        options.crate_path.is_none(),
        "--crate-path is for Rust alone; leave it out, or write --lang rust"
    );
    Ok(generate::generate(types, language)?)
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let types = Types::from_files(&options.files)?;
    let generate::Generated { files, renamed } = code(&types, options)?;
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
    let reply = Reply::from(Generated {
        version: Version,
        types: types.len(),
        files: written,
        renamed: renamed.into_iter().map(RenamedName::from).collect(),
        checked: options.check,
    });
    Ok(reply.with(Outcome::missed_if(stale)))
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
        let renamed = self.renamed.iter().map(|it| {
            let RenamedName { name, of, called } = it;
            format!("renamed: {name} of {of} is {called} in the code")
        });
        let lines = self.files.iter().map(line).chain(renamed);
        Document::new().sentences(lines)
    }
}
