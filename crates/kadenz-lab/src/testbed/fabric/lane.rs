//! One direction of a link, with the queue of the sending port and the faults that are drawn for it.

use std::collections::VecDeque;

use kadenz_rt::random::Random;
use serde::{Deserialize, Serialize};

use super::{Events, Frame, HOLD, HOST_BUFFER, LinkState, TimedEvent};
use crate::testbed::quantity::{ByteSize, LinkSpeed, Picoseconds};
use crate::testbed::topology::{Faults, Node, Share, Topology};

/// A lane by its number: twice its link's, and one more for the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaneId(pub(super) usize);

/// Names one frame that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

#[derive(Debug)]
pub(super) struct Lane<T> {
    pub(super) counts: LaneCounts,
    id: LaneId,
    speed: LinkSpeed,
    propagation: Picoseconds,
    buffer: ByteSize,
    faults: Faults,
    generator: Random,
    /// When the sender may begin the next frame.
    free: Picoseconds,
    /// Frames that the port still holds: until when, and their bytes.
    held: VecDeque<(Picoseconds, u64)>,
    held_bytes: u64,
    /// When the last frame arrives: jitter lets none pass another.
    last: Picoseconds,
    state: LinkState,
    /// When the link was last cut or restored.
    changed: Option<Picoseconds>,
    /// A frame that waits for another to pass.
    back: Option<(Ticket, Frame<T>)>,
    tickets: u64,
}

impl LaneId {
    /// The other direction of the same link.
    pub(super) fn back(self) -> Self {
        Self(self.0 ^ 1)
    }

    pub(super) fn link(self) -> usize {
        self.0 / 2
    }

    pub(super) fn from(self, topology: &Topology) -> Node {
        topology.links[self.link()].ends[self.0 % 2]
    }

    pub(super) fn to(self, topology: &Topology) -> Node {
        topology.links[self.link()].ends[1 - self.0 % 2]
    }
}

impl<T: Clone> Lane<T> {
    pub(super) fn new(topology: &Topology, id: LaneId) -> Self {
        let link = &topology.links[id.link()];
        let buffer = match id.from(topology) {
            Node::Host(_) => HOST_BUFFER,
            Node::Switch(at) => topology.switches[at].buffer,
        };
        Self {
            counts: LaneCounts::default(),
            id,
            speed: link.speed,
            propagation: link.propagation,
            buffer,
            faults: link.faults,
            generator: generator(link.faults.seed, id.0 as u64),
            free: Picoseconds::ZERO,
            held: VecDeque::new(),
            held_bytes: 0,
            last: Picoseconds::ZERO,
            state: LinkState::Up,
            changed: None,
            back: None,
            tickets: 0,
        }
    }

    /// Takes a frame that the port is to send: it begins, waits its turn, or finds the buffer full.
    pub(super) fn begin(&mut self, at: Picoseconds, frame: Frame<T>, events: &mut Events<T>) {
        self.counts.begun += 1;
        if self.state == LinkState::Down {
            self.counts.cut += 1;
            return;
        }
        while self.held.front().is_some_and(|(until, _)| *until <= at) {
            self.held_bytes -= self.held.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        let bytes = u64::from(frame.length.bytes());
        if self.held_bytes + bytes > self.buffer.0 {
            self.counts.overflowed += 1;
            return;
        }
        let start = self.free.max(at);
        let sent = start + frame.length.store_and_forward(self.speed).time();
        self.free = start + frame.length.occupancy(self.speed).time();
        self.held.push_back((sent, bytes));
        self.held_bytes += bytes;
        let jitter = self.generator_jitter();
        let arrival = (sent + self.propagation + jitter).max(self.last);
        self.last = arrival;
        events.add(arrival, TimedEvent::Arrived(self.id, frame, at));
    }

    fn generator_jitter(&mut self) -> Picoseconds {
        match self.faults.jitter {
            Picoseconds::ZERO => Picoseconds::ZERO,
            most => up_to(most, &mut self.generator),
        }
    }

    /// A frame that began at `begun` has reached the end, if no fault affected it.
    pub(super) fn arrived(
        &mut self,
        at: Picoseconds,
        frame: Frame<T>,
        begun: Picoseconds,
        events: &mut Events<T>,
    ) -> Option<Frame<T>> {
        let changed_meanwhile = self.changed.is_some_and(|changed| changed > begun);
        if self.state == LinkState::Down || changed_meanwhile {
            self.counts.cut += 1;
            return None;
        }
        let drawn = DrawnFaults::next(&self.faults, &mut self.generator);
        if drawn.lost {
            self.counts.lost += 1;
            return None;
        }
        if drawn.doubled {
            self.counts.duplicated += 1;
            let second = at + frame.length.occupancy(self.speed).time();
            events.add(second, TimedEvent::Again(self.id, frame.clone()));
        }
        if drawn.held && self.back.is_none() {
            self.tickets += 1;
            let ticket = Ticket(self.tickets);
            self.back = Some((ticket, frame));
            events.add(at + HOLD, TimedEvent::Release(self.id, ticket));
            return None;
        }
        if let Some((_, passed)) = self.back.take() {
            self.counts.reordered += 1;
            let behind = at + passed.length.occupancy(self.speed).time();
            events.add(behind, TimedEvent::Again(self.id, passed));
        }
        self.counts.delivered += 1;
        Some(frame)
    }

    /// Returns the frame of that ticket, if none has passed it.
    pub(super) fn release(&mut self, ticket: Ticket) -> Option<Frame<T>> {
        let (_, frame) = self.back.take_if(|(held, _)| *held == ticket)?;
        self.counts.held += 1;
        self.counts.delivered += 1;
        Some(frame)
    }

    /// Cuts or restores the link. Frames that the port still held are lost.
    pub(super) fn change(&mut self, at: Picoseconds, state: LinkState) {
        self.state = state;
        self.changed = Some(at);
        self.free = at;
        self.held.clear();
        self.held_bytes = 0;
    }
}

/// Frames on one direction of a link. Each frame that began is in exactly one of `delivered`,
/// `overflowed`, `cut` and `lost`, or still on its way; a duplicate is delivered once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaneCounts {
    /// Frames that were to be sent.
    pub begun: u64,
    /// Frames that came to the other end.
    pub delivered: u64,
    /// Frames that found the port's buffer full.
    pub overflowed: u64,
    /// Frames that were to be sent, or on their way, while the link was cut.
    pub cut: u64,
    /// Frames lost on purpose.
    pub lost: u64,
    /// Frames doubled on purpose; each gives one more in `delivered`.
    pub duplicated: u64,
    /// Frames that a later one passed on purpose.
    pub reordered: u64,
    /// Frames held back on purpose and passed by none; a testbed reports none of them.
    #[serde(skip)]
    pub held: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaneStatus {
    /// The end that sends.
    pub from: String,
    /// The end that receives.
    pub to: String,
    /// Counts of its frames.
    #[serde(flatten)]
    pub counts: LaneCounts,
}

/// The state of each direction of each link; the counts are in the order of the links.
#[must_use]
pub fn lanes_of(topology: &Topology, counts: &[LaneCounts]) -> Vec<LaneStatus> {
    let ends = topology.links.iter().flat_map(|link| {
        let [a, b] = link.ends.map(|end| topology.name_of(end).to_owned());
        [(a.clone(), b.clone()), (b, a)]
    });
    let lane =
        |((from, to), &counts): ((String, String), &LaneCounts)| LaneStatus { from, to, counts };
    ends.zip(counts).map(lane).collect()
}

/// Sums of the counts of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Frames that went in, doubled ones twice.
    pub went_in: u64,
    /// Frames with a known outcome.
    pub came_out: u64,
}

impl LaneCounts {
    /// Adds the counts of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (these, those) = (self.to_array(), other.to_array());
        Self::from_array(std::array::from_fn(|at| these[at] + those[at]))
    }

    /// All eight counts, in the order in which they stand here.
    #[must_use]
    pub const fn to_array(self) -> [u64; 8] {
        [
            self.begun,
            self.delivered,
            self.overflowed,
            self.cut,
            self.lost,
            self.duplicated,
            self.reordered,
            self.held,
        ]
    }

    /// Makes the counts from the array of [`LaneCounts::to_array`].
    #[must_use]
    pub const fn from_array(counts: [u64; 8]) -> Self {
        let [
            begun,
            delivered,
            overflowed,
            cut,
            lost,
            duplicated,
            reordered,
            held,
        ] = counts;
        Self {
            begun,
            delivered,
            overflowed,
            cut,
            lost,
            duplicated,
            reordered,
            held,
        }
    }

    /// Frames that went in and that came out; both are equal when the lane is at rest.
    #[must_use]
    pub const fn total(self) -> Total {
        Total {
            went_in: self.begun + self.duplicated,
            came_out: self.delivered + self.overflowed + self.cut + self.lost,
        }
    }
}

/// Faults drawn for one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DrawnFaults {
    pub(super) lost: bool,
    pub(super) doubled: bool,
    pub(super) held: bool,
}

/// The generator of one lane or port; lanes of one seed draw different numbers.
pub(super) fn generator(seed: u64, stream: u64) -> Random {
    let mut generator = Random::new(seed ^ stream.wrapping_mul(0xa076_1d64_78bd_642f));
    generator.next_u64();
    generator
}

/// From zero up to `most`.
pub(super) fn up_to(most: Picoseconds, generator: &mut Random) -> Picoseconds {
    // Where the end overflows, the last of 2^64 values is left out.
    Picoseconds::from_ps(generator.below(most.as_ps().saturating_add(1)))
}

impl DrawnFaults {
    /// Draws for the next frame: always three numbers, so that one fault's share does not change
    /// which frames another meets.
    fn next(faults: &Faults, generator: &mut Random) -> Self {
        let mut happens = |share: Share| generator.happens(share.as_f64());
        Self {
            lost: happens(faults.loss),
            doubled: happens(faults.duplicate),
            held: happens(faults.reorder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_their_ends_are_certain() {
        let mut random = generator(7, 0);
        let mut share = |share| {
            let loss = Share::new(share).unwrap();
            let faults = Faults {
                loss,
                ..Faults::default()
            };
            let drawn = (0..10_000).map(|_| DrawnFaults::next(&faults, &mut random));
            drawn.filter(|it| it.lost).count()
        };
        assert_eq!(share(0.0), 0);
        assert_eq!(share(1.0), 10_000);
        let tenth = share(0.1);
        assert!((850..1150).contains(&tenth), "{tenth}");
    }

    #[test]
    fn lanes_draw_differently_and_each_the_same_again() {
        let first = |stream| generator(7, stream).next_u64();
        assert_ne!(first(0), first(1));
        assert_eq!(first(1), first(1));
        let mut random = generator(0, 0);
        let most = Picoseconds::from_ns(1);
        assert!((0..1000).all(|_| up_to(most, &mut random) <= most));
        assert_eq!(up_to(Picoseconds::ZERO, &mut random), Picoseconds::ZERO);
    }
}
