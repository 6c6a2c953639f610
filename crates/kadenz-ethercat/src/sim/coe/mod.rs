//! CoE as devices serve it: an object dictionary, its rules, and the server of its mailbox.
//!
//! This module has neither time nor controllers. A device hands messages to a [`CoeServer`], which reads and writes a
//! [`Dictionary`], and sends its answers.

mod dictionary;
mod information;
mod pdo;
mod server;

pub use dictionary::{Dictionary, DictionarySlot};
pub(crate) use pdo::ProcessMap;
pub use server::{CoeAnswer, CoeServer, ValueCheck};

#[cfg(test)]
mod tests;
