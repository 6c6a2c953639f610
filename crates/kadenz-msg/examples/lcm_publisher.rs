//! Fills a message and publishes it: the first snippet of [Enner2017].
//!
//! There: get LCM's singleton, make a `types.command`, set `position` and `velocity` to `[1 2 3]`, and
//! publish it to `COMMAND_CHANNEL`. Here the bus is opened once and named by a URL; the message is an
//! ordinary struct.
//!
//! `cargo run --example lcm_publisher [URL]`; with `udpm://239.255.76.67:7667?ttl=0` LCM's own programs
//! receive the message. Without a URL the example receives its own message, within its process.
#![allow(clippy::print_stdout, reason = "an example speaks")]

#[path = "robot/mod.rs"]
pub(crate) mod robot;

use std::error::Error;
use std::time::Duration;

use kadenz_msg::bus::Bus;
use robot::Command;

#[allow(dead_code, reason = "a test calls what it calls")]
fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let bus = Bus::open(url.as_deref().unwrap_or("memq://"))?;
    let mut listening = bus.subscribe::<Command>("COMMAND_CHANNEL")?;
    publish(&bus)?;
    let command = listening.recv(Duration::from_secs(5))?;
    let command = command.ok_or("the command was not received")?.message;
    println!("received {command:?}");
    Ok(())
}

/// The snippet's steps, on a bus.
pub(crate) fn publish(bus: &Bus) -> Result<(), Box<dyn Error>> {
    let command = Command {
        position: [1.0, 2.0, 3.0],
        velocity: [1.0, 2.0, 3.0],
    };
    bus.publish("COMMAND_CHANNEL", &command)?;
    Ok(())
}
