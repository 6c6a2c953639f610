//! The fieldbus: EtherCAT, with a controller of your own.
//!
//! A [`Network`] is a segment that is brought up. [`Network::run`] calls a control law once a cycle, which reads and
//! writes objects of the process data by typed handles ([`Input`], [`Output`]):
//!
//! ```
//! use kadenz::ethercat::{Flow, Network};
//!
//! let net = Network::sim(8)?.cycle("1kHz")?.bring_up()?;
//! let waist = net.device("waist yaw")?;
//! let (actual, target) = (waist.input::<i32>(0x6064)?, waist.output::<i32>(0x607A)?);
//! let report = net.run(|io| {
//!     io.set(target, io.get(actual));
//!     if io.number() < 100 { Flow::Continue } else { Flow::Stop }
//! })?;
//! assert_eq!(report.ended.cycles, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything below it is here too: this module has all names of the crate `kadenz_ethercat`.

mod builder;
mod error;
mod io;
mod network;
mod object;
mod recorder;

#[cfg(test)]
mod tests;

pub use kadenz_ethercat::*;

pub use builder::NetworkBuilder;
pub use error::{BringUpNetworkError, LookUpError, OpenNetworkError, RunNetworkError};
pub use io::{Flow, Io};
pub use network::{Device, Network, NetworkReport, StopHandle};
pub use object::{Input, ObjectValue, Output};
pub use recorder::{CycleRecorder, CycleSeries, note_loop};
