//! A series, as JSON.

use kadenz_record::run::model::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use super::percentiles::{Percentiles, by_name_at_least};
use crate::modes::RecurringOutput;
use crate::statistics::{Extreme, JitterFacts, Percentile};
use crate::summary::{SeriesSummary, Summary};
use crate::verdict::{Assumption, Standing, Verdict};

/// A series.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeriesOutput<'a> {
    /// The run folder it stands in.
    pub run: String,
    /// Its name.
    #[schemars(regex(pattern = "^[A-Za-z0-9._-]+$"))]
    pub name: &'a str,
    /// What kind of value it holds.
    pub kind: Kind,
    /// Unit of the values.
    #[schemars(extend("const" = "ns"))]
    pub unit: &'static str,
    /// Its figures.
    #[serde(flatten)]
    pub figures: &'a SeriesSummary,
    /// Values missing from the raw samples, because they did not fit the ring; the histogram has them.
    pub dropped: u64,
    /// Values below zero.
    pub early: u64,
    /// Values beyond what the histogram holds.
    pub saturated: u64,
    /// The same percentiles, each as the lowest value that the histogram cannot tell from it: far below where
    /// an imported log is coarse.
    #[serde(serialize_with = "by_name_at_least")]
    #[schemars(with = "Percentiles")]
    pub percentiles_at_least: &'a [Percentile],
    /// The interval of the ideal signal.
    pub expected_interval_ns: Option<u64>,
    /// Interval between two samples less the expected one, for latencies their difference; `null` without raw
    /// samples.
    pub jitter: Option<&'a JitterFacts>,
    /// The ten highest samples; empty without raw samples.
    #[schemars(length(max = 10))]
    pub highest: &'a [Extreme],
    /// The ten lowest samples; empty without raw samples.
    #[schemars(length(max = 10))]
    pub lowest: &'a [Extreme],
    /// What recurs; `null` where nobody asked for it.
    pub modes: Option<RecurringOutput>,
}

impl<'a> SeriesOutput<'a> {
    pub(super) fn new(run: &Summary, figures: &'a SeriesSummary) -> Self {
        let series = &figures.series;
        let samples = figures.samples.as_ref();
        Self {
            run: run.shown().display().to_string(),
            name: &series.name,
            kind: series.kind,
            unit: "ns",
            figures,
            dropped: series.counts.dropped,
            early: series.counts.early,
            saturated: series.counts.saturated,
            percentiles_at_least: &figures.percentiles,
            expected_interval_ns: series.expected_interval_ns,
            jitter: samples.and_then(|it| it.jitter.as_ref()),
            highest: samples.map_or(&[], |it| &it.highest),
            lowest: samples.map_or(&[], |it| &it.lowest),
            modes: figures.modes.as_ref().map(RecurringOutput::new),
        }
    }
}

/// What a series says about its deadline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeadlineOutput {
    /// The limit; a sample above it is a miss.
    pub limit_ns: u64,
    /// Samples above the limit.
    pub misses: u64,
    /// Misses by samples.
    #[schemars(range(min = 0, max = 1))]
    pub rate: f64,
    /// One-sided 95 % upper bound of the miss rate (Korn and Graubard; Clopper and Pearson where misses are
    /// taken as independent).
    #[schemars(range(min = 0, max = 1))]
    pub upper_bound_95: f64,
    /// What the bound takes for granted of misses: that each is independent, that they are grouped as in the
    /// blocks of this run, or that they come in rows as long as the longest.
    #[schemars(extend("enum" = ["independent", "blocks", "rows"]))]
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

impl From<Verdict> for DeadlineOutput {
    fn from(verdict: Verdict) -> Self {
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
