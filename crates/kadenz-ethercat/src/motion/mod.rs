//! Motion: the trajectories of axes, the control that follows them, and what stops the axes.
//!
//! With the crate `kadenz`, `Network::motion` moves axes in one line. These are its parts, for a loop of your own, here
//! with the drives of a virtual humanoid in virtual time; over a cable only the port and the timekeeper differ:
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//! use kadenz_ethercat::control::cyclic::{EndedBy, Loop, LoopSettings, VirtualTime, operate};
//! use kadenz_ethercat::main_device::bring_up::{find, prepare};
//! use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
//! use kadenz_ethercat::main_device::link::Link;
//! use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
//! use kadenz_ethercat::motion::{self, AxisGroup, Policy, MotionHandle};
//! use kadenz_ethercat::sim::WirePort;
//! use kadenz_ethercat::sim::humanoid::humanoid;
//!
//! let (policy, every) = (Policy::default(), Duration::from_millis(1));
//! let settings = LoopSettings { shutdown_cycles: policy.shutdown_cycles(every), ..LoopSettings::every(every)? };
//! let mut link = Link::new(WirePort::new(humanoid(8).build()?), 1);
//! let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! let mut registers = Registers::by(&mut exchange);
//! let mut devices = find(&mut registers)?;
//! let plan = motion::demo(&mut registers, &mut devices)?.once();
//! let runners = plan.commission(&mut registers, &mut devices)?;
//! let mut cycle = prepare(&mut registers, &mut devices, None)?;
//! let (queue, stop, handle) = (AcyclicQueue::default(), AtomicBool::new(false), MotionHandle::default());
//! let mut group = AxisGroup::new(runners, policy, &handle).ending_when_played();
//! let mut bus = Loop { link: &mut link, cycle: &mut cycle, queue: &queue, stop: &stop };
//! operate(&mut bus, 8, &settings, &mut VirtualTime)?;
//! let ended = bus.run(&settings, &mut VirtualTime, &mut group, &mut ());
//! assert_eq!(ended.by, EndedBy::Controller);
//! for runner in group.runners() {
//!     assert!(runner.tracking().greatest < 0.005, "rad");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`axis`]: a drive of CiA 402, in SI units.
//! - [`axis_group`]: all axes together.
//! - [`mod@file`]: the programs of all axes, as a TOML file.
//! - [`pid`]: a regulator.
//! - [`program`]: a sequence of trajectories.
//! - [`trajectory`]: positions over time.

pub mod axis;
pub mod axis_group;
mod axis_runner;
mod braking;
pub mod file;
mod handle;
pub mod pid;
mod plan;
pub mod program;
pub(crate) mod safety;
mod stage;
pub mod trajectory;

#[cfg(test)]
mod tests;

pub use axis_group::AxisGroup;
pub use axis_runner::{AxisRunner, Tracking};
pub use handle::{AxisStatus, MotionHandle, StageName, Status, Stopped};
pub use plan::{AxisPlan, DeviceRef, Plan, PlanError, as_commissioned, demo, setups};
pub use safety::Policy;
pub use stage::{Cause, Stage};
