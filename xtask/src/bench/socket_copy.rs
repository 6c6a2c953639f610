//! The duration of `writev` of 1 MiB over loopback, by the offset within a page at which the payload begins.

use std::io::{IoSlice, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::BenchOptions;
use super::figure::{self, Figure};
use super::quantile::Spread;
use crate::repository::Repository;

const ROUNDS: u32 = 9;
/// Messages for each offset in a round.
const MESSAGES: u32 = 50;
const PAGE: usize = 4096;
/// The offset of glibc's allocator for that length, and that of Kadenz's providers.
const PLACES: [usize; 2] = [16, PAGE / 2];
const PAYLOAD: usize = 1 << 20;
/// As in ZeroMQ's protocol before a payload, with a channel of 14 letters.
const HEADER: usize = 25;
/// The pause between two messages, in which the receiver reads.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) fn take(_: &Repository, options: &BenchOptions) -> Result<Figure> {
    let mut sender = sender()?;
    let mut memory = vec![0_u8; PAYLOAD + 2 * PAGE];
    let rounds = (0..options.rounds.unwrap_or(ROUNDS)).map(|_| round(&mut sender, &mut memory));
    let rounds: Vec<[f64; 2]> = rounds.collect::<Result<_>>()?;
    let spread = |of: fn(&[f64; 2]) -> f64| Spread::of(rounds.iter().map(of)).context("no round");
    let (plain, placed) = (spread(|it| it[0])?, spread(|it| it[1])?);
    let ratio = spread(|it| it[1] / it[0])?;
    Ok(Figure {
        method: "writev of a header and 1 MiB over loopback, medians of the rounds; the ratio is taken within a round".to_owned(),
        result: json!({ "from_16_us": plain.json(), "from_2048_us": placed.json(), "ratio": ratio.json() }),
        cells: figure::cells([
            ("from byte 16, us", format!("{:.0}", plain.median)),
            ("from byte 2048, us", format!("{:.0}", placed.median)),
            ("ratio", ratio.cell()),
        ]),
    })
}

/// A connection to a reader that reads all.
fn sender() -> Result<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    sender.set_nodelay(true)?;
    let mut receiver = listener.accept()?.0;
    thread::spawn(move || {
        let mut room = vec![0; 2 * PAYLOAD];
        while receiver.read(&mut room).is_ok_and(|count| count > 0) {}
    });
    Ok(sender)
}

/// The median of each offset, in microseconds; messages take turns.
fn round(sender: &mut TcpStream, memory: &mut [u8]) -> Result<[f64; 2]> {
    let page = memory.as_ptr().addr().wrapping_neg() % PAGE;
    let mut times = [const { Vec::new() }; PLACES.len()];
    for at in 0..MESSAGES {
        for (place, times) in PLACES.iter().zip(&mut times) {
            thread::sleep(PAUSE);
            let payload = &mut memory[page + place..][..PAYLOAD];
            payload.fill(at as u8);
            times.push(send(sender, payload)?.as_secs_f64() * 1e6);
        }
    }
    Ok(times.map(|times| Spread::of(times).map_or(f64::NAN, |it| it.median)))
}

/// The time until the kernel has all of it.
fn send(sender: &mut TcpStream, payload: &[u8]) -> Result<Duration> {
    let header = [0; HEADER];
    let mut parts = [IoSlice::new(&header), IoSlice::new(payload)];
    let mut parts = &mut parts[..];
    let begun = Instant::now();
    while !parts.is_empty() {
        let count = sender.write_vectored(parts)?;
        IoSlice::advance_slices(&mut parts, count);
    }
    Ok(begun.elapsed())
}
