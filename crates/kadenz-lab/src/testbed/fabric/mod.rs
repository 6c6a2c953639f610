//! The network itself, sans-IO: frames go in at a host and a time, and come out at hosts and times.
//!
//! Links serialise frames at their speed, switches store and forward them, learn addresses and let
//! frames wait at their ports; faults are drawn from seeded generators and counted. The same code
//! serves the [model](crate::testbed::model), in virtual time, and the live testbed, which feeds it
//! real frames and sends them on when the fabric says.
//!
//! Assumptions: frames of one host are given in the order of their times; nothing is given before the time that
//! [`Fabric::advance`] has already reached (a frame given earlier counts from there).
//!
//! Guarantees: deliveries come in the order of their times, which depend on nothing except the topology and the given
//! frames. Each frame that enters a lane is counted in exactly one of the fields of [`LaneCounts`], or is still on it.
//!
//! Memory is bounded: a port's frames by its buffer, a switch's addresses by [`MAX_ADDRESSES`]. It allocates while
//! these grow to their working size.
//!
//! ```
//! use kadenz_lab::testbed::fabric::{Fabric, Frame, Mac};
//! use kadenz_lab::testbed::topology::{self, Topology};
//! use kadenz_lab::testbed::wire::{EthernetFrame, Tag};
//! use kadenz_lab::testbed::Picoseconds;
//!
//! let topology = Topology::parse(topology::ready("baseline").expect("it is built in"))?;
//! let mut fabric = Fabric::new(&topology);
//! let frame = Frame {
//!     source: Mac::of_host(0),
//!     destination: Mac::of_host(1),
//!     length: EthernetFrame::of_packet(228, Tag::None),
//!     content: "hello",
//! };
//! fabric.send(0, Picoseconds::ZERO, frame);
//! let first = fabric.advance(Picoseconds::NEVER).expect("nothing is lost here");
//! // Two hops of 20.32 us, 10 ns of cable each, and 4 us in the switch.
//! assert_eq!(first.at.to_string(), "44.66us");
//! # Ok::<(), kadenz_lab::testbed::topology::FileError>(())
//! ```

mod lane;
mod switch;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use super::quantity::{ByteSize, Picoseconds};
use super::topology::{Node, Topology, spanning_tree};
use super::wire::EthernetFrame;
use lane::{Lane, LaneId, Ticket};
use switch::Bridge;

pub use lane::{LaneCounts, LaneStatus, Total, lanes_of};
pub use switch::MAX_ADDRESSES;

/// Bytes of frames that a host may hold before its link has carried them: more than the queue of a Linux interface
/// holds (1000 frames).
pub(crate) const HOST_BUFFER: ByteSize = ByteSize(4 << 20);

/// A frame that has completely arrived at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The host, by its place in the topology.
    pub host: usize,
    /// When its last bit came.
    pub at: Picoseconds,
    /// The frame. It need not be for this host: a switch floods frames to unknown addresses.
    pub frame: Frame<T>,
}

/// A network at work.
#[derive(Debug)]
pub struct Fabric<T> {
    now: Picoseconds,
    events: Events<T>,
    /// Two a link: from its first end to its second, and back.
    lanes: Vec<Lane<T>>,
    bridges: Vec<Bridge>,
    /// The lane that leaves each host.
    host_lanes: Vec<LaneId>,
    /// The links, as the spanning tree needs them.
    topology: Topology,
    up: Vec<bool>,
    carries: Vec<bool>,
}

impl<T: Clone> Fabric<T> {
    /// Makes the network of a topology, at rest, with its cuts scheduled.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let lanes: Vec<Lane<T>> = (0..topology.links.len() * 2)
            .map(|id| Lane::new(topology, LaneId(id)))
            .collect();
        let up = vec![true; topology.links.len()];
        let carries = spanning_tree(topology, &up);
        let from = |node: Node| {
            let ids = (0..lanes.len()).map(LaneId);
            ids.filter(move |id| id.from(topology) == node)
                .collect::<Vec<_>>()
        };
        let bridges = topology.switches.iter().enumerate();
        let mut fabric = Self {
            now: Picoseconds::ZERO,
            events: Events::default(),
            bridges: bridges
                .map(|(at, switch)| Bridge::new(switch, at, from(Node::Switch(at))))
                .collect(),
            host_lanes: (0..topology.hosts.len())
                .filter_map(|at| from(Node::Host(at)).first().copied())
                .collect(),
            lanes,
            topology: topology.clone(),
            up,
            carries,
        };
        for cut in &topology.cuts {
            fabric
                .events
                .add(cut.at, TimedEvent::Link(cut.link, LinkState::Down));
            if let Some(lasts) = cut.lasts {
                fabric
                    .events
                    .add(cut.at + lasts, TimedEvent::Link(cut.link, LinkState::Up));
            }
        }
        fabric
    }

    /// Teaches every switch where each host is, as if each host had sent a frame: a switch floods frames to unknown
    /// addresses. The hosts have the addresses of [`Mac::of_host`].
    pub(crate) fn introduce_hosts(&mut self) {
        for host in 0..self.host_lanes.len() {
            let mut ways = vec![self.host_lanes[host]];
            while let Some(lane) = ways.pop() {
                let Node::Switch(switch) = lane.to(&self.topology) else {
                    continue;
                };
                let bridge = &mut self.bridges[switch];
                bridge.learn(Mac::of_host(host), lane.back());
                ways.extend(bridge.others(lane, &self.carries));
            }
        }
    }

    /// A host begins to send a frame, or queues it behind what it still sends.
    pub fn send(&mut self, host: usize, at: Picoseconds, frame: Frame<T>) {
        let at = at.max(self.now);
        self.events
            .add(at, TimedEvent::Begin(self.host_lanes[host], frame));
    }

    /// When something happens next; `None` when the network is at rest.
    #[must_use]
    pub fn next_event(&self) -> Option<Picoseconds> {
        self.events.next_time()
    }

    /// Lets time pass until the next delivery, which is returned, or until `until`.
    pub fn advance(&mut self, until: Picoseconds) -> Option<Delivery<T>> {
        while let Some((at, event)) = self.events.take(until) {
            self.now = at;
            if let Some(delivery) = self.handle(at, event) {
                return Some(delivery);
            }
        }
        if until != Picoseconds::NEVER {
            self.now = self.now.max(until);
        }
        None
    }

    /// Counts of the frames on each lane; two lanes per link, from its first end to its second
    /// and back.
    pub fn counts(&self) -> impl Iterator<Item = LaneCounts> + '_ {
        self.lanes.iter().map(|lane| lane.counts)
    }

    fn handle(&mut self, at: Picoseconds, event: TimedEvent<T>) -> Option<Delivery<T>> {
        match event {
            TimedEvent::Begin(lane, frame) => {
                self.lanes[lane.0].begin(at, frame, &mut self.events);
                None
            }
            TimedEvent::Arrived(lane, frame, begun) => {
                let passed = self.lanes[lane.0].arrived(at, frame, begun, &mut self.events);
                passed.and_then(|frame| self.reach(lane, at, frame))
            }
            TimedEvent::Again(lane, frame) => {
                self.lanes[lane.0].counts.delivered += 1;
                self.reach(lane, at, frame)
            }
            TimedEvent::Release(lane, ticket) => {
                let frame = self.lanes[lane.0].release(ticket)?;
                self.reach(lane, at, frame)
            }
            TimedEvent::Link(link, state) => {
                self.set_link(at, link, state);
                None
            }
            TimedEvent::Relearn => {
                self.carries = spanning_tree(&self.topology, &self.up);
                self.bridges.iter_mut().for_each(Bridge::forget);
                None
            }
        }
    }

    /// A frame has completely reached the end of a lane.
    fn reach(&mut self, lane: LaneId, at: Picoseconds, frame: Frame<T>) -> Option<Delivery<T>> {
        match lane.to(&self.topology) {
            Node::Host(host) => Some(Delivery { host, at, frame }),
            Node::Switch(switch) => {
                let bridge = &mut self.bridges[switch];
                bridge.forward(lane, at, frame, &self.carries, &mut self.events);
                None
            }
        }
    }

    fn set_link(&mut self, at: Picoseconds, link: usize, state: LinkState) {
        self.up[link] = state == LinkState::Up;
        for lane in &mut self.lanes[2 * link..2 * link + 2] {
            lane.change(at, state);
        }
        self.events
            .add(at + self.topology.detection, TimedEvent::Relearn);
    }
}

/// Whether a link carries anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkState {
    Up,
    Down,
}

/// How long a frame that is held back waits for one to pass it, before it continues by itself.
const HOLD: Picoseconds = Picoseconds::from_ns(10_000_000);

// A frame as the fabric sees it.

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

/// A frame: the addresses and the length that the network acts on, and whatever it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<T> {
    /// Address of the sender.
    pub source: Mac,
    /// Address of the receivers.
    pub destination: Mac,
    /// How long it is on Ethernet.
    pub length: EthernetFrame,
    /// The payload, copied where the network copies the frame.
    pub content: T,
}

impl Mac {
    /// The address of all hosts.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The address of a testbed's host, by its place: locally administered (second bit of the first byte,
    /// IEEE 802-2014, clause 8.2), then `KDZ`.
    #[must_use]
    pub const fn of_host(host: usize) -> Self {
        let [high, low] = (host as u16).to_be_bytes();
        Self([0x02, b'K', b'D', b'Z', high, low])
    }

    /// Whether it addresses several hosts: the first bit on the wire.
    #[must_use]
    pub(crate) const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An event at a time.
#[derive(Debug)]
enum TimedEvent<T> {
    /// A frame is to be sent.
    Begin(LaneId, Frame<T>),
    /// A frame, which came to the port at that time, has completely reached the lane's end.
    Arrived(LaneId, Frame<T>, Picoseconds),
    /// A frame has arrived after its faults were drawn: the second of two, or a passed one.
    Again(LaneId, Frame<T>),
    /// A frame held back is held no longer.
    Release(LaneId, Ticket),
    /// A link is cut or restored.
    Link(usize, LinkState),
    /// The switches have noticed that.
    Relearn,
}

/// Future events. Events of the same time happen in the order in which they were added.
#[derive(Debug)]
struct Events<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    added: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Picoseconds,
    number: u64,
    event: TimedEvent<T>,
}

impl<T> Default for Events<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::with_capacity(1024),
            added: 0,
        }
    }
}

impl<T> Events<T> {
    fn add(&mut self, at: Picoseconds, event: TimedEvent<T>) {
        let number = self.added;
        self.added += 1;
        self.heap.push(Reverse(Entry { at, number, event }));
    }

    fn next_time(&self) -> Option<Picoseconds> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Returns the next event, unless it is after `until`.
    fn take(&mut self, until: Picoseconds) -> Option<(Picoseconds, TimedEvent<T>)> {
        if self.next_time()? > until {
            return None;
        }
        let Reverse(entry) = self.heap.pop()?;
        Some((entry.at, entry.event))
    }
}

impl<T> Entry<T> {
    fn key(&self) -> (Picoseconds, u64) {
        (self.at, self.number)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests;
