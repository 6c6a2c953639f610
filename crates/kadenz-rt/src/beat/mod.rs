//! The beat: the ideal release times of a periodic loop, `start + n * interval`.
//!
//! Intervals are exact fractions of a nanosecond, so a rate that does not divide a second (30 Hz,
//! 48 kHz, 30000/1001 Hz) keeps its average forever: no rounding adds up.
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

mod overrun;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use overrun::{Overrun, ParseOverrunError, Step};

use crate::clock::MonotonicTime;
use crate::units::Decimal;

/// The intended times of a loop, one after another, without drift and without skipping.
///
/// A loop that falls behind gets the intended times it missed one by one, all in the past: a stall
/// stays visible as many late cycles (no coordinated omission). [`Beat::step`] is there for
/// loops with another [`Overrun`]; it says how many beats it left out.
///
/// # Real-time safety
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

    /// The exact interval between two beats, as a fraction of nanoseconds.
    #[must_use]
    pub const fn interval(&self) -> Interval {
        self.interval
    }
}

/// An exact, positive span between two beats: a fraction of nanoseconds in lowest terms.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    numerator_ns: u64,
    denominator: u64,
}

/// Why a span is not a valid interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// The span is zero.
    #[error("an interval of zero has no beat; give one above zero")]
    Zero,
    /// The span is above [`Interval::MAX`].
    #[error("the interval is longer than a year; give a shorter one")]
    TooLong,
    /// The span is below a nanosecond.
    #[error("the interval is shorter than a nanosecond; give a rate of 1 GHz or less")]
    TooShort,
}

impl Interval {
    /// The longest interval: 365 days.
    pub const MAX: Duration = Duration::from_secs(365 * 24 * 3600);

    /// `numerator_ns / denominator` nanoseconds.
    ///
    /// # Errors
    /// When that is not between 1 ns and [`Self::MAX`]; a denominator of zero is too long.
    pub const fn from_fraction(numerator_ns: u64, denominator: u64) -> Result<Self, IntervalError> {
        if numerator_ns == 0 {
            return Err(IntervalError::Zero);
        }
        if numerator_ns < denominator {
            return Err(IntervalError::TooShort);
        }
        if numerator_ns as u128 > Self::MAX.as_nanos() * denominator as u128 {
            return Err(IntervalError::TooLong);
        }
        let divisor = greatest_common_divisor(numerator_ns, denominator);
        Ok(Self {
            numerator_ns: numerator_ns / divisor,
            denominator: denominator / divisor,
        })
    }

    /// Numerator in nanoseconds, and denominator, in lowest terms.
    #[inline]
    #[must_use]
    pub const fn as_fraction(self) -> (u64, u64) {
        (self.numerator_ns, self.denominator)
    }

    /// The nearest whole nanosecond below.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.numerator_ns / self.denominator)
    }

    /// Nanoseconds, to the precision of the type.
    #[must_use]
    pub const fn as_ns_f64(self) -> f64 {
        self.numerator_ns as f64 / self.denominator as f64
    }

    /// Beats a second.
    #[must_use]
    pub const fn as_hz_f64(self) -> f64 {
        1e9 / self.as_ns_f64()
    }

    /// `n` intervals: whole nanoseconds, saturating, and the rest over the denominator.
    const fn times(self, n: u64) -> (u64, u64) {
        let exact = self.numerator_ns as u128 * n as u128;
        let whole = exact / self.denominator as u128;
        let rest = (exact % self.denominator as u128) as u64;
        if whole > u64::MAX as u128 {
            (u64::MAX, rest)
        } else {
            (whole as u64, rest)
        }
    }

    /// How many whole intervals fit into `ns`: the largest n with `times(n) <= ns`.
    const fn beats_in(self, ns: u64) -> u64 {
        // floor(n * a / b) <= ns is n * a < (ns + 1) * b.
        let below = (ns as u128 + 1) * self.denominator as u128 - 1;
        let n = below / self.numerator_ns as u128;
        if n > u64::MAX as u128 {
            u64::MAX
        } else {
            n as u64
        }
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl TryFrom<Duration> for Interval {
    type Error = IntervalError;

    fn try_from(span: Duration) -> Result<Self, IntervalError> {
        let ns = u64::try_from(span.as_nanos()).map_err(|_| IntervalError::TooLong)?;
        Self::from_fraction(ns, 1)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{} ns", self.numerator_ns),
            denominator => write!(f, "{}/{} ns", self.numerator_ns, denominator),
        }
    }
}

/// How often a loop runs, as users write it: `1kHz`, `250Hz`, `29.97Hz`, `30000/1001Hz`, `0.5Hz`.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone, except for parsing, whose error allocates, and for display, which allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    interval: Interval,
}

/// Why a text is not a valid rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseRateError {
    /// Not a number, or a unit other than Hz, kHz and MHz.
    #[error(
        "`{0}` is not a valid rate; write it with its unit, like 1kHz, 250Hz, 29.97Hz or 30000/1001Hz"
    )]
    Malformed(String),
    /// A number, but none that a loop can keep.
    #[error("`{rate}` is not a rate that a loop can keep: {source}")]
    OutOfRange {
        /// The text as the user wrote it.
        rate: String,
        /// The reason why no loop can keep it.
        source: IntervalError,
    },
}

impl Rate {
    /// The rate with the given interval.
    #[must_use]
    pub const fn of_interval(interval: Interval) -> Self {
        Self { interval }
    }

    /// The exact time between two beats.
    #[must_use]
    pub const fn interval(self) -> Interval {
        self.interval
    }

    /// Beats a second.
    #[must_use]
    pub const fn as_hz_f64(self) -> f64 {
        self.interval.as_hz_f64()
    }
}

impl FromStr for Rate {
    type Err = ParseRateError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let malformed = || ParseRateError::Malformed(word.to_owned());
        let (number, hertz) = split_unit(word.trim()).ok_or_else(malformed)?;
        let (dividend, divisor) = number.split_once('/').unwrap_or((number, "1"));
        let dividend = Decimal::read(dividend).ok_or_else(malformed)?;
        let divisor = Decimal::read(divisor).ok_or_else(malformed)?;
        // rate = hertz * (dividend.digits / dividend.divisor) / (divisor.digits / divisor.divisor)
        let cycles = dividend.digits.checked_mul(divisor.divisor);
        let cycles = cycles.and_then(|n| n.checked_mul(hertz));
        let seconds = divisor.digits.checked_mul(dividend.divisor);
        let (cycles, seconds) = lowest_terms(
            cycles.ok_or_else(malformed)?,
            seconds.ok_or_else(malformed)?,
        );
        let span_ns = seconds.checked_mul(1_000_000_000);
        let span_ns = span_ns.and_then(|it| u64::try_from(it).ok());
        let span_ns = span_ns.ok_or_else(malformed)?;
        let cycles = u64::try_from(cycles).map_err(|_| malformed())?;
        match Interval::from_fraction(span_ns, cycles) {
            Ok(interval) => Ok(Self { interval }),
            Err(source) => Err(ParseRateError::OutOfRange {
                rate: word.to_owned(),
                source,
            }),
        }
    }
}

/// Splits `1.5 kHz` into its number and the hertz its unit stands for.
fn split_unit(word: &str) -> Option<(&str, u128)> {
    let units = [
        ("MHz", 1_000_000),
        ("kHz", 1_000),
        ("khz", 1_000),
        ("KHz", 1_000),
        ("Hz", 1),
        ("hz", 1),
    ];
    let (unit, hertz) = units.into_iter().find(|(unit, _)| word.ends_with(unit))?;
    Some((word[..word.len() - unit.len()].trim_end(), hertz))
}

fn lowest_terms(mut a: u128, mut b: u128) -> (u128, u128) {
    let (first, second) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let divisor = a.max(1);
    (first / divisor, second / divisor)
}

impl fmt::Display for Rate {
    /// Prints `1 kHz`, `250 Hz` or `29.97 Hz`, and with `{:#}` without the space, as an option takes it; rates
    /// without a short decimal are rounded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hertz = self.as_hz_f64();
        let (number, unit) = match hertz {
            1_000_000.0.. => (hertz / 1e6, "MHz"),
            1_000.0.. => (hertz / 1e3, "kHz"),
            _ => (hertz, "Hz"),
        };
        let text = format!("{number:.6}");
        write!(
            f,
            "{}{}{unit}",
            text.trim_end_matches('0').trim_end_matches('.'),
            if f.alternate() { "" } else { " " }
        )
    }
}

#[cfg(test)]
mod tests;
