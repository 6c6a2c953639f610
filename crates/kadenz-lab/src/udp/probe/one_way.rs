//! How long each way took, with a bound on the error: a clerk beside the measuring threads.
//!
//! The receiving thread tells of every exchange through the notebook's ring. The clerk, an ordinary
//! thread, fits each device's clock ([`kadenz_udp::clock_fit`]) and records both ways once enough is
//! known, some seconds later; samples have the time of the exchange all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::{self, Sample, SampleConsumer, SampleProducer};
use kadenz_udp::clock_fit::{ClockFit, Exchange, FitSlot, Options};
use kadenz_udp::wire::DeviceStamps;

use super::books::Reply;

/// Samples in the ring, two an exchange: half a minute at 1 kHz, a second of 40 devices at that.
const CAPACITY: usize = 1 << 17;
/// Windows of a second that are kept for a fit.
const WINDOWS: usize = 64;
/// Exchanges of this long are settled by one fit.
const SETTLED_TOGETHER_NS: u64 = 16_000_000_000;
/// How often the clerk looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The receiving thread's end.
pub(super) struct Exchanges {
    ring: SampleProducer,
    over: Arc<AtomicBool>,
}

impl Exchanges {
    /// Tells of an answer with device stamps; what finds no room is not settled, and counted.
    ///
    /// Real-time safe: wait-free, no allocation, no system call.
    pub(super) fn tell(&mut self, reply: &Reply) {
        let Some(stamps) = reply.device_stamps else {
            return;
        };
        let sequence = ((reply.device as u64) << 32) | u64::from(reply.sequence);
        let first = Sample {
            sequence,
            intended_ns: reply.sent_ns,
            actual_ns: reply.received_ns,
            value_ns: stamps.received_ns.cast_signed(),
        };
        if self.ring.push(first) {
            self.ring.push(Sample {
                sequence,
                value_ns: stamps.transmitted_ns.cast_signed(),
                ..Sample::default()
            });
        }
    }
}

impl Drop for Exchanges {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

/// An exchange that waits to be settled.
#[derive(Clone, Copy)]
struct Waiting {
    device: usize,
    sequence: u32,
    exchange: Exchange,
}

/// Fits clocks and records both ways.
pub(super) struct Clerk {
    ring: SampleConsumer,
    over: Arc<AtomicBool>,
    fits: Vec<ClockFit<Vec<FitSlot>>>,
    waiting: Vec<Waiting>,
    /// The first half of an exchange.
    half: Option<Sample>,
    there: SeriesRecorder,
    back: SeriesRecorder,
    facts: OneWayFacts,
}

/// What the clerk found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OneWayFacts {
    /// Exchanges of which both ways were recorded.
    pub(super) settled: u64,
    /// Exchanges of which nothing is known: a clock stepped, or stamps contradict each other.
    pub(super) unsettled: u64,
    /// No recorded way is farther from the truth than this, in ns.
    pub(super) error_ns: u64,
}

/// Both ends, for so many devices whose clocks count in steps of `device_resolution_ns`.
pub(super) fn one_way(
    devices: usize,
    device_resolution_ns: u64,
    [there, back]: [SeriesRecorder; 2],
) -> (Exchanges, Clerk) {
    let (producer, consumer) = samples::ring(CAPACITY);
    let over = Arc::new(AtomicBool::new(false));
    let options = Options {
        device_resolution_ns,
        ..Options::default()
    };
    let fit = || ClockFit::over(vec![FitSlot::default(); WINDOWS], options);
    let clerk = Clerk {
        ring: consumer,
        over: Arc::clone(&over),
        fits: (0..devices).map(|_| fit()).collect(),
        waiting: Vec::new(),
        half: None,
        there,
        back,
        facts: OneWayFacts::default(),
    };
    let exchanges = Exchanges {
        ring: producer,
        over,
    };
    (exchanges, clerk)
}

impl Clerk {
    /// Works until the receiving thread has ended and everything is settled.
    pub(super) fn run(mut self) -> OneWayFacts {
        loop {
            // Read before the ring: what was told before the end is there then.
            let over = self.over.load(Ordering::Acquire);
            self.take();
            if over || self.spans() >= SETTLED_TOGETHER_NS {
                self.settle();
            }
            if over {
                self.facts.unsettled += self.ring.dropped();
                return self.facts;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn take(&mut self) {
        while let Some(sample) = self.ring.pop() {
            match self.half.take() {
                Some(first) if first.sequence == sample.sequence => self.enter(&first, &sample),
                _ => self.half = Some(sample),
            }
        }
    }

    fn enter(&mut self, first: &Sample, second: &Sample) {
        let device = (first.sequence >> 32) as usize;
        let exchange = Exchange {
            sent_ns: first.intended_ns.cast_unsigned(),
            received_ns: first.actual_ns.cast_unsigned(),
            device: DeviceStamps {
                received_ns: first.value_ns.cast_unsigned(),
                transmitted_ns: second.value_ns.cast_unsigned(),
            },
        };
        let Some(fit) = self.fits.get_mut(device) else {
            return;
        };
        if fit.observe(&exchange).is_err() {
            self.facts.unsettled += 1;
            return;
        }
        self.waiting.push(Waiting {
            device,
            sequence: (first.sequence & u64::from(u32::MAX)) as u32,
            exchange,
        });
    }

    /// From the first exchange that waits to the last.
    fn spans(&self) -> u64 {
        let first = self.waiting.first().map(|it| it.exchange.sent_ns);
        let last = self.waiting.last().map(|it| it.exchange.sent_ns);
        last.zip(first)
            .map_or(0, |(last, first)| last.saturating_sub(first))
    }

    fn settle(&mut self) {
        let Some(last) = self.waiting.last() else {
            return;
        };
        let middle = last.exchange.sent_ns - self.spans() / 2;
        let bounds: Vec<_> = self.fits.iter().map(|fit| fit.bounds_at(middle)).collect();
        for it in self.waiting.drain(..) {
            let Some(Ok(bounds)) = bounds.get(it.device) else {
                self.facts.unsettled += 1;
                continue;
            };
            let ways = bounds.one_way(&it.exchange);
            let sample = |value_ns: i64| Sample {
                sequence: it.sequence.into(),
                intended_ns: it.exchange.sent_ns.cast_signed(),
                actual_ns: it.exchange.received_ns.cast_signed(),
                value_ns,
            };
            self.there.record(sample(ways.there.value_ns));
            self.back.record(sample(ways.back.value_ns));
            self.facts.settled += 1;
            let error = ways.there.error_ns.max(ways.back.error_ns);
            self.facts.error_ns = self.facts.error_ns.max(error);
        }
        for (fit, bounds) in self.fits.iter_mut().zip(&bounds) {
            if bounds.is_err() {
                // The clock stepped: what was seen before says nothing of it now.
                fit.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use kadenz_record::run::folder::{RunReader, RunWriter, SeriesSpec};
    use kadenz_record::run::model::{EndedBy, Kind, Run, Series};
    use kadenz_udp::controller::{Order, Timing};

    use super::*;

    /// An exchange of 30 us there and 50 us back, plus up to 40 us of queueing, with a device whose
    /// clock is `ahead_ns` ahead and runs 20 ppm fast.
    fn reply(sequence: u32, ahead_ns: u64) -> Reply {
        let sent_ns = u64::from(sequence) * 10_000_000;
        let queued = u64::from(sequence.wrapping_mul(2_654_435_761) >> 16) % 40_000;
        let there = 30_000 + queued;
        let device = |at: u64| at + at / 50_000 + ahead_ns;
        let received_ns = sent_ns + there + 5_000 + 50_000;
        Reply {
            device: 0,
            sequence,
            intended_ns: sent_ns.cast_signed(),
            sent_ns: sent_ns.cast_signed(),
            received_ns: received_ns.cast_signed(),
            timing: Timing::InTime,
            order: Order::InOrder,
            device_stamps: Some(DeviceStamps {
                received_ns: device(sent_ns + there),
                transmitted_ns: device(sent_ns + there + 5_000),
            }),
            place: Some(0),
            completes: true,
        }
    }

    /// Plays these replies; what the clerk found, and the recorded ways there and back.
    fn played(replies: impl Iterator<Item = Reply>) -> (OneWayFacts, [Vec<i64>; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let mut run = RunWriter::create(&out, Run::default()).unwrap();
        let mut series = |name: &str| {
            let series = Series {
                name: name.to_owned(),
                kind: Kind::Latency,
                ..Series::default()
            };
            run.series(SeriesSpec { series, raw: true }).unwrap()
        };
        let recorders = [series("there"), series("back")];
        let running = run.start(Duration::from_millis(50)).unwrap();
        let (mut exchanges, clerk) = one_way(1, 1, recorders);
        replies.for_each(|reply| exchanges.tell(&reply));
        drop(exchanges);
        let facts = clerk.run();
        running.finish(EndedBy::Finished).unwrap();
        let reader = RunReader::open(&out).unwrap();
        let values = ["there", "back"].map(|name| {
            let mut values: Vec<i64> = Vec::new();
            let mut samples = reader.samples(name).unwrap();
            let take = |some: &[i64]| values.extend_from_slice(some);
            samples.for_each_value(take).unwrap();
            values
        });
        (facts, values)
    }

    #[test]
    fn both_ways_are_true_within_the_stated_error() {
        let (facts, [there, back]) = played((1..3000).map(|n| reply(n, 5_000_000_000)));
        assert_eq!((facts.settled, facts.unsettled), (2999, 0));
        // Half of the shortest way there and back, and what nobody knows of the drift.
        assert!((40_000..80_000).contains(&facts.error_ns), "{facts:?}");
        for (at, value) in there.iter().enumerate() {
            let sequence = at as u32 + 1;
            let queued = i64::from(sequence.wrapping_mul(2_654_435_761) >> 16) % 40_000;
            assert!(
                value.abs_diff(30_000 + queued) <= facts.error_ns,
                "{at}: {value}"
            );
        }
        assert!(back.iter().all(|it| it.abs_diff(50_000) <= facts.error_ns));
    }

    #[test]
    fn a_clock_that_steps_is_not_averaged_over() {
        let stepping = (1..2000).map(|n| reply(n, if n < 1000 { 0 } else { 3_000_000_000 }));
        let (facts, [there, _]) = played(stepping);
        assert_eq!(facts.settled + facts.unsettled, 1999);
        assert!(facts.unsettled > 0, "{facts:?}");
        assert_eq!(there.len() as u64, facts.settled);
    }
}
