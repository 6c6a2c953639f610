use std::fmt;
use std::time::Duration;

/// An exact, positive span between two beats: a fraction of nanoseconds in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    numerator_ns: u64,
    denominator: u64,
}

/// A span that is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// Zero.
    #[error("an interval of zero has no beat; give one above zero")]
    Zero,
    /// Above [`Interval::MAX`].
    #[error("the interval is longer than a year; give a shorter one")]
    TooLong,
    /// Below a nanosecond.
    #[error("the interval is shorter than a nanosecond; give a rate of 1 GHz or less")]
    TooShort,
}

impl Interval {
    /// A year.
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
    pub(super) const fn times(self, n: u64) -> (u64, u64) {
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
    pub(super) const fn beats_in(self, ns: u64) -> u64 {
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
