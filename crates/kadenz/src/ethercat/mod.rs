//! The fieldbus: EtherCAT, with a controller of your own.
//!
//! A [`Network`] is a segment that is brought up. [`Network::run`] calls a control law once a cycle, which reads and
//! writes objects of the process data by typed handles ([`Input`], [`Output`]):
//!
//! ```
//! use kadenz::ethercat::{Flow, Goal, Network};
//!
//! let net = Network::sim(8)?.cycle("1kHz")?.bring_up()?;
//! let waist = net.device("waist yaw")?;
//! let (actual, target) = (waist.input::<i32>(0x6064)?, waist.output::<i32>(0x607A)?);
//! let drive = waist.drive()?;
//! let report = net.run(|io| {
//!     io.control(drive, Goal::Enabled, false);
//!     io.set(target, io.get(actual));
//!     if io.number() < 100 { Flow::Continue } else { Flow::Stop }
//! })?;
//! assert_eq!(report.ended.cycles, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A motion controller needs no control law: a [motion](motion::file) moves the axes, in SI units, and stops them where
//! one is late or lost.
//!
//! ```
//! use kadenz::ethercat::{Flow, Network, motion};
//!
//! let wave = r#"
//!     [[axis]]
//!     device = "waist yaw"
//!     repeat = true
//!     moves = [ { to = 0.1, velocity = 1.0 }, { to = 0.0, by = "trapezoid" } ]
//! "#;
//! let net = Network::sim(8)?.motion(motion::file::parse("wave.toml", wave)?)?.bring_up()?;
//! let report = net.run(|io| if io.number() < 500 { Flow::Continue } else { Flow::Stop })?;
//! assert_eq!(report.axes.axes.len(), 1);
//! println!("{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Before bring-up, a [`NetworkBuilder`] takes the other options of `kadenz ethercat run`: vendors' files, expected
//! devices, the reference clock, a motion, a socket for other programs.
//!
//! ```no_run
//! # #[cfg(target_os = "linux")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use kadenz::ethercat::{Flow, Missing, Network, motion};
//! use std::{path::Path, time::Duration};
//!
//! let net = Network::open("eth1")?
//!     .motion(motion::file::read(Path::new("motion.toml"))?)?
//!     .esi("vendors/")?
//!     .expected("robot.toml", Missing::Refused)?
//!     .bring_up_timeout(Duration::from_secs(30))
//!     .reference_clock()
//!     .control_socket("robot")?
//!     .on_event(|event| eprintln!("{event}"))
//!     .bring_up()?;
//! println!("{}", net.run(|_| Flow::Continue)?);
//! # Ok(())
//! # }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```
//!
//! This module also has all names of the crate `kadenz_ethercat`.

mod acyclic_access;
mod bring_up;
mod builder;
mod control_socket;
mod device;
mod error;
mod event;
mod io;
mod network;
mod network_loop;
mod object;
mod process_image;
mod recorder;
mod running_network;
mod shared_network;
mod shared_values;

#[cfg(test)]
mod tests;

pub use kadenz_ethercat::wire::cia402::{Controlword, DriveState, Goal, OperationMode, Statusword};
pub use kadenz_ethercat::*;

pub use acyclic_access::{DeviceSetup, NetworkMonitor};
pub use builder::{Missing, NetworkBuilder};
pub use device::{Device, Drive};
pub use error::{
    AccessObjectError, BringUpNetworkError, LookUpError, OpenNetworkError, RunNetworkError,
};
pub use event::NetworkEvent;
pub use io::{Flow, Io};
pub use network::{Network, RunRecording, StopHandle};
pub use network_loop::{AxesReport, AxisReport, NetworkLoop, NetworkReport};
pub use object::{Input, ObjectValue, Output, ParseTypeError, Value, ValueType};
pub use process_image::Readers;
pub use recorder::CycleSeries;
pub use running_network::{NetworkState, RunningNetwork};
pub use shared_network::{SharedNetwork, SharedNetworkError, SharedNetworkOptions};
pub use shared_values::{SetValueError, SharedInput, SharedOutput, SharedValues};
