//! CoE as devices serve it: an object dictionary, its rules, and the server of its mailbox.
//!
//! Nothing here knows of time or controllers. A device hands messages to a [`Server`] and sends what it
//! answers; process data goes between [`ProcessMap`] and [`Dictionary`].

mod dictionary;
mod information;
mod parts;
mod pdo;
mod server;

pub use dictionary::{Dictionary, Slot};
pub use pdo::ProcessMap;
pub use server::{Answer, Objection, Server};

#[cfg(test)]
mod tests;
