//! The guarantees of the services on top of the bus.
#![allow(clippy::unwrap_used, reason = "a panic is the answer of a test")]

#[path = "../pose/mod.rs"]
mod pose;

mod clock;
mod heartbeat;
#[cfg(target_os = "linux")]
mod multicast;
mod parameters;
mod request;
mod types;

use std::time::Duration;

use kadenz_msg::bus::Bus;

/// How long a test waits for an event that must come.
const LONG: Duration = Duration::from_secs(10);

/// How long a test waits for an event that must not come.
const SHORT: Duration = Duration::from_millis(50);

fn bus() -> Bus {
    Bus::open("memq://").unwrap()
}

/// Waits until a condition holds that another thread brings about.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("waited in vain: {what}");
}
