//! Code for `.lcm` files in other languages.
//!
//! Each language has a file here that writes the code of each type, and a file in `support` that is copied
//! beside it unchanged: reading and writing numbers, strings and arrays.

mod c;
mod cpp;
mod java;
mod matlab;
mod plan;
mod python;
pub mod rust;

use std::path::PathBuf;

use crate::types::Types;
use plan::Plan;

/// A language other than Rust, whose code has options of its own in [`rust`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python 3.9 and newer, with the standard library alone.
    Python,
    /// Java 8 and newer, beside `kadenz.Message`.
    Java,
    /// C11, as headers.
    C,
    /// C++17, as headers.
    Cpp,
    /// MATLAB, and GNU Octave 7 and newer.
    Matlab,
}

/// A file of generated code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// The path within the folder for the code.
    pub path: PathBuf,
    /// The whole text of the file.
    pub text: String,
}

/// A name that the language does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// The name in the `.lcm` file.
    pub name: String,
    /// The type, or the type of the member.
    pub of: String,
    /// The name in the code.
    pub called: String,
}

/// The code for all types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// One or more files for each type, and the common ones.
    pub files: Vec<GeneratedFile>,
    /// The names that differ from those of the `.lcm` files.
    pub renamed: Vec<Renamed>,
}

/// The reason for which no code can be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// Two types or members would have the same name.
    #[error("{first} and {second} would both be called {called}; rename one")]
    Collision {
        /// The name of the earlier type or member.
        first: String,
        /// The name of the later type or member.
        second: String,
        /// The name in the code.
        called: String,
    },
    /// The path of the crate is invalid.
    #[error("'{path}' is not a valid path of a crate; write kadenz_msg or kadenz::msg")]
    CratePath {
        /// The path that the caller gave.
        path: String,
    },
}

/// Generates the code for all types in a language.
///
/// # Errors
/// If two types, or two members of a type, would have the same name.
pub fn generate(types: &Types, language: Language) -> Result<Generated, GenerateError> {
    let (words, write): (_, fn(&Plan<'_>) -> Vec<GeneratedFile>) = match language {
        Language::Python => (&python::WORDS, python::write),
        Language::Java => (&java::WORDS, java::write),
        Language::C => (&c::WORDS, c::write),
        Language::Cpp => (&cpp::WORDS, cpp::write),
        Language::Matlab => (&matlab::WORDS, matlab::write),
    };
    let plan = Plan::new(types, words)?;
    let files = write(&plan);
    let renamed = plan.renamed;
    Ok(Generated { files, renamed })
}

fn file(path: impl Into<PathBuf>, text: impl Into<String>) -> GeneratedFile {
    GeneratedFile {
        path: path.into(),
        text: text.into(),
    }
}
