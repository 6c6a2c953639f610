#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz_rt::clock::MonotonicTime;
use proptest::prelude::*;

use super::super::Coding;
use super::super::rtp::{Packet, Reorder, ReorderLimits, Sequenced};
use super::super::sdp::Video;
use super::{Depacketizer, Encoded, MAX_PICTURE};

const SPS: &[u8] = &[0x67, 77, 0, 31, 0x88];
const PPS: &[u8] = &[0x68, 0x88];
/// Slices: the first of an IDR picture, the first and another one of a picture that refers to others, the first one
/// of a picture of I slices.
const IDR: &[u8] = &[0x65, 0x88, 1, 2, 3, 4, 5, 6, 7, 8];
const P: &[u8] = &[0x41, 0b1001_1000, 1, 2, 3];
const P_REST: &[u8] = &[0x41, 0b0100_0110, 0, 9];
const I: &[u8] = &[0x41, 0x88, 5];
const SEI: &[u8] = &[6, 5, 1, 0];

struct Stream {
    reorder: Reorder,
    depacketizer: Depacketizer,
    sequence: u16,
    clock_ms: u64,
    pictures: Vec<Encoded>,
}

impl Stream {
    fn new(coding: Coding, parameter_sets: &[&[u8]]) -> Self {
        let video = Video {
            coding,
            payload_type: 96,
            clock_rate: 90_000,
            control: None,
            session_control: None,
            parameter_sets: parameter_sets.iter().map(|set| set.to_vec()).collect(),
        };
        Self {
            reorder: Reorder::new(ReorderLimits::NONE),
            depacketizer: Depacketizer::new(&video),
            sequence: 65_530,
            clock_ms: 0,
            pictures: Vec::new(),
        }
    }

    fn h264(parameter_sets: &[&[u8]]) -> Self {
        Self::new(Coding::H264, parameter_sets)
    }

    fn lose(&mut self, count: u16) {
        self.sequence = self.sequence.wrapping_add(count);
    }

    /// A packet comes, a millisecond after the one before; `at` counts pictures.
    fn packet(&mut self, at: u32, marker: bool, payload: &[u8]) {
        let (timestamp, sequence) = (at.wrapping_mul(3000), self.sequence);
        let packet = Packet {
            marker,
            payload_type: 96,
            sequence,
            timestamp,
            ssrc: 1,
            payload,
        };
        let mut bytes = Vec::new();
        packet.write(&mut bytes);
        self.lose(1);
        self.clock_ms += 1;
        let now = MonotonicTime::from_ns(self.clock_ms);
        self.reorder.push(&bytes, now);
        while let Some(packet) = self.reorder.pop(now) {
            self.depacketizer.push(&packet);
            while let Some(picture) = self.depacketizer.take() {
                self.pictures.push(picture);
            }
        }
    }

    /// A NAL unit in fragments of so many bytes, the last one with or without a marker.
    fn fragments(&mut self, at: u32, marker: bool, nal: &[u8], length: usize) {
        let count = nal[1..].chunks(length).count();
        for (number, chunk) in nal[1..].chunks(length).enumerate() {
            let start = if number == 0 { 0x80 } else { 0 };
            let is_last = number + 1 == count;
            let end = if is_last { 0x40 } else { 0 };
            let mut payload = vec![nal[0] & 0xe0 | 28, nal[0] & 0x1f | start | end];
            payload.extend_from_slice(chunk);
            self.packet(at, marker && is_last, &payload);
        }
    }

    fn take(&mut self) -> Vec<Encoded> {
        std::mem::take(&mut self.pictures)
    }

    fn one(&mut self) -> Encoded {
        let pictures = self.take();
        assert_eq!(pictures.len(), 1, "{pictures:?}");
        pictures.into_iter().next().unwrap()
    }
}

fn annex_b(nals: &[&[u8]]) -> Vec<u8> {
    nals.iter()
        .flat_map(|nal| [&[0, 0, 0, 1], *nal].concat())
        .collect()
}

fn aggregate(nals: &[&[u8]]) -> Vec<u8> {
    let units = nals
        .iter()
        .flat_map(|nal| [&(nal.len() as u16).to_be_bytes(), *nal].concat());
    [24].into_iter().chain(units).collect()
}

#[test]
fn a_picture_comes_with_its_marker() {
    let mut stream = Stream::h264(&[]);
    stream.packet(0, false, &aggregate(&[SPS, PPS, SEI]));
    stream.fragments(0, true, IDR, 4);
    let picture = stream.one();
    assert_eq!(picture.bytes, annex_b(&[SPS, PPS, SEI, IDR]));
    assert!(picture.is_key && !picture.is_damaged);
    assert_eq!(
        (picture.first_byte.as_ns(), picture.arrival.as_ns()),
        (1, 4)
    );
    stream.packet(1, true, P);
    let picture = stream.one();
    assert_eq!(picture.bytes, annex_b(&[P]));
    assert!(!picture.is_key && !picture.is_damaged && picture.timestamp == 3000);
}

#[test]
fn packets_in_another_order_leave_no_picture_that_was_whole_before_it_began() {
    let mut depacketizer = Stream::h264(&[SPS, PPS]).depacketizer;
    for (arrival, marker, payload) in [(9, false, IDR), (7, false, P_REST), (8, true, P_REST)] {
        let packet = Packet {
            marker,
            payload_type: 96,
            sequence: 0,
            timestamp: 3000,
            ssrc: 1,
            payload,
        };
        let arrival = MonotonicTime::from_ns(arrival);
        depacketizer.push(&Sequenced {
            packet,
            arrival,
            lost_before: 0,
            is_restart: false,
        });
    }
    let picture = depacketizer.take().unwrap();
    assert_eq!(
        (picture.first_byte.as_ns(), picture.arrival.as_ns()),
        (7, 9)
    );
}

#[test]
fn after_a_loss_too_long_to_count_a_picture_was_missed() {
    let mut stream = Stream::h264(&[SPS, PPS]);
    stream.packet(0, true, IDR);
    stream.packet(1, true, P);
    assert_eq!(stream.take().len(), 2);
    stream.lose(10_000);
    // The first packet afterwards may be a stray one; the next confirms it.
    for at in 300..303 {
        stream.packet(at, true, P);
    }
    let missed: Vec<u64> = stream.take().iter().map(|it| it.missed).collect();
    assert!(missed.first() > Some(&0), "{missed:?}");
    assert!(missed[1..].iter().all(|it| *it == 0), "{missed:?}");
}

#[test]
fn parameter_sets_of_the_description_or_of_before_come_before_each_idr() {
    let mut stream = Stream::h264(&[SPS, PPS]);
    stream.packet(0, true, IDR);
    assert_eq!(stream.one().bytes, annex_b(&[SPS, PPS, IDR]));
    let other = [SPS, &[1]].concat();
    stream.packet(1, false, &other);
    stream.packet(1, true, IDR);
    assert_eq!(stream.one().bytes, annex_b(&[&other, PPS, IDR]));
    stream.fragments(2, true, IDR, 3);
    assert_eq!(stream.one().bytes, annex_b(&[&other, PPS, IDR]));
}

#[test]
fn decoding_can_begin_at_i_slices_behind_parameter_sets() {
    let mut stream = Stream::h264(&[SPS, PPS]);
    stream.packet(0, true, I);
    assert!(!stream.one().is_key);
    stream.packet(1, false, &aggregate(&[SPS, PPS]));
    stream.packet(1, true, I);
    assert!(stream.one().is_key);
    stream.packet(2, false, &aggregate(&[SPS, PPS, I]));
    stream.packet(2, true, P_REST);
    assert!(!stream.one().is_key);
}

#[test]
fn without_markers_the_next_time_stamp_ends_a_picture() {
    let mut stream = Stream::h264(&[]);
    stream.packet(0, false, IDR);
    stream.packet(0, false, P_REST);
    assert_eq!(stream.take(), []);
    stream.packet(1, false, P);
    let picture = stream.one();
    assert_eq!(picture.bytes, annex_b(&[IDR, P_REST]));
    assert_eq!(
        (picture.first_byte.as_ns(), picture.arrival.as_ns()),
        (1, 2)
    );
}

#[test]
fn markers_on_each_packet_are_seen_through() {
    let mut stream = Stream::h264(&[SPS, PPS]);
    // On a unit that is not a slice, and within fragments, a marker ends nothing.
    stream.packet(0, true, SEI);
    stream.packet(0, true, &[0x7c, 0x85, 0x88]);
    stream.packet(0, true, &[0x7c, 0x45, 9]);
    assert_eq!(
        stream.one().bytes,
        annex_b(&[SEI, SPS, PPS, &[0x65, 0x88, 9]])
    );
    // A marker on each slice is too early: after the first such picture it is ignored.
    stream.packet(1, true, P);
    stream.packet(1, true, P_REST);
    stream.packet(2, true, P);
    let damaged: Vec<bool> = stream.take().iter().map(|it| it.is_damaged).collect();
    assert_eq!(damaged, [false, true]);
    stream.packet(2, true, P_REST);
    stream.packet(3, true, P);
    let picture = stream.one();
    assert_eq!(picture.bytes, annex_b(&[P, P_REST]));
    assert!(!picture.is_damaged);
}

#[test]
fn parameter_sets_with_a_time_stamp_and_a_marker_of_their_own_belong_to_the_next_picture() {
    let mut stream = Stream::h264(&[]);
    stream.packet(0, true, &aggregate(&[SPS, PPS]));
    stream.packet(1, true, IDR);
    assert_eq!(stream.one().bytes, annex_b(&[SPS, PPS, IDR]));
}

#[test]
fn a_byte_stream_where_a_nal_unit_belongs_is_understood() {
    let mut stream = Stream::h264(&[]);
    let all = [SPS, &[0, 0, 0, 1], PPS, &[0, 0, 1], IDR].concat();
    stream.fragments(0, true, &all, 6);
    let picture = stream.one();
    assert!(picture.is_key);
    assert_eq!(picture.bytes, annex_b(&[&all]));
    stream.packet(1, true, IDR);
    assert_eq!(stream.one().bytes, annex_b(&[SPS, PPS, IDR]));
}

#[test]
fn a_lost_fragment_damages_its_picture_and_no_other() {
    let mut stream = Stream::h264(&[SPS, PPS]);
    stream.packet(0, true, IDR);
    stream.packet(1, true, P);
    stream.take();
    stream.packet(2, false, P);
    stream.packet(2, false, &[0x7c, 0x81, 0b0100_0110, 0]);
    stream.lose(1);
    stream.packet(2, true, &[0x7c, 0x41, 9]);
    stream.packet(3, true, P);
    // Its marker stands in a fragment that is left out.
    let pictures = stream.take();
    assert_eq!(pictures[0].bytes, annex_b(&[P, &[0x61, 0b0100_0110, 0]]));
    let marks: Vec<_> = pictures
        .iter()
        .map(|it| (it.timestamp, it.is_damaged, it.missed))
        .collect();
    assert_eq!(marks, [(6000, true, 0), (9000, false, 0)]);
}

#[test]
fn pictures_between_which_packets_are_lost_are_marked() {
    let mut stream = Stream::h264(&[SPS, PPS]);
    let marks = |stream: &mut Stream| {
        let pictures = stream.take();
        pictures
            .iter()
            .map(|it| (it.timestamp / 3000, it.is_damaged, it.missed))
            .collect::<Vec<_>>()
    };
    stream.packet(0, true, IDR);
    stream.packet(1, true, P);
    stream.lose(2);
    stream.packet(4, true, P);
    assert_eq!(
        marks(&mut stream),
        [(0, false, 0), (1, false, 0), (4, false, 2)]
    );
    // A gap in time without a lost packet is the camera's own.
    stream.packet(7, true, P);
    assert_eq!(marks(&mut stream), [(7, false, 0)]);
    stream.packet(8, true, P);
    // The end of one and the beginning of the next are lost.
    stream.packet(9, false, P);
    stream.lose(2);
    stream.packet(10, true, P_REST);
    assert_eq!(
        marks(&mut stream),
        [(8, false, 0), (9, true, 0), (10, true, 0)]
    );
}

#[test]
fn a_picture_without_end_is_given_up() {
    let mut stream = Stream::h264(&[SPS, PPS]);
    stream.packet(0, true, IDR);
    stream.take();
    let long = vec![0; 60_000];
    stream.packet(1, false, P);
    for _ in 0..=MAX_PICTURE / long.len() {
        stream.packet(1, false, &[&[0x7c, 0x81], &long[..]].concat());
    }
    stream.packet(1, true, P_REST);
    stream.packet(2, true, P);
    let picture = stream.one();
    assert_eq!((picture.timestamp, picture.missed), (6000, 1));
}

#[test]
fn what_is_not_payload_damages_the_picture() {
    for payload in [&[24, 0, 9, 1][..], &[29, 0x85, 1], &[28]] {
        let mut stream = Stream::h264(&[SPS, PPS]);
        stream.packet(0, false, IDR);
        stream.packet(0, false, payload);
        stream.packet(1, true, P);
        let damaged: Vec<_> = stream.take().iter().map(|it| it.is_damaged).collect();
        assert_eq!(damaged, [true, false], "{payload:?}");
    }
}

#[test]
fn h265_is_put_together_likewise() {
    let (vps, sps, pps) = (&[64, 1, 9][..], &[66, 1, 9][..], &[68, 1, 0x88][..]);
    let idr = &[38, 1, 0x80, 1, 2][..];
    let mut stream = Stream::new(Coding::H265, &[pps, sps, vps]);
    stream.packet(0, true, idr);
    let picture = stream.one();
    assert!(picture.is_key);
    assert_eq!(picture.bytes, annex_b(&[vps, sps, pps, idr]));
    let aggregation = [&[96, 1][..], &aggregate(&[vps, sps, pps])[1..]].concat();
    stream.packet(1, false, &aggregation);
    stream.packet(1, false, &[98, 1, 0x80 | 19, 0x80]);
    stream.packet(1, false, &[98, 1, 19, 1]);
    stream.packet(1, true, &[98, 1, 0x40 | 19, 2]);
    assert_eq!(stream.one().bytes, annex_b(&[vps, sps, pps, idr]));
    stream.packet(2, true, &[2, 1, 0x80, 5]);
    assert!(!stream.one().is_key);
}

proptest! {
    #[test]
    fn any_fragmentation_gives_the_same_pictures(lengths in prop::collection::vec(1_usize..12, 1..20)) {
        let mut stream = Stream::h264(&[]);
        let mut expected = Vec::new();
        for (at, length) in lengths.iter().enumerate() {
            let at = at as u32;
            stream.packet(at, false, &aggregate(&[SPS, PPS]));
            stream.fragments(at, false, IDR, *length);
            stream.fragments(at, true, P_REST, *length);
            expected.push(annex_b(&[SPS, PPS, IDR, P_REST]));
        }
        let pictures: Vec<_> = stream.take().into_iter().map(|it| it.bytes).collect();
        prop_assert_eq!(pictures, expected);
    }

    #[test]
    fn any_packets_are_bounded_and_harmless(
        packets in prop::collection::vec((0_u32..4, any::<bool>(), 0_u16..3, prop::collection::vec(any::<u8>(), 0..40)), 0..80),
        is_h265: bool,
    ) {
        let mut stream = Stream::new(if is_h265 { Coding::H265 } else { Coding::H264 }, &[]);
        let count = packets.len();
        for (at, marker, lost, payload) in packets {
            stream.lose(lost);
            stream.packet(at, marker, &payload);
        }
        prop_assert!(stream.take().len() <= count);
    }
}
