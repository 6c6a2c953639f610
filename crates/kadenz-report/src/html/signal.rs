//! Jitter over time, reduced to the capacity of a page in constant memory.

use std::path::Path;

use kadenz_record::run::folder::RunReader;
use kadenz_record::run::model::{Kind, Series};
use kadenz_record::samples::reader::{ReadSamplesError, SamplesFile};

use crate::summary::SeriesSummary;

/// Most bins that are kept; two points of each reach the page.
const MAX_BINS: usize = 8192;

/// A signal over time, thinned so that no extreme is lost: milliseconds since the start of the run, and nanoseconds; in
/// order of time.
pub(super) type Signal = Vec<(f64, i64)>;

/// The jitter of a series over time, or why it cannot be known and how to record it. The same
/// jitter as [`crate::statistics::JitterFacts`] sums up.
pub(super) fn of_series(folder: &Path, series: &SeriesSummary) -> Result<Signal, String> {
    match series.series.kind {
        Kind::Hiccup | Kind::Floor => Err(String::from(
            "no ideal signal stands behind this kind of series, so there is nothing to jitter against.",
        )),
        _ if series.count == 0 => Err(String::from("nothing was recorded.")),
        _ if series.samples.is_some() => of_samples(folder, &series.series),
        Kind::Jitter if !series.intervals.is_empty() => Ok(of_intervals(series)),
        _ if series.series.files.samples.is_some() => Err(String::from(
            "the samples of this run were not read for this page.",
        )),
        _ => Err(String::from(
            "single samples were not kept, only their histogram, which has forgotten their order. \
             Repeat the run with `--samples` to see the jitter.",
        )),
    }
}

/// From the raw samples: values that are jitter as they are, else each less the one before it.
fn of_samples(folder: &Path, series: &Series) -> Result<Signal, String> {
    let run = RunReader::open(folder).map_err(|error| error.to_string())?;
    let mut file = run
        .samples(&series.name)
        .map_err(|error| error.to_string())?;
    let mut jitter = Differences {
        as_they_are: series.kind == Kind::Jitter,
        ..Differences::default()
    };
    let whole = run.complete() && series.counts.dropped == 0;
    let beat = series
        .expected_interval_ns
        .filter(|_| whole && series.kind == Kind::Lateness);
    let read = match beat {
        Some(interval_ns) => jitter.take_beat(&mut file, interval_ns),
        None => jitter.take_all(&mut file),
    };
    read.map_err(|error| error.to_string())?;
    match jitter.thinner.bins.is_empty() {
        true => Err(String::from(
            "the samples file holds no two samples that follow each other.",
        )),
        false => Ok(jitter.thinner.finish()),
    }
}

/// Each value less the one before it, over time.
#[derive(Debug, Default)]
struct Differences {
    as_they_are: bool,
    last: Option<(u64, i64)>,
    thinner: Thinner,
}

impl Differences {
    /// Across a gap in the sequence there is no difference.
    fn push(&mut self, sequence: u64, time_ns: i64, value_ns: i64) {
        let last = self.last.replace((sequence, value_ns));
        let difference = match last.filter(|last| last.0.wrapping_add(1) == sequence) {
            _ if self.as_they_are => value_ns,
            Some((_, before)) => value_ns.saturating_sub(before),
            None => return,
        };
        self.thinner.push((time_ns as f64 / 1e6, difference));
    }

    /// Reads whole samples.
    fn take_all(&mut self, file: &mut SamplesFile) -> Result<(), ReadSamplesError> {
        while let Some(samples) = file.next_samples()? {
            for sample in samples {
                self.push(sample.sequence, sample.actual_ns, sample.value_ns);
            }
        }
        Ok(())
    }

    /// Reads little more than the values, where nothing was dropped and a beat gives the times: a
    /// quarter of the bytes.
    fn take_beat(&mut self, file: &mut SamplesFile, beat_ns: u64) -> Result<(), ReadSamplesError> {
        let mut next: (u64, i64) = (0, 0);
        let beat_ns = i64::try_from(beat_ns).unwrap_or(i64::MAX);
        if let Some(samples) = file.next_samples()? {
            for sample in samples {
                self.push(sample.sequence, sample.intended_ns, sample.value_ns);
                next = (
                    sample.sequence.wrapping_add(1),
                    sample.intended_ns.saturating_add(beat_ns),
                );
            }
        }
        while let Some(values) = file.next_values()? {
            for value in values {
                self.push(next.0, next.1, *value);
                next = (next.0.wrapping_add(1), next.1.saturating_add(beat_ns));
            }
        }
        Ok(())
    }
}

/// Values that are jitter themselves: the extremes of each interval of the log.
fn of_intervals(series: &SeriesSummary) -> Signal {
    let mut thinner = Thinner::default();
    for interval in series
        .intervals
        .iter()
        .filter(|interval| interval.count > 0)
    {
        thinner.push((interval.start_s * 1e3, interval.min_ns));
        thinner.push((
            (interval.start_s + 0.5 * interval.length_s) * 1e3,
            interval.max_ns,
        ));
    }
    thinner.finish()
}

#[derive(Clone, Copy, Debug)]
struct Bin {
    low: (f64, i64),
    high: (f64, i64),
}

impl Bin {
    fn merge(self, other: Self) -> Self {
        Self {
            low: if other.low.1 < self.low.1 {
                other.low
            } else {
                self.low
            },
            high: if other.high.1 > self.high.1 {
                other.high
            } else {
                self.high
            },
        }
    }
}

/// Takes points one by one and keeps the smallest and the largest of each bin; when the bins are
/// full, neighbours are merged and every bin grows to twice its width.
#[derive(Debug)]
struct Thinner {
    bins: Vec<Bin>,
    per_bin: u64,
    in_last_bin: u64,
}

impl Default for Thinner {
    fn default() -> Self {
        Self {
            bins: Vec::new(),
            per_bin: 1,
            in_last_bin: 1,
        }
    }
}

impl Thinner {
    fn push(&mut self, point: (f64, i64)) {
        let bin = Bin {
            low: point,
            high: point,
        };
        if self.in_last_bin < self.per_bin {
            if let Some(last) = self.bins.last_mut() {
                *last = last.merge(bin);
            }
            self.in_last_bin += 1;
            return;
        }
        if self.bins.len() == MAX_BINS {
            let pairs = self.bins.chunks_exact(2);
            self.bins = pairs.map(|pair| pair[0].merge(pair[1])).collect();
            self.per_bin *= 2;
        }
        self.bins.push(bin);
        self.in_last_bin = 1;
    }

    fn finish(self) -> Signal {
        let mut points = Vec::with_capacity(self.bins.len() * 2);
        for Bin { low, high } in self.bins {
            let (first, second) = if low.0 <= high.0 {
                (low, high)
            } else {
                (high, low)
            };
            points.push(first);
            if first.0 < second.0 {
                points.push(second);
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use kadenz_record::samples::writer::SamplesWriter;
    use kadenz_record::samples::{Sample, SamplesHeader};

    use super::*;

    #[test]
    fn thinning_keeps_both_extremes_and_bounded_memory() {
        let mut thinner = Thinner::default();
        for n in 0..100_000_i64 {
            let value = match n {
                40_321 => 50_000,
                77_777 => -997,
                _ => n % 7,
            };
            thinner.push((n as f64, value));
        }
        assert_eq!(thinner.per_bin, 16);
        let signal = thinner.finish();
        assert!(signal.len() <= 2 * MAX_BINS);
        assert!(signal.contains(&(40_321.0, 50_000)));
        assert!(signal.contains(&(77_777.0, -997)));
        assert!(signal.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn across_a_gap_there_is_no_difference() {
        let mut jitter = Differences::default();
        for (sequence, value) in [(0, 10), (1, 30), (5, 500), (6, 490)] {
            jitter.push(sequence, sequence as i64 * 1_000_000, value);
        }
        assert_eq!(jitter.thinner.finish(), [(1.0, 20), (6.0, -10)]);
    }

    /// Both ways of reading agree on a beat that is kept to the nanosecond.
    #[test]
    fn a_beat_is_read_from_its_values_alone() {
        let sample = |sequence: u64| Sample {
            sequence,
            intended_ns: 5_000_000 + sequence as i64 * 1_000_000,
            actual_ns: 5_000_000 + sequence as i64 * 1_000_000,
            value_ns: (sequence as i64 * 7919) % 1013,
        };
        let samples: Vec<Sample> = (0..20_000).map(sample).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.samples.arrow");
        let file = File::create(&path).unwrap();
        let mut writer = SamplesWriter::new(file, &SamplesHeader::default()).unwrap();
        samples
            .chunks(6000)
            .for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();

        let (mut all, mut beat) = (Differences::default(), Differences::default());
        all.take_all(&mut SamplesFile::open(&path).unwrap())
            .unwrap();
        beat.take_beat(&mut SamplesFile::open(&path).unwrap(), 1_000_000)
            .unwrap();
        assert_eq!(beat.thinner.per_bin, 4);
        assert_eq!(all.thinner.finish(), beat.thinner.finish());
    }

    #[test]
    fn a_short_signal_stays_as_it_is() {
        let mut thinner = Thinner::default();
        for n in 0..100 {
            thinner.push((f64::from(n), i64::from(n)));
        }
        assert_eq!(thinner.per_bin, 1);
        assert_eq!(thinner.finish().len(), 100);
    }
}
