//! Large messages over a bus on one host, and their losses:
//! `cargo run -p kadenz-msg --example large_messages -- URL BYTES HZ SECONDS`.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;
use std::thread;
use std::time::Duration;

use kadenz_msg::channel::{Channel, Pattern};
use kadenz_msg::provider::{More, Provider, Wait, open};
use kadenz_rt::clock;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, bytes, hz, seconds] = &arguments[..] else {
        return Err("URL BYTES HZ SECONDS, for example 'udpm://?ttl=0' 1000000 100 10".into());
    };
    let (bytes, hz, seconds) = (bytes.parse()?, hz.parse::<u32>()?, seconds.parse::<u32>()?);
    let bus = open(url)?;
    let mut inlet = bus.inlet()?;
    inlet.want(&[Pattern::new("LARGE")?])?;
    let count = hz * seconds;
    let publisher = {
        let bus = bus.clone();
        thread::spawn(move || publish(&*bus, bytes, hz, count))
    };
    let (mut received, mut mine) = (0_u32, Vec::new());
    let mut latencies = Vec::with_capacity(count as usize);
    let end = clock::now() + Duration::from_secs(u64::from(seconds) + 2);
    while received < count && clock::now() < end {
        inlet.receive(Wait::Until(end), &mut |arrival| {
            arrival.payload.put_into(&mut mine);
            let sent = mine.first_chunk().map_or(0, |it| u64::from_be_bytes(*it));
            latencies.push(clock::now().as_ns().saturating_sub(sent));
            received += 1;
            More::GoOn
        })?;
    }
    let sent = publisher.join().map_err(|_| "the publisher panicked")?;
    latencies.sort_unstable();
    let at = |part: f64| latencies.get((latencies.len() as f64 * part) as usize);
    let us = |ns: Option<&u64>| ns.map_or(0, |ns| ns / 1000);
    println!(
        "{bytes} bytes at {hz} Hz: {sent} sent, {received} received, {} MB/s; publish to taken p50 {} us, \
         p90 {} us, max {} us",
        bytes as u64 * u64::from(hz) / 1_000_000,
        us(at(0.5)),
        us(at(0.9)),
        us(latencies.last()),
    );
    println!("{:?}", inlet.counters());
    for measure in bus.measures().iter().filter(|measure| !measure.ok) {
        println!("{measure:?}");
    }
    Ok(())
}

/// Publishes on the beat; returns the number of sent messages.
fn publish(bus: &dyn Provider, bytes: usize, hz: u32, count: u32) -> u32 {
    let (Ok(mut outlet), Ok(channel)) = (bus.outlet(), Channel::new("LARGE")) else {
        return 0;
    };
    let start = clock::now();
    let mut sent = 0;
    for number in 1..=count {
        let beat = start + Duration::from_secs(1) / hz * number;
        thread::sleep(beat.remaining(clock::now()));
        let filled = outlet.publish_in_place(&channel, bytes.max(8), &mut |room| {
            room[..8].copy_from_slice(&clock::now().as_ns().to_be_bytes());
            true
        });
        sent += u32::from(filled == Ok(true));
    }
    sent
}
