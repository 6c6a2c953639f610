//! Machines made of files, for tests: whoever shows findings can try it on each of them.
//!
//! Each function writes the files of one machine into a folder and gives the [`Root`] there.
//!
//! ```
//! use kadenz_rt::doctor::{Severity, examine_at, fake};
//!
//! let folder = std::env::temp_dir().join("kadenz-fake-example");
//! let root = fake::ideal(&folder)?;
//! assert!(examine_at(&root).iter().all(|finding| finding.severity == Severity::Fine));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod containers;
mod ideal;
mod laptop;
mod virtual_machine;

use std::io;
use std::path::Path;

use super::Root;

/// A path below the root and what the file holds. A path that ends with `/` is a folder.
pub type FakeFile = (&'static str, &'static [u8]);

/// Writes files below a folder.
///
/// # Errors
/// What the file system refused.
pub fn write(folder: &Path, files: &[FakeFile]) -> io::Result<Root> {
    std::fs::create_dir_all(folder)?;
    for (path, bytes) in files {
        let file = folder.join(path.trim_start_matches('/'));
        if path.ends_with('/') {
            std::fs::create_dir_all(file)?;
            continue;
        }
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, bytes)?;
    }
    Ok(Root::at(folder))
}

/// A tuned machine with PREEMPT_RT: every finding is Fine.
///
/// # Errors
/// What the file system refused.
pub fn ideal(folder: &Path) -> io::Result<Root> {
    write(folder, IDEAL)
}

/// A laptop on battery with a desktop, as it was installed.
///
/// # Errors
/// What the file system refused.
pub fn laptop(folder: &Path) -> io::Result<Root> {
    write(folder, LAPTOP)
}

/// A virtual machine on a busy host.
///
/// # Errors
/// What the file system refused.
pub fn virtual_machine(folder: &Path) -> io::Result<Root> {
    write(folder, VIRTUAL_MACHINE)
}

/// A container with a CPU quota and without rights.
///
/// # Errors
/// What the file system refused.
pub fn container(folder: &Path) -> io::Result<Root> {
    write(folder, CONTAINER)
}

/// A container in which nothing can be read.
///
/// # Errors
/// What the file system refused.
pub fn closed_container(folder: &Path) -> io::Result<Root> {
    write(folder, &[])
}

pub use containers::CONTAINER;
pub use ideal::IDEAL;
pub use laptop::LAPTOP;
pub use virtual_machine::VIRTUAL_MACHINE;
