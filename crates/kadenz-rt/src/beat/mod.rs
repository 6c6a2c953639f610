//! The beat: the ideal signal that a loop is held against, `start + n * interval`.
//!
//! Intervals are exact fractions of a nanosecond, so a rate that does not divide a second (30 Hz,
//! 48 kHz, 30000/1001 Hz) keeps its average for ever: no rounding adds up.
//!
//! ```
//! use kadenz_rt::beat::{Beat, Rate};
//! use kadenz_rt::clock::MonotonicTime;
//!
//! let rate: Rate = "30Hz".parse().unwrap();
//! let mut beat = Beat::at(MonotonicTime::from_ns(0), rate.interval());
//! assert_eq!(beat.next().as_ns(), 33_333_333);
//! assert_eq!(beat.next().as_ns(), 66_666_666);
//! assert_eq!(beat.next().as_ns(), 100_000_000);
//! ```

mod interval;
mod rate;

use std::time::Duration;

pub use interval::{Interval, IntervalError};
pub use rate::{ParseRateError, Rate};

use crate::clock::MonotonicTime;

/// The intended times of a loop, one after another, without drift and without skipping.
///
/// A loop that falls behind gets the intended times it missed one by one, all in the past: a stall
/// stays visible as many late cycles (no coordinated omission). [`Beat::skip_to`] is there for
/// loops that must not catch up; it says how many beats it left out.
///
/// Real-time safe: no allocation, no division in [`Beat::next`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    start: MonotonicTime,
    interval: Interval,
    index: u64,
    /// Whole nanoseconds from the start to the current beat, and what is left over, in units of
    /// one nanosecond over the interval's denominator.
    elapsed_ns: u64,
    rest: u64,
    step_ns: u64,
    step_rest: u64,
}

impl Beat {
    /// A beat with an interval of whole nanoseconds. Beat 0 is `start` itself.
    ///
    /// # Panics
    /// When `interval` is zero or longer than [`Interval::MAX`].
    #[must_use]
    pub fn new(start: MonotonicTime, interval: Duration) -> Self {
        match Interval::try_from(interval) {
            Ok(interval) => Self::at(start, interval),
            Err(error) => panic!("{error}"),
        }
    }

    /// A beat with an exact interval. Beat 0 is `start` itself.
    #[must_use]
    pub const fn at(start: MonotonicTime, interval: Interval) -> Self {
        let (numerator_ns, denominator) = interval.as_fraction();
        Self {
            start,
            interval,
            index: 0,
            elapsed_ns: 0,
            rest: 0,
            step_ns: numerator_ns / denominator,
            step_rest: numerator_ns % denominator,
        }
    }

    /// Moves on by one beat and returns its intended time. The first call returns beat 1.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "a beat never ends, so an Option would lie"
    )]
    pub fn next(&mut self) -> MonotonicTime {
        self.index += 1;
        self.elapsed_ns = self.elapsed_ns.saturating_add(self.step_ns);
        self.rest += self.step_rest;
        let denominator = self.interval.as_fraction().1;
        if self.rest >= denominator {
            self.rest -= denominator;
            self.elapsed_ns = self.elapsed_ns.saturating_add(1);
        }
        self.current()
    }

    /// Number of the beat that [`Self::next`] gave last; 0 before the first.
    #[inline]
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Intended time of the beat that [`Self::next`] gave last; the start before the first.
    #[inline]
    #[must_use]
    pub const fn current(&self) -> MonotonicTime {
        MonotonicTime::from_ns(self.start.as_ns().saturating_add(self.elapsed_ns))
    }

    /// Intended time of beat `n`: the start plus `n` intervals, rounded down to a nanosecond.
    #[must_use]
    pub const fn intended(&self, n: u64) -> MonotonicTime {
        let elapsed_ns = self.interval.times(n).0;
        MonotonicTime::from_ns(self.start.as_ns().saturating_add(elapsed_ns))
    }

    /// Moves on to the last beat that is not after `now`, so that [`Self::next`] lies ahead.
    /// Returns how many beats were passed over; zero when none had been missed.
    pub fn skip_to(&mut self, now: MonotonicTime) -> u64 {
        let passed_ns = now.as_ns().saturating_sub(self.start.as_ns());
        let target = self.interval.beats_in(passed_ns);
        let skipped = target.saturating_sub(self.index);
        if skipped > 0 {
            self.index = target;
            (self.elapsed_ns, self.rest) = self.interval.times(target);
        }
        skipped
    }

    /// The time of beat 0.
    #[must_use]
    pub const fn start(&self) -> MonotonicTime {
        self.start
    }

    /// The exact interval.
    #[must_use]
    pub const fn interval(&self) -> Interval {
        self.interval
    }
}

#[cfg(test)]
mod tests;
