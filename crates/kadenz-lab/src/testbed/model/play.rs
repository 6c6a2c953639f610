//! Ideal hosts on the fabric.

use super::{Asking, Cast, Modelled, RoundTrip};
use crate::testbed::fabric::{Delivery, Fabric, Frame, Mac};
use crate::testbed::quantity::Picos;
use crate::testbed::topology::{Topology, Traffic};
use crate::testbed::traffic::Bursts;
use crate::testbed::wire::{EthernetFrame, Payload, Tag};

/// What a frame of the model carries.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// One frame of a question.
    Question { sequence: u32 },
    /// One frame of a device's answer, by the device's place among the devices.
    Answer { sequence: u32, device: usize },
    /// Something else.
    Traffic,
}

/// Frames still missing of a datagram.
#[derive(Clone, Copy, Debug)]
struct Missing {
    question: u32,
    answer: u32,
}

pub(super) struct Play<'a> {
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
    pub(super) fn new(
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

    pub(super) fn play_out(mut self) -> Modelled {
        for sequence in 0..self.asking.count {
            let beat = self.asking.interval * u64::from(sequence);
            self.until(beat);
            self.ask(sequence, beat);
        }
        // Other traffic goes on for one beat more, so that the last question meets it too.
        let end = self.asking.interval * u64::from(self.asking.count);
        self.until(end);
        while let Some(delivery) = self.fabric.advance(Picos::NEVER) {
            self.came(&delivery);
        }
        self.modelled.lanes = self.fabric.counts().collect();
        self.modelled
    }

    /// Lets everything happen that happens before `beat`.
    fn until(&mut self, beat: Picos) {
        loop {
            let burst = self.bursts.next_time().filter(|at| *at <= beat);
            let until = burst.unwrap_or(beat);
            while let Some(delivery) = self.fabric.advance(until) {
                self.came(&delivery);
            }
            if burst.is_none() {
                return;
            }
            if let Some((at, traffic)) = self.bursts.take(until) {
                self.burst(at, &traffic);
            }
        }
    }

    fn burst(&mut self, at: Picos, traffic: &Traffic) {
        for _ in 0..traffic.packets {
            self.send(
                traffic.payload,
                traffic.from,
                Mac::of_host(traffic.to),
                at,
                Content::Traffic,
            );
        }
    }

    fn ask(&mut self, sequence: u32, beat: Picos) {
        let missing = self.frames.len() as u32;
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
        let content = Content::Question { sequence };
        let payload = self.asking.payload;
        match self.asking.cast {
            Cast::Broadcast => self.send(payload, self.controller, Mac::BROADCAST, beat, content),
            Cast::Each => {
                for device in self.devices {
                    let to = Mac::of_host(*device);
                    self.send(payload, self.controller, to, beat, content);
                }
            }
        }
    }

    fn send(&mut self, payload: Payload, from: usize, to: Mac, at: Picos, content: Content) {
        for length in payload.frames(Tag::None) {
            let frame = Frame {
                source: Mac::of_host(from),
                destination: to,
                length,
                content,
            };
            self.fabric.send(from, at, frame);
        }
    }

    /// A frame is at a host, which looks whether it is for it.
    fn came(&mut self, delivery: &Delivery<Content>) {
        let to = delivery.frame.destination;
        if !to.is_group() && to != Mac::of_host(delivery.host) {
            return;
        }
        match delivery.frame.content {
            Content::Traffic => self.modelled.traffic += 1,
            Content::Question { sequence } => self.asked(delivery, sequence),
            Content::Answer { sequence, device } => self.answered(delivery, sequence, device),
        }
    }

    fn asked(&mut self, delivery: &Delivery<Content>, sequence: u32) {
        let Some(device) = self.devices.iter().position(|it| *it == delivery.host) else {
            return;
        };
        let place = self.place(sequence, device);
        if !is_complete(&mut self.missing[place].question) {
            return;
        }
        let at = delivery.at + self.topology.hosts[delivery.host].answer;
        let content = Content::Answer { sequence, device };
        let to = Mac::of_host(self.controller);
        self.send(self.asking.payload, delivery.host, to, at, content);
    }

    fn answered(&mut self, delivery: &Delivery<Content>, sequence: u32, device: usize) {
        let place = self.place(sequence, device);
        if is_complete(&mut self.missing[place].answer) {
            self.modelled.round_trips[place].came = Some(delivery.at);
        }
    }

    fn place(&self, sequence: u32, device: usize) -> usize {
        sequence as usize * self.devices.len() + device
    }
}

/// One frame more is there; whether it was the last that was missing.
fn is_complete(missing: &mut u32) -> bool {
    let last = *missing == 1;
    *missing = missing.saturating_sub(1);
    last
}
