//! How long each way took, with a bound on the error: an estimator beside the measuring threads.
//!
//! The receiving thread passes every exchange through kadenz-record's ring. The estimator, an ordinary thread, fits
//! each device's clock ([`kadenz_udp::clock_fit`]) and records both ways once enough is known, some seconds later;
//! samples still carry the time of the exchange.
//!
//! Synchronised clocks are trusted as far as the exchanges do not contradict that
//! ([`kadenz_udp::clock_fit::Agreement`]). Readings of both clocks convert the claim about wall clocks to the run's
//! time ([`WallClockOffset`]). A device whose clock is proved to differ by more than claimed is fitted from then on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::samples::{self, Sample, SampleConsumer, SampleProducer};
use kadenz_rt::clock::ClockPair;
use kadenz_udp::clock_fit::{
    Agreement, Bounds, ClockFit, Exchange, FitSlot, OneWay, Options, Span,
};
use kadenz_udp::wire::DeviceStamps;

use super::packet_counts::ProbeReply;
use super::trust::WallClockOffset;

/// Samples in the ring, two per exchange: half a minute at 1 kHz, a second of 40 devices at that.
const CAPACITY: usize = 1 << 17;
/// Windows of a second that are kept for a fit.
const WINDOWS: usize = 64;
/// One fit settles the exchanges of this time.
const SETTLED_TOGETHER_NS: u64 = 16_000_000_000;
/// How often the estimator reads the ring.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The receiving thread's end.
pub(super) struct Exchanges {
    ring: SampleProducer,
    over: Arc<AtomicBool>,
}

impl Exchanges {
    /// Passes on an answer with device stamps; an answer without room is not settled, and counted.
    ///
    /// # Real-time safety
    /// Real-time safe: wait-free, no allocation, no system call.
    pub(super) fn push(&mut self, reply: &ProbeReply) {
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
struct PendingExchange {
    device: usize,
    sequence: u32,
    exchange: Exchange,
    /// How far the device's clock is claimed to be ahead of the run's time.
    claim: Option<Span>,
}

/// Synchronised clocks.
pub(super) struct Synchronised {
    /// Maximum difference of two of them.
    pub(super) apart_ns: u64,
    pub(super) offset: WallClockOffset,
    /// Reads both clocks of this machine.
    pub(super) read: Box<dyn FnMut() -> ClockPair + Send>,
}

impl Synchronised {
    /// How far the device's clock is ahead of the run's time during an exchange, if the claim holds.
    fn claim(&self, sent_ns: i64) -> Option<Span> {
        let offset = self.offset.since(sent_ns)?;
        Some(Span {
            lowest: offset.lowest - i128::from(self.apart_ns),
            highest: offset.highest + i128::from(self.apart_ns),
        })
    }
}

/// Fits clocks and records both ways.
pub(super) struct OneWayEstimator {
    ring: SampleConsumer,
    over: Arc<AtomicBool>,
    options: Options,
    fits: Vec<ClockFit<Vec<FitSlot>>>,
    synchronised: Option<Synchronised>,
    /// Devices whose clocks are not as claimed.
    refuted: Vec<bool>,
    waiting: Vec<PendingExchange>,
    /// The first half of an exchange.
    half: Option<Sample>,
    there: SeriesRecorder,
    back: SeriesRecorder,
    facts: OneWayFacts,
}

/// Results of the estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OneWayFacts {
    /// Exchanges of which both ways were recorded.
    pub(super) settled: u64,
    /// Exchanges that cannot be settled: a clock stepped, or stamps contradict each other.
    pub(super) unsettled: u64,
    /// No recorded way is farther from the truth than this, in ns.
    pub(super) error_ns: u64,
    /// How many of those settled used clocks that are claimed to be synchronised.
    pub(super) by_claim: u64,
    /// Devices whose clocks are not as claimed, and the largest proved excess of one of them.
    pub(super) refuted: u64,
    pub(super) beyond_ns: u64,
}

/// Makes both ends, for this many devices whose clocks count in steps of `device_resolution_ns`.
pub(super) fn one_way(
    devices: usize,
    device_resolution_ns: u64,
    [there, back]: [SeriesRecorder; 2],
) -> (Exchanges, OneWayEstimator) {
    let (producer, consumer) = samples::ring(CAPACITY);
    let over = Arc::new(AtomicBool::new(false));
    let options = Options {
        device_resolution_ns,
        ..Options::default()
    };
    let fit = || ClockFit::over(vec![FitSlot::default(); WINDOWS], options);
    let estimator = OneWayEstimator {
        ring: consumer,
        over: Arc::clone(&over),
        options,
        fits: (0..devices).map(|_| fit()).collect(),
        synchronised: None,
        refuted: vec![false; devices],
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
    (exchanges, estimator)
}

impl OneWayEstimator {
    /// Trusts the claim that the clocks are synchronised.
    pub(super) fn believe(&mut self, synchronised: Synchronised) {
        self.synchronised = Some(synchronised);
    }

    /// Works until the receiving thread has ended and everything is settled.
    pub(super) fn run(mut self) -> OneWayFacts {
        loop {
            // Read before the ring: every exchange before the end is there then.
            let over = self.over.load(Ordering::Acquire);
            self.take();
            if over || self.spans() >= SETTLED_TOGETHER_NS {
                self.settle();
            }
            if over {
                self.facts.unsettled += self.ring.dropped();
                return self.facts;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn take(&mut self) {
        let known = self.waiting.len();
        while let Some(sample) = self.ring.pop() {
            match self.half.take() {
                Some(first) if first.sequence == sample.sequence => self.enter(&first, &sample),
                _ => self.half = Some(sample),
            }
        }
        // Read after the exchanges, so that a step of the wall clock during one of them is noticed.
        if let Some(synchronised) = &mut self.synchronised {
            synchronised.offset.observe((synchronised.read)());
            for it in self.waiting.iter_mut().skip(known) {
                it.claim = synchronised.claim(it.exchange.sent_ns.cast_signed());
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
        self.waiting.push(PendingExchange {
            device,
            sequence: (first.sequence & u64::from(u32::MAX)) as u32,
            exchange,
            claim: None,
        });
    }

    /// Time from the first waiting exchange to the last.
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
        let bounds: Vec<Option<Bounds>> = bounds.into_iter().map(Result::ok).collect();
        self.check_claims(&bounds);
        let waiting = std::mem::take(&mut self.waiting);
        for it in &waiting {
            let fitted = bounds.get(it.device).copied().flatten();
            let claimed = self.by_claim(it, fitted.as_ref());
            let ways = claimed.or_else(|| fitted.map(|fit| fit.one_way(&it.exchange)));
            match ways {
                Some(ways) => self.record(it, ways),
                None => self.facts.unsettled += 1,
            }
            self.facts.by_claim += u64::from(claimed.is_some());
        }
        for (fit, bounds) in self.fits.iter_mut().zip(&bounds) {
            if bounds.is_none() {
                // The clock stepped: earlier exchanges no longer apply.
                fit.forget();
            }
        }
    }

    /// Checks for devices whose clocks are not as claimed: from now on they are fitted.
    fn check_claims(&mut self, bounds: &[Option<Bounds>]) {
        for it in &self.waiting {
            let Some(claim) = it.claim.filter(|_| !self.refuted[it.device]) else {
                continue;
            };
            let fitted = bounds.get(it.device).and_then(Option::as_ref);
            let claim = Agreement::new(claim, self.options);
            if let Err(contradicted) = claim.one_way(&it.exchange, fitted) {
                self.refuted[it.device] = true;
                self.facts.refuted += 1;
                self.facts.beyond_ns = self.facts.beyond_ns.max(contradicted.apart_ns);
            }
        }
    }

    /// How long each way took by clocks that are claimed to be synchronised.
    fn by_claim(&self, it: &PendingExchange, fitted: Option<&Bounds>) -> Option<OneWay> {
        let claim = it.claim.filter(|_| !self.refuted[it.device])?;
        let claim = Agreement::new(claim, self.options);
        claim.one_way(&it.exchange, fitted).ok()
    }

    fn record(&mut self, it: &PendingExchange, ways: OneWay) {
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
}

#[cfg(test)]
mod tests;
