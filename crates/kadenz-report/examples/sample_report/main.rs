//! Writes the pages that the browser tests open, from invented runs:
//! `cargo run -p kadenz-report --example sample_report -- OUT_DIR`
//!
//! - `check.html`: a check of one minute at 1 kHz, with raw samples;
//! - `missed.html`: a check on a virtual machine, of 17 series, that missed and then tried tunings;
//! - `trend.html`: four runs, one after another;
//! - `day.html`: four systems idling for 24 h, as in Enner: 86,400 intervals, 80 million samples;
//! - `compare.html`: two runs laid over each other;
//! - `hostile.html`: an incomplete run whose every name tries to become markup;
//! - `sparse.html`: a run that recorded next to nothing;
//! - `network.html`: round trips to an actuator against a deadline;
//! - `night.html`: half an hour of round trips in which three things recur;
//! - `matrix.html`: a matrix of 18 cells like Yoon's, two minutes each;
//! - `partial.html`: a matrix that was interrupted where no CPU could be shielded.

mod runs;
mod tally;

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use kadenz_report::html;
use kadenz_report::summary::Summary;

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os()
        .nth(1)
        .ok_or("name a folder to write the pages to")?;
    let out = PathBuf::from(out);
    fs::create_dir_all(&out)?;
    let pages: [(&str, Vec<Summary>); 11] = [
        ("check.html", vec![runs::check(&out)?]),
        ("missed.html", vec![runs::missed(&out)?]),
        ("trend.html", runs::nights()),
        ("day.html", vec![runs::day()]),
        ("compare.html", runs::compared()),
        ("hostile.html", vec![runs::hostile()]),
        ("sparse.html", vec![runs::sparse()]),
        ("network.html", vec![runs::round_trips()]),
        ("night.html", vec![runs::night(&out)?]),
        ("matrix.html", vec![runs::tune(&out)?]),
        ("partial.html", vec![runs::tune_interrupted(&out)?]),
    ];
    for (name, summaries) in pages {
        html::write(&summaries, &out.join(name))?;
    }
    Ok(())
}
