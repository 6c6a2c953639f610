use std::fmt;
use std::path::{Path, PathBuf};

use kadenz_record::histogram::{Percent, SignedHistogram};
use kadenz_record::numbers;
use kadenz_record::recorder::Counts;
use kadenz_record::run::model::{Run, Series, TuningMeasure, Warning};

/// Most characters of a warning about the machine; `kadenz show` prints all, with the remedies.
const MAX_WARNING: usize = 110;

/// A finished recording. It displays as a few lines: for each series the count, the percentiles that the count can
/// carry, the misses of the deadline; then the settings that the system refused, with the remedies, the beginnings of
/// other warnings, and the path of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    folder: PathBuf,
    run: Run,
    /// Of each series, in nanoseconds.
    percentiles: Vec<Vec<(Percent, i64)>>,
}

impl Recorded {
    pub(crate) fn new(folder: PathBuf, run: Run, histograms: &[SignedHistogram]) -> Self {
        let percentiles = histograms
            .iter()
            .zip(&run.series)
            .map(|(histogram, series)| {
                // A bucket may end above the largest value, which is known exactly.
                let max = series.counts.max_ns.unwrap_or(i64::MAX);
                let percentiles = histogram.percentiles();
                percentiles
                    .map(|(percent, ns)| (percent, ns.min(max)))
                    .collect()
            });
        Self {
            percentiles: percentiles.collect(),
            folder,
            run,
        }
    }

    /// The content of `run.json`: exact counts, misses and extremes, tuning and warnings.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The folder that holds `run.json` and the files of the series.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether no sample of any series missed its deadline.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.run.series.iter().all(|it| it.counts.misses == 0)
    }

    /// A percentile of a series, in nanoseconds; `None` where there is no such series, or its samples are too few to
    /// carry it.
    #[must_use]
    pub fn percentile_ns(&self, series: &str, percent: Percent) -> Option<i64> {
        let place = self.run.series.iter().position(|it| it.name == series)?;
        let mut percentiles = self.percentiles.get(place)?.iter();
        percentiles.find(|it| it.0 == percent).map(|it| it.1)
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (series, percentiles) in self.run.series.iter().zip(&self.percentiles) {
            writeln!(f, "{}", line(series, percentiles))?;
        }
        let measures = self.run.series.iter().flat_map(|it| &it.tuning);
        let refused: Vec<Warning> = measures.filter_map(TuningMeasure::refusal).collect();
        let is_refusal = |it: &&Warning| refused.iter().any(|other| other.id == it.id);
        let (refusals, others): (Vec<_>, Vec<_>) = self.run.warnings.iter().partition(is_refusal);
        for Warning { text, remedy, .. } in refusals {
            let remedy = remedy
                .as_ref()
                .map_or(String::new(), |it| format!("; {it}"));
            writeln!(f, "warning: {text}{remedy}")?;
        }
        for Warning { text, .. } in others {
            match text.char_indices().nth(MAX_WARNING) {
                Some((end, _)) => writeln!(f, "warning: {}...", &text[..end])?,
                None => writeln!(f, "warning: {text}")?,
            }
        }
        write!(f, "run: {}", self.folder.display())
    }
}

/// "lateness: 2,000 samples, p50 52.1 us, p99 80.2 us, max 93.4 us; 0 misses of 400 us".
fn line(series: &Series, percentiles: &[(Percent, i64)]) -> String {
    let Counts {
        recorded,
        dropped,
        misses,
        longest_miss_run,
        max_ns,
        ..
    } = series.counts;
    let mut text = format!("{}: {}", series.name, numbers::counted(recorded, "sample"));
    let named = percentiles.iter();
    let named = named.map(|(percent, ns)| (format!("p{percent}"), *ns));
    let max = max_ns.map(|ns| ("max".to_owned(), ns));
    for (name, ns) in named.chain(max) {
        text += &format!(", {name} {}", numbers::value(ns as f64));
    }
    if dropped > 0 {
        text += &format!(", {} dropped", numbers::thousands(dropped));
    }
    if let Some(deadline_ns) = series.deadline_ns {
        let misses = match misses {
            1 => "1 miss".to_owned(),
            _ => format!("{} misses", numbers::thousands(misses)),
        };
        text += &format!("; {misses} of {}", numbers::span(deadline_ns as f64));
    }
    if misses > 0 {
        let share = misses as f64 / recorded.max(1) as f64;
        let share = numbers::percentage(share);
        let longest = numbers::thousands(longest_miss_run);
        text += &format!(" ({share}), at most {longest} in a row");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values_ns: &[i64]) -> Recorded {
        let mut histogram = SignedHistogram::new();
        values_ns.iter().for_each(|ns| histogram.record(*ns));
        let late = values_ns.iter().filter(|ns| **ns > 400_000).count() as u64;
        let series = Series {
            name: "lateness".to_owned(),
            deadline_ns: Some(400_000),
            counts: Counts {
                recorded: values_ns.len() as u64,
                misses: late,
                longest_miss_run: late,
                max_ns: values_ns.iter().max().copied(),
                ..Counts::default()
            },
            ..Series::default()
        };
        let run = Run {
            series: vec![series],
            ..Run::default()
        };
        Recorded::new(PathBuf::from("run"), run, &[histogram])
    }

    #[test]
    fn the_answer_has_the_percentiles_that_the_count_carries() {
        let mut values = vec![52_000; 99];
        values.push(512_345);
        let recorded = recorded(&values);
        assert_eq!(
            recorded.to_string(),
            "lateness: 100 samples, p50 52.03 us, p90 52.03 us, p99 52.03 us, max 512.3 us; 1 miss of 400 us \
             (1 %), at most 1 in a row\nrun: run"
        );
        assert!(!recorded.kept());
        assert_eq!(
            recorded.percentile_ns("lateness", Percent::P50),
            Some(52_031)
        );
        assert_eq!(recorded.percentile_ns("lateness", Percent::P99_9), None);
        assert_eq!(recorded.percentile_ns("jitter", Percent::P50), None);
    }

    #[test]
    fn no_percentile_is_above_the_largest_value() {
        let recorded = recorded(&[52_000; 1000]);
        assert_eq!(
            recorded.percentile_ns("lateness", Percent::P99),
            Some(52_000)
        );
        assert!(recorded.kept());
    }

    #[test]
    fn refusals_come_first_with_their_remedy_and_other_warnings_are_short() {
        let mut recorded = recorded(&[]);
        let refused = TuningMeasure {
            ok: false,
            reason: Some("no right".to_owned()),
            remedy: Some("ulimit -r".to_owned()),
            ..TuningMeasure::granted("policy", "SCHED_OTHER")
        };
        let long = "this is a virtual machine ".repeat(9);
        recorded
            .run
            .warnings
            .push(Warning::new("guest", long, Some("a remedy")));
        recorded.run.warnings.extend(refused.refusal());
        recorded.run.series[0].tuning.push(refused);
        let text = recorded.to_string();
        let lines: Vec<&str> = text.lines().collect();
        let [_, first, second, run] = lines[..] else {
            panic!("{text}");
        };
        assert!(first.ends_with("; ulimit -r"), "{text}");
        assert!(second.starts_with("warning: this is a virtual"), "{text}");
        assert!(second.ends_with("...") && second.len() < 130, "{text}");
        assert_eq!(run, "run: run");
    }
}
