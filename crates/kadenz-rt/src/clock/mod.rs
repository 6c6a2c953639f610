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
mod facts;
mod kind;
mod pair;
mod phc;
mod synchronisation;
mod system;
mod time;
mod tsc;

pub use bridge::{Bridged, Observation, WallBridge};
pub use facts::{ClockFacts, measure};
pub use kind::{ClockKind, ParseClockKindError};
pub use pair::ClockPair;
pub use phc::{OpenPhcError, PhcClock, PhcPair, PhcTime};
pub use synchronisation::{Synchronisation, synchronisation};
pub use time::{MonotonicTime, WallTime};

/// A clock that never steps back.
pub trait Clock: Send {
    /// The time on this clock. Real-time safe: no allocation, no lock.
    fn now(&self) -> MonotonicTime;

    /// The name to be recorded with a run, for example `CLOCK_MONOTONIC`.
    fn name(&self) -> &'static str;

    /// Translates a deadline on this clock to the clock that sleepers sleep against.
    ///
    /// The default takes one reading of each clock; the translation is as exact as those two
    /// readings are close, and does not age, since it is made anew for each deadline.
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
        /// The clock asked for.
        clock: ClockKind,
        /// What is missing.
        reason: String,
    },
}

/// Opens a clock. [`ClockKind::Tsc`] is calibrated here, which takes about 50 ms.
///
/// # Errors
/// Where the clock does not exist on this machine or cannot be trusted, with the reason.
pub fn open(kind: ClockKind) -> Result<Box<dyn Clock>, OpenClockError> {
    match kind {
        ClockKind::Monotonic => Ok(Box::new(system::Monotonic)),
        ClockKind::MonotonicRaw => system::open_raw(),
        ClockKind::Tsc => match tsc::Tsc::calibrate() {
            Ok(clock) => Ok(Box::new(clock)),
            Err(reason) => Err(OpenClockError::Unavailable {
                clock: kind,
                reason,
            }),
        },
    }
}

/// The time on the sleep clock. Real-time safe.
#[inline]
#[must_use]
pub fn now() -> MonotonicTime {
    MonotonicTime::from_ns(crate::os::monotonic_ns())
}

#[cfg(test)]
mod tests;
