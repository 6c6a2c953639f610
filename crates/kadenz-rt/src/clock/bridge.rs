//! From wall time to the sleep clock, with a stated error and across no step.
//!
//! Assumption: on Linux the wall clock leads `CLOCK_MONOTONIC` by a span that changes only when the
//! wall clock is stepped (`settimeofday`, `ADJ_SETOFFSET`, a leap second), since NTP's slewing is
//! applied to both (`timekeeping.c`, `wall_to_monotonic`). Each [`ClockPair`] bounds that lead.
//!
//! Guarantee: between two pairs that allow a common lead, the true lead lies in the hull of what both
//! allow, also if the clock stepped once between them by less than what they are wide. Between two
//! that do not, the clock stepped, and nothing is said of stamps from between.

use super::{ClockPair, MonotonicTime, WallTime};

/// How many pairs are remembered: how far back a stamp may lie.
const REMEMBERED: usize = 64;
/// Pairs closer than this need not all be remembered: in less time nobody steps a clock twice.
const CLOSE_NS: i64 = 1_000_000;
/// Readings tried a pair. The tightest of five was seldom cut by an interrupt.
const TRIES: u32 = 5;

/// Translates wall time, which the kernel stamps datagrams with, to the sleep clock.
///
/// The loop observes both clocks again and again, before the first stamp and about once a beat; the bridge remembers
/// the last 64 observations, and of those within a millisecond but two.
///
/// ```
/// use kadenz_rt::clock::{self, WallBridge, WallTime};
///
/// let mut bridge = WallBridge::new();
/// let before = clock::now();
/// let stamp = WallTime::now();
/// let after = clock::now();
/// let bridged = bridge.translate(stamp).expect("nobody sets the clock meanwhile");
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
    /// Pairs remembered since the last step, or since the start, also those forgotten again.
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
pub struct Bridged {
    /// When it was.
    pub at: MonotonicTime,
    /// How far from that it may have been, either way, in nanoseconds.
    pub error_ns: u64,
}

/// What an observation showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Observation {
    /// Both clocks went on alike.
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

    /// Takes a pair that was read elsewhere. One that is not later than the last is ignored.
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

    /// Whether nothing is lost if the newest pair gives way to this one.
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

    /// The stamp on the sleep clock. Where it is newer than the last observation, the clocks are
    /// observed first, so that a step before it is noticed.
    ///
    /// `None` where the wall clock was stepped around the stamp, or so that two moments bore it; and
    /// where it is older than what is remembered.
    pub fn translate(&mut self, stamp: WallTime) -> Option<Bridged> {
        let newest = self.pairs[self.newest].map(|seen| seen.pair.wall());
        if newest.is_none_or(|wall| stamp >= wall) {
            self.observe();
        }
        self.look_up(stamp)
    }

    /// As [`WallBridge::translate`], out of what was observed until now: `None` also for a stamp that
    /// is newer than the last observation.
    #[must_use]
    pub fn look_up(&self, stamp: WallTime) -> Option<Bridged> {
        // Without a step, only neighbours can hold it.
        let one_epoch = self.steps == 0 || self.steady_for >= REMEMBERED;
        let mut found: Option<(u64, Moments)> = None;
        for back in 0..REMEMBERED - 1 {
            let (Some(later), Some(earlier)) = (self.seen(back), self.seen(back + 1)) else {
                break;
            };
            match (between(&earlier, &later, stamp), found) {
                (StampPosition::Elsewhere, Some(_)) if one_epoch => break,
                (StampPosition::Elsewhere, _) => {}
                (StampPosition::Within(moments), None) => found = Some((earlier.steps, moments)),
                // At the edge of two observations it may lie on either side.
                (StampPosition::Within(moments), Some((steps, others)))
                    if steps == earlier.steps =>
                {
                    found = Some((steps, others.and(moments)));
                }
                // Two moments bore this time, or none can be told from the other.
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
    Within(Moments),
    AroundStep,
    Elsewhere,
}

/// The first and the last moment at which something may have been, on the sleep clock.
#[derive(Debug, Clone, Copy)]
struct Moments {
    first: i128,
    last: i128,
}

impl Moments {
    fn and(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    /// Those of them that are also among others; `None` when there are none.
    fn among(self, other: Self) -> Option<Self> {
        let both = Self {
            first: self.first.max(other.first),
            last: self.last.min(other.last),
        };
        (both.first <= both.last).then_some(both)
    }

    fn bridged(self) -> Bridged {
        let ns = |ns: i128| u64::try_from(ns.max(0)).unwrap_or(u64::MAX);
        Bridged {
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
    // To the outer edges: a step may come right after the wall clock was read.
    let meanwhile = Moments {
        first: earlier.pair.edges().0.as_ns().into(),
        last: later.pair.edges().1.as_ns().into(),
    };
    // When a clock, with any lead of a range, may have shown this time.
    let wall = i128::from(stamp.as_unix_ns());
    let shown = |(low, high): (i128, i128)| {
        let moments = Moments {
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
