//! The thread that acts as all links and switches: it reads the frames that hosts send, and writes the frames that they
//! receive at the times of the fabric.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use kadenz_record::run::folder::SeriesRecorder;
use kadenz_record::run::model::TuningMeasure;
use kadenz_record::samples::Sample;
use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::tap::{Tap, TapWatch};
use kadenz_rt::tuning::{self, Policy, Tuning};

use crate::session;
use crate::stop::Stop;
use crate::testbed::fabric::{Delivery, Fabric, Frame, LaneCounts, Mac};
use crate::testbed::quantity::Picoseconds;
use crate::testbed::topology::Bursts;
use crate::testbed::topology::{Topology, Traffic};
use crate::testbed::wire::{EthernetFrame, Tag};

/// The series of the lateness with which the wire hands frames to their receivers.
pub use kadenz_record::run::testbed::WIRE_ERROR as SERIES;

/// Above every program on the hosts: a late wire delays all of them.
const PRIORITY: u8 = 90;
/// Maximum number of frames under way; as many as large switches hold.
const FRAMES: usize = 8192;
/// The thread spins this long before a frame is due, because a wake-up may be that late.
const SPIN: Duration = Duration::from_micros(60);
/// How soon the thread notices a stop when no frame travels.
const IDLE: Duration = Duration::from_millis(50);
/// Maximum age of the published counts, while no frame is nearly due.
const MAX_AGE: Picoseconds = Picoseconds::from_ns(50_000_000);
/// Frames that one host may send before the thread reads those of the others.
const TURN: usize = 16;
/// IEEE 802's type for local experiments (IEEE 802-2014, clause 9.2.3): kernels ignore it.
const EXPERIMENTAL: [u8; 2] = [0x88, 0xb5];

/// Counts of the wire, for other threads to read.
#[derive(Debug)]
pub(super) struct WireCounters {
    lanes: Vec<[AtomicU64; 8]>,
    no_room: AtomicU64,
    refused: AtomicU64,
}

impl WireCounters {
    pub(super) fn new(topology: &Topology) -> Self {
        let lanes = topology.links.len() * 2;
        Self {
            lanes: std::iter::repeat_with(Default::default)
                .take(lanes)
                .collect(),
            no_room: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    pub(super) fn no_room(&self) -> u64 {
        self.no_room.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The counts of each lane, some milliseconds old.
    pub(super) fn lanes(&self) -> Vec<LaneCounts> {
        let read = |lane: &[AtomicU64; 8]| {
            LaneCounts::from_array(std::array::from_fn(|at| lane[at].load(Ordering::Relaxed)))
        };
        self.lanes.iter().map(read).collect()
    }

    fn publish<T: Clone>(&self, fabric: &Fabric<T>) {
        for (lane, counts) in self.lanes.iter().zip(fabric.counts()) {
            for (to, value) in lane.iter().zip(counts.to_array()) {
                to.store(value, Ordering::Relaxed);
            }
        }
    }
}

/// Parameters of the thread.
pub(super) struct Wire {
    pub(super) topology: Topology,
    pub(super) taps: Vec<Tap>,
    pub(super) recorder: SeriesRecorder,
    pub(super) origin: MonotonicTime,
    pub(super) counters: Arc<WireCounters>,
    pub(super) stop: Stop,
}

impl Wire {
    /// Carries frames until it is stopped.
    ///
    /// After its start it allocates only while the fabric's queues grow to their working size.
    ///
    /// # Errors
    /// An interface is gone.
    pub(super) fn carry(mut self, tuned: &mpsc::SyncSender<Vec<TuningMeasure>>) -> io::Result<()> {
        let applied = tuning::apply(&Tuning {
            policy: policy(),
            lock_memory: true,
            ..Tuning::default()
        });
        let _ = tuned.send(session::measures_of(&applied.measures));
        let taps = std::mem::take(&mut self.taps);
        let mut watch = TapWatch::new(&taps);
        let mut carrier = Carrier::new(&mut self, &taps);
        while !carrier.wire.stop.requested() {
            carrier.deliver();
            let pause = carrier.pause();
            if !pause.is_zero() {
                carrier.publish();
            }
            if watch.wait(pause)? {
                let seen = carrier.now();
                for (host, tap) in watch.readable() {
                    carrier.take(host, tap, seen)?;
                }
            }
        }
        carrier.wire.counters.publish(&carrier.fabric);
        Ok(())
    }
}

/// Real-time where there is another CPU for everything else, because this thread spins while frames travel.
fn policy() -> Policy {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus > 1 {
        Policy::Fifo(PRIORITY)
    } else {
        Policy::Other
    }
}

/// State of the running thread.
struct Carrier<'a> {
    wire: &'a mut Wire,
    taps: &'a [Tap],
    fabric: Fabric<Rc<Bytes>>,
    pool: Pool,
    bursts: Bursts,
    /// The frame of each kind of other traffic, prepared once.
    prepared: Vec<(Traffic, Rc<Bytes>)>,
    delivered: u64,
    published: Picoseconds,
}

impl<'a> Carrier<'a> {
    fn new(wire: &'a mut Wire, taps: &'a [Tap]) -> Self {
        let mut fabric = Fabric::new(&wire.topology);
        fabric.introduce_hosts();
        let traffic = wire.topology.traffic.iter();
        Self {
            taps,
            fabric,
            pool: Pool::new(FRAMES),
            bursts: Bursts::new(&wire.topology),
            prepared: traffic.map(|it| (*it, Rc::new(frame_of(it)))).collect(),
            delivered: 0,
            published: Picoseconds::ZERO,
            wire,
        }
    }

    /// Time since the testbed's start.
    fn now(&self) -> Picoseconds {
        let since = clock::now().since(self.wire.origin);
        Picoseconds::from_ns(u64::try_from(since).unwrap_or(0))
    }

    /// Publishes the counts for other threads now and then, because this takes longer than a frame may be late.
    fn publish(&mut self) {
        let now = self.now();
        if now.since(self.published) >= MAX_AGE {
            self.published = now;
            self.wire.counters.publish(&self.fabric);
        }
    }

    /// Delivers the frames that are due.
    fn deliver(&mut self) {
        let now = self.now();
        while let Some((at, traffic)) = self.bursts.take(now) {
            self.burst(at, &traffic);
        }
        while let Some(delivery) = self.fabric.advance(now) {
            self.hand_over(&delivery);
        }
    }

    /// How long no frame is due; zero when one nearly is.
    fn pause(&self) -> Duration {
        let next = [self.fabric.next_event(), self.bursts.next_time()];
        let Some(next) = next.into_iter().flatten().min() else {
            return IDLE;
        };
        let pause = Duration::from_nanos(next.since(self.now()).as_ns());
        pause.saturating_sub(SPIN).min(IDLE)
    }

    /// Takes the frames that a host has sent; their send time is when the thread noticed them.
    fn take(&mut self, host: usize, tap: &Tap, seen: Picoseconds) -> io::Result<()> {
        for _ in 0..TURN {
            match self.pool.fill(|bytes| tap.receive(bytes))? {
                Filled::Nothing => return Ok(()),
                Filled::With(bytes) => self.send(host, seen, bytes),
                Filled::NoRoom => {
                    // The frame must be read nevertheless, or the thread would never sleep again.
                    let mut nowhere = [0; MAX];
                    if tap.receive(&mut nowhere)?.is_none() {
                        return Ok(());
                    }
                    self.wire.counters.no_room.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, host: usize, at: Picoseconds, content: Rc<Bytes>) {
        let bytes = content.as_slice();
        let mac = |at: usize| {
            bytes
                .get(at..at + 6)
                .and_then(|it| it.try_into().ok())
                .map(Mac)
        };
        let (Some(destination), Some(source)) = (mac(0), mac(6)) else {
            return;
        };
        let length = EthernetFrame::of_bytes(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        let frame = Frame {
            source,
            destination,
            length,
            content,
        };
        self.fabric.send(host, at, frame);
    }

    fn burst(&mut self, at: Picoseconds, traffic: &Traffic) {
        let Some((_, frame)) = self.prepared.iter().find(|(it, _)| it == traffic) else {
            return;
        };
        let frame = frame.clone();
        for _ in 0..traffic.packets {
            self.send(traffic.from, at, frame.clone());
        }
    }

    /// Writes a frame to its receiver as an interface would accept it: not frames for others.
    fn hand_over(&mut self, delivery: &Delivery<Rc<Bytes>>) {
        let to = delivery.frame.destination;
        if !to.is_group() && to != Mac::of_host(delivery.host) {
            return;
        }
        let actual = clock::now();
        if self.taps[delivery.host]
            .send(delivery.frame.content.as_slice())
            .is_err()
        {
            self.wire.counters.refused.fetch_add(1, Ordering::Relaxed);
        }
        let actual_ns = actual.since(self.wire.origin);
        let intended_ns = i64::try_from(delivery.at.as_ns()).unwrap_or(i64::MAX);
        self.wire.recorder.record(Sample {
            sequence: self.delivered,
            intended_ns,
            actual_ns,
            value_ns: actual_ns - intended_ns,
        });
        self.delivered += 1;
    }
}

/// A frame as long as one with this payload, which the receiver's kernel ignores.
fn frame_of(traffic: &Traffic) -> Bytes {
    let length = traffic.payload.frames(Tag::None).next();
    let length = length.map_or(0, |frame| frame.bytes() as usize - 4);
    let mut bytes = Mac::of_host(traffic.to).0.to_vec();
    bytes.extend(Mac::of_host(traffic.from).0);
    bytes.extend(EXPERIMENTAL);
    bytes.resize(length, 0);
    Bytes::of(&bytes)
}

// Room for frames that are under way, allocated once.

/// The longest frame that a tap gives with an MTU of 1500: 14 bytes of header, 4 of a tag.
pub(super) const MAX: usize = 1518;

/// A frame's bytes.
#[derive(Debug)]
pub(super) struct Bytes {
    bytes: [u8; MAX],
    length: usize,
}

impl Bytes {
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// A frame of other traffic, from its bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut all = [0; MAX];
        let length = bytes.len().min(MAX);
        all[..length].copy_from_slice(&bytes[..length]);
        Self { bytes: all, length }
    }
}

/// Frames, each reused once no lane holds it: always the first free one, which the processor's cache probably still
/// holds.
#[derive(Debug)]
pub(super) struct Pool(Vec<Rc<Bytes>>);

impl Pool {
    /// Allocates room for this many frames.
    pub(super) fn new(count: usize) -> Self {
        let frame = || Rc::new(Bytes::of(&[]));
        Self(std::iter::repeat_with(frame).take(count).collect())
    }

    /// Fills a free frame; `None` when all are in use, or when there is nothing to fill it with.
    ///
    /// # Real-time safety
    /// It allocates nothing.
    pub(super) fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Result<Option<usize>, E>,
    ) -> Result<Filled, E> {
        let free = self.0.iter_mut().find(|frame| Rc::strong_count(frame) == 1);
        let Some(frame) = free else {
            return Ok(Filled::NoRoom);
        };
        let Some(bytes) = Rc::get_mut(frame) else {
            return Ok(Filled::NoRoom);
        };
        let Some(length) = fill(&mut bytes.bytes)? else {
            return Ok(Filled::Nothing);
        };
        bytes.length = length.min(MAX);
        Ok(Filled::With(frame.clone()))
    }
}

/// Result of filling a frame.
#[derive(Debug)]
pub(super) enum Filled {
    /// A frame was read: its bytes, in the place of the pool that it took.
    With(Rc<Bytes>),
    /// There was no frame to read.
    Nothing,
    /// All frames are under way.
    NoRoom,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(pool: &mut Pool, byte: u8) -> Option<Rc<Bytes>> {
        let filled = pool.fill::<()>(|bytes| {
            bytes[0] = byte;
            Ok(Some(1))
        });
        match filled {
            Ok(Filled::With(bytes)) => Some(bytes),
            _ => None,
        }
    }

    #[test]
    fn a_frame_is_used_again_once_no_lane_has_it() {
        let mut pool = Pool::new(2);
        let first = fill(&mut pool, 1);
        let second = fill(&mut pool, 2);
        assert!(first.is_some() && fill(&mut pool, 3).is_none());
        drop(first);
        assert_eq!(fill(&mut pool, 3).unwrap().as_slice(), [3]);
        assert_eq!(second.unwrap().as_slice(), [2]);
    }
}
