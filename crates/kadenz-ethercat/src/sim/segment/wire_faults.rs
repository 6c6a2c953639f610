//! The effects of faults on a segment.

use super::route::Route;
use super::topology::End;
use super::{AROUND, BYTE_NS};
use super::{Fault, FrameFault, Loss, Passed, Segment, Time, WireFault};
use crate::port::Side;
use crate::sim::{CableId, DeviceId};
use crate::wire::{Command, DatagramsMut, ETHERNET_HEADER, register};

/// Most faults with an end that are pending at one time.
const MAX_ENDS: usize = 4_096;

/// How far a frame gets.
pub(super) struct Reach {
    /// Devices that process it.
    pub(super) devices: usize,
    /// Why it gets no farther.
    pub(super) loss: Option<Loss>,
}

impl Segment {
    /// Injects a fault now: a fault of frames strikes the next frame.
    pub fn inject(&mut self, fault: Fault, now: Time) {
        self.now = self.now.max(now);
        match fault {
            Fault::Frame(fault) if self.commanded.len() < MAX_ENDS => self.commanded.push(fault),
            Fault::Frame(_) => {}
            Fault::Wire(fault) => self.apply(fault),
        }
    }

    /// Applies the segment's faults whose time has come, and ends those that are over.
    pub(super) fn apply_due_faults(&mut self) {
        while let Some(at) = self.ends.iter().position(|it| it.0 <= self.now) {
            let (_, fault) = self.ends.swap_remove(at);
            self.apply_quietly(fault);
        }
        if self.plan.is_empty() {
            return;
        }
        while let Some(fault) = self.plan.take_due_fault(self.now) {
            self.apply(fault);
        }
    }

    /// Collects the faults that strike the present frame.
    pub(super) fn collect_frame_faults(&mut self) {
        self.struck.clear();
        self.struck.append(&mut self.commanded);
        if !self.plan.is_empty() {
            let struck = &mut self.struck;
            let mut of_wire = self.plan.take_buffer();
            self.plan
                .strike(self.counts.frames, self.now, |fault| match fault {
                    Fault::Frame(fault) => struck.push(fault),
                    Fault::Wire(fault) => of_wire.push(fault),
                });
            for fault in of_wire.drain(..) {
                self.apply(fault);
            }
            self.plan.return_buffer(of_wire);
        }
        self.counts.frame_faults += self.struck.len() as u64;
    }

    fn apply(&mut self, fault: WireFault) {
        self.counts.wire_faults += 1;
        self.apply_quietly(fault);
    }

    fn apply_quietly(&mut self, fault: WireFault) {
        self.forget_end(fault);
        match fault {
            WireFault::Cut(cable) => self.set_whole(cable, false),
            WireFault::Heal(cable) => self.set_whole(cable, true),
            WireFault::Flap(cable, ns) => {
                self.set_whole(cable, false);
                self.end_later(ns, WireFault::Heal(cable));
            }
            WireFault::PowerOff(device) => self.set_power(device, false),
            WireFault::PowerOn(device) => self.set_power(device, true),
            WireFault::PowerCycle(device, ns) => {
                self.set_power(device, false);
                self.end_later(ns, WireFault::PowerOn(device));
            }
            WireFault::Leave(device, state, code) => {
                self.change_controller(device, |it| it.leave(state, code));
            }
            WireFault::Fail(device, code) => self.change_controller(device, |it| it.fail(code)),
            WireFault::Drift(device, ppm) => self.change_controller(device, |it| it.set_drift(ppm)),
            WireFault::Spoil(device, at, byte) => self.change_controller(device, |it| {
                if let Some(spoiled) = it.sii_mut().get_mut(at as usize) {
                    *spoiled = byte;
                }
            }),
        }
    }

    /// A new command to a cable or a device cancels the end of an earlier fault there.
    fn forget_end(&mut self, fault: WireFault) {
        self.ends.retain(|(_, end)| match (fault, end) {
            (
                WireFault::Cut(cable) | WireFault::Heal(cable) | WireFault::Flap(cable, _),
                WireFault::Heal(it),
            ) => *it != cable,
            (
                WireFault::PowerOff(device)
                | WireFault::PowerOn(device)
                | WireFault::PowerCycle(device, _),
                WireFault::PowerOn(it),
            ) => *it != device,
            _ => true,
        });
    }

    /// Unplugs the cable at the MainDevice's second interface, where there is one. That is not a fault, and is
    /// not counted.
    pub fn unplug_second(&mut self) {
        if let Some(cable) = self.cable_at(End::Main(Side::Redundant)) {
            self.set_whole(cable, false);
        }
    }

    fn end_later(&mut self, ns: u64, fault: WireFault) {
        if self.ends.len() < MAX_ENDS {
            self.ends.push((self.now.after(ns), fault));
        }
    }

    fn change_controller(
        &mut self,
        device: DeviceId,
        change: impl FnOnce(&mut crate::sim::SubDeviceController),
    ) {
        let now = self.now;
        if let Some(node) = self.cabling.nodes.get_mut(usize::from(device.0))
            && node.powered
        {
            node.controller.advance(now);
            change(&mut node.controller);
        }
    }

    fn set_whole(&mut self, CableId(cable): CableId, whole: bool) {
        if let Some(laid) = self.cabling.cables.get_mut(usize::from(cable)) {
            laid.whole = whole;
            self.replug();
        }
    }

    fn set_power(&mut self, DeviceId(device): DeviceId, powered: bool) {
        let now = self.now;
        let Some(node) = self.cabling.nodes.get_mut(usize::from(device)) else {
            return;
        };
        if std::mem::replace(&mut node.powered, powered) != powered {
            if powered {
                node.controller.power_on(now);
            }
            self.replug();
        }
    }

    /// How far a frame gets with its faults, and how often it circulates.
    pub(super) fn reach(&self, route: &Route, frame: &mut [u8]) -> Reach {
        let all = route.order.len();
        let mut reach = Reach {
            devices: all,
            loss: None,
        };
        for fault in &self.struck {
            let (after, loss) = match fault {
                FrameFault::Lose { after } => (after, Loss::Fault),
                FrameFault::Corrupt { after } => (after, Loss::Corrupted),
                _ => continue,
            };
            let devices = after.map_or(all, |it| usize::from(it).min(all));
            if reach.loss.is_none() || devices < reach.devices {
                reach = Reach {
                    devices,
                    loss: Some(loss),
                };
            }
        }
        let mut marked = circulated(frame);
        for (place, (_, step)) in route.order[..reach.devices].iter().enumerate() {
            if !route.steps[usize::from(*step)].circulates {
                continue;
            }
            if marked {
                return Reach {
                    devices: place,
                    loss: Some(Loss::Circulated),
                };
            }
            marked = true;
            mark_circulated(frame);
        }
        reach
    }

    /// Counts the errors of devices behind the place of the corruption: the first counts an invalid frame, the others
    /// a forwarded error.
    pub(super) fn count_corrupted(&mut self, route: &Route, devices: usize) {
        let behind = route.order.get(devices..).unwrap_or_default();
        for (at, (device, step)) in behind.iter().enumerate() {
            let port = u16::from(route.steps[usize::from(*step)].port);
            let counter = match at {
                0 => register::RX_ERRORS + 2 * port,
                _ => register::FORWARDED_ERRORS + port,
            };
            let node = &mut self.cabling.nodes[usize::from(*device)];
            node.controller.count_error(counter);
        }
    }

    /// Applies the faults of a frame that comes back.
    pub(super) fn corrupt_returned(&mut self, frame: &mut [u8], side: Side, back: Time) -> Passed {
        let mut length = frame.len();
        let mut held_ns = 0_u64;
        let mut again = None;
        let on_wire = (frame.len() + AROUND) as u64 * BYTE_NS;
        for fault in &self.struck {
            match *fault {
                FrameFault::Delay { ns } => held_ns = held_ns.saturating_add(ns),
                FrameFault::Duplicate { ns } => again = Some(ns),
                FrameFault::Truncate { length: left } => length = length.min(left.into()),
                FrameFault::Skew { by } => skew(frame, by),
                FrameFault::Garble { bits } => {
                    for _ in 0..bits {
                        flip(frame, self.random.next_u64());
                    }
                }
                FrameFault::Lose { .. } | FrameFault::Corrupt { .. } => {}
            }
        }
        let at = back.after(on_wire).after(held_ns);
        Passed::Returned {
            side,
            at,
            held_ns,
            length,
            again: again.map(|ns| at.after(ns)),
        }
    }
}

fn circulated(frame: &mut [u8]) -> bool {
    let Ok(mut datagrams) = DatagramsMut::of(frame) else {
        return false;
    };
    matches!(datagrams.next(), Some(Ok(first)) if first.circulated())
}

fn mark_circulated(frame: &mut [u8]) {
    if let Ok(datagrams) = DatagramsMut::of(frame) {
        for mut datagram in datagrams.flatten() {
            datagram.set_circulated();
        }
    }
}

fn skew(frame: &mut [u8], by: i16) {
    if let Ok(datagrams) = DatagramsMut::of(frame) {
        for mut datagram in datagrams.flatten() {
            if datagram.command() != Some(Command::Nop) {
                datagram.count(by as u16);
            }
        }
    }
}

/// Flips a bit behind the headers.
fn flip(frame: &mut [u8], chance: u64) {
    let header = ETHERNET_HEADER + 2;
    let Some(behind) = frame.get_mut(header..).filter(|it| !it.is_empty()) else {
        return;
    };
    let bit = (chance % (behind.len() as u64 * 8)) as usize;
    behind[bit / 8] ^= 1 << (bit % 8);
}
