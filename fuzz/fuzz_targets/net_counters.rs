//! Any text as the kernel's counters: other text is refused or left out, and a difference never exceeds the counts.
#![no_main]

use std::net::IpAddr;

use kadenz_rt::net::counters::{SocketRow, SoftnetCounters, UdpCounters};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for udp in [UdpCounters::parse(&text), UdpCounters::parse_v6(&text)].into_iter().flatten() {
        assert_eq!(udp.since(&udp).lost(), 0);
        assert_eq!(udp.since(&UdpCounters::default()), udp);
    }
    if let Some(softnet) = SoftnetCounters::parse(&text) {
        assert_eq!(softnet.since(&SoftnetCounters::default()), softnet);
    }
    for row in text.lines().filter_map(SocketRow::parse) {
        assert_eq!(SocketRow::parse(&written(&row)), Some(row));
    }
});

/// The row as the kernel writes it.
fn written(row: &SocketRow) -> String {
    let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
    let words = |bytes: &[u8]| -> String {
        let words = bytes.chunks_exact(4).map(|bytes| format!("{:08X}", word(bytes)));
        words.collect()
    };
    let ip = match row.local.ip() {
        IpAddr::V4(ip) => words(&ip.octets()),
        IpAddr::V6(ip) => words(&ip.octets()),
    };
    let SocketRow { local, receive_queue, inode, dropped } = row;
    let port = local.port();
    format!("0: {ip}:{port:04X} 0:0 07 0:{receive_queue:X} 0:0 0 0 0 {inode} 2 0 {dropped}")
}
