//! A virtual segment: SubDevices on a wire that is memory.
//!
//! - [`Application`] is the behaviour of a device behind its controller, [`Pdi`] its view of the controller.
//! - [`SubDeviceController`] is the ESC of one device: registers, states, SII, SyncManagers, FMMUs, clocks.
//! - [`mod@file`] reads a segment from TOML, [`humanoid`] lays out Yoon's robot.
//! - [`model`] are devices ready for use, [`coe`] is their mailbox server.
//! - [`Segment`] is the wire with the devices on it: line, tree, star or ring.
//! - [`fault`] are faults, by a plan or by command.
//! - [`serve`] puts a segment behind a port in real time; `beside` puts any MainDevice in front of it.
//! - [`Time`] is the segment's own clock; the caller sets it.
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
pub use controller::{Arrival, DeviceSettings, SubDeviceController};
pub use segment::{Cable, CableError, Counts, End, Loss, MAX_DEVICES, Passed, Segment};
pub use wire_port::WirePort;

/// Identifies a device of a segment, in the order in which devices were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u16);

/// Identifies a cable of a segment, in the order in which cables were laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CableId(pub u16);

// Repeatable chance.

/// A pseudorandom generator, repeatable by its seed (SplitMix64, by Steele, Lea and Flood). Not for secrets.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, uniform over all values.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the normal distribution of mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_sequence_again() {
        let of = |seed| {
            let mut random = Random::new(seed);
            [random.next_u64(), random.next_u64()]
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn numbers_stay_in_their_range_and_fill_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 6];
        for _ in 0..1_000 {
            seen[random.below(6) as usize] = true;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert_eq!(seen, [true; 6]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn the_normal_distribution_has_its_mean_and_width() {
        let mut random = Random::new(3);
        let all: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / all.len() as f64;
        assert!(
            mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }
}

#[cfg(test)]
mod time_tests {
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
