//! The time of a segment.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Nanoseconds of the segment's own clock.
///
/// The caller says what time it is: a monotonic clock for a segment on a real interface, a number that a
/// test counts up for one in memory. It never goes back; a segment that is told an earlier time takes it
/// for the latest that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// When the segment begins.
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
