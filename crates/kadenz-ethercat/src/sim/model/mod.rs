//! Devices, ready to be added to a segment.
//!
//! - [`terminal`]: Beckhoff's EK1100, EK1914, EL2828, EL2889 and EL3004, with the descriptions of real ones.
//! - [`drive`]: a CiA 402 drive on a motor with friction, load and an encoder.
//! - [`sensor`]: inertial measurement units, force and torque sensors, with noise.
//! - [`stamp`]: a device that reports the times of events and commands, to measure latencies.
//!
//! A [`Description`](crate::description::Description) gives a device's SII and objects; a [`Behaviour`] gives its
//! function; [`Device`] puts both behind a controller.

mod device;
pub mod drive;
mod objects;
mod own;
pub mod sensor;
pub mod stamp;
pub mod terminal;

pub use device::{Behaviour, Device, Idle, Moment};

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;
