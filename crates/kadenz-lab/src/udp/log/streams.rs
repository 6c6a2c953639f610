//! The streams and devices behind measurements. Sans-IO: it takes measurements, and returns the place of their values.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use kadenz_record::run::network::Flow;
use kadenz_record::samples::Sample;
use kadenz_udp::controller::{Arrival, DeviceKey, TrackWord, Tracker};
use kadenz_udp::record::{Batch, BatchTracker, Measurement, Outcome};
use kadenz_udp::wire::{RunId, Sequence};

/// Batches of a stream that may be out of order.
const REORDER_WINDOW_WORDS: usize = 64;
/// Packets to a device whose measurements may be out of order.
const WINDOW_WORDS: usize = 64;
/// Packets a second to one device, and batches a second of one stream, at most: since a stream was welcomed, and
/// [`GRACE`] before, no more can have been sent. A gap that stands for more is ignored.
const MAX_PACKETS_PER_S: u64 = 100_000;
const MAX_BATCHES_PER_S: u64 = 10_000;
/// A stream may have measured for this long before it was welcomed.
const GRACE: Duration = Duration::from_secs(1);
/// Where there is no room for another stream, one that was silent for this long makes room.
const SILENCE: Duration = Duration::from_secs(10);
/// Streams that made room are kept for the case that they come back: this many times as many as there is room for.
const KEPT_STREAMS_FACTOR: usize = 4;

/// A controller's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StreamKey {
    from: SocketAddr,
    run: u32,
}

/// The state of a controller's run.
#[derive(Debug)]
struct Stream {
    tracker: BatchTracker<Vec<TrackWord>>,
    welcomed_ns: i64,
    heard_ns: i64,
    /// Offset from the controller's clock to the server's, from the first batch: it includes that batch's latency.
    offset_ns: Option<i64>,
}

/// A device of a stream.
#[derive(Debug)]
struct DeviceStream {
    address: DeviceKey,
    stream: StreamKey,
    /// The number of its stream among those that have devices.
    number: usize,
    tracker: Tracker<Vec<TrackWord>>,
    /// Whether it has answered: a device that never did has counts, and no series.
    has_answered: bool,
}

/// Result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeasuredSample {
    /// The device's place; `None` where there was no more room for one.
    pub(super) place: Option<usize>,
    /// Whether it is the device's first.
    pub(super) new: bool,
    /// Round trip.
    pub(super) rtt: Sample,
    /// From the beat to the answer.
    pub(super) response: Sample,
}

/// Limits of the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) streams: usize,
    pub(super) devices: usize,
}

/// All streams and devices.
#[derive(Debug)]
pub(super) struct Streams {
    bounds: Bounds,
    streams: BTreeMap<StreamKey, Stream>,
    /// Streams that made room for others.
    set_aside: BTreeMap<StreamKey, Stream>,
    places: BTreeMap<(StreamKey, DeviceKey), usize>,
    devices: Vec<DeviceStream>,
    /// Streams that have devices.
    with_devices: usize,
    /// Streams that have announced their end.
    ended: usize,
    /// Batches that never came, of streams that have been forgotten; `None` before there was one.
    lost_of_forgotten: Option<u64>,
    /// How often a controller was refused.
    pub(super) refused: u64,
    /// Batches of streams that were not welcomed.
    pub(super) strange: u64,
}

/// The stream of a batch, and the offset from its controller's clock to the run's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchContext {
    stream: StreamKey,
    offset_ns: i64,
    /// How long its stream may have measured.
    age: Duration,
}

/// Classification of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) enum BatchOutcome {
    /// Its stream is unknown: the sender address may be forged.
    Strange,
    /// It came before.
    Again,
    /// It contradicts earlier batches, or is so late that it may be a repeated one.
    Unusable,
    /// Its measurements are new.
    New(BatchContext),
}

impl Streams {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            streams: BTreeMap::new(),
            set_aside: BTreeMap::new(),
            places: BTreeMap::new(),
            devices: Vec::with_capacity(bounds.devices),
            with_devices: 0,
            ended: 0,
            lost_of_forgotten: None,
            refused: 0,
            strange: 0,
        }
    }

    /// Welcomes a stream that has shown that it receives at its address; false where there is no room. A stream that
    /// was silent for a while makes room for it, first of all one that has ended.
    pub(super) fn welcome(&mut self, from: SocketAddr, run: RunId, now_ns: i64) -> bool {
        let key = StreamKey { from, run: run.0 };
        if self.streams.contains_key(&key) {
            return true;
        }
        if self.streams.len() >= self.bounds.streams && !self.evict(now_ns) {
            self.refused += 1;
            return false;
        }
        // A stream that comes back continues where it was.
        let known = self.set_aside.remove(&key);
        let stream = known.unwrap_or_else(|| Stream {
            tracker: BatchTracker::over(vec![TrackWord::default(); REORDER_WINDOW_WORDS], run),
            welcomed_ns: now_ns,
            heard_ns: now_ns,
            offset_ns: None,
        });
        let heard_ns = now_ns;
        self.streams.insert(key, Stream { heard_ns, ..stream });
        true
    }

    /// Sets aside the stream that needs its place least, if there is one.
    fn evict(&mut self, now_ns: i64) -> bool {
        let silent = self.streams.iter();
        let silent = silent.filter(|(_, stream)| since(stream.heard_ns, now_ns) >= SILENCE);
        let idlest = silent.min_by_key(|(_, it)| (!it.tracker.knows_end(), it.heard_ns));
        let idlest = idlest.map(|(key, _)| *key);
        let Some((key, stream)) = idlest.and_then(|key| self.streams.remove_entry(&key)) else {
            return false;
        };
        if self.set_aside.len() >= self.bounds.streams * KEPT_STREAMS_FACTOR {
            self.forget();
        }
        self.set_aside.insert(key, stream);
        true
    }

    /// Forgets the set-aside stream that has been silent for longest.
    fn forget(&mut self) {
        let idlest = self.set_aside.iter();
        let idlest = idlest.min_by_key(|(_, it)| it.heard_ns);
        let idlest = idlest.map(|(key, _)| *key);
        if let Some(stream) = idlest.and_then(|key| self.set_aside.remove(&key)) {
            *self.lost_of_forgotten.get_or_insert(0) += stream.tracker.finish().lost;
        }
    }

    /// Enters a batch that came at `now_ns` of the server's run.
    pub(super) fn enter(
        &mut self,
        from: SocketAddr,
        batch: &Batch<'_>,
        now_ns: i64,
    ) -> BatchOutcome {
        let RunId(run) = batch.run();
        let key = StreamKey { from, run };
        let Some(stream) = self.streams.get_mut(&key) else {
            self.strange += 1;
            return BatchOutcome::Strange;
        };
        stream.heard_ns = now_ns;
        let age = since(stream.welcomed_ns, now_ns) + GRACE;
        let sent = stream.tracker.counts().sent;
        let most = match (sent, self.lost_of_forgotten) {
            // It may be a forgotten stream, whose first batches came long ago.
            (0, Some(_)) => 0,
            _ => most_in(age, MAX_BATCHES_PER_S).saturating_sub(sent),
        };
        let had_ended = stream.tracker.knows_end();
        let arrival = stream.tracker.arrived(batch, most);
        self.ended += usize::from(!had_ended && stream.tracker.knows_end());
        if !matches!(arrival, Arrival::First { .. }) {
            return match arrival {
                Arrival::Duplicate => BatchOutcome::Again,
                _ => BatchOutcome::Unusable,
            };
        }
        let offset = now_ns.saturating_sub(batch.stamp().0.cast_signed());
        BatchOutcome::New(BatchContext {
            stream: key,
            offset_ns: *stream.offset_ns.get_or_insert(offset),
            age,
        })
    }

    /// Enters a measurement of a batch.
    pub(super) fn take(
        &mut self,
        place: BatchContext,
        measured: &Measurement,
    ) -> Option<MeasuredSample> {
        let device = self.device(place.stream, measured.device);
        let mut seen = device.and_then(|at| self.devices.get_mut(at));
        if let Some(seen) = &mut seen {
            seen.expect(measured.sequence, place.age);
        }
        let Outcome::Answered { received_ns, .. } = measured.outcome else {
            return None;
        };
        let new = seen.is_some_and(|seen| {
            let round_trip_ns = received_ns.saturating_sub(measured.sent_ns);
            seen.tracker.received(measured.sequence, round_trip_ns);
            !std::mem::replace(&mut seen.has_answered, true)
        });
        let received_ns = received_ns.cast_signed();
        let since = |begin_ns: u64| Sample {
            sequence: measured.sequence.0.into(),
            intended_ns: begin_ns.cast_signed().saturating_add(place.offset_ns),
            actual_ns: received_ns.saturating_add(place.offset_ns),
            value_ns: received_ns.saturating_sub(begin_ns.cast_signed()),
        };
        Some(MeasuredSample {
            place: device,
            new,
            rtt: since(measured.sent_ns),
            response: since(measured.intended_ns),
        })
    }

    /// The place of a device, which is made where it is new and there is room. A stream that was forgotten and welcomed
    /// again finds its devices.
    fn device(&mut self, stream: StreamKey, address: DeviceKey) -> Option<usize> {
        if let Some(known) = self.places.get(&(stream, address)) {
            return Some(*known);
        }
        let place = self.devices.len();
        if place >= self.bounds.devices {
            return None;
        }
        let brother = self.devices.iter().find(|seen| seen.stream == stream);
        let number = brother.map_or(self.with_devices, |seen| seen.number);
        self.with_devices = self.with_devices.max(number + 1);
        self.places.insert((stream, address), place);
        self.devices.push(DeviceStream {
            address,
            stream,
            number,
            tracker: Tracker::over(vec![TrackWord::default(); WINDOW_WORDS], u64::MAX),
            has_answered: false,
        });
        Some(place)
    }

    /// The name of a device: its address, with its stream's number where there are several.
    pub(super) fn name(&self, place: usize) -> String {
        let Some(seen) = self.devices.get(place) else {
            return String::new();
        };
        let address = super::super::discover::address_as_name(seen.address.into());
        match seen.number {
            0 => address,
            number => format!("{address}_{}", number + 1),
        }
    }

    /// How many streams have announced their end.
    pub(super) fn ended(&self) -> usize {
        self.ended
    }

    /// Batches that never came.
    pub(super) fn lost_batches(&self) -> u64 {
        let lost = |stream: &Stream| stream.tracker.clone().finish().lost;
        let known = self.streams.values().chain(self.set_aside.values());
        self.lost_of_forgotten.unwrap_or(0) + known.map(lost).sum::<u64>()
    }

    /// Counts of the packets of each device, as far as they were reported.
    pub(super) fn flows(&self) -> Vec<Flow> {
        let flow = |(place, seen): (usize, &DeviceStream)| {
            let counts = seen.tracker.clone().finish();
            Flow {
                device: self.name(place),
                address: seen.address.to_string(),
                sent: counts.sent,
                answered: counts.in_time,
                lost: counts.lost,
                duplicates: counts.duplicates,
                reordered: counts.reordered,
                late: counts.too_old,
                longest_loss: counts.longest_loss,
                // A controller with broadcasts has the places in its own run.
                places: None,
            }
        };
        self.devices.iter().enumerate().map(flow).collect()
    }
}

impl DeviceStream {
    /// Takes a sequence number that was sent: the numbers between the last and this one were sent as well, and are lost
    /// unless they follow.
    fn expect(&mut self, sequence: Sequence, age: Duration) {
        let sent = self.tracker.counts().sent;
        let most = match sent {
            0 => 0,
            sent => most_in(age, MAX_PACKETS_PER_S).saturating_sub(sent),
        };
        self.tracker.expect_through(sequence, most);
    }
}

/// How many events of a rate fit into a span.
fn most_in(span: Duration, per_second: u64) -> u64 {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    millis.saturating_mul(per_second / 1000)
}

/// Time since a time of the run.
fn since(earlier_ns: i64, now_ns: i64) -> Duration {
    let passed = now_ns.saturating_sub(earlier_ns);
    Duration::from_nanos(u64::try_from(passed).unwrap_or(0))
}

#[cfg(test)]
mod tests;
