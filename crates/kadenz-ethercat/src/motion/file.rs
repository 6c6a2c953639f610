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

/// Most axes of a file.
pub const MOST_AXES: usize = 200;
/// Most moves of an axis.
pub const MOST_MOVES: usize = 1000;
/// Longest file that is read, in bytes.
const LONGEST: u64 = 4 * 1024 * 1024;

/// What is wrong with a file, where, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{at}: {cause}; {remedy}", at = self.line.map_or_else(String::new, |it| format!(":{it}")))]
pub struct FileError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; `None` where no line is to blame.
    pub line: Option<usize>,
    /// What is wrong.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
}

/// Reads a file.
///
/// # Errors
/// [`FileError`].
pub fn read(path: &Path) -> Result<Plan, FileError> {
    let file = path.display().to_string();
    let text = text_file::read(path, LONGEST);
    let text = text.map_err(|error| FileError {
        file: file.clone(),
        line: None,
        cause: format!("it cannot be read: {error}"),
        remedy: "check the path, and that you may read it".to_owned(),
    })?;
    parse(&file, &text)
}

/// Reads a text; `file` is what errors call it.
///
/// # Errors
/// [`FileError`].
pub fn parse(file: &str, text: &str) -> Result<Plan, FileError> {
    check::plan(file, text)
}
