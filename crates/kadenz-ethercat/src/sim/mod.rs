//! A virtual segment: SubDevices on a wire that is memory.
//!
//! - [`Application`] is what a device does behind its controller, [`Pdi`] what it sees of the controller.
//! - [`Controller`] is the ESC of one device: registers, states, SII, SyncManagers, FMMUs, clocks.
//! - [`mod@file`] reads a segment from TOML, [`humanoid`] lays out Yoon's robot.
//! - [`model`] are devices ready for use, [`coe`] what their mailboxes serve.
//! - [`Hardware`] says what kind of controller it has.
//! - [`Segment`] is the wire with the devices on it: line, tree, star or ring.
//! - [`fault`] is what goes wrong, by a plan or by command.
//! - [`serve`] puts a segment behind a port in real time; `beside` puts any MainDevice in front of it.
//! - [`Time`] is the segment's own clock; the caller says what time it is.
//!
//! All of it is sans-IO and deterministic: the same frames at the same times with the same seeds give
//! the same answers.

mod application;
#[cfg(target_os = "linux")]
pub mod beside;
pub mod coe;
mod controller;
pub mod fault;
pub mod file;
mod hardware;
pub mod humanoid;
pub mod model;
mod random;
mod segment;
pub mod serve;
mod time;

pub use application::{
    AccessError, Application, Change, Decision, Model, Passive, Pdi, SendError, Signal,
};
pub use controller::{Arrival, Controller, Settings};
pub use hardware::{Hardware, PortKind};
pub use random::Random;
pub use segment::{
    Cable, CableId, Counts, DeviceId, End, Loss, MAX_DEVICES, Passed, Segment, Side, TopologyError,
};
pub use time::Time;
