//! The MainDevice: it queries a segment's SubDevices, configures them and exchanges process data
//! with them once a cycle.

pub mod acyclic;
pub(crate) mod assignment;
pub mod bring_up;
pub mod clocks;
pub mod configure;
pub mod cycle;
pub mod device;
pub mod dictionary;
pub mod discover;
pub mod exchange;
pub mod expected;
pub mod from_esi;
pub mod layout;
pub mod link;
pub mod mailbox;
pub mod mapping;
pub mod objects;
pub(crate) mod place;
pub mod sdo;
pub mod segment;
pub mod sii;
pub mod states;
pub mod survey;

#[cfg(test)]
mod tests;
