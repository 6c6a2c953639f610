//! A limit of answers a second.

use core::num::NonZeroU32;

/// What one answer costs; each nanosecond earns the rate, so that no rate is rounded.
const COST: u64 = 1_000_000_000;

/// So many a second, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerSecond {
    rate: NonZeroU32,
    burst: NonZeroU32,
}

impl PerSecond {
    /// `rate` a second, and as many at once after a second of silence.
    #[must_use]
    pub const fn new(rate: NonZeroU32) -> Self {
        Self { rate, burst: rate }
    }

    /// The same rate, and `burst` at once at most.
    #[must_use]
    pub const fn with_burst(self, burst: NonZeroU32) -> Self {
        Self { burst, ..self }
    }

    /// How many a second.
    #[must_use]
    pub const fn rate(self) -> NonZeroU32 {
        self.rate
    }

    /// How many at once.
    #[must_use]
    pub const fn burst(self) -> NonZeroU32 {
        self.burst
    }
}

/// A token bucket: it starts full, and in any span of `s` seconds lets at most `burst + s * rate`
/// pass. Exact in integers for every rate; a time before the last one earns nothing.
///
/// ```
/// use std::num::NonZeroU32;
/// use kadenz_udp::device::{PerSecond, RateLimit};
///
/// let ten = PerSecond::new(NonZeroU32::new(10).unwrap()).with_burst(NonZeroU32::MIN);
/// let mut limit = RateLimit::new(ten);
/// assert_eq!([0, 1, 100_000_000, 199_999_999].map(|now_ns| limit.passes(now_ns)), [true, false, true, false]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    limit: PerSecond,
    /// At most `burst * COST`, which is below 2^63.
    credit: u64,
    last_ns: u64,
}

impl RateLimit {
    /// A full bucket.
    #[must_use]
    pub fn new(limit: PerSecond) -> Self {
        let full = Self {
            limit,
            credit: 0,
            last_ns: 0,
        };
        Self {
            credit: full.most(),
            ..full
        }
    }

    /// Whether one more may pass at `now_ns`, which it then has.
    pub fn passes(&mut self, now_ns: u64) -> bool {
        let elapsed_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(now_ns);
        let earned = elapsed_ns.saturating_mul(u64::from(self.limit.rate.get()));
        let credit = self.credit.saturating_add(earned).min(self.most());
        let rest = credit.checked_sub(COST);
        self.credit = rest.unwrap_or(credit);
        rest.is_some()
    }

    fn most(&self) -> u64 {
        u64::from(self.limit.burst.get()) * COST
    }
}
