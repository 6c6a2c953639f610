//! What became of every packet. Sans-IO: it is told of departures and answers, and when.

use std::net::SocketAddr;

use kadenz_record::run::network::Flow;
use kadenz_udp::controller::{
    Arrival, Burst, BurstSlot, DeviceId, DeviceKey, Order, Outstanding, OutstandingSlot, Roster,
    RosterSlot, Sending, Timing, TrackWord, Tracker,
};
use kadenz_udp::wire::{DeviceStamps, Kind, Packet, RunId, Sequence, Stamp, Token};

use super::plan::{Device, ProbePlan};

/// Words of a tracker's window: 65,536 packets.
const WINDOW_WORDS: usize = 1024;
/// Sendings that are remembered.
const REMEMBERED: usize = WINDOW_WORDS * 64;
/// Broadcasts whose answers may still come while later ones are on their way.
const BURSTS: usize = 64;

/// An answer that counts: the first to its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Who answered, as an index into the plan's devices.
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
    /// Whether it came after the answer to a later packet.
    pub order: Order,
    /// The device's own times, where they were asked for and given.
    pub device_stamps: Option<DeviceStamps>,
    /// With this answer all devices have answered the packet.
    pub completes: bool,
}

/// The controller's books: every packet to every device, and what became of it.
///
/// Memory is taken when it is made. Real-time safety: no allocation, lock or system call after.
#[derive(Debug)]
pub struct Books {
    token: Option<Token>,
    first_sequence: u32,
    roster: Roster<Vec<RosterSlot>>,
    outstanding: Outstanding<Vec<OutstandingSlot>>,
    trackers: Vec<Tracker<Vec<TrackWord>>>,
    bursts: Vec<Burst<Vec<BurstSlot>>>,
    foreign: u64,
    damaged: u64,
    unsent: u64,
}

impl Books {
    /// Empty books for the devices of a plan.
    ///
    /// Two devices at one address are one; [`Books::answered`] counts for the first.
    #[must_use]
    pub fn new(plan: &ProbePlan, run: RunId) -> Self {
        let devices = plan.devices.len();
        let mut roster = Roster::over(vec![RosterSlot::default(); 2 * devices.max(1)]);
        for device in &plan.devices {
            // There is room for each of them.
            let _ = roster.add(DeviceKey::from(device.address));
        }
        let timeout_ns = u64::try_from(plan.timeout.as_nanos()).unwrap_or(u64::MAX);
        let tracker = || Tracker::over(vec![TrackWord::default(); WINDOW_WORDS], timeout_ns);
        let burst = || Burst::over(vec![BurstSlot::default(); devices]);
        Self {
            token: plan.token.clone(),
            first_sequence: plan.warm_up,
            roster,
            outstanding: Outstanding::over(vec![OutstandingSlot::default(); REMEMBERED], run),
            trackers: (0..devices).map(|_| tracker()).collect(),
            bursts: (0..BURSTS).map(|_| burst()).collect(),
            foreign: 0,
            damaged: 0,
            unsent: 0,
        }
    }

    /// A packet is about to leave for every device.
    pub fn leaving(&mut self, sequence: u32, intended_ns: i64, sent_ns: i64) {
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
            // Sequences are sent in order; a repeated one would be told by the counts.
            let _ = tracker.expect(number);
        }
        if let Some(burst) = self.bursts.get_mut(sequence as usize % BURSTS) {
            burst.begin(number, sent_ns.cast_unsigned());
        }
    }

    /// The system refused so many packets of a beat.
    pub fn refused(&mut self, packets: u32) {
        self.unsent += u64::from(packets);
    }

    /// Takes a datagram that came at `received_ns`; tells what is to be recorded of it.
    pub fn answered(&mut self, from: SocketAddr, bytes: &[u8], received_ns: i64) -> Option<Reply> {
        let Some((device, packet, sending)) = self.believed(from, bytes) else {
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
        let Arrival::First { order, timing } = arrival else {
            return None;
        };
        Some(Reply {
            device: device.index(),
            sequence,
            intended_ns: sending.intended_ns.cast_signed(),
            sent_ns,
            received_ns,
            timing,
            order,
            device_stamps: packet.device_stamps(),
            completes: self.completes(packet.sequence(), device, received_ns),
        })
    }

    fn warms_up(&self, sequence: u32) -> bool {
        sequence < self.first_sequence
    }

    /// Who sent it, and what it answers: of a known device, made with the token, with what was sent.
    fn believed<'b>(
        &mut self,
        from: SocketAddr,
        bytes: &'b [u8],
    ) -> Option<(DeviceId, Packet<'b>, Sending)> {
        let device = self.roster.heard(&DeviceKey::from(from))?;
        let packet = Packet::open(bytes, self.token.as_ref()).ok()?;
        if packet.kind() != Kind::Reply {
            return None;
        }
        let sending = self.outstanding.verify(&packet).ok()?;
        Some((device, packet, sending))
    }

    fn completes(&mut self, sequence: Sequence, device: DeviceId, received_ns: i64) -> bool {
        let burst = self.bursts.get_mut(sequence.0 as usize % BURSTS);
        burst.is_some_and(|burst| {
            let placed = burst.answered(sequence, device, received_ns.cast_unsigned());
            placed.is_ok() && burst.is_complete()
        })
    }

    /// Whether every packet was answered or is lost already: nothing is waited for.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let mut trackers = self.trackers.iter();
        trackers.all(|tracker| tracker.counts().waiting() == 0)
    }

    /// Whether every device has answered this packet.
    #[must_use]
    pub fn is_complete(&self, sequence: u32) -> bool {
        let burst = self.bursts.get(sequence as usize % BURSTS);
        burst.is_some_and(|it| it.sequence() == Some(Sequence(sequence)) && it.is_complete())
    }

    /// Packets that the system refused to send.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Datagrams that belonged to no flow.
    #[must_use]
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Answers whose payload was not what was sent.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// What became of the packets to each device, when nothing more is waited for.
    #[must_use]
    pub fn close(self, devices: &[Device]) -> Vec<Flow> {
        let counts = self.trackers.into_iter().map(Tracker::finish);
        let flow = |(device, counts): (&Device, kadenz_udp::controller::Counts)| Flow {
            device: device.name.clone(),
            address: device.address.to_string(),
            sent: counts.sent,
            answered: counts.in_time,
            lost: counts.sent - counts.in_time,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            late: counts.late + counts.too_old,
            longest_loss: counts.longest_loss,
        };
        devices.iter().zip(counts).map(flow).collect()
    }
}

#[cfg(test)]
mod tests;
