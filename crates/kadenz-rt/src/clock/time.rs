use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point on a monotonic clock: nanoseconds since that clock's own start.
///
/// It says nothing about the time of day; that is [`WallTime`]. Two points can be compared only
/// when they come from the same clock.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MonotonicTime(u64);

impl MonotonicTime {
    /// The point `ns` nanoseconds after the clock's start.
    #[inline]
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the clock's start.
    #[inline]
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to `self`, negative when `self` is the earlier one.
    ///
    /// Spans over 292 years saturate.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        let span = self.0.abs_diff(earlier.0);
        let span = if span > i64::MAX as u64 {
            i64::MAX
        } else {
            span as i64
        };
        if self.0 >= earlier.0 { span } else { -span }
    }

    /// This point moved by `ns` nanoseconds, saturating at both ends.
    #[inline]
    #[must_use]
    pub const fn offset_by_ns(self, ns: i64) -> Self {
        Self(self.0.saturating_add_signed(ns))
    }

    /// How long until this point, zero when it has passed.
    #[inline]
    #[must_use]
    pub const fn remaining(self, now: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(now.0))
    }
}

impl Add<Duration> for MonotonicTime {
    type Output = Self;

    /// Saturates at the end of the clock, 584 years after its start.
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(saturating_ns(span)))
    }
}

impl Sub<Duration> for MonotonicTime {
    type Output = Self;

    /// Saturates at the clock's start.
    #[inline]
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(saturating_ns(span)))
    }
}

impl fmt::Display for MonotonicTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

/// A span in nanoseconds, saturating at 584 years.
#[inline]
pub(crate) fn saturating_ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A point of the time of day. It can step when the clock is set, so no span is taken from it.
///
/// # Real-time safety
/// Real-time safe: [`WallTime::now`] reads a clock; the rest is arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// The time of day now.
    #[must_use]
    #[expect(
        clippy::disallowed_types,
        reason = "this is the one place that stamps runs with wall time"
    )]
    pub fn now() -> Self {
        let now = std::time::SystemTime::now();
        let ns = match now.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
        };
        Self(ns)
    }

    /// The point `ns` nanoseconds after 1970-01-01 00:00 UTC.
    #[must_use]
    pub const fn from_unix_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since 1970-01-01 00:00 UTC.
    #[must_use]
    pub const fn as_unix_ns(self) -> i64 {
        self.0
    }
}

/// A point on a network card's own clock, in nanoseconds since that clock's epoch: TAI where PTP sets it, else the
/// clock's value at power-on. It is comparable with stamps of the same card only.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhcTime(i64);

impl PhcTime {
    /// The point `ns` nanoseconds after the clock's epoch.
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the clock's epoch.
    #[must_use]
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Nanoseconds from `earlier` to `self`, negative when `self` is the earlier one; saturates.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
