//! CoE as devices serve it: an object dictionary, its rules, and the server of its mailbox.
//!
//! Nothing here knows of time or controllers. A device hands messages to a [`CoeServer`] and sends what it
//! answers; process data goes between [`ProcessMap`] and [`Dictionary`].

mod dictionary;
mod information;
mod pdo;
mod server;

pub use dictionary::{Dictionary, DictionarySlot};
pub use pdo::ProcessMap;
pub use server::{CoeAnswer, CoeServer, Objection};

#[cfg(test)]
mod tests;
