//! A virtual segment: SubDevices on a wire that is memory.
//!
//! - [`Application`] is the behaviour of a device behind its controller, [`Pdi`] its view of the controller.
//! - [`SubDeviceController`] is the ESC of one device: registers, states, SII, SyncManagers, FMMUs, clocks.
//! - [`mod@file`] reads a segment from TOML, [`humanoid`] lays out the robot of \[Yoon2009\].
//! - [`model`] are devices ready for use, [`coe`] is their mailbox server.
//! - [`Segment`] is the wire with the devices on it: line, tree, star or ring.
//! - [`fault`] are faults, by a plan or by command; [`command`] reads them from lines of text.
//! - [`serve`] puts a segment behind a port in real time; `beside` puts any MainDevice in front of it.
//! - [`Time`] is the segment's own clock; the caller sets it.
//!
//! All of it is sans-IO and deterministic: the same frames at the same times with the same seeds give
//! the same answers.

mod application;
#[cfg(target_os = "linux")]
pub mod beside;
pub mod coe;
pub mod command;
mod controller;
pub mod fault;
pub mod file;
pub mod humanoid;
pub mod model;
mod segment;
pub mod serve;
mod wire_port;

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

pub use application::{
    Application, Decision, Model, Passive, Pdi, PdiAccessError, PdiSendError, Signal, StateChange,
};
pub(crate) use controller::Arrival;
pub use controller::{DeviceSettings, SubDeviceController};
pub use kadenz_rt::random::Random;
pub use segment::{Cable, CableError, Counts, End, Loss, MAX_DEVICES, Passed, Segment};
pub use wire_port::WirePort;

/// Identifies a device of a segment, in the order in which devices were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u16);

/// Identifies a cable of a segment, in the order in which cables were laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CableId(pub u16);

// The time of a segment.

/// Nanoseconds of the segment's own clock.
///
/// The caller sets it: from a monotonic clock for a segment on a real interface, from a count in a test for one in
/// memory. It never goes back; a segment takes an earlier time for the latest that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of the segment.
    pub const ZERO: Self = Self(0);
    /// Later than every other.
    pub const NEVER: Self = Self(u64::MAX);

    /// So many nanoseconds later; [`Time::NEVER`] where that is too far.
    #[must_use]
    pub const fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// Nanoseconds since an earlier time; 0 where it is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        self.after(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.since(earlier))
    }
}

impl From<Duration> for Time {
    fn from(since_start: Duration) -> Self {
        Self::ZERO + since_start
    }
}

/// Whether two names of devices are the same, without regard to capital letters.
fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_stays_never() {
        assert_eq!(Time::NEVER.after(1), Time::NEVER);
        assert_eq!(Time::NEVER + Duration::MAX, Time::NEVER);
    }

    #[test]
    fn a_span_is_never_negative() {
        assert_eq!(Time(5) - Time(7), Duration::ZERO);
        assert_eq!(Time(7).since(Time(5)), 2);
    }
}
