//! Clocks that never step, and wall time, which is another type.
//!
//! The kernel stamps datagrams with wall time; a [`WallBridge`] brings such stamps to the sleep clock
//! and says how far they may be off. A network card stamps them with its own clock, [`PhcTime`].
//!
//! Every sleeper sleeps against the *sleep clock*: `CLOCK_MONOTONIC` on Linux, the clock behind
//! [`std::time::Instant`] elsewhere. [`now`] reads it. A measurement may use another [`Clock`];
//! [`Clock::to_sleep_clock`] then translates its deadlines.
//!
//! ```
//! use kadenz_rt::clock::{self, ClockKind};
//!
//! let clock = clock::open(ClockKind::Monotonic).unwrap();
//! let before = clock.now();
//! let after = clock.now();
//! assert!(after.since(before) >= 0);
//! ```

mod bridge;
mod pair;
mod time;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tsc;

use std::fmt;
use std::str::FromStr;

pub use bridge::{BridgedStamp, Observation, WallBridge};
pub use pair::ClockPair;
pub use time::{MonotonicTime, PhcTime, WallTime};

/// A clock that never steps back.
///
/// # Real-time safety
/// No method of an open clock allocates or locks. Where user space cannot read a clock, the
/// kernel does, by a system call.
pub trait Clock: Send {
    /// The time on this clock.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, no lock.
    fn now(&self) -> MonotonicTime;

    /// The name to be recorded with a run, for example `CLOCK_MONOTONIC`.
    fn name(&self) -> &'static str;

    /// Translates a deadline on this clock to the clock that sleepers sleep against.
    ///
    /// The default takes one reading of each clock; the translation is as exact as those two
    /// readings are close, and does not age, since it is made again for each deadline.
    fn to_sleep_clock(&self, deadline: MonotonicTime) -> MonotonicTime {
        let ahead_ns = deadline.since(self.now());
        now().offset_by_ns(ahead_ns)
    }
}

/// Why a clock could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenClockError {
    /// The operating system or processor has no such clock.
    #[error("{clock} cannot be used: {reason}; use `monotonic` instead")]
    Unavailable {
        /// The clock that was requested.
        clock: ClockKind,
        /// What the system or the processor lacks.
        reason: String,
    },
}

/// Opens a clock. [`ClockKind::Tsc`] is calibrated here, which takes about 50 ms.
///
/// # Errors
/// Where the clock does not exist on this machine or cannot be trusted, with the reason.
///
/// # Real-time safety
/// Not real-time safe: it allocates.
pub fn open(kind: ClockKind) -> Result<Box<dyn Clock>, OpenClockError> {
    match kind {
        ClockKind::Monotonic => Ok(Box::new(Monotonic)),
        ClockKind::MonotonicRaw => open_raw(),
        ClockKind::Tsc => match tsc::Tsc::calibrate() {
            Ok(clock) => Ok(Box::new(clock)),
            Err(reason) => Err(OpenClockError::Unavailable {
                clock: kind,
                reason,
            }),
        },
    }
}

/// The time on the sleep clock.
///
/// # Real-time safety
/// Real-time safe.
#[inline]
#[must_use]
pub fn now() -> MonotonicTime {
    MonotonicTime::from_ns(crate::os::monotonic_ns())
}

/// The clocks a measurement can use.
///
/// # Real-time safety
/// Real-time safe, except for parsing, whose error allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClockKind {
    /// `CLOCK_MONOTONIC`: slewed by NTP, never stepped; the clock sleepers sleep against.
    #[default]
    Monotonic,
    /// `CLOCK_MONOTONIC_RAW`: the bare oscillator, not slewed.
    MonotonicRaw,
    /// The processor's time stamp counter, where it is invariant.
    Tsc,
}

impl ClockKind {
    /// Every kind, in the order help texts show them.
    pub const ALL: [Self; 3] = [Self::Monotonic, Self::MonotonicRaw, Self::Tsc];

    /// The word users write.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::MonotonicRaw => "monotonic-raw",
            Self::Tsc => "tsc",
        }
    }
}

impl fmt::Display for ClockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no clock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid clock; write monotonic, monotonic-raw or tsc")]
pub struct ParseClockKindError(String);

impl FromStr for ClockKind {
    type Err = ParseClockKindError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| ParseClockKindError(word.to_owned()))
    }
}

// The operating system's own clocks.

/// The sleep clock.
#[derive(Debug, Clone, Copy)]
struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> MonotonicTime {
        now()
    }

    fn name(&self) -> &'static str {
        crate::os::MONOTONIC_NAME
    }

    fn to_sleep_clock(&self, deadline: MonotonicTime) -> MonotonicTime {
        deadline
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
struct MonotonicRaw;

#[cfg(target_os = "linux")]
impl Clock for MonotonicRaw {
    #[inline]
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(crate::os::monotonic_raw_ns())
    }

    fn name(&self) -> &'static str {
        "CLOCK_MONOTONIC_RAW"
    }
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "fails on the other operating systems"
)]
fn open_raw() -> Result<Box<dyn Clock>, OpenClockError> {
    Ok(Box::new(MonotonicRaw))
}

#[cfg(not(target_os = "linux"))]
fn open_raw() -> Result<Box<dyn Clock>, OpenClockError> {
    Err(OpenClockError::Unavailable {
        clock: ClockKind::MonotonicRaw,
        reason: "only Linux has CLOCK_MONOTONIC_RAW".to_owned(),
    })
}

// The cost and the resolution of a clock, as measured.

/// The measured properties of a clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockFacts {
    /// Smallest step seen between two readings.
    pub resolution_ns: f64,
    /// Cost of one reading: the median over several batches.
    pub read_cost_ns: f64,
}

const BATCHES: usize = 21;
const READS_A_BATCH: u32 = 500;

/// Measures a clock with about ten thousand readings: well under a millisecond on most machines.
///
/// The resolution is the smallest non-zero difference between readings that follow each other.
/// It cannot be finer than one reading takes, so on fast clocks it approaches the read cost.
///
/// # Real-time safety
/// Not for a real-time path: it reads the clock some ten thousand times.
#[must_use]
pub fn measure(clock: &dyn Clock) -> ClockFacts {
    let mut costs_ns = [0.0; BATCHES];
    let mut step_ns = u64::MAX;
    for cost in &mut costs_ns {
        let start = clock.now();
        let mut previous = start;
        for _ in 0..READS_A_BATCH {
            let now = clock.now();
            let step = now.as_ns() - previous.as_ns().min(now.as_ns());
            if step > 0 {
                step_ns = step_ns.min(step);
            }
            previous = now;
        }
        *cost = previous.since(start) as f64 / f64::from(READS_A_BATCH);
    }
    costs_ns.sort_by(f64::total_cmp);
    if step_ns == u64::MAX {
        step_ns = next_step_ns(clock);
    }
    ClockFacts {
        resolution_ns: step_ns as f64,
        read_cost_ns: costs_ns[BATCHES / 2],
    }
}

/// Waits for a coarse clock to move, and returns by how much it moved.
fn next_step_ns(clock: &dyn Clock) -> u64 {
    let start = clock.now();
    loop {
        let now = clock.now();
        if now > start {
            return now.as_ns() - start.as_ns();
        }
        std::hint::spin_loop();
    }
}

// Whether a daemon synchronises the wall clock.

/// What the system says of the synchronisation of its wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Synchronisation {
    /// A PTP or NTP daemon keeps it.
    Kept {
        /// How far it may be from true time, in nanoseconds, as that daemon set it, and 500 us more for
        /// each second since. linuxptp's `phc2sys` sets it to 0 at each update: then it is a
        /// saw-tooth, and only says that the clock is kept.
        within_ns: u64,
    },
    /// No daemon keeps it: it runs at the rate of its oscillator.
    Free,
    /// The system does not say.
    Unknown,
}

/// Returns what the system says of its wall clock now: `adjtimex(2)` on Linux, nothing elsewhere.
///
/// One system call that changes nothing and needs no right.
///
/// ```
/// use kadenz_rt::clock::{self, Synchronisation};
///
/// match clock::synchronisation() {
///     Synchronisation::Kept { within_ns } => println!("true within {within_ns} ns"),
///     Synchronisation::Free => println!("no daemon keeps it; see `chronyc tracking` or ptp4l's log"),
///     Synchronisation::Unknown => println!("the system does not say"),
/// }
/// ```
///
/// # Real-time safety
/// Real-time safe: no allocation, no lock.
#[must_use]
pub fn synchronisation() -> Synchronisation {
    #[cfg(target_os = "linux")]
    {
        use crate::os::linux::clock;
        clock::discipline().map_or(Synchronisation::Unknown, |it| {
            of(it.status, it.state, it.max_error_us)
        })
    }
    #[cfg(not(target_os = "linux"))]
    Synchronisation::Unknown
}

/// `STA_UNSYNC` of Linux's `timex.h`.
#[cfg(any(target_os = "linux", test))]
const UNSYNC: i32 = 0x0040;
/// `TIME_ERROR` of Linux's `timex.h`.
#[cfg(any(target_os = "linux", test))]
const ERROR: i32 = 5;

#[cfg(any(target_os = "linux", test))]
fn of(status: i32, state: i32, max_error_us: i64) -> Synchronisation {
    if status & UNSYNC != 0 || state == ERROR {
        return Synchronisation::Free;
    }
    let within_us = u64::try_from(max_error_us).unwrap_or(0);
    Synchronisation::Kept {
        within_ns: within_us.saturating_mul(1000),
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod tsc {
    use super::{Clock, MonotonicTime};

    /// Stands where no TSC can be had; it cannot be made.
    pub(super) enum Tsc {}

    impl Tsc {
        pub(super) fn calibrate() -> Result<Self, String> {
            Err("the time stamp counter is supported on Linux on x86-64 only".to_owned())
        }
    }

    impl Clock for Tsc {
        fn now(&self) -> MonotonicTime {
            match *self {}
        }

        fn name(&self) -> &'static str {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod synchronisation_tests {
    use super::*;

    #[test]
    fn a_clock_is_kept_unless_the_kernel_says_it_is_not() {
        let kept = |within_ns| Synchronisation::Kept { within_ns };
        assert_eq!(of(0, 0, 120), kept(120_000));
        // STA_PLL and STA_NANO, and a leap second to come.
        assert_eq!(of(0x2001, 1, 0), kept(0));
        assert_eq!(of(0x2041, 5, 16_000_000), Synchronisation::Free);
        assert_eq!(of(0x0040, 0, 1), Synchronisation::Free);
        assert_eq!(of(0, 5, 1), Synchronisation::Free);
        assert_eq!(of(0, 0, i64::MAX), kept(u64::MAX));
    }

    #[test]
    fn this_system_answers() {
        let answer = synchronisation();
        assert!(cfg!(target_os = "linux") || answer == Synchronisation::Unknown);
    }
}
