//! The smaller parts of the JSON output.

use serde::Serialize as DeriveSerialize;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::statistics::{Cluster, Extreme, FrequencyFacts, JitterFacts, Percent, Percentile};
use crate::summary::Summary;
use crate::verdict::{Assumption, Standing, Verdict};

/// Percentiles by name, ascending. 50, 90, 99 and 99.9 are always there, `null` where the sample
/// cannot carry them; higher ones only where it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Percentiles(pub Vec<Percentile>);

/// How many of the ladder are always there.
const ALWAYS: usize = 4;

impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_rows(serializer, &self.0, |row| row.value_ns)
    }
}

/// As [`Percentiles`], each with the lowest value that the histogram cannot tell from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtLeast(pub Vec<Percentile>);

impl Serialize for AtLeast {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_rows(serializer, &self.0, |row| row.at_least_ns)
    }
}

fn serialize_rows<S: Serializer>(
    serializer: S,
    rows: &[Percentile],
    value: fn(&Percentile) -> i64,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (index, percent) in Percent::LADDER.into_iter().enumerate() {
        let row = rows.iter().find(|row| row.percent == percent);
        if index < ALWAYS || row.is_some() {
            map.serialize_entry(&percent.to_string(), &row.map(value))?;
        }
    }
    map.end()
}

/// What a series says about its deadline.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct DeadlineOutput {
    /// The limit; a sample above it is a miss.
    pub limit_ns: u64,
    /// Samples above the limit.
    pub misses: u64,
    /// `misses / count`.
    pub rate: f64,
    /// One-sided 95 % upper bound of the miss rate.
    pub upper_bound_95: f64,
    /// What the bound takes for granted of misses: `independent`, grouped as in the `blocks` of this run,
    /// or in `rows` as long as the longest.
    pub bound_assumes: &'static str,
    /// Most misses in a row; `null` where there were misses but only a histogram tells of them.
    pub longest_run: Option<u64>,
    /// Misses per hour of measuring; `null` when the duration is unknown.
    pub misses_per_hour: Option<f64>,
    /// Whether there were samples and none of them was above the limit.
    pub kept: bool,
    /// Whether there are enough samples to claim at least 99 %, or a miss to disprove it.
    pub enough_samples: bool,
}

impl DeadlineOutput {
    pub(crate) fn new(verdict: &Verdict) -> Self {
        let unknown = verdict.misses > 0 && verdict.longest_run == 0;
        Self {
            limit_ns: verdict.limit_ns,
            misses: verdict.misses,
            rate: verdict.rate,
            upper_bound_95: verdict.upper_bound_95,
            bound_assumes: match verdict.assumption {
                Assumption::Independent => "independent",
                Assumption::Blocks(_) => "blocks",
                Assumption::Rows(_) => "rows",
            },
            longest_run: (!unknown).then_some(verdict.longest_run),
            misses_per_hour: verdict.misses_per_hour,
            kept: verdict.kept(),
            enough_samples: verdict.standing != Standing::TooFew,
        }
    }
}

/// A group of early wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
pub struct ClusterOutput {
    /// Share of all samples, 0 to 1.
    pub share: f64,
    /// Median of the group.
    pub centre_ns: i64,
    /// Lowest value of the group.
    pub low_ns: i64,
    /// Highest value of the group.
    pub high_ns: i64,
}

impl ClusterOutput {
    pub(super) fn new(cluster: &Cluster) -> Self {
        let Cluster {
            share,
            centre_ns,
            low_ns,
            high_ns,
        } = *cluster;
        Self {
            share,
            centre_ns,
            low_ns,
            high_ns,
        }
    }
}

/// Interval-to-interval jitter.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct JitterOutput {
    /// Intervals seen.
    pub count: u64,
    /// Smallest.
    pub min_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stddev_ns: f64,
    /// Percentiles.
    pub percentiles: Percentiles,
    /// Intervals that were short because a stall came before.
    pub catching_up: u64,
    /// The average frequency; `null` where the series has no beat.
    pub frequency: Option<FrequencyOutput>,
}

impl JitterOutput {
    pub(super) fn new(facts: &JitterFacts) -> Self {
        Self {
            count: facts.count,
            min_ns: facts.min_ns,
            max_ns: facts.max_ns,
            mean_ns: facts.mean_ns,
            stddev_ns: facts.stddev_ns,
            percentiles: Percentiles(facts.percentiles.clone()),
            catching_up: facts.catching_up,
            frequency: facts.frequency.as_ref().map(FrequencyOutput::new),
        }
    }
}

/// The average frequency against the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
pub struct FrequencyOutput {
    /// The interval asked for.
    pub expected_interval_ns: u64,
    /// Mean interval over the run.
    pub mean_interval_ns: f64,
    /// Relative difference of the frequency in parts per million: positive is too fast.
    pub error_ppm: f64,
    /// Whether the frequency was kept.
    pub kept: bool,
}

impl FrequencyOutput {
    fn new(facts: &FrequencyFacts) -> Self {
        let FrequencyFacts {
            expected_interval_ns,
            mean_interval_ns,
            error_ppm,
            kept,
        } = *facts;
        Self {
            expected_interval_ns,
            mean_interval_ns,
            error_ppm,
            kept,
        }
    }
}

/// One of the highest or lowest samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeriveSerialize)]
pub struct ExtremeOutput {
    /// Sequence number of the sample.
    pub index: u64,
    /// Its value.
    pub value_ns: i64,
}

impl ExtremeOutput {
    pub(super) fn all(extremes: &[Extreme]) -> Vec<Self> {
        extremes
            .iter()
            .map(|&Extreme { index, value_ns }| Self { index, value_ns })
            .collect()
    }
}

/// What a reader must know before believing the numbers.
#[derive(Clone, Debug, PartialEq, Eq, DeriveSerialize)]
pub struct WarningOutput {
    /// The run folder it is about.
    pub run: String,
    /// Stable name, for example `virtual_machine`.
    pub id: String,
    /// The sentence.
    pub text: String,
    /// The command or step that mends it.
    pub remedy: Option<String>,
}

impl WarningOutput {
    pub(super) fn all(run: &Summary) -> Vec<Self> {
        let folder = run.shown().display().to_string();
        run.warnings
            .iter()
            .map(|warning| Self {
                run: folder.clone(),
                id: warning.id.clone(),
                text: warning.text.clone(),
                remedy: warning.remedy.clone(),
            })
            .collect()
    }
}
