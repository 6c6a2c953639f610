//! The messages of one channel within a window.

use std::collections::VecDeque;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

/// The rate and the jitter of messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Messages a second: the number of intervals by their duration. An overdue message counts as an interval
    /// that still grows, so that the rate of a silent channel falls.
    pub rate_hz: f64,
    /// Bytes of payload a second.
    pub bytes_per_s: f64,
    /// How many messages this rests on.
    pub messages: usize,
    /// The jitter of the intervals; `None` for fewer than two intervals.
    pub jitter: Option<Jitter>,
}

/// The times and lengths of the last messages.
#[derive(Debug)]
pub(super) struct Recent {
    window: Duration,
    most: usize,
    expected: Option<Duration>,
    arrivals: VecDeque<(MonotonicTime, usize)>,
}

/// The number of messages that are kept regardless of their age, so that a rate below one a window is known.
const MIN: usize = 2;

impl Recent {
    pub(super) fn new(window: Duration, most: usize, expected: Option<Duration>) -> Self {
        Self {
            window,
            most: most.max(MIN),
            expected,
            arrivals: VecDeque::new(),
        }
    }

    pub(super) fn add(&mut self, at: MonotonicTime, bytes: usize) {
        let old = |front: &(MonotonicTime, usize)| at.remaining(front.0) > self.window;
        while self.arrivals.len() >= MIN && self.arrivals.front().is_some_and(old) {
            self.arrivals.pop_front();
        }
        if self.arrivals.len() >= self.most {
            self.arrivals.pop_front();
        }
        // A kernel's stamp may be older than that of a message which another socket had before.
        let at = self.arrivals.back().map_or(at, |last| last.0.max(at));
        self.arrivals.push_back((at, bytes));
    }

    /// Returns the pace at a time; `None` for fewer than two messages, or for two of one instant.
    pub(super) fn pace(&self, now: MonotonicTime) -> Option<Pace> {
        let too_old = self.arrivals.iter();
        let too_old = too_old.take_while(|it| now.remaining(it.0) > self.window);
        let first = too_old.count().min(self.arrivals.len().checked_sub(MIN)?);
        let arrivals = || self.arrivals.iter().skip(first);
        let (from, to) = (arrivals().next()?.0, self.arrivals.back()?.0);
        let messages = arrivals().count();
        let intervals = (messages - 1) as f64;
        let span_ns = to.since(from) as f64;
        if span_ns <= 0.0 {
            return None;
        }
        let waited_ns = now.since(to) as f64;
        let overdue_ns = (waited_ns - span_ns / intervals).max(0.0);
        let seconds = (span_ns + overdue_ns) / 1e9;
        let bytes: usize = arrivals().skip(1).map(|it| it.1).sum();
        let before = arrivals().map(|it| it.0);
        let steps = before.clone().skip(1).zip(before);
        Some(Pace {
            rate_hz: intervals / seconds,
            bytes_per_s: bytes as f64 / seconds,
            messages,
            jitter: Jitter::of(
                steps
                    .map(|(later, earlier)| later.since(earlier).unsigned_abs())
                    .collect(),
                self.expected,
            ),
        })
    }
}

// The regularity of messages.

/// The deviation of intervals from the expected one, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter {
    /// The interval that was expected: as stated, or the median of all.
    pub expected_ns: u64,
    /// How many intervals this rests on.
    pub intervals: usize,
    /// Half of all intervals deviated by no more.
    pub p50_ns: Option<u64>,
    /// 99 of 100 deviated by no more; `None` for fewer than 100 intervals, for which it would be the maximum
    /// under another name.
    pub p99_ns: Option<u64>,
    /// The largest deviation of an interval.
    pub max_ns: u64,
}

impl Jitter {
    /// Returns the jitter of these intervals, in nanoseconds; `None` for fewer than two, which have nothing
    /// to differ from, unless an interval is stated.
    pub(super) fn of(mut intervals: Vec<u64>, expected: Option<Duration>) -> Option<Self> {
        let count = intervals.len();
        let least = if expected.is_some() { 1 } else { 2 };
        if count < least {
            return None;
        }
        intervals.sort_unstable();
        let stated = expected.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX));
        let expected_ns = stated.unwrap_or(intervals[(count - 1) / 2]);
        for interval in &mut intervals {
            *interval = interval.abs_diff(expected_ns);
        }
        intervals.sort_unstable();
        Some(Self {
            expected_ns,
            intervals: count,
            p50_ns: percentile(&intervals, 50),
            p99_ns: percentile(&intervals, 99),
            max_ns: intervals[count - 1],
        })
    }
}

/// Returns the smallest value that so many of a hundred do not exceed; `None` if not one whole value is
/// beyond it.
fn percentile(ascending: &[u64], percent: usize) -> Option<u64> {
    let count = ascending.len();
    let carried = count * (100 - percent) >= 100;
    let rank = (count * percent).div_ceil(100).max(1);
    carried.then(|| ascending[rank - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn received(times: impl IntoIterator<Item = u64>) -> Recent {
        let mut recent = Recent::new(Duration::from_secs(5), 1000, None);
        for ms in times {
            recent.add(at(ms), 100);
        }
        recent
    }

    #[test]
    fn a_rate_counts_intervals_and_not_messages() {
        let pace = received([0, 100]).pace(at(100)).unwrap();
        assert!((pace.rate_hz - 10.0).abs() < 1e-9, "{}", pace.rate_hz);
        assert!((pace.bytes_per_s - 1000.0).abs() < 1e-6);
        assert_eq!(received([7]).pace(at(9)), None);
        assert_eq!(received([7, 7]).pace(at(9)), None);
    }

    #[test]
    fn the_rate_of_a_channel_that_fell_silent_falls() {
        let recent = received((0..=100).map(|beat| beat * 10));
        let rate = |ms| recent.pace(at(ms)).unwrap().rate_hz;
        assert!((rate(1000) - 100.0).abs() < 1e-9);
        assert!(
            (rate(1005) - 100.0).abs() < 1e-9,
            "the next is not due yet: {}",
            rate(1005)
        );
        assert!((rate(2010) - 50.0).abs() < 1e-9, "{}", rate(2010));
        assert!(rate(60_000) < 0.02, "{}", rate(60_000));
    }

    #[test]
    fn what_is_older_than_the_window_says_nothing_of_now() {
        // 10 Hz for 10 s, then 100 Hz for 10 s.
        let slow = (0..100).map(|beat| beat * 100);
        let fast = (0..=1000).map(|beat| 10_000 + beat * 10);
        let pace = received(slow.chain(fast)).pace(at(20_000)).unwrap();
        assert!((pace.rate_hz - 100.0).abs() < 0.3, "{}", pace.rate_hz);
        assert_eq!(pace.messages, 501);
    }

    #[test]
    fn a_channel_slower_than_the_window_has_a_rate() {
        let pace = received([0, 10_000, 20_000]).pace(at(25_000)).unwrap();
        assert!((pace.rate_hz - 0.1).abs() < 1e-9, "{}", pace.rate_hz);
    }

    #[test]
    fn no_more_is_remembered_than_allowed() {
        let mut recent = Recent::new(Duration::from_secs(5), 3, None);
        for ms in 0..100 {
            recent.add(at(ms), 1);
        }
        assert_eq!(recent.arrivals.len(), 3);
    }
}

#[cfg(test)]
mod jitter_tests {
    use super::*;

    #[test]
    fn jitter_is_against_the_median_interval() {
        let jitter = Jitter::of(vec![10, 10, 13, 9, 10], None).unwrap();
        assert_eq!((jitter.expected_ns, jitter.max_ns), (10, 3));
        assert_eq!((jitter.p50_ns, jitter.p99_ns), (Some(0), None));
        assert_eq!(Jitter::of(vec![10], None), None);
    }

    #[test]
    fn an_interval_that_is_stated_is_what_counts() {
        let expected = Some(Duration::from_nanos(8));
        let jitter = Jitter::of(vec![10, 10, 10], expected).unwrap();
        assert_eq!((jitter.expected_ns, jitter.p50_ns), (8, Some(2)));
        let one = Jitter::of(vec![10], expected).unwrap();
        assert_eq!((one.max_ns, one.p50_ns), (2, None));
    }

    #[test]
    fn a_percentile_that_the_intervals_cannot_carry_is_not_said() {
        let of = |count: u64| Jitter::of((0..count).map(|it| 1000 + it).collect(), None).unwrap();
        assert_eq!(of(99).p99_ns, None);
        assert!(of(100).p99_ns.is_some_and(|p99| p99 < of(100).max_ns));
    }
}
