//! The messages of one channel within a window.

use std::collections::VecDeque;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::jitter::Jitter;

/// How fast messages come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Messages a second: intervals over the time they took. One that is overdue counts as an
    /// interval that still grows, so that the rate of a channel that fell silent falls.
    pub rate_hz: f64,
    /// Payload a second.
    pub bytes_per_s: f64,
    /// How many messages this rests on.
    pub messages: usize,
    /// How evenly they come; `None` for fewer than two intervals.
    pub jitter: Option<Jitter>,
}

/// When the last messages came and how long they were.
#[derive(Debug)]
pub(super) struct Recent {
    window: Duration,
    most: usize,
    expected: Option<Duration>,
    arrivals: VecDeque<(MonotonicTime, usize)>,
}

/// So many are kept however old they are: a rate below one a window is known all the same.
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

    /// What is known at a time; `None` for fewer than two messages, or for two of one instant.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn heard(times: impl IntoIterator<Item = u64>) -> Recent {
        let mut recent = Recent::new(Duration::from_secs(5), 1000, None);
        for ms in times {
            recent.add(at(ms), 100);
        }
        recent
    }

    #[test]
    fn a_rate_counts_intervals_and_not_messages() {
        let pace = heard([0, 100]).pace(at(100)).unwrap();
        assert!((pace.rate_hz - 10.0).abs() < 1e-9, "{}", pace.rate_hz);
        assert!((pace.bytes_per_s - 1000.0).abs() < 1e-6);
        assert_eq!(heard([7]).pace(at(9)), None);
        assert_eq!(heard([7, 7]).pace(at(9)), None);
    }

    #[test]
    fn the_rate_of_a_channel_that_fell_silent_falls() {
        let recent = heard((0..=100).map(|beat| beat * 10));
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
        let pace = heard(slow.chain(fast)).pace(at(20_000)).unwrap();
        assert!((pace.rate_hz - 100.0).abs() < 0.3, "{}", pace.rate_hz);
        assert_eq!(pace.messages, 501);
    }

    #[test]
    fn a_channel_slower_than_the_window_has_a_rate() {
        let pace = heard([0, 10_000, 20_000]).pace(at(25_000)).unwrap();
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
