//! Summarises a run and prints the cost as one line of JSON: percentiles, extremes with their
//! index, moments, jitter, early clusters, verdict, intervals. With a number of samples it first
//! writes a run of as many, at 10 kHz, into a folder that must not exist; the values are made, the
//! same in every run.
//!
//! ```text
//! cargo run --release -p kadenz-report --example summary_cost -- FOLDER [SAMPLES]
//! ```

mod cost;

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::hlog::writer::IntervalLogWriter;
use kadenz_record::recorder::Counts;
use kadenz_record::run::folder::EARLY_TAG;
use kadenz_record::run::model::{Run, Series, SeriesFiles};
use kadenz_record::samples::writer::SamplesWriter;
use kadenz_record::samples::{Sample, SamplesHeader};
use kadenz_report::summary::Summary;

use cost::{cpu_time_s, peak_bytes, say};

const INTERVAL_NS: i64 = 100_000;
const SAMPLES_PER_SECOND: u64 = 10_000;
const NAME: &str = "wakeup";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a run folder")?);
    if let Some(samples) = arguments.next() {
        write_run(&folder, samples.parse()?)?;
    }
    let (begun, begun_cpu) = (Instant::now(), cpu_time_s());
    let summary = Summary::of_run(&folder)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let cpu_s = cpu_time_s().zip(begun_cpu).map(|(end, begun)| end - begun);
    let values: u64 = summary.series.iter().map(|series| series.count).sum();
    let samples: u64 = summary
        .series
        .iter()
        .filter_map(|series| series.samples.as_ref())
        .map(|s| s.count)
        .sum();
    let intervals: usize = summary
        .series
        .iter()
        .map(|series| series.intervals.len())
        .sum();
    let result = serde_json::json!({
        "values": values,
        "samples": samples,
        "intervals": intervals,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "samples_per_cpu_s": cpu_s.map(|s| (samples as f64 / s).round()),
        "peak_memory_bytes": peak_bytes(),
        "warnings": summary.warnings.len(),
    });
    say(&result.to_string());
    Ok(())
}

fn write_run(folder: &Path, samples: u64) -> Result<(), Box<dyn Error>> {
    fs::create_dir(folder)?;
    let (log, arrow) = (format!("{NAME}.hlog"), format!("{NAME}.samples.arrow"));
    let mut log_writer = IntervalLogWriter::create(&folder.join(&log), 0.0)?;
    let header = SamplesHeader {
        series: NAME.into(),
        unit: "ns".into(),
        ..Default::default()
    };
    let mut samples_writer = SamplesWriter::new(File::create(folder.join(&arrow))?, &header)?;
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut counts = Counts::default();
    let mut interval = SignedHistogram::new();
    let mut batch = Vec::new();
    let mut sequence = 0;
    while sequence < samples {
        batch.clear();
        interval.reset();
        let start_s = (sequence / SAMPLES_PER_SECOND) as f64;
        while sequence < samples && batch.len() < SAMPLES_PER_SECOND as usize {
            let sample = sample(sequence, &mut chance);
            interval.record(sample.value_ns);
            counts.recorded += 1;
            counts.early += u64::from(sample.value_ns < 0);
            counts.misses += u64::from(sample.value_ns > 400_000);
            let least = counts.min_ns.unwrap_or(i64::MAX);
            counts.min_ns = Some(least.min(sample.value_ns));
            counts.max_ns = counts.max_ns.max(Some(sample.value_ns));
            batch.push(sample);
            sequence += 1;
        }
        samples_writer.write(&batch)?;
        log_writer.append(None, start_s, 1.0, &interval.late)?;
        log_writer.append(Some(EARLY_TAG), start_s, 1.0, &interval.early)?;
    }
    samples_writer.finish()?;
    let series = Series {
        name: NAME.into(),
        unit: "ns".into(),
        expected_interval_ns: Some(INTERVAL_NS.unsigned_abs()),
        deadline_ns: Some(400_000),
        files: SeriesFiles {
            hlog: Some(log),
            samples: Some(arrow),
            ..SeriesFiles::default()
        },
        counts,
        ..Series::default()
    };
    let duration_ns = samples * INTERVAL_NS.unsigned_abs();
    let run = Run {
        version: 1,
        complete: true,
        duration_ns,
        series: vec![series],
        ..Run::default()
    };
    fs::write(folder.join("run.json"), serde_json::to_string_pretty(&run)?)?;
    Ok(())
}

/// A lateness around 60 us, one in thirty early, one in 16,384 late by 3 ms more.
fn sample(sequence: u64, chance: &mut Chance) -> Sample {
    let intended_ns = sequence.cast_signed() * INTERVAL_NS;
    let noise = chance.next();
    let stall = if noise >> 50 == 0 { 3_000_000 } else { 0 };
    let late = 28_000 + (noise % 60_000).cast_signed() + stall;
    let value_ns = if noise.is_multiple_of(30) {
        -(late / 100)
    } else {
        late
    };
    Sample {
        sequence,
        intended_ns,
        actual_ns: intended_ns + value_ns,
        value_ns,
    }
}

/// Marsaglia's xorshift64: the same everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
