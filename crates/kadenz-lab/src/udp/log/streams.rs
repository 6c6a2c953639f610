//! What comes from whom. Sans-IO: it is given measurements, and says where their values go.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use kadenz_record::run::network::Flow;
use kadenz_record::samples::Sample;
use kadenz_udp::controller::{Arrival, DeviceKey, TrackWord, Tracker};
use kadenz_udp::record::{Batch, Ledger, Measurement, Outcome};
use kadenz_udp::wire::{RunId, Sequence};

/// Batches of a stream that may be out of order.
const LEDGER_WORDS: usize = 64;
/// Packets to a device whose measurements may be out of order.
const WINDOW_WORDS: usize = 64;
/// Packets in a row of which nothing was heard, beyond which a number is not believed to be the next.
const LONGEST_GAP: i32 = 1 << 20;

/// A controller's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StreamKey {
    from: SocketAddr,
    run: u32,
}

/// A controller's run, and what of it came.
#[derive(Debug)]
struct Stream {
    ledger: Ledger<Vec<TrackWord>>,
    number: usize,
    /// From the controller's clock to the server's: as of the first batch, so that the batch's way
    /// is in it.
    offset_ns: i64,
}

/// A device of a stream.
#[derive(Debug)]
struct Seen {
    address: DeviceKey,
    stream: usize,
    tracker: Tracker<Vec<TrackWord>>,
    last: Option<Sequence>,
}

/// What a measurement gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// The device's place; `None` where there was no more room for one.
    pub(super) place: Option<usize>,
    /// Whether the device has not been heard before.
    pub(super) new: bool,
    /// Round trip.
    pub(super) rtt: Sample,
    /// From the beat to the answer.
    pub(super) response: Sample,
}

/// How much is remembered.
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
    places: BTreeMap<(usize, DeviceKey), usize>,
    devices: Vec<Seen>,
    /// Batches of streams that found no place.
    pub(super) crowded_out: u64,
    /// Batches that had come before, or contradict what came.
    pub(super) repeated: u64,
}

/// Where a batch belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    stream: usize,
    offset_ns: i64,
}

impl Streams {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            streams: BTreeMap::new(),
            places: BTreeMap::new(),
            devices: Vec::with_capacity(bounds.devices),
            crowded_out: 0,
            repeated: 0,
        }
    }

    /// Enters a batch that came at `now_ns` of the server's run; nothing if it holds nothing new.
    pub(super) fn enter(
        &mut self,
        from: SocketAddr,
        batch: &Batch<'_>,
        now_ns: i64,
    ) -> Option<Place> {
        let RunId(run) = batch.run();
        let key = StreamKey { from, run };
        let number = self.streams.len();
        if number >= self.bounds.streams && !self.streams.contains_key(&key) {
            self.crowded_out += 1;
            return None;
        }
        let stream = self.streams.entry(key).or_insert_with(|| Stream {
            ledger: Ledger::over(vec![TrackWord::default(); LEDGER_WORDS], batch.run()),
            number,
            offset_ns: now_ns.saturating_sub(batch.stamp().0.cast_signed()),
        });
        let place = Place {
            stream: stream.number,
            offset_ns: stream.offset_ns,
        };
        let new = matches!(stream.ledger.arrived(batch), Arrival::First { .. });
        self.repeated += u64::from(!new);
        new.then_some(place)
    }

    /// Enters a measurement of a batch.
    pub(super) fn take(&mut self, place: Place, measured: &Measurement) -> Option<Taken> {
        let Outcome::Answered { received_ns, .. } = measured.outcome else {
            return None;
        };
        let (device, new) = self.device(place.stream, measured.device);
        if let Some(seen) = device.and_then(|at| self.devices.get_mut(at)) {
            seen.heard(
                measured.sequence,
                received_ns.saturating_sub(measured.sent_ns),
            );
        }
        let received_ns = received_ns.cast_signed();
        let since = |begin_ns: u64| Sample {
            sequence: measured.sequence.0.into(),
            intended_ns: begin_ns.cast_signed().saturating_add(place.offset_ns),
            actual_ns: received_ns.saturating_add(place.offset_ns),
            value_ns: received_ns.saturating_sub(begin_ns.cast_signed()),
        };
        Some(Taken {
            place: device,
            new,
            rtt: since(measured.sent_ns),
            response: since(measured.intended_ns),
        })
    }

    /// The place of a device, which is made where it is new and there is room.
    fn device(&mut self, stream: usize, address: DeviceKey) -> (Option<usize>, bool) {
        if let Some(known) = self.places.get(&(stream, address)) {
            return (Some(*known), false);
        }
        let place = self.devices.len();
        if place >= self.bounds.devices {
            return (None, false);
        }
        self.places.insert((stream, address), place);
        self.devices.push(Seen {
            address,
            stream,
            tracker: Tracker::over(vec![TrackWord::default(); WINDOW_WORDS], u64::MAX),
            last: None,
        });
        (Some(place), true)
    }

    /// The name of a device: its address, with its stream's number where there are several.
    pub(super) fn name(&self, place: usize) -> String {
        let Some(seen) = self.devices.get(place) else {
            return String::new();
        };
        let address = super::super::discover::address_as_name(seen.address.into());
        match seen.stream {
            0 => address,
            stream => format!("{address}_{}", stream + 1),
        }
    }

    /// How many streams have told their end.
    pub(super) fn ended(&self) -> usize {
        let ended = self
            .streams
            .values()
            .filter(|stream| stream.ledger.knows_end());
        ended.count()
    }

    /// How many streams there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Batches that never came.
    pub(super) fn lost_batches(&self) -> u64 {
        let lost = |stream: &Stream| stream.ledger.clone().finish().lost;
        self.streams.values().map(lost).sum()
    }

    /// What became of the packets of each device, as far as it was told.
    pub(super) fn flows(&self) -> Vec<Flow> {
        let flow = |(place, seen): (usize, &Seen)| {
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
                // Who asked by broadcasts has them in its own run.
                places: None,
            }
        };
        self.devices.iter().enumerate().map(flow).collect()
    }
}

impl Seen {
    /// Numbers between the last and this one were sent as well; they are lost unless they follow.
    fn heard(&mut self, sequence: Sequence, round_trip_ns: u64) {
        let ahead = self.last.map_or(1, |last| sequence.distance_from(last));
        if (1..=LONGEST_GAP).contains(&ahead) {
            let mut next = self.last.map_or(sequence, Sequence::next);
            while next != sequence {
                let _ = self.tracker.expect(next);
                next = next.next();
            }
            let _ = self.tracker.expect(sequence);
            self.last = Some(sequence);
        }
        self.tracker.received(sequence, round_trip_ns);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use kadenz_udp::record::{Batcher, Position};
    use kadenz_udp::wire::{Packet, Stamp};

    use super::*;

    const FROM: &str = "10.0.0.1:4000";

    fn measured(device: u8, sequence: u32) -> Measurement {
        let sent_ns = u64::from(sequence) * 1_000_000;
        Measurement {
            device: SocketAddr::from(([10, 0, 0, device], 6176)).into(),
            sequence: Sequence(sequence),
            intended_ns: sent_ns - 4_000,
            sent_ns,
            outcome: Outcome::Answered {
                received_ns: sent_ns + 200_000,
                device: None,
            },
        }
    }

    /// Feeds one batch of these measurements; what was taken of it.
    fn feed(
        streams: &mut Streams,
        batcher: &mut Batcher<Vec<u8>>,
        all: &[Measurement],
    ) -> Vec<Taken> {
        for one in all {
            batcher.push(one).unwrap();
        }
        let bytes = batcher.finish(Stamp(5_000_000), Position::Last).to_vec();
        let packet = Packet::parse(&bytes).unwrap();
        let batch = Batch::read(&packet).unwrap();
        let Some(place) = streams.enter(FROM.parse().unwrap(), &batch, 7_000_000) else {
            return Vec::new();
        };
        let taken = batch
            .measurements()
            .filter_map(|it| streams.take(place, &it));
        taken.collect()
    }

    fn batcher(run: u32) -> Batcher<Vec<u8>> {
        Batcher::over(vec![0; 1400], RunId(run), None).unwrap()
    }

    fn streams(streams: usize, devices: usize) -> Streams {
        Streams::new(Bounds { streams, devices })
    }

    #[test]
    fn values_are_the_sender_s_and_times_the_server_s() {
        let mut streams = streams(4, 4);
        let taken = feed(
            &mut streams,
            &mut batcher(1),
            &[measured(5, 1), measured(5, 2)],
        );
        assert_eq!((taken[0].new, taken[1].new), (true, false));
        assert_eq!(taken[0].rtt.value_ns, 200_000);
        assert_eq!(taken[0].response.value_ns, 204_000);
        // The server's clock was 2 ms ahead when the first batch came.
        assert_eq!(taken[0].rtt.actual_ns, 1_200_000 + 2_000_000);
        assert_eq!(streams.name(0), "10.0.0.5");
    }

    #[test]
    fn what_was_not_heard_of_is_lost() {
        let mut streams = streams(4, 4);
        feed(
            &mut streams,
            &mut batcher(1),
            &[measured(5, 1), measured(5, 4), measured(5, 2)],
        );
        let flow = &streams.flows()[0];
        assert_eq!(
            (flow.sent, flow.answered, flow.lost, flow.reordered),
            (4, 3, 1, 1)
        );
    }

    #[test]
    fn nobody_can_take_more_than_there_is() {
        let mut streams = streams(2, 3);
        let all: Vec<Measurement> = (1..=9).map(|device| measured(device, 1)).collect();
        let mut taken = 0;
        for run in 0..50 {
            taken += feed(&mut streams, &mut batcher(run), &all).len();
        }
        assert_eq!(
            taken, 18,
            "values of two streams, of devices with and without a place"
        );
        assert_eq!((streams.len(), streams.flows().len()), (2, 3));
        assert_eq!(streams.crowded_out, 48);
        feed(&mut streams, &mut batcher(0), &all);
        assert_eq!(streams.repeated, 1, "a batch of this number came before");
    }
}
