//! The promises of all providers: the same tests run on each.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(unix)]
mod amqp;
mod ends;
mod memq;
mod outside;
mod promises;
mod ros1;
mod ros1_latched;
mod ros1_restart;
mod ros1_services;
mod ros1_strangers;
mod tcpq;
mod tcpq_strangers;
mod udpm;
mod zmq;

use std::sync::atomic::{AtomicU32, Ordering};

/// A number that no other bus of this test has.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("kadenz-test-{}-{number}", std::process::id())
}

#[cfg(feature = "dds")]
mod dds;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod shm;
#[cfg(feature = "zenoh")]
mod zenoh;
