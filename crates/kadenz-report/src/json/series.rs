//! A series, as JSON.

use kadenz_record::run::model::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::modes::RecurringOutput;
use crate::statistics::{Extreme, JitterFacts, Percentile};
use crate::statistics::{Percentiles, by_name_at_least};
use crate::summary::{SeriesSummary, Summary};

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
