//! A motion as a TOML file: which axes do what, how closely, and what stops them.
//!
//! A file knows no segment: devices are named, and found when the [`Plan`] is commissioned.
//!
//! ```
//! use kadenz_ethercat::motion::file;
//!
//! let plan = file::parse("wave.toml", r#"
//!     cycle_us = 1000
//!     [safety]
//!     lost_cycles = 5
//!     [[axis]]
//!     device = "left knee"
//!     repeat = true
//!     moves = [ { to = 0.4, velocity = 1.0 }, { hold_s = 0.5 }, { to = 0.0, by = "trapezoid" } ]
//!     [[axis]]
//!     position = 7
//!     moves = [ { sine = 0.2, frequency_hz = 0.5, periods = 10 } ]
//! "#)?;
//! assert_eq!(plan.axes.len(), 2);
//! # Ok::<(), kadenz_ethercat::motion::file::FileError>(())
//! ```

mod check;
mod moves;
mod text;

#[cfg(test)]
mod tests;

use std::path::Path;

use super::plan::Plan;
use crate::text_file;

pub use crate::text_file::FileError;

/// Most axes of a file.
pub(crate) const MAX_AXES: usize = 200;
/// Most moves of an axis.
pub(crate) const MAX_MOVES: usize = 1000;
/// Longest file that is read, in bytes.
const MAX: u64 = 4 * 1024 * 1024;

/// Reads a file.
///
/// # Errors
/// [`FileError`].
pub fn read(path: &Path) -> Result<Plan, FileError> {
    let text = text_file::read_named(path, MAX)?;
    parse(&path.display().to_string(), &text)
}

/// Reads a text; `file` is what errors call it.
///
/// # Errors
/// [`FileError`].
pub fn parse(file: &str, text: &str) -> Result<Plan, FileError> {
    check::plan(file, text)
}
