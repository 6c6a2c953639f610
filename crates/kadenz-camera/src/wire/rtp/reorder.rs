//! Restores the order of packets.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::Packet;

/// Places for packets that came before their turn; a power of two.
const PLACES: usize = 128;
/// A sequence number further ahead than this belongs to another stream (RFC 3550, appendix A.1, `MAX_DROPOUT`).
const MAX_AHEAD: u16 = 3000;
/// A sequence number further behind than this belongs to another stream (RFC 3550, appendix A.1, `MAX_MISORDER`).
const MAX_BEHIND: u16 = 100;
/// Extended numbers start one wrap up, so that a packet before the first does not fall below zero.
const WRAP: u64 = 1 << 16;

/// How long the reorder buffer waits for a missing packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReorderLimits {
    /// The most packets that wait behind it; at most 127.
    pub packets: usize,
    /// The longest that a packet waits.
    pub time: Duration,
}

impl ReorderLimits {
    /// Limits for a stream over UDP.
    pub const UDP: Self = Self {
        packets: 64,
        time: Duration::from_millis(50),
    };
    /// Over TCP, where no packet comes out of order: one that is missing was never sent.
    pub const NONE: Self = Self {
        packets: 0,
        time: Duration::ZERO,
    };
}

/// Counts of a stream's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReorderCounts {
    /// Packets that were passed on in order.
    pub received: u64,
    /// Packets that never came, or too late.
    pub lost: u64,
    /// Packets that came after they were given up; they count as lost, too.
    pub late: u64,
    /// Packets that came again.
    pub duplicated: u64,
    /// Packets that came after a later one and still in time.
    pub reordered: u64,
    /// How often the stream restarted, under another number or from another sender.
    pub restarts: u64,
}

/// A packet that is next in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequenced<'a> {
    /// The packet that is next in order.
    pub packet: Packet<'a>,
    /// When the packet came.
    pub arrival: MonotonicTime,
    /// How many packets are missing just before it.
    pub lost_before: u64,
    /// Whether another stream begins with it.
    pub is_restart: bool,
}

#[derive(Debug, Default)]
struct Place {
    bytes: Vec<u8>,
    arrival: MonotonicTime,
    is_filled: bool,
}

impl Place {
    fn fill(&mut self, bytes: &[u8], arrival: MonotonicTime) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        (self.arrival, self.is_filled) = (arrival, true);
    }
}

/// Puts packets into their order. Its memory is bounded: 128 packets, each as long as the longest that came.
#[derive(Debug)]
pub struct Reorder {
    limits: ReorderLimits,
    places: Box<[Place]>,
    /// The extended number of the next packet in order (RFC 3550, appendix A.1); `None` before the first packet.
    expected: Option<u64>,
    ssrc: u32,
    waiting: usize,
    /// A packet that is too far ahead for a place, and its extended number.
    beyond: (u64, Place),
    /// Bit n: whether the packet n + 1 before the expected one came.
    came: u128,
    /// The number that would follow a packet from outside the window.
    suspect: Option<u16>,
    lost_before: u64,
    is_restart: bool,
    highest: u64,
    counts: ReorderCounts,
}

impl Reorder {
    /// Makes a buffer without packets.
    #[must_use]
    pub fn new(limits: ReorderLimits) -> Self {
        let packets = limits.packets.min(PLACES - 1);
        let mut places = Vec::new();
        places.resize_with(PLACES, Place::default);
        Self {
            limits: ReorderLimits { packets, ..limits },
            places: places.into(),
            expected: None,
            ssrc: 0,
            waiting: 0,
            beyond: (0, Place::default()),
            came: 0,
            suspect: None,
            lost_before: 0,
            is_restart: false,
            highest: 0,
            counts: ReorderCounts::default(),
        }
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> ReorderCounts {
        self.counts
    }

    /// The highest extended number that came, and its SSRC.
    #[must_use]
    pub(crate) fn highest(&self) -> (u32, u32) {
        // A receiver report has 32 bits for it.
        (self.highest as u32, self.ssrc)
    }

    /// Takes a packet, and copies its bytes. The caller calls [`Reorder::pop`] until it returns `None` before it pushes
    /// the next packet.
    pub fn push(&mut self, bytes: &[u8], arrival: MonotonicTime) {
        let Some(packet) = Packet::parse(bytes) else {
            return;
        };
        let expected = match self.expected {
            Some(expected) if packet.ssrc == self.ssrc => expected,
            _ => self.restart(&packet),
        };
        let ahead = packet.sequence.wrapping_sub(expected as u16);
        let behind = ahead.wrapping_neg();
        let expected = if ahead < MAX_AHEAD || (1..=MAX_BEHIND).contains(&behind) {
            expected
        } else if self.suspect == Some(packet.sequence) {
            self.restart(&packet)
        } else {
            // One packet from outside the window may be an error; two in a row are another stream.
            self.suspect = Some(packet.sequence.wrapping_add(1));
            return;
        };
        self.suspect = None;
        let ahead = packet.sequence.wrapping_sub(expected as u16);
        match ahead < MAX_AHEAD {
            true => self.hold(bytes, expected + u64::from(ahead), arrival),
            false => self.count_old(ahead.wrapping_neg()),
        }
    }

    /// Takes the next packet in order. Gives up a missing packet, for those behind it, once it has waited long enough.
    pub fn pop(&mut self, now: MonotonicTime) -> Option<Sequenced<'_>> {
        if self.waiting == 0 {
            self.take_held();
        }
        if self.waiting == 0 {
            return None;
        }
        let mut expected = self.expected?;
        if !self.places[at(expected)].is_filled {
            let is_patient = self.waiting <= self.limits.packets && !self.beyond.1.is_filled;
            if is_patient && self.deadline()? > now {
                return None;
            }
            let first =
                (1..PLACES as u64).find(|ahead| self.places[at(expected + ahead)].is_filled)?;
            self.skip(first);
            expected += first;
        }
        self.waiting -= 1;
        self.expected = Some(expected + 1);
        self.came = self.came << 1 | 1;
        self.counts.received += 1;
        let lost_before = std::mem::take(&mut self.lost_before);
        let is_restart = std::mem::take(&mut self.is_restart);
        let place = &mut self.places[at(expected)];
        place.is_filled = false;
        let arrival = place.arrival;
        // A held packet was parsed when it came.
        let packet = Packet::parse(&place.bytes)?;
        Some(Sequenced {
            packet,
            arrival,
            lost_before,
            is_restart,
        })
    }

    /// When the missing packet is given up; `None` where none is missing.
    #[must_use]
    pub(crate) fn deadline(&self) -> Option<MonotonicTime> {
        let filled = self.places.iter().filter(|place| place.is_filled);
        filled
            .map(|place| place.arrival)
            .min()
            .map(|first| first + self.limits.time)
    }

    fn restart(&mut self, packet: &Packet<'_>) -> u64 {
        if self.expected.is_some() {
            self.counts.restarts += 1;
            self.is_restart = true;
        }
        for place in &mut self.places {
            place.is_filled = false;
        }
        self.beyond.1.is_filled = false;
        (self.waiting, self.came, self.lost_before) = (0, 0, 0);
        (self.ssrc, self.suspect) = (packet.ssrc, None);
        let expected = u64::from(packet.sequence) + WRAP;
        self.expected = Some(expected);
        self.highest = u64::from(packet.sequence);
        expected
    }

    fn hold(&mut self, bytes: &[u8], number: u64, arrival: MonotonicTime) {
        let expected = self.expected.unwrap_or(number);
        if number - expected >= PLACES as u64 {
            if self.waiting > 0 {
                // The waiting packets come first, and this one behind them.
                self.beyond.0 = number;
                self.beyond.1.fill(bytes, arrival);
                return;
            }
            self.skip(number - expected);
        }
        let place = &mut self.places[at(number)];
        if place.is_filled {
            self.counts.duplicated += 1;
            return;
        }
        place.fill(bytes, arrival);
        self.waiting += 1;
        let number = number - WRAP;
        self.counts.reordered += u64::from(number < self.highest);
        self.highest = self.highest.max(number);
    }

    /// Takes in the packet that was too far ahead, once no other waits before it.
    fn take_held(&mut self) {
        if std::mem::take(&mut self.beyond.1.is_filled) {
            let bytes = std::mem::take(&mut self.beyond.1.bytes);
            self.hold(&bytes, self.beyond.0, self.beyond.1.arrival);
            self.beyond.1.bytes = bytes;
        }
    }

    fn skip(&mut self, count: u64) {
        self.expected = self.expected.map(|expected| expected + count);
        self.came = self.came.checked_shl(count as u32).unwrap_or(0);
        self.counts.lost += count;
        self.lost_before += count;
    }

    fn count_old(&mut self, behind: u16) {
        let came = self.came.checked_shr(u32::from(behind) - 1).unwrap_or(0) & 1;
        match came {
            1 => self.counts.duplicated += 1,
            _ => self.counts.late += 1,
        }
    }
}

fn at(number: u64) -> usize {
    number as usize % PLACES
}

#[cfg(test)]
mod tests;
