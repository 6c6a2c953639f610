//! The time of a client's last activity, and whether it holds memory without using it. In virtual time.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

/// A client that sends a message slower than this falls behind.
const MIN_BYTES_PER_SECOND: u64 = 64 << 10;

/// The bytes that a client has sent and taken, over time.
#[derive(Debug)]
pub(super) struct Progress {
    sent: MonotonicTime,
    taken: MonotonicTime,
    part: Option<PartialMessage>,
}

/// A message that is not complete.
#[derive(Debug, Clone, Copy)]
struct PartialMessage {
    bytes: usize,
    /// The time at which the last byte would have arrived at the minimum speed; never later than it arrived.
    due: MonotonicTime,
}

impl Progress {
    pub(super) fn new(now: MonotonicTime) -> Self {
        Self {
            sent: now,
            taken: now,
            part: None,
        }
    }

    /// Notes that bytes arrived.
    pub(super) fn sent(&mut self, now: MonotonicTime) {
        self.sent = now;
    }

    /// Notes that bytes were sent to it, or that the first one waits for it.
    pub(super) fn taken(&mut self, now: MonotonicTime) {
        self.taken = now;
    }

    /// Notes that so many bytes of a message have arrived. `is_new` if others were completed since the last
    /// part.
    pub(super) fn part(&mut self, bytes: usize, is_new: bool, now: MonotonicTime) {
        let before = self.part.filter(|_| !is_new);
        let due = before.map_or(now, |before| {
            let more = bytes.saturating_sub(before.bytes) as u64;
            let span = Duration::from_micros(more * 1_000_000 / MIN_BYTES_PER_SECOND);
            now.min(before.due + span)
        });
        self.part = (bytes > 0).then_some(PartialMessage { bytes, due });
    }

    /// Returns the time at which it last sent or took bytes.
    pub(super) fn last(&self) -> MonotonicTime {
        self.sent.max(self.taken)
    }

    /// Returns whether it is behind with a message that it sends by more than `idle`, or has taken none of
    /// its waiting messages for longer.
    pub(super) fn is_stalled(
        &self,
        idle: Duration,
        something_waits: bool,
        now: MonotonicTime,
    ) -> bool {
        let takes_nothing = something_waits && now > self.taken + idle;
        let is_behind = self.part.is_some_and(|part| now > part.due + idle);
        takes_nothing || is_behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> MonotonicTime {
        MonotonicTime::from_ns(seconds * 1_000_000_000)
    }

    #[test]
    fn a_message_that_comes_quickly_and_then_no_more_stalls() {
        let mut progress = Progress::new(at(0));
        progress.part(1000, false, at(1));
        progress.part(60 << 20, false, at(2));
        progress.part(60 << 20, false, at(11));
        assert!(progress.is_stalled(IDLE, false, at(13)));
        assert!(!progress.is_stalled(IDLE, false, at(12)));
        progress.part(500, true, at(13));
        assert!(!progress.is_stalled(IDLE, false, at(23)));
        progress.part(0, false, at(23));
        assert!(!progress.is_stalled(IDLE, false, at(999)));
    }

    #[test]
    fn a_message_whose_bytes_trickle_stalls() {
        let mut progress = Progress::new(at(0));
        for second in 0..=12 {
            progress.sent(at(second));
            progress.part(1000 * (second as usize + 1), false, at(second));
            let is_stalled = progress.is_stalled(IDLE, false, at(second));
            assert_eq!(is_stalled, second > 10, "{second}");
        }
    }

    #[test]
    fn a_long_message_over_a_slow_link_does_not_stall() {
        let mut progress = Progress::new(at(0));
        for second in 0..500 {
            progress.part(100_000 * (second as usize + 1), false, at(second));
            assert!(!progress.is_stalled(IDLE, false, at(second)));
        }
    }

    #[test]
    fn a_client_that_takes_no_waiting_message_stalls_and_one_without_does_not() {
        let mut progress = Progress::new(at(0));
        progress.taken(at(5));
        assert!(!progress.is_stalled(IDLE, true, at(15)));
        assert!(progress.is_stalled(IDLE, true, at(16)));
        assert!(!progress.is_stalled(IDLE, false, at(16)));
        progress.sent(at(16));
        assert!(
            progress.is_stalled(IDLE, true, at(16)),
            "sending takes nothing"
        );
        assert_eq!(progress.last(), at(16));
    }
}
