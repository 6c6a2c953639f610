//! Searches a record for recurring modes and prints the cost as one line of JSON. The record is Enner's: 24 hours at
//! 100 Hz with three modes, made before the time is taken.
//!
//! ```text
//! cargo run --release -p kadenz-report --example modes_cost -- [SAMPLES]
//! ```

use std::error::Error;
use std::time::Instant;

use kadenz_report::modes::sim::Recipe;
use kadenz_report::modes::{Finder, Mode, Point};

fn main() -> Result<(), Box<dyn Error>> {
    let mut recipe = Recipe::enner2016b();
    if let Some(samples) = std::env::args().nth(1) {
        recipe.samples = samples.parse()?;
    }
    let points: Vec<Point> = recipe.points().collect();
    let begun = Instant::now();
    let mut finder = Finder::new(Some(recipe.interval_ns.cast_unsigned()));
    points.iter().for_each(|&point| finder.take(point));
    let taken_s = begun.elapsed().as_secs_f64();
    let found = finder.finish();
    let wall_s = begun.elapsed().as_secs_f64();
    let periods: Vec<f64> = found
        .modes
        .iter()
        .map(|mode: &Mode| mode.period_s)
        .collect();
    let result = serde_json::json!({
        "samples": found.count,
        "wall_s": wall_s,
        "taking_s": taken_s,
        "searching_s": wall_s - taken_s,
        "modes": found.modes.len(),
        "periods_s": periods,
    });
    println_line(&result.to_string());
    Ok(())
}

#[allow(clippy::print_stdout, reason = "the result of the example")]
fn println_line(line: &str) {
    println!("{line}");
}
