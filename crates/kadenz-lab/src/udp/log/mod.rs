//! The logging server: measurements of many controllers in one run.
//!
//! One thread receives and records; it allocates nothing, takes no lock and waits for no disk. What
//! must wait is done by others: the run's writer thread persists, and a registrar makes the files of
//! a device that is heard for the first time. Until it has, the device's own values wait in a bounded
//! place; the series of all devices have them at once.
//!
//! A controller is welcomed when it has shown that it receives at the address that it sends from. Until then
//! nothing of it is kept and no file is made for it ([`kadenz_udp::record::Introduction`]).
//!
//! Memory is bounded whatever comes: so many streams, so many devices, so many waiting values. What
//! finds no place is counted.

mod experiment;
mod registrar;
mod server;
mod streams;

pub use experiment::{LogPlan, log};
