//! From wall time to the sleep clock, with a stated error and across no step.
//!
//! Assumption: on Linux the wall clock leads `CLOCK_MONOTONIC` by a span that changes only when the
//! wall clock is stepped (`settimeofday`, `ADJ_SETOFFSET`, a leap second), since NTP's slewing is
//! applied to both (`timekeeping.c`, `wall_to_monotonic`). Each [`ClockPair`] bounds that lead.
//!
//! Guarantee: between two pairs that allow a common lead, the true lead lies in the hull of the leads that both
//! allow, even if the clock stepped once between them by less than the widths of the pairs. Between two pairs
//! without a common lead the clock stepped, and the bridge translates no stamp from between them.

use super::{ClockPair, MonotonicTime, WallTime};

/// How many pairs are remembered: how far back a stamp may lie.
const REMEMBERED: usize = 64;
/// Pairs closer than this need not all be remembered: no clock is stepped twice in less time.
const CLOSE_NS: i64 = 1_000_000;
/// Readings tried a pair. The tightest of five was seldom cut by an interrupt.
const TRIES: u32 = 5;

/// Translates wall time, which the kernel stamps datagrams with, to the sleep clock.
///
/// The loop observes both clocks repeatedly: before the first stamp, and then about once a beat. The bridge
/// remembers the last 64 observations; of those within one millisecond it keeps only two.
///
/// ```
/// use kadenz_rt::clock::{self, WallBridge, WallTime};
///
/// let mut bridge = WallBridge::new();
/// let before = clock::now();
/// let stamp = WallTime::now();
/// let after = clock::now();
/// let bridged = bridge.translate(stamp).expect("the wall clock was not stepped");
/// let error_ns = bridged.error_ns as i64;
/// assert!(bridged.at.since(before) >= -error_ns && after.since(bridged.at) >= -error_ns);
/// ```
///
/// # Real-time safety
/// Everything here is real-time safe: fixed memory, no lock, and no system call where clocks are read without one.
#[derive(Debug, Clone)]
pub struct WallBridge {
    pairs: [Option<Observed>; REMEMBERED],
    newest: usize,
    steps: u64,
    /// Number of pairs taken since the last step or the start, forgotten ones included.
    steady_for: usize,
}

#[derive(Debug, Clone, Copy)]
struct Observed {
    pair: ClockPair,
    /// How often the wall clock had been stepped before.
    steps: u64,
}

/// A stamp on the sleep clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BridgedStamp {
    /// The time of the stamp.
    pub at: MonotonicTime,
    /// The most by which `at` may be off, either way, in nanoseconds.
    pub error_ns: u64,
}

/// The result of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Observation {
    /// Neither clock stepped.
    Steady,
    /// The wall clock was stepped by about this much since the last observation, in nanoseconds.
    Stepped {
        /// Positive when it was put forward.
        by_ns: i64,
    },
}

impl Default for WallBridge {
    fn default() -> Self {
        Self::new()
    }
}

impl WallBridge {
    /// A bridge that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_with(ClockPair::read(TRIES))
    }

    /// A bridge that begins with a pair, for tests in virtual time.
    #[must_use]
    pub const fn starting_with(pair: ClockPair) -> Self {
        let mut pairs = [None; REMEMBERED];
        pairs[0] = Some(Observed { pair, steps: 0 });
        Self {
            pairs,
            newest: 0,
            steps: 0,
            steady_for: 1,
        }
    }

    /// Reads both clocks: fifteen readings, of which the tightest three count.
    pub fn observe(&mut self) -> Observation {
        self.observe_pair(ClockPair::read(TRIES))
    }

    /// Takes a pair that was read elsewhere, and ignores a pair that is not later than the last one.
    pub(crate) fn observe_pair(&mut self, pair: ClockPair) -> Observation {
        let Some(last) = self.pairs[self.newest] else {
            return Observation::Steady;
        };
        if pair.monotonic() <= last.pair.monotonic() {
            return Observation::Steady;
        }
        let observation = compare(&last.pair, &pair);
        if observation != Observation::Steady {
            self.steps += 1;
            self.steady_for = 0;
        }
        if !self.may_replace_newest(&last, &pair) {
            self.steady_for = self.steady_for.saturating_add(1);
            self.newest = (self.newest + 1) % REMEMBERED;
        }
        self.pairs[self.newest] = Some(Observed {
            pair,
            steps: self.steps,
        });
        observation
    }

    /// Returns whether this pair may replace the newest one without loss.
    fn may_replace_newest(&self, newest: &Observed, pair: &ClockPair) -> bool {
        let Some(before) = self.seen(1) else {
            return false;
        };
        newest.steps == self.steps
            && before.steps == self.steps
            && pair.monotonic().since(before.pair.monotonic()) < CLOSE_NS
            && compare(&before.pair, pair) == Observation::Steady
    }

    /// How often the wall clock was seen to step.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Translates a stamp to the sleep clock. If the stamp is newer than the last observation, the bridge observes
    /// the clocks first, so that it notices a step before the stamp.
    ///
    /// Returns `None` where the wall clock was stepped around the stamp, where a step gave two moments the same
    /// wall time, and where the stamp is older than the remembered pairs.
    pub fn translate(&mut self, stamp: WallTime) -> Option<BridgedStamp> {
        let newest = self.pairs[self.newest].map(|seen| seen.pair.wall());
        if newest.is_none_or(|wall| stamp >= wall) {
            self.observe();
        }
        self.look_up(stamp)
    }

    /// As [`WallBridge::translate`], but only from the observations so far: returns `None` also for a stamp that is
    /// newer than the last observation.
    #[must_use]
    pub fn look_up(&self, stamp: WallTime) -> Option<BridgedStamp> {
        // Without a step, only neighbouring pairs can enclose the stamp.
        let one_epoch = self.steps == 0 || self.steady_for >= REMEMBERED;
        let mut found: Option<(u64, EventBounds)> = None;
        for back in 0..REMEMBERED - 1 {
            let (Some(later), Some(earlier)) = (self.seen(back), self.seen(back + 1)) else {
                break;
            };
            match (between(&earlier, &later, stamp), found) {
                (StampPosition::Elsewhere, Some(_)) if one_epoch => break,
                (StampPosition::Elsewhere, _) => {}
                (StampPosition::Within(moments), None) => found = Some((earlier.steps, moments)),
                // At the border of two intervals the stamp may lie in either of them.
                (StampPosition::Within(moments), Some((steps, others)))
                    if steps == earlier.steps =>
                {
                    found = Some((steps, others.and(moments)));
                }
                // Two moments had this wall time, or the stamp lies around a step.
                (StampPosition::Within(_), Some(_)) | (StampPosition::AroundStep, _) => {
                    return None;
                }
            }
        }
        found.map(|(_, moments)| moments.bridged())
    }

    fn seen(&self, back: usize) -> Option<Observed> {
        self.pairs[(self.newest + REMEMBERED - back) % REMEMBERED]
    }
}

/// Where a stamp lies with respect to two observations.
enum StampPosition {
    Within(EventBounds),
    AroundStep,
    Elsewhere,
}

/// An interval of the sleep clock: the first and the last moment at which an event may have been.
#[derive(Debug, Clone, Copy)]
struct EventBounds {
    first: i128,
    last: i128,
}

impl EventBounds {
    fn and(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    /// Returns the moments that are also in `other`; `None` when there are none.
    fn among(self, other: Self) -> Option<Self> {
        let both = Self {
            first: self.first.max(other.first),
            last: self.last.min(other.last),
        };
        (both.first <= both.last).then_some(both)
    }

    fn bridged(self) -> BridgedStamp {
        let ns = |ns: i128| u64::try_from(ns.max(0)).unwrap_or(u64::MAX);
        BridgedStamp {
            at: MonotonicTime::from_ns(ns((self.first + self.last) / 2)),
            error_ns: ns((self.last - self.first + 1) / 2),
        }
    }
}

fn compare(earlier: &ClockPair, later: &ClockPair) -> Observation {
    let ((low, high), (later_low, later_high)) = (earlier.lead_ns(), later.lead_ns());
    if later_low <= high && low <= later_high {
        return Observation::Steady;
    }
    let by_ns = (later_low + later_high - low - high) / 2;
    Observation::Stepped {
        by_ns: by_ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
    }
}

fn between(earlier: &Observed, later: &Observed, stamp: WallTime) -> StampPosition {
    // The interval extends to the outer edges: a step may come right after the wall clock was read.
    let meanwhile = EventBounds {
        first: earlier.pair.edges().0.as_ns().into(),
        last: later.pair.edges().1.as_ns().into(),
    };
    // The moments at which a clock with any lead of the range may have shown this time.
    let wall = i128::from(stamp.as_unix_ns());
    let shown = |(low, high): (i128, i128)| {
        let moments = EventBounds {
            first: wall - high,
            last: wall - low,
        };
        moments.among(meanwhile)
    };
    let (lead, later_lead) = (earlier.pair.lead_ns(), later.pair.lead_ns());
    if earlier.steps != later.steps {
        return match (shown(lead), shown(later_lead)) {
            (None, None) => StampPosition::Elsewhere,
            _ => StampPosition::AroundStep,
        };
    }
    let hull = (lead.0.min(later_lead.0), lead.1.max(later_lead.1));
    shown(hull).map_or(StampPosition::Elsewhere, StampPosition::Within)
}

#[cfg(test)]
mod tests;
