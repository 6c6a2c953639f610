//! Sends and receives bytes: the ZeroMQ snippet of [Enner2017].
//!
//! There: a publisher at port 43210 and a subscriber to 127.0.0.1:43210 over TCP, a hundred random bytes
//! sent, a poll of 1000 ms, and the received bytes shown. The poll returns which socket has something,
//! and every call takes a socket's number.
//!
//! Here the same over a bus. `cargo run --example zmq_send_receive zmq://127.0.0.1:43210` is ZeroMQ, so that
//! ZeroMQ's own subscribers receive the bytes too; without a URL they stay within the process.
#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use kadenz_msg::bus::Bus;

#[allow(dead_code, reason = "a test calls what it calls")]
fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let bus = Bus::open(url.as_deref().unwrap_or("memq://"))?;
    let bytes = hundred_random_bytes();
    let received = send_and_receive(&bus, &bytes)?;
    println!("{received:02x?}");
    Ok(())
}

/// The snippet's steps, on a bus.
pub(crate) fn send_and_receive(bus: &Bus, bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut subscriber = bus.aggregator("DATA")?;
    for _ in 0..10 {
        // A ZeroMQ publisher sends nothing to a subscriber whose subscription is still under way: what
        // is sent first is lost, there as here.
        bus.publish_bytes("DATA", bytes)?;
        if let Some(message) = subscriber.next_message(Duration::from_millis(1000))? {
            return Ok(message.payload.to_vec());
        }
    }
    Err("nothing was received".into())
}

pub(crate) fn hundred_random_bytes() -> Vec<u8> {
    let random = RandomState::new();
    (0..100_u8).map(|it| random.hash_one(it) as u8).collect()
}
