//! Code for `.lcm` files in other languages.

pub mod rust;

use std::path::PathBuf;

/// A file of generated code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Where, within the folder for the code.
    pub path: PathBuf,
    /// What.
    pub text: String,
}

/// Why no code can be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// Two types would be called the same.
    #[error("{first} and {second} would both be called {called}; rename one")]
    Collision {
        /// The earlier.
        first: String,
        /// The later.
        second: String,
        /// The name in the code.
        called: String,
    },
    /// The path of the crate is none.
    #[error("'{path}' is not a valid path of a crate; write kadenz_msg or kadenz::msg")]
    CratePath {
        /// What was given.
        path: String,
    },
}
