//! Any text as the kernel's counters: other text is refused, and a difference never exceeds the counts.
#![no_main]

use kadenz_rt::net::counters::{SoftnetCounters, UdpCounters};
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
});
