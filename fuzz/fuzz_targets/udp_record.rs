//! Any bytes as a batch: the samples read from it can be packed again, into the same bytes; and no answer is longer
//! than its question.
#![no_main]

use kadenz_udp::controller::{Arrival, TrackWord};
use kadenz_udp::record::{Batch, Batcher, HandshakeEvent, Handshake, BatchTracker, ServerReply, server_reply};
use kadenz_udp::wire::{HEADER_BYTES, MAX_PAYLOAD_BYTES, Packet, RunId, Stamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let replies =
        [ServerReply::Kept, ServerReply::Cookie(Stamp(1)), ServerReply::Welcome, ServerReply::Refused];
    for reply in replies {
        let mut answer = bytes.to_vec();
        if let Some(length) = server_reply(&mut answer, reply, None) {
            assert!(length <= bytes.len());
            assert!(Packet::open(&answer[..length], None).is_ok());
        }
    }
    let mut handshake = Handshake::new(RunId(7), None);
    if handshake.receive(bytes) != HandshakeEvent::Nothing {
        assert!(Packet::parse(handshake.hello()).is_ok());
    }
    let Ok(packet) = Packet::parse(bytes) else {
        return;
    };
    let Ok(batch) = Batch::read(&packet) else {
        return;
    };
    assert_eq!(batch.measurements().count(), batch.len());
    let mut batcher =
        Batcher::over(vec![0; MAX_PAYLOAD_BYTES], batch.run(), None).expect("room for the largest");
    for measurement in batch.measurements() {
        batcher.push(&measurement).expect("it came in a datagram");
    }
    let again = batcher.finish(batch.stamp(), batch.position());
    assert_eq!(&again[HEADER_BYTES..], packet.body());

    let mut tracker = BatchTracker::over([TrackWord::default(); 2], batch.run());
    if let Arrival::First { .. } = tracker.arrived(&batch, 1000) {
        assert_eq!(tracker.arrived(&batch, 1000), Arrival::Duplicate);
    }
});
