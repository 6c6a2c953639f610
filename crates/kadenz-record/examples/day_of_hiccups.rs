//! Writes an interval log such as `kadenz hiccup` leaves after a day: 86,400 intervals of a second and 80 million
//! values. The values are synthetic and the same in every run: a body with an exponential tail around 60 us, and
//! now and then a stall of up to tens of milliseconds.
//!
//! `cargo run --release -p kadenz-record --example day_of_hiccups -- FILE [INTERVALS]`

use std::{error::Error, fs, path::PathBuf};

use kadenz_record::{histogram::Histogram, hlog::writer::IntervalLogWriter};

const INTERVALS: u64 = 86_400;
const VALUES_PER_INTERVAL: u64 = 926;

/// 2016-01-01 00:00 UTC, as seconds since 1970.
const START_S: f64 = 1_451_606_400.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("name the file to write")?);
    let intervals = arguments.next().map_or(Ok(INTERVALS), |it| it.parse())?;
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let mut log = IntervalLogWriter::create(&path, START_S)?;
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut histogram = Histogram::new();
    for second in 0..intervals {
        histogram.reset();
        for _ in 0..VALUES_PER_INTERVAL {
            histogram.record(hiccup_ns(&mut chance));
        }
        log.append(None, second as f64, 1.0, &histogram)?;
    }
    Ok(())
}

fn hiccup_ns(chance: &mut Chance) -> u64 {
    let body = 45_000.0 - 15_000.0 * chance.unit().ln();
    let stalled = chance.unit() < 2e-5;
    let stall = if stalled {
        300_000.0 / chance.unit().max(0.01)
    } else {
        0.0
    };
    (body + stall) as u64
}

/// Marsaglia's xorshift64: random enough for a picture, and the same on every machine.
struct Chance(u64);

impl Chance {
    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}
