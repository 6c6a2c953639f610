//! Measures the cost of reading the interval log of 24 h, 80 million values in intervals of 1 s. Prints medians over
//! the rounds as JSON, in seconds.
//!
//! ```text
//! cargo run --release -p kadenz-record --example read_log
//! ```
#![expect(clippy::print_stdout, reason = "the answer goes there")]

use std::time::Instant;

use kadenz_record::{
    histogram::Histogram,
    hlog::{reader::IntervalLog, writer::IntervalLogWriter},
};
use serde_json::json;

const ROUNDS: usize = 5;
const LINES: u32 = 86_400;
const VALUES_A_LINE: u32 = 926;

fn main() {
    let log = write();
    let mut summed = Vec::new();
    let mut decoded = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut sum = Histogram::new();
        for interval in IntervalLog::from_reader(&log[..]) {
            let interval = interval.expect("our own line");
            interval.histogram.add_to(&mut sum).expect("our own line");
        }
        summed.push(start.elapsed().as_secs_f64());
        assert_eq!(sum.count(), u64::from(LINES) * u64::from(VALUES_A_LINE));

        let start = Instant::now();
        let mut one = Histogram::new();
        let mut worst = 0;
        for interval in IntervalLog::from_reader(&log[..]) {
            let interval = interval.expect("our own line");
            interval
                .histogram
                .decode_into(&mut one)
                .expect("our own line");
            worst = worst.max(one.value_at_quantile(0.99));
        }
        decoded.push(start.elapsed().as_secs_f64());
        assert!(worst > 0);
    }
    let answer = json!({
        "lines": LINES,
        "bytes": log.len(),
        "sum_s": median(summed),
        "each_p99_s": median(decoded),
        "rounds": ROUNDS,
    });
    println!("{answer}");
}

/// Lateness as on a busy machine: around 50 us, now and then milliseconds.
fn write() -> Vec<u8> {
    let mut log = IntervalLogWriter::new(Vec::new(), 1.7e9).expect("a vector takes all");
    let mut interval = Histogram::new();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for second in 0..LINES {
        interval.reset();
        for _ in 0..VALUES_A_LINE {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let rare = state.is_multiple_of(1000);
            let spread = if rare { 4_000_000 } else { 30_000 };
            interval.record(40_000 + (state >> 32) % spread);
        }
        log.append(None, f64::from(second), 1.0, &interval)
            .expect("a vector takes all");
    }
    log.into_inner()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
