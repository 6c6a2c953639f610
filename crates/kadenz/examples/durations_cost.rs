//! Measures the cost of a record into a series of durations, in nanoseconds: the twin of
//! xtask/peers/languages/record.c. Its argument is a folder for the run.

use std::hint::black_box;
use std::time::Instant;

use kadenz::rt::clock::MonotonicTime;

const RECORDS: u64 = 20_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder for the run")?;
    let run = kadenz::Recording::create(folder)?;
    let mut series = run.durations("control")?;
    let start = kadenz::rt::clock::now().as_ns();
    let begin = Instant::now();
    for i in 0..RECORDS {
        let from = MonotonicTime::from_ns(black_box(start + i));
        series.record(from, MonotonicTime::from_ns(start + i + (i & 1023)));
    }
    println!("{}", begin.elapsed().as_secs_f64() * 1e9 / RECORDS as f64);
    run.finish()?;
    Ok(())
}
