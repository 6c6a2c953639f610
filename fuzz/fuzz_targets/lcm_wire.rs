//! Any datagrams, one after the other, each behind its length: memory stays bounded, a complete message is the
//! concatenation of its fragments, and a parsed datagram is written again as it was.
#![no_main]

use kadenz_msg::arrival::SenderId;
use kadenz_msg::channel::Channel;
use kadenz_msg::wire::{Added, ReassemblyLimits, Packet, Reassembly, short_header};
use kadenz_rt::clock::MonotonicTime;
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

const LIMITS: ReassemblyLimits = ReassemblyLimits {
    bytes: 300_000,
    messages: 8,
    idle: Duration::from_millis(100),
};

fuzz_target!(|bytes: &[u8]| {
    let mut reassembly = Reassembly::new(LIMITS);
    let mut rest = bytes;
    let mut now = MonotonicTime::from_ns(0);
    // As in conformance/lcm-wire: a length of 32 bits; its upper bits give the sender and the time.
    while let Some((head, behind)) = rest.split_first_chunk::<4>() {
        let head = u32::from_be_bytes(*head);
        let length = (head as usize & 0x1_ffff).min(behind.len());
        let (datagram, next) = behind.split_at(length);
        rest = next;
        now = now + Duration::from_millis(u64::from(head >> 24));
        let sender = SenderId(u128::from(head >> 20 & 3));
        take(&mut reassembly, sender, datagram, now);
        assert!(reassembly.held() <= LIMITS.bytes);
    }
    let counters = reassembly.counters();
    assert!(counters.complete + counters.incomplete <= bytes.len() as u64);
});

fn take(reassembly: &mut Reassembly, sender: SenderId, datagram: &[u8], now: MonotonicTime) {
    match Packet::parse(datagram) {
        Err(_) => {}
        Ok(Packet::Short {
            sequence,
            channel,
            payload,
        }) => {
            let channel = Channel::new(channel).expect("what is read is a channel");
            let header = short_header(sequence, &channel);
            assert_eq!([header.bytes(), payload].concat(), datagram);
        }
        Ok(Packet::Fragment(fragment)) => {
            assert!(fragment.offset + fragment.payload.len() <= fragment.size);
            let (offset, length) = (fragment.offset, fragment.payload.len());
            if let Added::Complete(whole) = reassembly.add(sender, &fragment, now, None) {
                assert_eq!(whole.payload.len(), fragment.size);
                assert_eq!(&whole.payload[offset..offset + length], fragment.payload);
            }
        }
    }
}
