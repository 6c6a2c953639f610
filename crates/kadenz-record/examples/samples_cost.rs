//! Writes raw samples to a file, reads their values back into a histogram, and says in one line of
//! JSON what that cost. The values are made, the same in every run.
//!
//! `cargo run --release -p kadenz-record --example samples_cost -- SAMPLES FOLDER`

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::samples::reader::{Extent, SamplesFile};
use kadenz_record::samples::writer::SamplesWriter;
use kadenz_record::samples::{Sample, SamplesHeader};

/// As many as a run writes at a time when it is fast.
const BATCH: u64 = 16_384;
/// The beat of the samples: 10 kHz.
const INTERVAL_NS: i64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: samples_cost SAMPLES FOLDER";
    let samples: u64 = arguments.next().ok_or(usage)?.parse()?;
    let folder = PathBuf::from(arguments.next().ok_or(usage)?);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("cost.samples.arrow");

    let begun = Instant::now();
    write(&path, samples)?;
    let written_s = begun.elapsed().as_secs_f64();
    let peak_of_writing = peak_memory_bytes();

    let (begun, begun_cpu) = (Instant::now(), cpu_time_s());
    let (sum, extent) = summarise(&path)?;
    let read_s = begun.elapsed().as_secs_f64();
    let read_cpu_s = cpu_time_s().zip(begun_cpu).map(|(end, begun)| end - begun);
    let bytes = std::fs::metadata(&path)?.len();
    std::fs::remove_file(&path)?;

    let result = serde_json::json!({
        "samples": extent.samples,
        "file_bytes": bytes,
        "write_samples_per_s": (samples as f64 / written_s).round(),
        "read_samples_per_s": (extent.samples as f64 / read_s).round(),
        "read_samples_per_cpu_s": read_cpu_s.map(|s| (extent.samples as f64 / s).round()),
        "read_s": read_s,
        "peak_memory_bytes": peak_memory_bytes(),
        "peak_memory_of_writing_bytes": peak_of_writing,
        "whole": extent.samples == samples && sum.count() == samples && !extent.truncated,
        "p50_ns": sum.value_at_quantile(0.5),
        "max_ns": sum.max(),
    });
    println_line(&result.to_string());
    Ok(())
}

fn write(path: &Path, samples: u64) -> Result<(), Box<dyn Error>> {
    let header = SamplesHeader {
        series: "cost".into(),
        unit: "ns".into(),
        ..Default::default()
    };
    let mut writer = SamplesWriter::new(File::create(path)?, &header)?;
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut batch = Vec::new();
    let mut next = 0;
    while next < samples {
        let end = samples.min(next + BATCH);
        batch.clear();
        batch.extend((next..end).map(|sequence| sample(sequence, &mut chance)));
        writer.write(&batch)?;
        next = end;
    }
    writer.finish()?;
    Ok(())
}

fn summarise(path: &Path) -> Result<(SignedHistogram, Extent), Box<dyn Error>> {
    let mut sum = SignedHistogram::new();
    let mut file = SamplesFile::open(path)?;
    let extent = file.for_each_value(|values| {
        for &value in values {
            sum.record(value);
        }
    })?;
    Ok((sum, extent))
}

/// A lateness around 60 us, one in thirty early.
fn sample(sequence: u64, chance: &mut Chance) -> Sample {
    let intended_ns = sequence.cast_signed() * INTERVAL_NS;
    let noise = chance.next();
    let stalled = noise >> 50 == 0;
    let value_ns =
        (noise % 60_000).cast_signed() - 2_000 + if stalled { 3_000_000 } else { 30_000 };
    let value_ns = if noise.is_multiple_of(30) {
        -(value_ns / 100)
    } else {
        value_ns
    };
    Sample {
        sequence,
        intended_ns,
        actual_ns: intended_ns + value_ns,
        value_ns,
    }
}

/// How long this thread was on a CPU, where the system tells: what a busy machine does not change.
fn cpu_time_s() -> Option<f64> {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(schedule.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// The most memory this process held, where the system tells.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[allow(clippy::print_stdout, reason = "the result of the example")]
fn println_line(line: &str) {
    println!("{line}");
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
