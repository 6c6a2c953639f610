//! The repository: its path, and its files.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::scan;

/// The work tree this program was built from.
pub(crate) struct Repository {
    root: PathBuf,
}

/// A file of the repository. Tests make their own.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// Contents; empty for a binary file.
    pub(crate) text: String,
    /// What [`SourceFile::code`] returns.
    code: OnceCell<String>,
}

impl SourceFile {
    /// A file with this text.
    pub(crate) fn new(path: String, text: String) -> Self {
        Self {
            path,
            text,
            code: OnceCell::new(),
        }
    }

    /// The text of a Rust file without comments and strings, as [`scan::code_only`] leaves it; found once.
    pub(crate) fn code(&self) -> &str {
        self.code.get_or_init(|| scan::code_only(&self.text))
    }

    /// Whether the file's name ends with `.extension`.
    pub(crate) fn is(&self, extension: &str) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, end)| end == extension)
    }
}

/// The text of a file, if there is such a file.
pub(crate) fn text_of<'a>(files: &'a [SourceFile], path: &str) -> Option<&'a str> {
    let file = files.iter().find(|file| file.path == path);
    file.map(|file| file.text.as_str())
}

impl Repository {
    /// The work tree whose `xtask` cargo runs.
    pub(crate) fn of_this_build() -> Self {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .map_or_else(|| manifest.clone(), Path::to_path_buf);
        Self { root }
    }

    /// A path below the root.
    pub(crate) fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    /// The folder of cargo's builds. Tools with flags of their own get a folder each in it.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.path("target"), PathBuf::from)
    }

    /// A command that runs in the root.
    ///
    /// Hides the variables that `cargo xtask` sets for the package xtask: build scripts that read such variables would
    /// run again, and cargo would rebuild all that depends on them, by turns.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        for (name, _) in std::env::vars_os() {
            let said = name.to_string_lossy();
            if said.starts_with("CARGO_PKG_") || said.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// cargo with these words, which stand between spaces.
    pub(crate) fn cargo(&self, words: &str) -> Command {
        let mut command = self.command("cargo");
        command.args(words.split(' '));
        command
    }

    /// A command with a target folder of its own, because its flags would make cargo rebuild everything.
    pub(crate) fn isolated(&self, program: &str, name: &str) -> Command {
        let mut command = self.command(program);
        command.env_remove("CARGO_BUILD_BUILD_DIR");
        command.env("CARGO_TARGET_DIR", self.target().join(name));
        command
    }

    /// Every file that is committed or about to be, without those that .gitignore names.
    ///
    /// # Errors
    /// Where there is no git, or no clone.
    pub(crate) fn committed(&self) -> Result<Vec<SourceFile>> {
        let names = self
            .git("ls-files -z --cached --others --exclude-standard")
            .context("tidy reads the files that git knows; run it in a clone")?;
        Ok(self.read_all(names.split('\0')))
    }

    /// As [`Repository::committed`]; without git, every file except those in folders without sources. For tests, which
    /// need not run in a clone.
    pub(crate) fn files(&self) -> Result<Vec<SourceFile>> {
        if let Ok(files) = self.committed() {
            return Ok(files);
        }
        let mut names = Vec::new();
        self.walk(Path::new(""), &mut names)?;
        Ok(self.read_all(names.iter().map(String::as_str)))
    }

    fn walk(&self, folder: &Path, names: &mut Vec<String>) -> Result<()> {
        const NO_SOURCE: [&str; 4] = ["target", "node_modules", "corpus", "artifacts"];
        let here = self.root.join(folder);
        let entries = std::fs::read_dir(&here)
            .with_context(|| format!("cannot look into {}", here.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if kind.is_file() {
                names.push(name.to_string_lossy().replace('\\', "/"));
            } else if kind.is_dir() && !hidden && !NO_SOURCE.iter().any(|it| name.ends_with(it)) {
                self.walk(&name, names)?;
            }
        }
        Ok(())
    }

    /// What git prints for these words, which stand between spaces.
    pub(crate) fn git(&self, words: &str) -> Result<String> {
        process::output(self.command("git").args(words.split(' ')))
    }

    fn read_all<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<SourceFile> {
        let mut files: Vec<SourceFile> = names.filter_map(|name| self.read(name)).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        files
    }

    /// A file that was just deleted is `None`; a binary file has no text.
    fn read(&self, name: &str) -> Option<SourceFile> {
        let bytes = std::fs::read(self.path(name)).ok()?;
        let text = String::from_utf8(bytes).unwrap_or_default();
        Some(SourceFile::new(name.to_owned(), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_the_sources_are_found_all_the_same() {
        let repository = Repository::of_this_build();
        let mut names = Vec::new();
        repository.walk(Path::new(""), &mut names).expect("a tree");
        for wanted in ["Cargo.toml", "xtask/src/repository.rs"] {
            assert!(names.iter().any(|name| name == wanted), "{wanted}");
        }
        assert!(!names.iter().any(|name| name.starts_with("target/")));
    }
}
