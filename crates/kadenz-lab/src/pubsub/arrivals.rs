//! Counts what became of every message to one subscriber. Sans-IO: the caller reports each arrival.

use kadenz_record::run::messages::Subscriber;
use kadenz_udp::controller::{Arrival, TrackWord, Tracker};
use kadenz_udp::wire::Sequence;

use super::latency_probe::LatencyProbe;

/// Words of a tracker's window: 65,536 messages.
const WINDOW_WORDS: usize = 1024;

/// A subscriber's arrivals.
///
/// Memory is allocated when it is made.
///
/// # Real-time safety
/// No allocation, lock or system call afterwards.
#[derive(Debug)]
pub(crate) struct ArrivalCounts {
    run: i64,
    count: u64,
    /// The first number of which no message, nor a later one, has come.
    next: u64,
    tracker: Tracker<Vec<TrackWord>>,
    received: u64,
    damaged: u64,
    foreign: u64,
}

/// Classification of a message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalKind {
    /// A counted message, for the first time.
    First,
    /// A repeated message, one before the measurement, or one of another measurement: its times are not recorded.
    Ignored,
}

impl ArrivalCounts {
    /// Empty counts for the messages 0 to `count` - 1 of a run.
    #[must_use]
    pub(crate) fn new(run: i64, count: u64) -> Self {
        Self {
            run,
            count,
            next: 0,
            // No message is too late here: the subscriber decides how long it waits.
            tracker: Tracker::over(vec![TrackWord::default(); WINDOW_WORDS], u64::MAX),
            received: 0,
            damaged: 0,
            foreign: 0,
        }
    }

    /// Counts a message; returns whether its times are to be recorded.
    pub(crate) fn count(&mut self, probe: &LatencyProbe) -> ArrivalKind {
        let number = u64::try_from(probe.sequence);
        if probe.run != self.run || number.is_ok_and(|number| number >= self.count) {
            self.foreign += 1;
            return ArrivalKind::Ignored;
        }
        let Ok(number) = number else {
            return ArrivalKind::Ignored;
        };
        self.expect_through(number);
        let arrival = self.tracker.received(sequence(number), 0);
        if !matches!(arrival, Arrival::First { .. }) {
            return ArrivalKind::Ignored;
        }
        self.received += 1;
        self.damaged += u64::from(probe.damaged);
        ArrivalKind::First
    }

    /// Counts something on the channel that is not a probe.
    pub(crate) fn count_foreign(&mut self) {
        self.foreign += 1;
    }

    /// Whether every message has come.
    #[must_use]
    pub(crate) fn is_complete(&self) -> bool {
        self.received == self.count
    }

    /// Counts what became of the first `published` messages, when no more are awaited.
    #[must_use]
    pub(crate) fn close(mut self, name: &str, published: u64) -> Subscriber {
        if let Some(last) = published.min(self.count).checked_sub(1) {
            self.expect_through(last);
        }
        let counts = self.tracker.finish();
        Subscriber {
            name: name.to_owned(),
            received: counts.in_time,
            lost: counts.sent - counts.in_time,
            duplicates: counts.duplicates + counts.too_old,
            reordered: counts.reordered,
            longest_loss: counts.longest_loss,
            damaged: self.damaged,
            foreign: self.foreign,
            ..Subscriber::default()
        }
    }

    fn expect_through(&mut self, number: u64) {
        while self.next <= number {
            // In order, so that the tracker accepts it.
            let _ = self.tracker.expect(sequence(self.next));
            self.next += 1;
        }
    }
}

/// Wraps after 4 billion messages: 49 days at 1 kHz.
fn sequence(number: u64) -> Sequence {
    Sequence((number & u64::from(u32::MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_one(arrivals: &mut ArrivalCounts, sequence: i64) -> ArrivalKind {
        arrivals.count(&LatencyProbe {
            run: 7,
            sequence,
            ..LatencyProbe::default()
        })
    }

    #[test]
    fn every_message_is_counted_once_as_what_became_of_it() {
        let mut arrivals = ArrivalCounts::new(7, 10);
        for greeting in [-3, -1] {
            assert_eq!(count_one(&mut arrivals, greeting), ArrivalKind::Ignored);
        }
        for first in [0, 1, 5, 3, 6] {
            assert_eq!(
                count_one(&mut arrivals, first),
                ArrivalKind::First,
                "{first}"
            );
        }
        assert_eq!(count_one(&mut arrivals, 5), ArrivalKind::Ignored);
        assert!(!arrivals.is_complete());
        let closed = arrivals.close("subscriber-1", 10);
        // 2, 4 and, after the last that came, 7, 8 and 9.
        assert_eq!((closed.received, closed.lost), (5, 5));
        assert_eq!((closed.duplicates, closed.reordered), (1, 1));
        assert_eq!(closed.longest_loss, 3);
    }

    #[test]
    fn what_was_never_published_is_not_lost() {
        let mut arrivals = ArrivalCounts::new(7, 1000);
        (0..4).for_each(|it| assert_eq!(count_one(&mut arrivals, it), ArrivalKind::First));
        let closed = arrivals.close("a", 4);
        assert_eq!((closed.received, closed.lost), (4, 0));
        assert_eq!(ArrivalCounts::new(7, 3).close("a", 0).lost, 0);
    }

    #[test]
    fn foreign_messages_are_counted_apart() {
        let mut arrivals = ArrivalCounts::new(7, 2);
        let of_another_run = LatencyProbe {
            run: 8,
            ..LatencyProbe::default()
        };
        assert_eq!(arrivals.count(&of_another_run), ArrivalKind::Ignored);
        assert_eq!(count_one(&mut arrivals, i64::MAX), ArrivalKind::Ignored);
        arrivals.count_foreign();
        (0..2).for_each(|it| assert_eq!(count_one(&mut arrivals, it), ArrivalKind::First));
        assert!(arrivals.is_complete());
        let closed = arrivals.close("a", 2);
        assert_eq!((closed.foreign, closed.received, closed.lost), (3, 2, 0));
    }
}
