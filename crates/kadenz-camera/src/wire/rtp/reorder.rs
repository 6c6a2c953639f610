//! From packets as they come to packets in their order.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::Packet;

/// Places for packets that came before their turn; a power of two.
const PLACES: usize = 128;
/// A number further ahead than this is another stream's (RFC 3550, appendix A.1, `MAX_DROPOUT`).
const MAX_AHEAD: u16 = 3000;
/// A number further behind than this is another stream's (RFC 3550, appendix A.1, `MAX_MISORDER`).
const MAX_BEHIND: u16 = 100;
/// Numbers are counted from one wrap on, so that one before the first is none below zero.
const WRAP: u64 = 1 << 16;

/// How long a missing packet is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReorderLimits {
    /// At most so many packets wait behind it; at most 127.
    pub packets: usize,
    /// None waits longer.
    pub time: Duration,
}

impl ReorderLimits {
    /// Over UDP.
    pub const UDP: Self = Self {
        packets: 64,
        time: Duration::from_millis(50),
    };
    /// Over TCP, where nothing comes out of order: what is missing was never sent.
    pub const NONE: Self = Self {
        packets: 0,
        time: Duration::ZERO,
    };
}

/// What became of the packets of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReorderCounts {
    /// Given on.
    pub received: u64,
    /// Never came, or too late.
    pub lost: u64,
    /// Came after they were given up; they are among the lost, too.
    pub late: u64,
    /// Came again.
    pub duplicated: u64,
    /// Came after a later one and still in time.
    pub reordered: u64,
    /// How often the stream began anew, under another number or from another sender.
    pub restarts: u64,
}

/// A packet whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequenced<'a> {
    /// The packet.
    pub packet: Packet<'a>,
    /// When it came.
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

/// Puts packets into their order. What it holds is bounded: 128 packets, each as long as the longest that came.
#[derive(Debug)]
pub struct Reorder {
    limits: ReorderLimits,
    places: Box<[Place]>,
    /// The number whose turn it is, with its wraps (RFC 3550, appendix A.1); `None` before the first packet.
    expected: Option<u64>,
    ssrc: u32,
    waiting: usize,
    /// One that is too far ahead for a place, and its number.
    beyond: (u64, Place),
    /// Bit n: whether the packet n + 1 before the expected one came.
    came: u128,
    /// The number that would follow one from far away.
    suspect: Option<u16>,
    lost_before: u64,
    is_restart: bool,
    highest: u64,
    counts: ReorderCounts,
}

impl Reorder {
    /// An empty one.
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

    /// What became of the packets so far.
    #[must_use]
    pub fn counts(&self) -> ReorderCounts {
        self.counts
    }

    /// The highest number that came, with its wraps, and who sent it.
    #[must_use]
    pub fn highest(&self) -> (u32, u32) {
        // A receiver report has 32 bits for it.
        (self.highest as u32, self.ssrc)
    }

    /// Takes a packet, whose bytes are copied. [`Reorder::pop`] must be called until it gives none before the next
    /// one is pushed.
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
            // One alone may be an error; two in a row are another stream.
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

    /// The next packet whose turn it is at a time, in order; one is given up for those behind it where that was
    /// waited for long enough.
    pub fn pop(&mut self, now: MonotonicTime) -> Option<Sequenced<'_>> {
        if self.waiting == 0 {
            self.hold_beyond();
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
        // What is held was parsed when it came.
        let packet = Packet::parse(&place.bytes)?;
        Some(Sequenced {
            packet,
            arrival,
            lost_before,
            is_restart,
        })
    }

    /// When the packet that is waited for is given up; `None` where none is waited for.
    #[must_use]
    pub fn deadline(&self) -> Option<MonotonicTime> {
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
                // What waits comes first, and this one behind it.
                let place = &mut self.beyond.1;
                place.bytes.clear();
                place.bytes.extend_from_slice(bytes);
                (place.arrival, place.is_filled) = (arrival, true);
                self.beyond.0 = number;
                return;
            }
            self.skip(number - expected);
        }
        let place = &mut self.places[at(number)];
        if place.is_filled {
            self.counts.duplicated += 1;
            return;
        }
        place.bytes.clear();
        place.bytes.extend_from_slice(bytes);
        (place.arrival, place.is_filled) = (arrival, true);
        self.waiting += 1;
        let number = number - WRAP;
        self.counts.reordered += u64::from(number < self.highest);
        self.highest = self.highest.max(number);
    }

    /// Takes in the packet that was too far ahead, now that none waits before it.
    fn hold_beyond(&mut self) {
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
