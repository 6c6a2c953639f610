//! H.264 as RTP packets (RFC 6184, packetization mode 1) and the camera's sender reports (RFC 3550).

use kadenz_rt::clock::WallTime;
use kadenz_rt::random::Random;

use crate::wire::rtp::{Packet, rtcp};
use crate::wire::rtsp::{FRAME_HEADER, frame_header};

/// Bytes of an RTP payload: what an Ethernet frame carries with room for a VPN's headers.
const MAX_PAYLOAD: usize = 1400;
const RTP_HEADER: usize = 12;
/// The payload type that the SDP names.
pub(super) const PAYLOAD_TYPE: u8 = 96;
/// Ticks a second of the RTP timestamps.
const RTP_HZ: u128 = 90_000;

/// RTP's timestamp of a time, counted from the simulator's start.
pub(super) fn rtp_time(elapsed_ns: u64) -> u32 {
    // Wraps by design (RFC 3550, section 5.1).
    (u128::from(elapsed_ns) * RTP_HZ / 1_000_000_000) as u32
}

/// The packets of one picture, each with the four bytes before it that TCP wants.
#[derive(Debug, Default)]
pub(super) struct Packets {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Packets {
    /// Each packet with its interleaved header.
    pub(super) fn each(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(&0).chain(&self.ends);
        begins
            .zip(&self.ends)
            .map(|(begin, end)| &self.bytes[*begin..*end])
    }

    /// The bytes of each packet alone, as UDP wants them.
    pub(super) fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        self.each().map(|packet| &packet[FRAME_HEADER..])
    }

    /// All packets, one behind the other, as TCP wants them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a packet with its interleaved header.
    pub(super) fn push(&mut self, packet: &[u8]) {
        self.bytes.extend(packet);
        self.ends.push(self.bytes.len());
    }
}

/// Whether a NAL unit is a parameter set of a sequence or a picture.
pub(super) fn is_parameter_set(unit: &[u8]) -> bool {
    matches!(unit.first().map(|it| it & 31), Some(7 | 8))
}

/// The sender of one stream.
pub(super) struct RtpSender {
    pub(super) ssrc: u32,
    channel: u8,
    /// Of the next packet.
    pub(super) sequence: u16,
    packets_sent: u32,
    bytes_sent: u32,
    packets: Packets,
    fragment: Vec<u8>,
}

impl RtpSender {
    pub(super) fn new(ssrc: u32, sequence: u16, channel: u8) -> Self {
        Self {
            ssrc,
            channel,
            sequence,
            packets_sent: 0,
            bytes_sent: 0,
            packets: Packets::default(),
            fragment: Vec::new(),
        }
    }

    /// The packets of an access unit: parameter sets in one (STAP-A, section 5.7.1), large units in fragments (FU-A,
    /// section 5.8).
    pub(super) fn packetize(&mut self, units: &[Vec<u8>], timestamp: u32) -> &Packets {
        self.packets.clear();
        let sets = units.iter().take_while(|unit| is_parameter_set(unit));
        let parameters = sets.count();
        let mut rest = units;
        let length: usize = units[..parameters].iter().map(|unit| unit.len() + 2).sum();
        if parameters > 1 && length < MAX_PAYLOAD {
            let mut together = std::mem::take(&mut self.fragment);
            together.clear();
            together.push(24 | units[0][0] & 0x60);
            for unit in &units[..parameters] {
                together.extend((unit.len() as u16).to_be_bytes());
                together.extend(unit);
            }
            rest = &units[parameters..];
            self.push(&together, timestamp, rest.is_empty());
            self.fragment = together;
        }
        for (index, unit) in rest.iter().enumerate() {
            self.push_unit(unit, timestamp, index + 1 == rest.len());
        }
        &self.packets
    }

    fn push_unit(&mut self, unit: &[u8], timestamp: u32, is_last: bool) {
        let [header, body @ ..] = unit else {
            return;
        };
        if unit.len() <= MAX_PAYLOAD {
            self.push(unit, timestamp, is_last);
            return;
        }
        let count = body.len().div_ceil(MAX_PAYLOAD - 2);
        let mut fragment = std::mem::take(&mut self.fragment);
        for (index, part) in body.chunks(MAX_PAYLOAD - 2).enumerate() {
            let (begins, ends) = (index == 0, index + 1 == count);
            fragment.clear();
            fragment.push(header & 0xe0 | 28);
            fragment.push(header & 0x1f | u8::from(begins) << 7 | u8::from(ends) << 6);
            fragment.extend(part);
            self.push(&fragment, timestamp, is_last && ends);
        }
        self.fragment = fragment;
    }

    fn push(&mut self, payload: &[u8], timestamp: u32, is_marked: bool) {
        let packet = Packet {
            marker: is_marked,
            payload_type: PAYLOAD_TYPE,
            sequence: self.sequence,
            timestamp,
            ssrc: self.ssrc,
            payload,
        };
        let bytes = &mut self.packets.bytes;
        let length = (RTP_HEADER + payload.len()) as u16;
        bytes.extend(frame_header(self.channel, length));
        packet.write(bytes);
        self.packets.ends.push(bytes.len());
        self.sequence = self.sequence.wrapping_add(1);
        self.packets_sent = self.packets_sent.wrapping_add(1);
        self.bytes_sent = self.bytes_sent.wrapping_add(payload.len() as u32);
    }

    /// A sender report with a name (RFC 3550, sections 6.4.1 and 6.5), behind its interleaved header: `timestamp` was
    /// taken at `wall`.
    pub(super) fn report(&self, timestamp: u32, wall: WallTime) -> Vec<u8> {
        let ns = wall.as_unix_ns();
        let seconds = ns.div_euclid(1_000_000_000) + rtcp::NTP_TO_UNIX;
        let fraction = (ns.rem_euclid(1_000_000_000) as u64) << 32;
        let fraction = fraction / 1_000_000_000;
        let words = [
            self.ssrc,
            seconds as u32,
            fraction as u32,
            timestamp,
            self.packets_sent,
            self.bytes_sent,
        ];
        // Sender report of 6 words after its header.
        let mut report = vec![0x80, rtcp::SENDER_REPORT, 0, 6];
        report.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        report.extend(rtcp::description(self.ssrc));
        let mut framed = frame_header(self.channel + 1, report.len() as u16).to_vec();
        framed.extend(report);
        framed
    }
}

/// Drops, reorders and repeats packets by the shares that are lost, sent after their successor and sent twice.
pub(super) fn with_faults<'a>(
    packets: impl Iterator<Item = &'a [u8]>,
    [lost, late, twice]: [f64; 3],
    random: &mut Random,
) -> Vec<&'a [u8]> {
    let mut sent: Vec<&[u8]> = Vec::new();
    let mut held = None;
    for packet in packets {
        if random.happens(lost) {
            continue;
        }
        if held.is_none() && random.happens(late) {
            held = Some(packet);
            continue;
        }
        sent.push(packet);
        if random.happens(twice) {
            sent.push(packet);
        }
        sent.extend(held.take());
    }
    sent.extend(held);
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_and_aggregates_carry_the_units_and_the_last_packet_is_marked() {
        let large: Vec<u8> = (0..5000_u32)
            .map(|at| if at == 0 { 0x65 } else { at as u8 })
            .collect();
        let units = [vec![0x67, 1, 2], vec![0x68, 3], large.clone()];
        let mut sender = RtpSender::new(7, 65535, 2);
        let mut rebuilt = vec![0x65];
        let packets: Vec<Vec<u8>> = sender
            .packetize(&units, 90)
            .each()
            .map(<[u8]>::to_vec)
            .collect();
        for (index, packet) in packets.iter().enumerate() {
            assert_eq!(packet[..2], [b'$', 2]);
            assert_eq!(
                usize::from(u16::from_be_bytes([packet[2], packet[3]])),
                packet.len() - 4
            );
            let sequence = u16::from_be_bytes([packet[6], packet[7]]);
            assert_eq!(sequence, 65535_u16.wrapping_add(index as u16));
            assert_eq!(packet[5] >> 7 == 1, index + 1 == packets.len());
            let payload = &packet[FRAME_HEADER + RTP_HEADER..];
            if index == 0 {
                assert_eq!(payload, [24 | 0x60, 0, 3, 0x67, 1, 2, 0, 2, 0x68, 3]);
            } else {
                assert_eq!(payload[0], 0x60 | 28);
                assert_eq!(payload[1] >> 7 == 1, index == 1);
                assert_eq!(payload[1] >> 6 & 1 == 1, index + 1 == packets.len());
                rebuilt.extend(&payload[2..]);
            }
        }
        assert_eq!(rebuilt, large);
    }

    #[test]
    fn a_report_maps_rtp_time_to_the_time_of_day() {
        let sender = RtpSender::new(7, 0, 0);
        let report = sender.report(123, WallTime::from_unix_ns(1_500_000_000));
        let word = |at: usize| {
            let bytes: [u8; 4] = std::array::from_fn(|byte| report[4 + at * 4 + byte]);
            u32::from_be_bytes(bytes)
        };
        assert_eq!(report[..4], [b'$', 1, 0, report.len() as u8 - 4]);
        assert_eq!(
            [word(1), word(2), word(3), word(4)],
            [7, 2_208_988_801, 1 << 31, 123]
        );
        // Both lengths in words, their headers included.
        assert_eq!(report.len() - 4, (7 + 5) * 4);
    }

    #[test]
    fn packets_are_lost_doubled_and_reordered_and_nothing_else() {
        let packets: Vec<Vec<u8>> = (0..100).map(|it| vec![it]).collect();
        let sent = |shares| {
            let packets = packets.iter().map(Vec::as_slice);
            with_faults(packets, shares, &mut Random::new(3)).concat()
        };
        let all: Vec<u8> = (0..100).collect();
        assert_eq!(sent([0.0; 3]), all);
        assert!(sent([1.0, 0.0, 0.0]).is_empty());
        assert_eq!(sent([0.0, 0.0, 1.0]).len(), 200);
        let mut swapped = sent([0.0, 0.3, 0.0]);
        assert_ne!(swapped, all);
        swapped.sort_unstable();
        assert_eq!(swapped, all);
    }
}
