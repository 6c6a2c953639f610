//! A batch from anywhere: what is read of it can be packed again, into the same bytes.
#![no_main]

use kadenz_udp::controller::{Arrival, TrackWord};
use kadenz_udp::record::{Batch, Batcher, Ledger, kept};
use kadenz_udp::wire::{HEADER_BYTES, MAX_PAYLOAD_BYTES, Packet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
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

    let mut ledger = Ledger::over([TrackWord::default(); 2], batch.run());
    if let Arrival::First { .. } = ledger.arrived(&batch) {
        assert_eq!(ledger.arrived(&batch), Arrival::Duplicate);
    }
    let mut receipt = bytes.to_vec();
    let length = kept(&mut receipt, None).expect("it is a batch");
    assert!(length <= bytes.len());
    assert!(Packet::open(&receipt[..length], None).is_ok());
});
