//! Two clocks read at one moment, as nearly as possible.

use super::{MonotonicTime, WallTime, now};

/// The sleep clock and the wall clock at one moment: the wall clock read between two readings of the
/// sleep clock.
///
/// ```
/// use kadenz_rt::clock::ClockPair;
///
/// let pair = ClockPair::read(5);
/// println!("good to {} ns", pair.error_ns());
/// ```
///
/// # Real-time safety
/// Real-time safe: [`ClockPair::read`] reads clocks; the rest is arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClockPair {
    before: MonotonicTime,
    after: MonotonicTime,
    wall: WallTime,
}

impl ClockPair {
    /// Reads the clocks `tries` times, at least once, and keeps the reading with the least time
    /// between.
    ///
    /// # Real-time safety
    /// Real-time safe: a try is three readings of clocks.
    #[must_use]
    pub fn read(tries: u32) -> Self {
        let mut best = Self::read_once();
        for _ in 1..tries {
            let next = Self::read_once();
            if next.width_ns() < best.width_ns() {
                best = next;
            }
        }
        best
    }

    fn read_once() -> Self {
        let before = now();
        let wall = WallTime::now();
        let after = now();
        Self {
            before,
            after,
            wall,
        }
    }

    /// A pair that was read elsewhere: `wall` at some moment between `before` and `after`, which are
    /// put in order. For tests in virtual time, and for other machines' clocks.
    #[must_use]
    pub fn from_readings(before: MonotonicTime, wall: WallTime, after: MonotonicTime) -> Self {
        Self {
            before: before.min(after),
            after: after.max(before),
            wall,
        }
    }

    /// The middle of the two readings of the sleep clock. It lies at most half the time between them away from the
    /// moment of [`ClockPair::wall`].
    #[must_use]
    pub const fn monotonic(&self) -> MonotonicTime {
        MonotonicTime::from_ns(self.before.as_ns() + self.width_ns() / 2)
    }

    /// The wall clock's reading.
    #[must_use]
    pub const fn wall(&self) -> WallTime {
        self.wall
    }

    /// How far [`ClockPair::monotonic`] may be from the moment of [`ClockPair::wall`], in nanoseconds:
    /// half the time between the two readings, rounded up.
    #[must_use]
    pub const fn error_ns(&self) -> u64 {
        self.width_ns().div_ceil(2)
    }

    const fn width_ns(&self) -> u64 {
        self.after.as_ns().saturating_sub(self.before.as_ns())
    }

    /// Between which readings of the sleep clock the wall clock was read.
    pub(super) const fn edges(&self) -> (MonotonicTime, MonotonicTime) {
        (self.before, self.after)
    }

    /// The wall clock's lead over the sleep clock in nanoseconds: the least and the most that this pair
    /// allows.
    #[must_use]
    pub fn lead_ns(&self) -> (i128, i128) {
        let wall = i128::from(self.wall.as_unix_ns());
        (
            wall - i128::from(self.after.as_ns()),
            wall - i128::from(self.before.as_ns()),
        )
    }
}
