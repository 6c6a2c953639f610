//! RTP packets to pictures: H.264, H.265 and JPEG.
#![no_main]

use kadenz_camera::wire::rtp::{ReorderLimits, Reorder, rtcp};
use kadenz_camera::wire::Coding;
use kadenz_camera::wire::sdp::Video;
use kadenz_camera::wire::video::{Depacketizer, MAX_PICTURE};
use kadenz_rt::clock::MonotonicTime;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, mut rest)) = bytes.split_first() else {
        return;
    };
    let video = Video {
        coding: [Coding::H264, Coding::H265, Coding::Jpeg][usize::from(*kind % 3)],
        payload_type: 96,
        clock_rate: 90_000,
        control: None,
        session_control: None,
        parameter_sets: Vec::new(),
    };
    let limits = if kind & 0x80 == 0 {
        ReorderLimits::UDP
    } else {
        ReorderLimits::NONE
    };
    let (mut reorder, mut depacketizer) = (Reorder::new(limits), Depacketizer::new(&video));
    let (mut now, mut pushed, mut given) = (0, 0, 0);
    // A length, a time in milliseconds, and a packet.
    while let [length, ms, after @ ..] = rest {
        let (packet, next) = after.split_at(usize::from(*length).min(after.len()));
        rest = next;
        now += u64::from(*ms) * 1_000_000;
        let _ = rtcp::said(packet).count();
        pushed += 1;
        reorder.push(packet, MonotonicTime::from_ns(now));
        while let Some(it) = reorder.pop(MonotonicTime::from_ns(now)) {
            given += 1;
            depacketizer.push(&it);
            let mut pictures = 0;
            while let Some(picture) = depacketizer.take() {
                pictures += 1;
                assert!(picture.bytes.len() <= MAX_PICTURE + 2 && !picture.bytes.is_empty());
                assert!(picture.arrival >= picture.first_byte);
                depacketizer.recycle(picture);
            }
            assert!(pictures <= 2);
        }
    }
    assert!(given <= pushed);
    assert_eq!(reorder.counts().received, given);
});
