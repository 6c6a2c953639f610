//! Measures the cost of recording one value, beside a bare `hdrhistogram` record, in rounds that alternate. Prints
//! medians over the rounds as JSON, in nanoseconds a value.
//!
//! ```text
//! cargo run --release -p kadenz-record --example record_cost
//! ```
#![expect(clippy::print_stdout, reason = "the answer goes there")]

use std::{hint::black_box, time::Instant};

use hdrhistogram::Histogram;
use kadenz_record::{
    histogram::SignedHistogram,
    recorder::{self, IntervalReader},
};
use serde_json::json;

const ROUNDS: usize = 2001;
const VALUES: usize = 10_000;
const DEADLINE_NS: u64 = 400_000;

fn main() {
    let values = lateness();
    let (mut writer, mut reader) = recorder::pair(Some(DEADLINE_NS));
    let (shared, mut shared_reader) = recorder::shared(Some(DEADLINE_NS));
    let mut interval = SignedHistogram::new();
    let mut bare = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3)
        .expect("the layout of the recorders");

    let (mut ours, mut of_shared, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let mut total = 0;
    for _ in 0..ROUNDS {
        ours.push(cost(&values, |value| writer.record(value)));
        theirs.push(cost(&values, |value| {
            bare.record(value.unsigned_abs()).expect("in range");
        }));
        of_shared.push(cost(&values, |value| shared.record(value)));
        total += flip(&mut reader, &mut interval) + flip(&mut shared_reader, &mut interval);
    }
    assert_eq!(total, 2 * bare.len(), "every value was recorded");

    let ratios = ours
        .iter()
        .zip(&theirs)
        .map(|(ours, theirs)| ours / theirs)
        .collect();
    let answer = json!({
        "kadenz_record_ns": median(ours),
        "kadenz_shared_record_ns": median(of_shared),
        "hdrhistogram_record_ns": median(theirs),
        "ratio": median(ratios),
        "rounds": ROUNDS,
        "values_a_round": VALUES,
    });
    println!("{answer}");
}

/// Values as on an idle machine: around 50 us with a long tail, none early, because the bare histogram takes no
/// negative values.
fn lateness() -> Vec<i64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..VALUES)
        .map(|_| {
            let tail = 1 << (next() % 1024).leading_zeros().min(63).saturating_sub(50);
            i64::try_from(40_000 + next() % 20_000 * tail).expect("small")
        })
        .collect()
}

/// Nanoseconds a value.
fn cost(values: &[i64], mut record: impl FnMut(i64)) -> f64 {
    let start = Instant::now();
    for &value in values {
        record(black_box(value));
    }
    start.elapsed().as_nanos() as f64 / values.len() as f64
}

fn flip(reader: &mut IntervalReader, interval: &mut SignedHistogram) -> u64 {
    reader.flip_into(interval);
    interval.count()
}

fn median(mut costs: Vec<f64>) -> f64 {
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}
