//! `udpm://`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Provider, udpm::Udpm};

use crate::promises::{Open, promises};

/// A group per bus, which differs by its port and, between processes, by its address.
fn fresh(query: &str) -> Open {
    static NEXT: AtomicU16 = AtomicU16::new(7700);
    let port = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let group = format!("239.255.{}.{}", process >> 8 & 0xff, process & 0xff);
    let url = format!("udpm://{group}:{port}?iface=lo{query}");
    let address = Address::parse(&url).unwrap();
    Box::new(move || -> Arc<dyn Provider> { Arc::new(Udpm::open(&address).unwrap()) })
}

#[cfg(target_os = "linux")]
#[test]
fn multicast_keeps_its_promises() {
    promises(|| fresh(""));
}

#[cfg(target_os = "linux")]
#[test]
fn multicast_in_ethernet_frames_keeps_its_promises() {
    promises(|| fresh("&fragment=1423&recv_buf_size=32MB"));
}
