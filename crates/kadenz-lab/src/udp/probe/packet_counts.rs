//! Counts what became of every packet. Sans-IO: it takes departures and answers with their times.

use std::net::SocketAddr;

use kadenz_record::run::network::{Broadcasts, Flow};
use kadenz_udp::controller::{
    Arrival, Counts, DeviceId, DeviceKey, DeviceTable, DeviceTableSlot, Outstanding,
    OutstandingSlot, Sending, Timing, TrackWord, Tracker,
};
use kadenz_udp::wire::{DeviceStamps, Kind, Packet, RunId, Sequence, Stamp, Token};

use super::bursts::{BroadcastReplies, Ranking};
use super::{Destination, Device, ProbePlan};

/// Words of a tracker's window: 65,536 packets.
const WINDOW_WORDS: usize = 1024;
/// Sent packets that are remembered.
const REMEMBERED: usize = WINDOW_WORDS * 64;

/// A counted answer: the first to its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeReply {
    /// The device that answered, as an index into the plan's devices.
    pub device: usize,
    /// The number of the packet.
    pub sequence: u32,
    /// The packet's beat, in ns since the start of the run.
    pub intended_ns: i64,
    /// When it was handed to the system.
    pub sent_ns: i64,
    /// When the answer was there.
    pub received_ns: i64,
    /// Whether it came in time.
    pub timing: Timing,
    /// The device's own times, where they were requested and given.
    pub device_stamps: Option<DeviceStamps>,
    /// Its place among the answers to the packet, 0 for the first; `None` if the packet was given up,
    /// 64 beats later.
    pub place: Option<usize>,
    /// With this answer all devices have answered the packet.
    pub completes: bool,
}

/// The controller's counts: every packet to every device, and what became of it.
///
/// Memory is allocated when it is made.
///
/// # Real-time safety
/// No allocation, lock or system call afterwards.
#[derive(Debug)]
pub(crate) struct PacketCounts {
    token: Option<Token>,
    first_sequence: u32,
    table: DeviceTable<Vec<DeviceTableSlot>>,
    outstanding: Outstanding<Vec<OutstandingSlot>>,
    trackers: Vec<Tracker<Vec<TrackWord>>>,
    bursts: BroadcastReplies,
    foreign: u64,
    damaged: u64,
    unsent: u64,
}

impl PacketCounts {
    /// Empty counts for the devices of a plan.
    ///
    /// Two devices at one address are one; [`PacketCounts::answered`] counts for the first.
    #[must_use]
    pub(crate) fn new(plan: &ProbePlan, run: RunId) -> Self {
        let devices = plan.devices.len();
        let mut table = DeviceTable::over(vec![DeviceTableSlot::default(); 2 * devices.max(1)]);
        for device in &plan.devices {
            // There is room for each of them.
            let _ = table.add(DeviceKey::from(device.address));
        }
        let timeout_ns = u64::try_from(plan.timeout.as_nanos()).unwrap_or(u64::MAX);
        let tracker = || Tracker::over(vec![TrackWord::default(); WINDOW_WORDS], timeout_ns);
        let ranking = match plan.destination {
            Destination::Each => Ranking::Unranked,
            Destination::Broadcast(_) => Ranking::Ranked,
        };
        Self {
            token: plan.token.clone(),
            first_sequence: plan.warm_up,
            table,
            outstanding: Outstanding::over(vec![OutstandingSlot::default(); REMEMBERED], run),
            trackers: (0..devices).map(|_| tracker()).collect(),
            bursts: BroadcastReplies::new(devices, ranking),
            foreign: 0,
            damaged: 0,
            unsent: 0,
        }
    }

    /// Takes a packet that is about to leave for every device.
    pub(crate) fn leaving(&mut self, sequence: u32, intended_ns: i64, sent_ns: i64) {
        let number = Sequence(sequence);
        let sending = Sending {
            intended_ns: intended_ns.cast_unsigned(),
            stamp: Stamp(sent_ns.cast_unsigned()),
        };
        self.outstanding.sent(number, sending);
        if self.warms_up(sequence) {
            return;
        }
        for tracker in &mut self.trackers {
            // Sequences are sent in order; the counts would show a repeated one.
            let _ = tracker.expect(number);
        }
        self.bursts.begin(number, sent_ns);
    }

    /// Counts the packets of a beat that the system refused.
    pub(crate) fn refused(&mut self, sequence: u32, packets: u32) {
        if self.warms_up(sequence) {
            return;
        }
        self.unsent += u64::from(packets);
    }

    /// Takes a datagram that came at `received_ns`; returns the samples to record.
    pub(crate) fn answered(
        &mut self,
        from: SocketAddr,
        bytes: &[u8],
        received_ns: i64,
    ) -> Option<ProbeReply> {
        let Some((device, packet, sending)) = self.validated(from, bytes) else {
            self.foreign += 1;
            return None;
        };
        let sequence = packet.sequence().0;
        if self.warms_up(sequence) {
            return None;
        }
        self.damaged += u64::from(packet.damaged_bytes() > 0);
        let sent_ns = sending.stamp.0.cast_signed();
        let round_trip_ns = u64::try_from(received_ns - sent_ns).unwrap_or(0);
        let tracker = self.trackers.get_mut(device.index())?;
        let arrival = tracker.received(packet.sequence(), round_trip_ns);
        let Arrival::First { timing, .. } = arrival else {
            return None;
        };
        let place = self.bursts.answered(packet.sequence(), device, received_ns);
        Some(ProbeReply {
            device: device.index(),
            sequence,
            intended_ns: sending.intended_ns.cast_signed(),
            sent_ns,
            received_ns,
            timing,
            device_stamps: packet.device_stamps(),
            place: place.map(|it| it.place),
            completes: place.is_some() && self.bursts.is_complete(packet.sequence()),
        })
    }

    fn warms_up(&self, sequence: u32) -> bool {
        sequence < self.first_sequence
    }

    /// The device that sent it, and the packet that it answers: it must be of a known device, made with the token, with
    /// the sent content.
    fn validated<'b>(
        &mut self,
        from: SocketAddr,
        bytes: &'b [u8],
    ) -> Option<(DeviceId, Packet<'b>, Sending)> {
        let device = self.table.count_datagram(&DeviceKey::from(from))?;
        let packet = Packet::open(bytes, self.token.as_ref()).ok()?;
        if packet.kind() != Kind::Reply {
            return None;
        }
        let sending = self.outstanding.verify(&packet).ok()?;
        Some((device, packet, sending))
    }

    /// Whether every packet was answered or is lost already: no answer is awaited.
    #[must_use]
    pub(crate) fn is_settled(&self) -> bool {
        let mut trackers = self.trackers.iter();
        trackers.all(|tracker| tracker.counts().waiting() == 0)
    }

    /// Whether every device has answered this packet.
    #[must_use]
    pub(crate) fn is_complete(&self, sequence: u32) -> bool {
        self.bursts.is_complete(Sequence(sequence))
    }

    /// Packets that the system refused to send.
    #[must_use]
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Datagrams that belonged to no flow.
    #[must_use]
    pub(crate) fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Answers whose payload differs from what was sent.
    #[must_use]
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// How the devices answered broadcasts together, when no more answers are awaited; `None` where each
    /// got packets of its own.
    #[must_use]
    pub(crate) fn broadcasts(&mut self) -> Option<Broadcasts> {
        self.bursts.give_up();
        self.bursts.broadcasts()
    }

    /// Counts of the packets to each device, when no more answers are awaited.
    #[must_use]
    pub(crate) fn close(mut self, devices: &[Device]) -> Vec<Flow> {
        self.bursts.give_up();
        let bursts = self.bursts;
        let several = devices.len() > 1;
        let counts = self.trackers.into_iter().map(Tracker::finish);
        let flow = |(at, (device, counts)): (usize, (&Device, Counts))| Flow {
            device: device.name.clone(),
            address: device.address.to_string(),
            sent: counts.sent,
            answered: counts.in_time,
            lost: counts.sent - counts.in_time,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            late: counts.late + counts.too_old,
            longest_loss: counts.longest_loss,
            places: bursts.places(at).filter(|_| several),
        };
        devices.iter().zip(counts).enumerate().map(flow).collect()
    }
}

#[cfg(test)]
mod tests;
