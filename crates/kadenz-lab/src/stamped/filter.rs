//! Which stamped messages are recorded, and which give no latency.

use kadenz_rt::clock::{ClockPair, MonotonicTime, WallTime};

use super::{ClockStep, OffsetBounds};

/// A larger difference is not a latency: the stamp has another unit, or its clock was never set.
const MAX_PLAUSIBLE_LATENCY_NS: i64 = 3_600_000_000_000;

/// Counts of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StampedCounts {
    /// Messages that came, recorded or not.
    pub received: u64,
    /// Latencies that were recorded.
    pub recorded: u64,
    /// Messages without a readable stamp.
    pub unreadable: u64,
    /// Messages stamped later than they came, by more than the error of the clocks: the sender's
    /// clock is ahead of this one.
    pub from_the_future: u64,
    /// Maximum of that lead, in nanoseconds.
    pub most_ahead_ns: i64,
    /// Messages whose stamp is an hour or more away: it has another unit, or its clock was never set.
    pub absurd: u64,
    /// One of those stamps, in nanoseconds since 1970.
    pub an_absurd_stamp_ns: Option<i64>,
    /// Messages that came while the wall clock was set, and are not latencies.
    pub around_step: u64,
    /// By how much the wall clock was set meanwhile, in nanoseconds; what came after is not recorded.
    pub stepped_by_ns: Option<i64>,
    /// How far the latencies may be off because two clocks are read, in nanoseconds; the difference between the clocks
    /// of two hosts adds to that.
    pub error_ns: i64,
}

/// A message that waits until it is certain that no clock was set meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) stamp: WallTime,
    pub(super) taken: MonotonicTime,
    pub(super) kernel: Option<MonotonicTime>,
}

/// A latency that may be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Latency {
    pub(super) taken: MonotonicTime,
    pub(super) to_kernel_ns: Option<i64>,
    pub(super) to_program_ns: i64,
}

/// Messages that are kept between two readings of the clocks, at most.
const MAX_PENDING: usize = 100_000;

#[derive(Debug)]
pub(super) struct LatencyFilter {
    bounds: OffsetBounds,
    pending: Vec<Pending>,
    pub(super) counts: StampedCounts,
}

impl LatencyFilter {
    pub(super) fn new(pair: &ClockPair) -> Self {
        Self {
            bounds: OffsetBounds::of(pair),
            pending: Vec::with_capacity(1000),
            counts: StampedCounts::default(),
        }
    }

    /// Whether the clocks should be read before more messages are noted.
    pub(super) fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    pub(super) fn note(&mut self, message: Option<Pending>) {
        self.counts.received += 1;
        match message {
            Some(message) => self.pending.push(message),
            None => self.counts.unreadable += 1,
        }
    }

    /// Compares the clocks, and hands over the certain latencies. `false` once the wall clock was set.
    pub(super) fn look(&mut self, pair: &ClockPair, record: impl FnMut(Latency)) -> bool {
        match self.bounds.observe(pair) {
            Ok(()) => {
                self.settle(record);
                true
            }
            Err(ClockStep { by_ns }) => {
                self.counts.around_step += self.pending.len() as u64;
                self.counts.stepped_by_ns = Some(by_ns);
                self.pending.clear();
                false
            }
        }
    }

    fn settle(&mut self, mut record: impl FnMut(Latency)) {
        let (bounds, counts) = (&self.bounds, &mut self.counts);
        let error_ns = bounds.error_ns();
        counts.error_ns = counts.error_ns.max(error_ns);
        for message in self.pending.drain(..) {
            let ns = bounds.between(message.stamp, message.taken);
            if ns.saturating_abs() >= MAX_PLAUSIBLE_LATENCY_NS {
                counts.absurd += 1;
                counts.an_absurd_stamp_ns = Some(message.stamp.as_unix_ns());
            } else if ns < -error_ns {
                counts.from_the_future += 1;
                counts.most_ahead_ns = counts.most_ahead_ns.max(-ns);
            } else {
                counts.recorded += 1;
                record(Latency {
                    taken: message.taken,
                    to_kernel_ns: message.kernel.map(|it| bounds.between(message.stamp, it)),
                    to_program_ns: ns,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAD: i64 = 1_700_000_000_000_000_000;

    fn pair(at: u64, lead: i64) -> ClockPair {
        let wall = WallTime::from_unix_ns(at as i64 + lead);
        ClockPair::from_readings(
            MonotonicTime::from_ns(at - 10),
            wall,
            MonotonicTime::from_ns(at + 10),
        )
    }

    fn message(sent: i64, taken: u64) -> Option<Pending> {
        Some(Pending {
            stamp: WallTime::from_unix_ns(LEAD + sent),
            taken: MonotonicTime::from_ns(taken),
            kernel: Some(MonotonicTime::from_ns(taken - 100)),
        })
    }

    fn looked(filter: &mut LatencyFilter, pair: &ClockPair) -> Vec<(Option<i64>, i64)> {
        let mut latencies = Vec::new();
        filter.look(pair, |it| {
            latencies.push((it.to_kernel_ns, it.to_program_ns));
        });
        latencies
    }

    #[test]
    fn a_latency_is_from_the_stamp_to_the_kernel_and_to_the_program() {
        let mut filter = LatencyFilter::new(&pair(1000, LEAD));
        filter.note(message(5_000, 8_000));
        filter.note(None);
        assert_eq!(
            looked(&mut filter, &pair(10_000, LEAD)),
            [(Some(2_900), 3_000)]
        );
        let counts = filter.counts;
        assert_eq!(
            (counts.received, counts.recorded, counts.unreadable),
            (2, 1, 1)
        );
        assert_eq!(counts.error_ns, 10);
    }

    #[test]
    fn what_came_while_the_clock_was_set_is_not_a_latency() {
        let mut filter = LatencyFilter::new(&pair(1000, LEAD));
        filter.note(message(5_000, 8_000));
        assert_eq!(looked(&mut filter, &pair(10_000, LEAD - 500_000)), []);
        assert_eq!(filter.counts.around_step, 1);
        assert!(filter.counts.stepped_by_ns.is_some_and(|it| it < -400_000));
        assert_eq!(filter.counts.recorded, 0);
    }

    #[test]
    fn a_stamp_from_the_future_is_counted_and_not_recorded() {
        let mut filter = LatencyFilter::new(&pair(1000, LEAD));
        filter.note(message(9_000, 8_000));
        filter.note(message(8_005, 8_000));
        assert_eq!(
            looked(&mut filter, &pair(10_000, LEAD)).len(),
            1,
            "within the error"
        );
        assert_eq!(filter.counts.from_the_future, 1);
        assert_eq!(filter.counts.most_ahead_ns, 1_000);
    }

    #[test]
    fn a_stamp_of_another_unit_is_noted() {
        let mut filter = LatencyFilter::new(&pair(1000, LEAD));
        filter.note(Some(Pending {
            stamp: WallTime::from_unix_ns(LEAD / 1000),
            taken: MonotonicTime::from_ns(8_000),
            kernel: None,
        }));
        assert_eq!(looked(&mut filter, &pair(10_000, LEAD)), []);
        assert_eq!(filter.counts.an_absurd_stamp_ns, Some(LEAD / 1000));
    }
}
