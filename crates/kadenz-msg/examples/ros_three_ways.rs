//! Receives in three ways, and in a fourth that [Enner2017] missed: the ROS snippets of [Enner2017].
//!
//! There: a subscriber to `/scan` receives with a timeout of 1 s, shows its latest message, which may
//! not be new, and calls back. What [Enner2017] missed is a look for a new message that does not wait;
//! receiving with a timeout below 0.1 s always failed.
//!
//! Here one subscription does all of it. A timeout of zero is one look, and short ones work.
//!
//! `cargo run --example ros_three_ways [URL]`.
#![allow(clippy::print_stdout, reason = "an example speaks")]

#[path = "robot/mod.rs"]
mod robot;

use std::error::Error;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use kadenz_msg::bus::{Bus, SubscriptionOptions};
use kadenz_rt::tuning::Tuning;
use robot::Scan;

const LONG: Duration = Duration::from_secs(5);

#[allow(dead_code, reason = "a test calls what it calls")]
fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let bus = Bus::open(url.as_deref().unwrap_or("memq://"))?;
    for line in receive(&bus)? {
        println!("{line}");
    }
    Ok(())
}

/// Publishes scans, receives each in another way, and returns a line about each.
pub(crate) fn receive(bus: &Bus) -> Result<Vec<String>, Box<dyn Error>> {
    let mut said = Vec::new();
    let mut laser = bus.subscribe::<Scan>("/scan")?;

    // The look that [Enner2017] missed: it does not wait.
    let is_there = laser.try_recv()?.is_some();
    said.push(format!("before the first: {is_there}"));

    // (1) Blocking, with a timeout of 1 s.
    publish(bus, 1)?;
    if let Some(scan) = laser.recv(Duration::from_secs(1))? {
        said.push(format!("received {}", scan.message.number));
    }

    // A timeout below 0.1 s works as any other.
    let in_time = laser.recv(Duration::from_millis(5))?.is_some();
    said.push(format!("within 5 ms: {in_time}"));

    // (2) The latest one, at once, and whether it is new.
    publish(bus, 2)?;
    publish(bus, 3)?;
    for _ in 0..2 {
        // Over a network the message arrives a little later.
        if let Some(latest) = laser.latest()? {
            said.push(format!(
                "latest {}, new: {}",
                latest.message.number, latest.is_new
            ));
        }
    }

    // (3) A callback, on a thread of any priority.
    let (sender, receiver) = sync_channel(1);
    let options = SubscriptionOptions::default();
    let callback =
        bus.on_message::<Scan, _>("/scan", &options, Tuning::default(), move |scan| {
            if let Ok((scan, _)) = scan {
                let _ = sender.try_send(scan.number);
            }
        })?;
    publish(bus, 4)?;
    said.push(format!("called back with {}", receiver.recv_timeout(LONG)?));
    drop(callback);
    Ok(said)
}

fn publish(bus: &Bus, number: i64) -> Result<(), Box<dyn Error>> {
    let ranges = vec![1.5; 360];
    let count = i32::try_from(ranges.len())?;
    bus.publish(
        "/scan",
        &Scan {
            number,
            count,
            ranges,
        },
    )?;
    Ok(())
}
