//! How a switch handles a frame: it learns the source address, and looks up the destination.

use std::collections::HashMap;

use kadenz_rt::random::Random;

use super::lane::{LaneId, generator, up_to};
use super::{Events, TimedEvent};
use super::{Frame, Mac};
use crate::testbed::quantity::Picoseconds;
use crate::testbed::topology::Switch;

/// Addresses that a switch learns at most, as small switches do; frames to others are flooded.
pub const MAX_ADDRESSES: usize = 1024;

#[derive(Debug)]
pub(super) struct Bridge {
    forwarding: Picoseconds,
    jitter: Picoseconds,
    generator: Random,
    /// The lanes that leave it.
    ports: Vec<LaneId>,
    /// When the last frame of each port was ready: jitter lets none pass another.
    ready: Vec<Picoseconds>,
    known: HashMap<Mac, LaneId>,
}

impl Bridge {
    pub(super) fn new(switch: &Switch, at: usize, ports: Vec<LaneId>) -> Self {
        Self {
            forwarding: switch.forwarding,
            jitter: switch.jitter,
            generator: generator(0x0073_7769_7463_6800, at as u64),
            ready: vec![Picoseconds::ZERO; ports.len()],
            ports,
            known: HashMap::with_capacity(MAX_ADDRESSES),
        }
    }

    /// Sends a frame on to the port of its destination, or to all other ports.
    pub(super) fn forward<T: Clone>(
        &mut self,
        came_by: LaneId,
        at: Picoseconds,
        frame: Frame<T>,
        carries: &[bool],
        events: &mut Events<T>,
    ) {
        if !carries[came_by.link()] {
            return;
        }
        let home = came_by.back();
        self.learn(frame.source, home);
        let ready = self.ready(home, at);
        let known = match frame.destination.is_group() {
            true => None,
            false => self.known.get(&frame.destination).copied(),
        };
        match known {
            // The destination is on the side it came from.
            Some(port) if port == home => {}
            Some(port) => events.add(ready, TimedEvent::Begin(port, frame)),
            None => {
                for port in self.others(came_by, carries) {
                    events.add(ready, TimedEvent::Begin(port, frame.clone()));
                }
            }
        }
    }

    /// Forgets every address: the way there may have changed.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// The ports that carry, except for the one where a frame came.
    pub(super) fn others(&self, came_by: LaneId, carries: &[bool]) -> impl Iterator<Item = LaneId> {
        let others = self.ports.iter().copied();
        others.filter(move |port| *port != came_by.back() && carries[port.link()])
    }

    /// Notes by which port a source is reached.
    pub(super) fn learn(&mut self, source: Mac, home: LaneId) {
        let room = self.known.len() < MAX_ADDRESSES || self.known.contains_key(&source);
        if room && !source.is_group() {
            self.known.insert(source, home);
        }
    }

    /// When a frame that came to a port may be sent on.
    fn ready(&mut self, port: LaneId, at: Picoseconds) -> Picoseconds {
        let jitter = match self.jitter {
            Picoseconds::ZERO => Picoseconds::ZERO,
            most => up_to(most, &mut self.generator),
        };
        let ready = at + self.forwarding + jitter;
        let Some(place) = self.ports.iter().position(|it| *it == port) else {
            return ready;
        };
        self.ready[place] = self.ready[place].max(ready);
        self.ready[place]
    }
}
