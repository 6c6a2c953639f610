//! Exact round trips over a topology in virtual time: the oracle to compare measurements with.
//!
//! A controller sends packets on a beat, to each device in turn or to all of them by one broadcast, and devices answer
//! after the time that the topology gives. Hosts are ideal otherwise. What remains is the network: [wire](super::wire),
//! forwarding, queues, faults.
//!
//! ```
//! use kadenz_lab::testbed::model::{self, Asking, Receivers};
//! use kadenz_lab::testbed::topology::{self, Topology};
//! use kadenz_lab::testbed::{Picoseconds, wire::Payload};
//!
//! let topology = Topology::parse(topology::ready("baseline").expect("it is built in"))?;
//! let asking = Asking {
//!     payload: Payload::new(200)?,
//!     interval: Picoseconds::from_ns(10_000_000),
//!     count: 100,
//!     receivers: Receivers::Each,
//! };
//! let modelled = model::run(&topology, &asking)?;
//! // 81.28 us of wire, 4 us in the switch and 20 ns of cable each way.
//! assert_eq!(modelled.round_trips[0].time().expect("it came").to_string(), "89.32us");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::fabric::LaneCounts;
use super::quantity::Picoseconds;
use super::topology::{Role, Topology};
use super::wire::Payload;
use crate::testbed::fabric::{Delivery, Fabric, Frame, Mac};
use crate::testbed::topology::Bursts;
use crate::testbed::topology::Traffic;
use crate::testbed::wire::{EthernetFrame, Tag};

/// How the controller sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Payload of packet and answer.
    pub payload: Payload,
    /// Time between two beats.
    pub interval: Picoseconds,
    /// Number of beats that are computed.
    pub count: u32,
    /// The receivers of a packet.
    pub receivers: Receivers,
}

/// The receivers of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receivers {
    /// A packet to each device, one after the other.
    #[default]
    Each,
    /// One packet to all devices.
    Broadcast,
}

/// A packet to one device, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The beat, from 0.
    pub sequence: u32,
    /// The device, by its place among the hosts.
    pub device: usize,
    /// When the packet was to be sent: on the beat, also where another was sent before it.
    pub sent: Picoseconds,
    /// When the first answer had completely arrived; `None` if none did.
    pub came: Option<Picoseconds>,
}

impl RoundTrip {
    /// Duration of the round trip.
    #[must_use]
    pub fn time(&self) -> Option<Picoseconds> {
        self.came.map(|came| came.since(self.sent))
    }
}

/// Result of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modelled {
    /// Beat by beat; within a beat in the order of the topology's devices.
    pub round_trips: Vec<RoundTrip>,
    /// Counts of the frames; each frame counts once per link; two lanes per link.
    pub lanes: Vec<LaneCounts>,
    /// Datagrams of other traffic that arrived.
    pub traffic: u64,
}

/// Why nothing was modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No host is a controller.
    #[error("no host of `{topology}` is a controller; give one of them role = \"controller\"")]
    NoController {
        /// The topology's name.
        topology: String,
    },
    /// No host is a device.
    #[error("no host of `{topology}` answers; give one of them role = \"device\"")]
    NoDevice {
        /// The topology's name.
        topology: String,
    },
    /// The model would take too long, or not fit into memory.
    #[error(
        "{beats} beats with {devices} devices are more than {MAX_ROUND_TRIPS} round trips; model a shorter time"
    )]
    TooMany {
        /// The requested number of beats.
        beats: u32,
        /// Number of devices in the topology.
        devices: usize,
    },
}

/// Round trips of one model at most: 40 devices at 1 kHz for nearly two minutes.
pub(crate) const MAX_ROUND_TRIPS: u64 = 4_000_000;

/// Computes every round trip.
///
/// The same topology and parameters give the same result.
///
/// # Errors
/// [`ModelError`].
///
/// # Real-time safety
/// Not real-time safe.
pub fn run(topology: &Topology, asking: &Asking) -> Result<Modelled, ModelError> {
    let name = || topology.name.clone();
    let controller = topology.with_role(Role::Controller).next();
    let controller = controller.ok_or_else(|| ModelError::NoController { topology: name() })?;
    let devices: Vec<usize> = topology.with_role(Role::Device).collect();
    if devices.is_empty() {
        return Err(ModelError::NoDevice { topology: name() });
    }
    if u64::from(asking.count) * devices.len() as u64 > MAX_ROUND_TRIPS {
        return Err(ModelError::TooMany {
            beats: asking.count,
            devices: devices.len(),
        });
    }
    Ok(Play::new(topology, asking, controller, &devices).run())
}

// Ideal hosts on the fabric.

/// What a frame of the model carries.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// One frame of a controller's packet; the fragments are counted from 0.
    Question { sequence: u32, fragment: u32 },
    /// One frame of a device's answer, by the device's place among the devices.
    Answer {
        sequence: u32,
        device: usize,
        fragment: u32,
    },
    /// Other traffic.
    Traffic,
}

/// The frames of a datagram that have not come, a bit each: one that comes twice counts once.
#[derive(Clone, Copy, Debug)]
struct MissingFragments(u64);

impl MissingFragments {
    /// All of so many: a datagram has at most 45 frames.
    fn all(fragments: usize) -> Self {
        Self(u64::MAX >> (u64::BITS as usize - fragments.clamp(1, 64)))
    }

    /// Takes a frame; returns whether it was the last missing one.
    fn came(&mut self, fragment: u32) -> bool {
        let before = self.0;
        self.0 &= !(1_u64.checked_shl(fragment).unwrap_or(0));
        before != 0 && self.0 == 0
    }
}

/// What is missing of a question and its answer.
#[derive(Clone, Copy, Debug)]
struct Missing {
    question: MissingFragments,
    answer: MissingFragments,
}

struct Play<'a> {
    topology: &'a Topology,
    asking: &'a Asking,
    fabric: Fabric<Content>,
    bursts: Bursts,
    controller: usize,
    devices: &'a [usize],
    frames: Vec<EthernetFrame>,
    missing: Vec<Missing>,
    modelled: Modelled,
}

impl<'a> Play<'a> {
    fn new(
        topology: &'a Topology,
        asking: &'a Asking,
        controller: usize,
        devices: &'a [usize],
    ) -> Self {
        let mut fabric = Fabric::new(topology);
        fabric.introduce_hosts();
        Self {
            topology,
            asking,
            fabric,
            bursts: Bursts::new(topology),
            controller,
            devices,
            frames: asking.payload.frames(Tag::None).collect(),
            missing: Vec::new(),
            modelled: Modelled {
                round_trips: Vec::new(),
                lanes: Vec::new(),
                traffic: 0,
            },
        }
    }

    fn run(mut self) -> Modelled {
        for sequence in 0..self.asking.count {
            let beat = self.asking.interval * u64::from(sequence);
            self.until(beat);
            self.send_packet(sequence, beat);
        }
        // Other traffic goes on for one beat more, so that the last packet meets it too.
        let end = self.asking.interval * u64::from(self.asking.count);
        self.until(end);
        while let Some(delivery) = self.fabric.advance(Picoseconds::NEVER) {
            self.on_arrival(&delivery);
        }
        self.modelled.lanes = self.fabric.counts().collect();
        self.modelled
    }

    /// Processes all events before `beat`.
    fn until(&mut self, beat: Picoseconds) {
        loop {
            let burst = self.bursts.next_time().filter(|at| *at <= beat);
            let until = burst.unwrap_or(beat);
            while let Some(delivery) = self.fabric.advance(until) {
                self.on_arrival(&delivery);
            }
            if burst.is_none() {
                return;
            }
            if let Some((at, traffic)) = self.bursts.take(until) {
                self.burst(at, &traffic);
            }
        }
    }

    fn burst(&mut self, at: Picoseconds, traffic: &Traffic) {
        for _ in 0..traffic.packets {
            self.send(
                traffic.payload,
                traffic.from,
                Mac::of_host(traffic.to),
                at,
                |_| Content::Traffic,
            );
        }
    }

    fn send_packet(&mut self, sequence: u32, beat: Picoseconds) {
        let missing = MissingFragments::all(self.frames.len());
        for device in self.devices {
            self.modelled.round_trips.push(RoundTrip {
                sequence,
                device: *device,
                sent: beat,
                came: None,
            });
            self.missing.push(Missing {
                question: missing,
                answer: missing,
            });
        }
        let content = |fragment| Content::Question { sequence, fragment };
        let payload = self.asking.payload;
        match self.asking.receivers {
            Receivers::Broadcast => {
                self.send(payload, self.controller, Mac::BROADCAST, beat, content);
            }
            Receivers::Each => {
                for device in self.devices {
                    let to = Mac::of_host(*device);
                    self.send(payload, self.controller, to, beat, content);
                }
            }
        }
    }

    /// Sends the frames of a datagram; `content` is that of a fragment.
    fn send(
        &mut self,
        payload: Payload,
        from: usize,
        to: Mac,
        at: Picoseconds,
        content: impl Fn(u32) -> Content,
    ) {
        for (fragment, length) in (0..).zip(payload.frames(Tag::None)) {
            let frame = Frame {
                source: Mac::of_host(from),
                destination: to,
                length,
                content: content(fragment),
            };
            self.fabric.send(from, at, frame);
        }
    }

    /// A frame has reached a host, which checks whether it is the receiver.
    fn on_arrival(&mut self, delivery: &Delivery<Content>) {
        let to = delivery.frame.destination;
        if !to.is_group() && to != Mac::of_host(delivery.host) {
            return;
        }
        match delivery.frame.content {
            Content::Traffic => self.modelled.traffic += 1,
            Content::Question { sequence, fragment } => self.asked(delivery, sequence, fragment),
            Content::Answer {
                sequence,
                device,
                fragment,
            } => self.answered(delivery, self.place(sequence, device), fragment),
        }
    }

    fn asked(&mut self, delivery: &Delivery<Content>, sequence: u32, fragment: u32) {
        let Some(device) = self.devices.iter().position(|it| *it == delivery.host) else {
            return;
        };
        let place = self.place(sequence, device);
        if !self.missing[place].question.came(fragment) {
            return;
        }
        let at = delivery.at + self.topology.hosts[delivery.host].answer;
        let content = |fragment| Content::Answer {
            sequence,
            device,
            fragment,
        };
        let to = Mac::of_host(self.controller);
        self.send(self.asking.payload, delivery.host, to, at, content);
    }

    fn answered(&mut self, delivery: &Delivery<Content>, place: usize, fragment: u32) {
        if self.missing[place].answer.came(fragment) {
            self.modelled.round_trips[place].came = Some(delivery.at);
        }
    }

    fn place(&self, sequence: u32, device: usize) -> usize {
        sequence as usize * self.devices.len() + device
    }
}

#[cfg(test)]
mod tests;
