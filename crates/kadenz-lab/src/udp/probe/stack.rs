//! The parts of a round trip's time: stamps of the kernel and of the network card, matched with their packets. Sans-IO.

use kadenz_rt::clock::{MonotonicTime, PhcTime, WallBridge, WallTime};
use kadenz_rt::net::port::{KernelStamp, Stamps, TransmitStamp};

use super::packet_counts::ProbeReply;

/// Packets and transmit stamps that are remembered.
const REMEMBERED: usize = 1 << 14;
/// Answers that may wait for the transmit stamp of their packet, which mostly comes before the answer.
const WAITING: usize = 256;

/// The parts of a round trip's time, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// From the hand-over to the driver.
    pub(super) send_ns: i64,
    /// From there to the arrival of the answer.
    pub(super) wire_and_device_ns: i64,
    /// From there to the program.
    pub(super) receive_ns: i64,
}

/// When a packet left.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    key: u64,
    software: Option<MonotonicTime>,
    hardware: Option<PhcTime>,
}

/// The keys of a beat's packets.
#[derive(Clone, Copy, Debug, Default)]
struct Keys {
    sequence: u32,
    first: u64,
    count: u32,
}

/// An answer whose packet's stamp has not come yet.
#[derive(Clone, Copy)]
struct PendingReply {
    reply: ProbeReply,
    came: ReplyArrival,
}

/// When an answer came.
#[derive(Clone, Copy)]
struct ReplyArrival {
    software: MonotonicTime,
    hardware: Option<PhcTime>,
}

/// Matches stamps and packets.
///
/// # Real-time safety
/// No allocation and no lock after it is made; no system call but the clocks'.
pub(super) struct Stack {
    origin: MonotonicTime,
    bridge: WallBridge,
    /// Where one packet is sent to each device, the device's number follows from the key.
    each: bool,
    /// Whether the time on the wire is the network card's alone.
    by_card: bool,
    keys: Vec<Keys>,
    left: Vec<Left>,
    waiting: Vec<PendingReply>,
    /// Answers whose parts are unknown.
    pub(super) unsplit: u64,
}

impl Stack {
    /// A state without stamps. Times count from `origin`.
    pub(super) fn new(origin: MonotonicTime, each: bool, by_card: bool) -> Self {
        Self {
            origin,
            bridge: WallBridge::new(),
            each,
            by_card,
            keys: vec![Keys::default(); REMEMBERED],
            left: vec![Left::default(); REMEMBERED],
            waiting: Vec::with_capacity(WAITING),
            unsplit: 0,
        }
    }

    /// Takes the keys of a beat's packets. Where some of them were refused, it is unknown which key belongs to which
    /// device.
    pub(super) fn keyed(&mut self, sequence: u32, first: u64, count: u32, refused: u32) {
        let count = if refused == 0 { count } else { 0 };
        self.keys[sequence as usize % REMEMBERED] = Keys {
            sequence,
            first,
            count,
        };
    }

    /// Takes the transmit stamp of a packet.
    pub(super) fn left(&mut self, stamp: TransmitStamp) {
        let key = stamp.key.ordinal();
        let software = match stamp.when {
            KernelStamp::Software(wall) => self.bridged(wall),
            KernelStamp::Hardware(_) => None,
        };
        let slot = &mut self.left[key as usize % REMEMBERED];
        if slot.key != key || (slot.software.is_none() && slot.hardware.is_none()) {
            *slot = Left {
                key,
                ..Left::default()
            };
        }
        match stamp.when {
            KernelStamp::Software(_) => slot.software = software,
            KernelStamp::Hardware(when) => slot.hardware = Some(when),
        }
    }

    /// Takes an answer, whose parts [`Stack::settle`] gives; returns when the kernel had it.
    pub(super) fn came(&mut self, reply: ProbeReply, stamps: Stamps) -> Option<MonotonicTime> {
        let Some(software) = stamps.software.and_then(|wall| self.bridged(wall)) else {
            self.unsplit += 1;
            return None;
        };
        let came = ReplyArrival {
            software,
            hardware: stamps.hardware,
        };
        if self.waiting.len() == WAITING {
            // The oldest: its stamp is the least likely to come.
            self.waiting.remove(0);
            self.unsplit += 1;
        }
        self.waiting.push(PendingReply { reply, came });
        Some(software)
    }

    /// Calls `take` with the parts of every answer whose packet's stamp is there.
    pub(super) fn settle(&mut self, mut take: impl FnMut(&ProbeReply, &Parts)) {
        let mut at = 0;
        while let Some(waiting) = self.waiting.get(at).copied() {
            match self.parts(&waiting) {
                Some(parts) => {
                    take(&waiting.reply, &parts);
                    self.waiting.swap_remove(at);
                }
                None => at += 1,
            }
        }
    }

    /// Counts the answers whose packet's stamp never came.
    pub(super) fn give_up(&mut self) {
        self.unsplit += self.waiting.drain(..).len() as u64;
    }

    fn bridged(&mut self, wall: WallTime) -> Option<MonotonicTime> {
        Some(self.bridge.translate(wall)?.at)
    }

    fn parts(&self, waiting: &PendingReply) -> Option<Parts> {
        let reply = &waiting.reply;
        let keys = self.keys[reply.sequence as usize % REMEMBERED];
        let device = if self.each { reply.device as u32 } else { 0 };
        if keys.sequence != reply.sequence || device >= keys.count {
            return None;
        }
        let key = keys.first + u64::from(device);
        let left = self.left[key as usize % REMEMBERED];
        let departed = left.software.filter(|_| left.key == key)?;
        let came = waiting.came;
        let on_the_wire = match (left.hardware, came.hardware) {
            (Some(left), Some(came)) => came.since(left),
            // The card's stamp may still come. The kernel's would be another figure.
            _ if self.by_card => return None,
            _ => came.software.since(departed),
        };
        Some(Parts {
            send_ns: departed.since(self.origin) - reply.sent_ns,
            wire_and_device_ns: on_the_wire,
            receive_ns: reply.received_ns - came.software.since(self.origin),
        })
    }
}

#[cfg(test)]
mod tests {
    use kadenz_rt::net::port::TransmitKey;
    use kadenz_udp::controller::Timing;

    use super::*;

    /// A stamp of the wall clock about now.
    fn now() -> WallTime {
        WallTime::now()
    }

    fn reply(sequence: u32) -> ProbeReply {
        ProbeReply {
            device: 0,
            sequence,
            intended_ns: 0,
            sent_ns: 0,
            received_ns: 0,
            timing: Timing::InTime,
            device_stamps: None,
            place: None,
            completes: false,
        }
    }

    fn came(hardware: Option<PhcTime>) -> Stamps {
        Stamps {
            software: Some(now()),
            hardware,
        }
    }

    fn left(stack: &mut Stack, key: u64, when: KernelStamp) {
        let key = TransmitKey::new(key);
        stack.left(TransmitStamp { key, when });
    }

    #[test]
    fn an_answer_whose_stamp_never_comes_makes_way_for_later_ones() {
        let mut stack = Stack::new(MonotonicTime::default(), false, false);
        for sequence in 0..WAITING as u32 {
            stack.keyed(sequence, u64::from(sequence), 1, 0);
            stack.came(reply(sequence), came(None)).unwrap();
        }
        let later = WAITING as u32..WAITING as u32 + 40;
        for sequence in later.clone() {
            stack.keyed(sequence, u64::from(sequence), 1, 0);
            left(
                &mut stack,
                u64::from(sequence),
                KernelStamp::Software(now()),
            );
            stack.came(reply(sequence), came(None)).unwrap();
        }
        let mut settled = Vec::new();
        stack.settle(|reply, _| settled.push(reply.sequence));
        settled.sort_unstable();
        assert_eq!(settled, later.collect::<Vec<_>>());
        stack.give_up();
        assert_eq!(stack.unsplit, WAITING as u64);
    }

    #[test]
    fn the_card_s_time_on_the_wire_is_never_the_kernel_s() {
        for (by_card, settled) in [(false, 1), (true, 0)] {
            let mut stack = Stack::new(MonotonicTime::default(), false, by_card);
            stack.keyed(0, 0, 1, 0);
            left(&mut stack, 0, KernelStamp::Software(now()));
            stack.came(reply(0), came(None)).unwrap();
            let mut count = 0;
            stack.settle(|_, _| count += 1);
            assert_eq!(count, settled);
        }
    }
}
