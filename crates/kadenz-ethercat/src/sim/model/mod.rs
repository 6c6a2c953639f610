//! Devices, ready to be put on a segment.
//!
//! - [`terminal`]: Beckhoff's EK1100, EK1914, EL2828, EL2889 and EL3004, as real ones describe themselves.
//! - [`drive`]: a CiA 402 drive on a motor with friction, load and an encoder.
//! - [`sensor`]: inertial measurement units, force and torque sensors, with noise.
//! - [`stamp`]: a device that tells when events were and when commands took effect, to measure latencies.
//!
//! A [`Description`](crate::description::Description) says what a device is, from which its SII and its objects are made; a [`Behaviour`]
//! what it does; [`Device`] puts both behind a controller.

mod device;
pub mod drive;
pub mod noise;
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
