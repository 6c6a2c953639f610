//! Motion: where axes are to be, how they are brought there, and what stops them.
//!
//! A motion controller, here for the drives of a virtual humanoid in virtual time; over a cable only the
//! port and the timekeeper differ:
//!
//! ```
//! # use std::sync::atomic::AtomicBool;
//! # use std::time::Duration;
//! # use kadenz_ethercat::control::cyclic::{EndedBy, Loop, Settings, VirtualTime, operate};
//! # use kadenz_ethercat::main_device::bring_up::{find, prepare};
//! # use kadenz_ethercat::main_device::exchange::{Patience, Registers, Waiting};
//! # use kadenz_ethercat::main_device::link::Link;
//! # use kadenz_ethercat::main_device::postbox::Postbox;
//! # use kadenz_ethercat::motion::{self, Conductor, Policy, Switch};
//! # use kadenz_ethercat::port::WirePort;
//! # use kadenz_ethercat::sim::humanoid::humanoid;
//! let (policy, every) = (Policy::default(), Duration::from_millis(1));
//! let settings = Settings { farewell: policy.farewell(every), ..Settings::every(every)? };
//! let mut link = Link::new(WirePort::new(humanoid(8).build()?), 1);
//! let mut way = Waiting { link: &mut link, patience: Patience::default() };
//! let mut registers = Registers::by(&mut way);
//! let mut devices = find(&mut registers)?;
//! let plan = motion::demo(&mut registers, &mut devices)?.once();
//! let players = plan.commission(&mut registers, &mut devices)?;
//! let mut cycle = prepare(&mut registers, &mut devices, None)?;
//! let (postbox, stop, switch) = (Postbox::default(), AtomicBool::new(false), Switch::default());
//! let mut conductor = Conductor::new(players, policy, &switch).ending_when_played();
//! let mut bus = Loop { link: &mut link, cycle: &mut cycle, postbox: &postbox, stop: &stop };
//! operate(&mut bus, 8, &settings, &mut VirtualTime)?;
//! let ended = bus.run(&settings, &mut VirtualTime, &mut conductor, &mut ());
//! assert_eq!(ended.by, EndedBy::Controller);
//! for player in conductor.players() {
//!     assert!(player.tracking().greatest < 0.005, "rad");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`axis`]: a drive of CiA 402, in SI units.
//! - [`conductor`]: all axes together.
//! - [`mod@file`]: what they do, as a TOML file.
//! - [`pid`]: a regulator.
//! - [`program`]: ways after another.
//! - [`safety`]: what stops all axes.
//! - [`trajectory`]: ways in time.

pub mod axis;
mod braking;
pub mod conductor;
mod demo;
pub mod file;
pub mod pid;
mod plan;
mod player;
pub mod program;
mod return_of_drives;
pub mod safety;
mod switch;
pub mod trajectory;

#[cfg(test)]
mod tests;

pub use conductor::{Conductor, Player, Stage, Tracking};
pub use demo::demo;
pub use plan::{AxisPlan, Plan, PlanError, Which, name};
pub use return_of_drives::{as_commissioned, setups};
pub use safety::{Cause, Policy};
pub use switch::{AxisStatus, StageName, Status, Stopped, Switch};
