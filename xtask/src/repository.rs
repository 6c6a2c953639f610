//! The repository: where it stands, and the files that belong to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// The work tree this program was built from.
pub struct Repository {
    root: PathBuf,
}

/// A file of the repository. Tests make their own.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path from the root, with `/`.
    pub path: String,
    /// Contents; empty for a binary file.
    pub text: String,
}

impl SourceFile {
    /// Whether the file's name ends with `.extension`.
    pub fn is(&self, extension: &str) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, end)| end == extension)
    }
}

impl Repository {
    /// The work tree whose `xtask` cargo runs.
    pub fn of_this_build() -> Self {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .map_or_else(|| manifest.clone(), Path::to_path_buf);
        Self { root }
    }

    /// A path below the root.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    /// Where cargo puts what it builds. Tools with flags of their own get a folder each in it.
    pub fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.path("target"), PathBuf::from)
    }

    /// A command that runs in the root.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Every file that is committed or about to be; what .gitignore names is not among them.
    pub fn files(&self) -> Result<Vec<SourceFile>> {
        let mut command = self.command("git");
        command.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let names = process::output(&mut command)
            .context("tidy reads the files that git knows; run it in a clone")?;
        let mut files: Vec<SourceFile> = names
            .split('\0')
            .filter_map(|name| self.read(name))
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(files)
    }

    /// A file that was just deleted is `None`; a binary file has no text.
    fn read(&self, name: &str) -> Option<SourceFile> {
        let bytes = std::fs::read(self.path(name)).ok()?;
        let text = String::from_utf8(bytes).unwrap_or_default();
        Some(SourceFile {
            path: name.to_owned(),
            text,
        })
    }
}
