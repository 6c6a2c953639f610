//! A check at 1 kHz: a real-time thread, an ordinary one, and the machine's noise floor.

use std::error::Error;
use std::fs;
use std::path::Path;

use kadenz_record::run::model::{Kind, Series, SeriesFiles, TuningMeasure, Warning};
use kadenz_record::samples::Sample;
use kadenz_report::statistics::SampleMeter;
use kadenz_report::summary::{SeriesSummary, Summary};
use serde_json::json;

use super::{c_states, finished, parameters, write_samples};
use crate::tally::{Chance, Tally};

const PERIOD_NS: i64 = 1_000_000;
const CYCLES: u64 = 60_000;
const DEADLINE_NS: u64 = 400_000;

pub(super) type Lateness = fn(&mut Chance, u64) -> f64;

fn realtime(chance: &mut Chance, _: u64) -> f64 {
    let disturbed = if chance.happens(0.004) {
        chance.tail(9_000.0)
    } else {
        0.0
    };
    chance.bell(6_400.0, 700.0).max(3_100.0) + chance.tail(500.0) + disturbed
}

/// An ordinary process beside a neighbour that wakes every 10 s for half a second.
pub(super) fn ordinary(chance: &mut Chance, cycle: u64) -> f64 {
    let busy = cycle % 10_000 > 7_000 && cycle % 10_000 < 7_500;
    let queued = if chance.happens(if busy { 0.35 } else { 0.002 }) {
        chance.tail(210_000.0)
    } else {
        0.0
    };
    chance.bell(56_000.0, 2_500.0).max(50_000.0) + chance.tail(3_000.0) + queued
}

/// The run, with its folder and samples files below `out`.
pub(crate) fn check(out: &Path) -> Result<Summary, Box<dyn Error>> {
    let folder = out.join("runs").join("check-2026-05-09");
    fs::create_dir_all(&folder)?;
    let mut summary = summary("check-2026-05-09", 1, ordinary);
    for (index, lateness) in [(0, realtime as Lateness), (1, ordinary)] {
        let series = &mut summary.series[index];
        keep_samples(&folder, series, &mut Chance(1 + index as u64), lateness)?;
    }
    summary.run.series = summary
        .series
        .iter()
        .map(|series| series.series.clone())
        .collect();
    fs::write(
        folder.join("run.json"),
        serde_json::to_vec_pretty(&summary.run)?,
    )?;
    summary.folder = folder;
    Ok(summary)
}

/// Four nights on one machine that gets slower.
pub(crate) fn nights() -> Vec<Summary> {
    let slower: [Lateness; 4] = [
        ordinary,
        |chance, cycle| 1.05 * ordinary(chance, cycle),
        |chance, cycle| 1.2 * ordinary(chance, cycle),
        |chance, cycle| 1.7 * ordinary(chance, cycle),
    ];
    let names = ["night-1", "night-2", "night-3", "night-4"];
    let run = |(name, lateness)| summary(name, 1, lateness);
    names.into_iter().zip(slower).map(run).collect()
}

/// Yesterday's kernel beside today's.
pub(crate) fn compared() -> Vec<Summary> {
    let before: Lateness = |chance, cycle| 1.6 * ordinary(chance, cycle);
    let mut runs = vec![
        summary("before-kernel-6.1", 1, before),
        summary("after-kernel-6.12-rt", 7, ordinary),
    ];
    runs[0].run.host.kernel = Some("6.1.0-28-amd64".into());
    runs[0].run.host.preemption = Some("PREEMPT_DYNAMIC (voluntary)".into());
    runs[0].run.started_at = "2026-05-08T16:02:11.480Z".into();
    runs
}

pub(super) fn summary(name: &str, seed: u64, ordinary: Lateness) -> Summary {
    let series = vec![
        series(
            "realtime",
            "a beat kept at SCHED_FIFO 80",
            fifo(),
            seed,
            realtime,
        ),
        series(
            "ordinary",
            "a beat kept as an ordinary thread",
            other(),
            seed + 1,
            ordinary,
        ),
        floor(seed + 2),
    ];
    let mut run = finished(
        "check",
        "2026-05-09T07:29:33.186Z",
        CYCLES * PERIOD_NS.unsigned_abs(),
        "kadenz check --rate 1kHz --deadline 400us --duration 60s --out robot/check",
    );
    run.parameters = parameters([
        ("rate", json!("1kHz")),
        ("deadline", json!("400us")),
        ("duration", json!("60s")),
        ("sleeper", json!("nanosleep")),
        ("policy", json!("fifo:80")),
        ("clock", json!("monotonic")),
        ("interval", json!("1s")),
    ]);
    let warnings = vec![
        c_states(),
        Warning::new(
            "rt_throttling",
            "The kernel stops real-time threads for 50 ms of every second that they fill.",
            Some("sysctl kernel.sched_rt_runtime_us=-1"),
        ),
    ];
    Summary {
        folder: name.into(),
        run,
        series,
        warnings,
        ..Summary::default()
    }
}

pub(super) fn series(
    name: &str,
    description: &str,
    tuning: Vec<TuningMeasure>,
    seed: u64,
    lateness: Lateness,
) -> SeriesSummary {
    let mut chance = Chance(seed);
    let mut tally = Tally::new(Some(DEADLINE_NS));
    tally.record_at_1_khz(CYCLES, |cycle| lateness(&mut chance, cycle));
    let series = Series {
        description: description.into(),
        expected_interval_ns: Some(PERIOD_NS.unsigned_abs()),
        tuning,
        ..super::series(name, Kind::Lateness)
    };
    tally.summary(series, CYCLES * PERIOD_NS.unsigned_abs())
}

fn floor(seed: u64) -> SeriesSummary {
    let mut chance = Chance(seed);
    let mut tally = Tally::new(None);
    tally.record_at_1_khz(5000, |_| {
        let interrupt = if chance.happens(0.25) {
            chance.bell(2_300.0, 300.0)
        } else {
            0.0
        };
        38.0 + chance.tail(14.0) + interrupt.max(0.0)
    });
    let series = Series {
        description: "what the machine takes from a thread that never sleeps".into(),
        expected_interval_ns: Some(PERIOD_NS.unsigned_abs()),
        tuning: fifo(),
        ..super::series("floor", Kind::Floor)
    };
    tally.summary(series, 5_000_000_000)
}

/// Writes the samples of a series and takes the facts from them; the same chance, the same values.
fn keep_samples(
    folder: &Path,
    series: &mut SeriesSummary,
    chance: &mut Chance,
    lateness: Lateness,
) -> Result<(), Box<dyn Error>> {
    let about = &mut series.series;
    let samples: Vec<Sample> = (0..CYCLES)
        .map(|cycle| sample(cycle, lateness(chance, cycle)))
        .collect();
    let file = write_samples(folder, &about.name, &samples)?;
    let mut meter = SampleMeter::new(about);
    meter.take_samples(&samples);
    about.files = SeriesFiles {
        samples: Some(file),
        ..SeriesFiles::default()
    };
    series.samples = Some(meter.facts());
    Ok(())
}

fn sample(sequence: u64, lateness_ns: f64) -> Sample {
    let intended_ns = sequence as i64 * PERIOD_NS;
    let value_ns = lateness_ns as i64;
    Sample {
        sequence,
        intended_ns,
        actual_ns: intended_ns + value_ns,
        value_ns,
    }
}

fn fifo() -> Vec<TuningMeasure> {
    vec![
        TuningMeasure::granted("policy", "SCHED_FIFO 80"),
        TuningMeasure::granted("memory_lock", "all pages"),
        TuningMeasure {
            name: "cpu_dma_latency".into(),
            requested: "0 us".into(),
            granted: "2000000 us".into(),
            ok: false,
            reason: Some("/dev/cpu_dma_latency: permission denied".into()),
            remedy: Some("chmod o+w /dev/cpu_dma_latency".into()),
        },
        TuningMeasure::granted("sleeper", "nanosleep"),
    ]
}

fn other() -> Vec<TuningMeasure> {
    vec![
        TuningMeasure::granted("policy", "SCHED_OTHER"),
        TuningMeasure::granted("sleeper", "nanosleep"),
    ]
}
