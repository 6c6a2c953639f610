//! Files and folders; each error names its path.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Makes a folder, with those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

/// Removes a folder with its content.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))
}

/// A path at which no folder is left.
pub(crate) fn absent(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        remove_folder(path)?;
    }
    Ok(path.to_path_buf())
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
