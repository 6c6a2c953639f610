//! Analysis of Kadenz runs. Everything here reads run folders and nothing else: no clock, no
//! operating system, so that a run taken on a robot can be read on a laptop.

pub mod answers;
pub mod campaign;
pub mod compare;
pub mod document;
pub mod export;
mod figures;
mod findings;
pub mod html;
pub mod import;
pub mod json;
mod machine;
pub mod matrix;
pub mod modes;
mod new_file;
pub mod run_documents;
pub mod schema;
mod sections;
pub mod statistics;
pub mod summary;
pub mod text;
pub mod verdict;

pub use kadenz_record::numbers;

#[cfg(test)]
mod testing;
