//! Receives in a loop with a timeout: the second snippet of [Enner2017].
//!
//! There: subscribe an aggregator to `FEEDBACK_CHANNEL`, request the next message with a timeout of
//! 1000 ms, ignore timeouts, compare the channel's name to know the type, make the type from the raw
//! bytes, read `position` and `velocity`. [Enner2017] would rather name the type at the subscription.
//!
//! Here [`by_channel`] is the loop as in [Enner2017], and [`by_type`] the loop that it prefers: a message of
//! another type is an error that names the channel and both types.
//!
//! `cargo run --example lcm_aggregator [URL]`.
#![allow(clippy::print_stdout, reason = "an example speaks")]

#[path = "robot/mod.rs"]
mod robot;

use std::error::Error;
use std::time::Duration;

use kadenz_msg::bus::{Aggregator, Bus, Subscription};
use robot::Feedback;

const TIMEOUT: Duration = Duration::from_millis(1000);

#[allow(dead_code, reason = "a test calls what it calls")]
fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let bus = Bus::open(url.as_deref().unwrap_or("memq://"))?;
    let mut aggregator = bus.aggregator("FEEDBACK_CHANNEL")?;
    let mut feedback = bus.subscribe::<Feedback>("FEEDBACK_CHANNEL")?;
    std::thread::scope(|scope| {
        let robot = scope.spawn(|| robot(&bus, 5).map_err(|error| error.to_string()));
        for last in [by_channel(&mut aggregator, 5)?, by_type(&mut feedback, 5)?] {
            println!("number {}: {:?} rad", last.number, last.position);
        }
        robot.join().map_err(|_| "the robot failed")??;
        Ok(())
    })
}

/// The loop as in [Enner2017], until the message of that number.
pub(crate) fn by_channel(
    aggregator: &mut Aggregator,
    until: i64,
) -> Result<Feedback, Box<dyn Error>> {
    loop {
        // `None` after a timeout.
        let Some(message) = aggregator.next_message(TIMEOUT)? else {
            continue;
        };
        if message.channel.as_str() == "FEEDBACK_CHANNEL" {
            let feedback: Feedback = message.decode()?;
            if feedback.number >= until {
                return Ok(feedback);
            }
        }
    }
}

/// The loop that [Enner2017] prefers: the type was named at the subscription.
pub(crate) fn by_type(
    subscription: &mut Subscription<Feedback>,
    until: i64,
) -> Result<Feedback, Box<dyn Error>> {
    loop {
        match subscription.recv(TIMEOUT)? {
            Some(feedback) if feedback.message.number >= until => return Ok(feedback.message),
            // A timeout, or an earlier message.
            _ => {}
        }
    }
}

/// Publishes feedback a hundred times a second, up to that number.
pub(crate) fn robot(bus: &Bus, until: i64) -> Result<(), Box<dyn Error>> {
    let mut publisher = bus.publisher("FEEDBACK_CHANNEL")?;
    let mut feedback = Feedback::default();
    while feedback.number < until {
        feedback.number += 1;
        feedback.position = [0.1 * feedback.number as f64; 3];
        publisher.publish(&feedback)?;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
