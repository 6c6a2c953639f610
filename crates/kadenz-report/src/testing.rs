//! Summaries for tests, made without files.

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::recorder::Counts;
use kadenz_record::run::model::{Kind, Series};

use crate::modes::{Mode, ModeKind, SeriesModes, Source};
use crate::statistics::SampleMeter;
use crate::summary::{SeriesSummary, Summary};

/// A series with its exact counts filled in from `(value, how often)`.
pub(crate) fn series_of(series: Series, values: &[(i64, u64)]) -> SeriesSummary {
    let mut histogram = SignedHistogram::new();
    let limit = series.deadline_ns.map_or(i64::MAX, |ns| ns as i64);
    let mut counts = Counts {
        min_ns: values.iter().map(|&(value, _)| value).min(),
        max_ns: values.iter().map(|&(value, _)| value).max(),
        ..series.counts
    };
    for &(value, n) in values {
        histogram.record_n(value, n);
        counts.recorded += n;
        counts.early += if value < 0 { n } else { 0 };
        if value > limit {
            counts.misses += n;
            counts.longest_miss_run = counts.longest_miss_run.max(n);
        }
    }
    let series = Series {
        counts,
        unit: "ns".into(),
        ..series
    };
    SeriesSummary::new(series, &histogram, Vec::new(), 60_000_000_000)
}

/// A series of raw samples.
pub(crate) fn sampled(series: Series, values: &[i64]) -> SeriesSummary {
    let mut meter = SampleMeter::new(&series);
    meter.take_values(values);
    let counted: Vec<(i64, u64)> = values.iter().map(|&value| (value, 1)).collect();
    let mut summary = series_of(series, &counted);
    summary.take_samples(&meter);
    summary
}

/// A run of these series.
pub(crate) fn run_of(folder: &str, series: Vec<SeriesSummary>) -> Summary {
    let mut summary = Summary {
        folder: folder.into(),
        series,
        ..Summary::default()
    };
    summary.run.complete = true;
    summary
}

/// A series of this name and kind at 1 kHz.
pub(crate) fn named(name: &str, kind: Kind) -> Series {
    Series {
        name: name.into(),
        kind,
        expected_interval_ns: Some(1_000_000),
        ..Series::default()
    }
}

/// A mode that does not stray, of this many samples at 100 Hz.
pub(crate) fn mode_of(kind: ModeKind, period_s: f64, samples: u64) -> Mode {
    Mode {
        kind,
        period_s,
        stray_s: 0.0,
        duration_s: 0.01 * samples as f64,
        samples,
        height_ns: 150_000,
        peak_ns: 210_000,
        first_s: 0.0,
        occurrences: 3,
        expected: 3,
        confidence: 1.0,
    }
}

/// The result of a search in a day at 100 Hz.
pub(crate) fn searched(series: &str, kind: Kind, modes: Vec<Mode>) -> SeriesModes {
    SeriesModes {
        series: series.into(),
        kind,
        source: Source::Samples,
        count: 8_640_000,
        span_s: 86_400.0,
        modes,
        starts_s: Vec::new(),
        notes: Vec::new(),
    }
}

/// A series from a log of two digits, such as jHiccup's.
pub(crate) fn of_a_coarse_log() -> SeriesSummary {
    let layout = kadenz_record::histogram::Layout::new(20_000, 3_600_000_000_000, 2).unwrap();
    let mut histogram = SignedHistogram::new();
    histogram.late = kadenz_record::histogram::Histogram::with_layout(layout);
    histogram.late.record_n(150_000, 200_000);
    let series = named("hiccup", Kind::Hiccup);
    SeriesSummary::new(series, &histogram, Vec::new(), 0)
}

/// The four data sets of [Enner2016], rebuilt as histograms of the same count, mean, deviation and maximum.
pub(crate) fn enner2016() -> Vec<Summary> {
    const ROWS: [(&str, u64, f64, f64, i64); 4] = [
        ("Windows 10", 80_304_595, 550e3, 370e3, 17_170_000),
        ("OSX 10.9.5", 65_282_969, 320e3, 30e3, 12_650_000),
        ("Ubuntu 16.04", 78_039_162, 100e3, 10e3, 3_030_000),
        ("Scientific Linux 6.6-rt", 79_753_643, 80e3, 10e3, 150_000),
    ];
    ROWS.iter()
        .map(|&(folder, count, mean, stddev, max)| {
            let share_of_max = (max as f64 - mean).powi(2) / count as f64;
            let mut values = two_humps(mean, (stddev.powi(2) - share_of_max).sqrt(), count - 1);
            values.push((max, 1));
            run_of(
                folder,
                vec![series_of(named("hiccup", Kind::Hiccup), &values)],
            )
        })
        .collect()
}

/// Two even humps around the mean, each half a deviation to either side wide: wide enough that the
/// histogram's steps cancel out.
fn two_humps(mean: f64, stddev: f64, count: u64) -> Vec<(i64, u64)> {
    const STEPS: u64 = 500;
    let distance = stddev * (1.0_f64 - 1.0 / 12.0).sqrt();
    let each = count / (2 * STEPS);
    let mut values = vec![(mean as i64, count - each * 2 * STEPS)];
    for step in 0..STEPS {
        let within = stddev * ((step as f64 + 0.5) / STEPS as f64 - 0.5);
        values.push(((mean - distance + within) as i64, each));
        values.push(((mean + distance + within) as i64, each));
    }
    values
}
