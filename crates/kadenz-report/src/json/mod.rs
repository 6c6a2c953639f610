//! The stable form in which every command prints what it measured: `--json`.
//!
//! Its schema is `docs/schema/output.schema.json`, its reader's guide `docs/json.md`; a test holds
//! the three together. Within version 1 fields are only added. A field that has nothing to say is
//! `null`, never absent.

mod budget;
mod comparison;
mod messages;
mod network;
mod parts;
mod round_trips;
mod testbed;

use serde::Serialize;

pub use budget::{BudgetOutput, LayerOutput};
pub use comparison::{
    ComparisonOutput, DifferenceOutput, FigureOutput, PairOutput, UndecidedOutput, ViolationOutput,
};
pub use messages::{MessagesOutput, SubscriberOutput};
pub use network::{FlowOutput, InterfaceOutput, LostHereOutput, NetworkOutput, PathOutput};
pub use parts::{
    AtLeast, ClusterOutput, DeadlineOutput, ExtremeOutput, FrequencyOutput, JitterOutput,
    Percentiles, WarningOutput,
};
pub use round_trips::{HostOutput, RoundTripOutput, RoundTripsOutput};
pub use testbed::{ErrorOutput, ModelOutput, TestbedLinkOutput, TestbedOutput, TimesOutput};

use crate::modes::RecurringOutput;
use crate::summary::{SeriesSummary, Summary};
use crate::verdict::answer;
use crate::verdict::budget::Budget;

/// The version of the schema.
pub const VERSION: u32 = 1;

/// What a command prints with `--json`.
///
/// ```
/// use kadenz_report::json::Output;
/// use kadenz_report::summary::Summary;
///
/// let output = Output::new(&[Summary::default()]);
/// assert!(output.to_string().starts_with("{\n  \"version\": 1,"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Output {
    /// [`VERSION`].
    pub version: u32,
    /// The runs, in the order given.
    pub runs: Vec<RunOutput>,
    /// The series of all runs, in their order.
    pub series: Vec<SeriesOutput>,
    /// What a reader must know before believing the numbers.
    pub warnings: Vec<WarningOutput>,
}

/// A run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunOutput {
    /// The run folder.
    pub folder: String,
    /// What was measured.
    pub experiment: String,
    /// Wall time of the start, RFC 3339.
    pub started_at: String,
    /// How long was measured.
    pub duration_ns: u64,
    /// Whether the run ended as it should.
    pub complete: bool,
    /// The verdict in words; `null` without a deadline.
    pub answer: Option<String>,
    /// What became of packets; `null` in a run that sent none.
    pub network: Option<NetworkOutput>,
    /// What became of messages; `null` in a run that published none.
    pub messages: Option<MessagesOutput>,
    /// Where the deadline's time goes; `null` without round trips or without a deadline.
    pub budget: Option<BudgetOutput>,
    /// The same of messages; `null` without any, to several subscribers, or without a deadline.
    pub message_budget: Option<BudgetOutput>,
}

/// A series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesOutput {
    /// The run folder it stands in.
    pub run: String,
    /// Its name.
    pub name: String,
    /// `lateness`, `hiccup`, `jitter`, `latency` or `floor`.
    pub kind: kadenz_record::run::model::Kind,
    /// Always `ns`.
    pub unit: &'static str,
    /// Values recorded, early ones included.
    pub count: u64,
    /// Smallest value.
    pub min_ns: Option<i64>,
    /// Largest value.
    pub max_ns: Option<i64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    pub stddev_ns: Option<f64>,
    /// `(max - mean) / stddev`.
    pub max_in_stddevs: Option<f64>,
    /// Values missing from the raw samples, because they did not fit the ring.
    pub dropped: u64,
    /// Values below zero.
    pub early: u64,
    /// Values beyond what the histogram holds.
    pub saturated: u64,
    /// Percentiles.
    pub percentiles: Percentiles,
    /// The same, each as the lowest value that the histogram cannot tell from it.
    pub percentiles_at_least: AtLeast,
    /// The interval of the ideal signal.
    pub expected_interval_ns: Option<u64>,
    /// The deadline; `null` without one.
    pub deadline: Option<DeadlineOutput>,
    /// Sum of all hiccups; `null` for other kinds.
    pub hiccup_total_ns: Option<f64>,
    /// Groups of early wake-ups.
    pub early_clusters: Vec<ClusterOutput>,
    /// Interval-to-interval jitter; `null` without raw samples.
    pub jitter: Option<JitterOutput>,
    /// The ten highest samples; empty without raw samples.
    pub highest: Vec<ExtremeOutput>,
    /// The ten lowest samples; empty without raw samples.
    pub lowest: Vec<ExtremeOutput>,
    /// What recurs; `null` where nobody asked for it.
    pub modes: Option<RecurringOutput>,
}

impl Output {
    /// What `runs` say.
    #[must_use]
    pub fn new(runs: &[Summary]) -> Self {
        let series = |run: &Summary| -> Vec<SeriesOutput> {
            run.series
                .iter()
                .map(|series| SeriesOutput::new(run, series))
                .collect()
        };
        Self {
            version: VERSION,
            runs: runs.iter().map(RunOutput::new).collect(),
            series: runs.iter().flat_map(series).collect(),
            warnings: runs.iter().flat_map(WarningOutput::all).collect(),
        }
    }
}

/// The text to print: indented, no line break at the end.
impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

impl RunOutput {
    fn new(run: &Summary) -> Self {
        Self {
            folder: run.shown().display().to_string(),
            experiment: run.run.experiment.clone(),
            started_at: run.run.started_at.clone(),
            duration_ns: run.run.duration_ns,
            complete: run.run.complete,
            answer: answer(run),
            network: NetworkOutput::new(run),
            messages: run.run.messages.as_ref().map(MessagesOutput::new),
            budget: Budget::of(run).as_ref().map(BudgetOutput::new),
            message_budget: Budget::of_messages(run).as_ref().map(BudgetOutput::new),
        }
    }
}

impl SeriesOutput {
    fn new(run: &Summary, summary: &SeriesSummary) -> Self {
        let series = &summary.series;
        let samples = summary.samples.as_ref();
        Self {
            run: run.shown().display().to_string(),
            name: series.name.clone(),
            kind: series.kind,
            unit: "ns",
            count: summary.count,
            min_ns: summary.min_ns,
            max_ns: summary.max_ns,
            mean_ns: summary.mean_ns,
            stddev_ns: summary.stddev_ns,
            max_in_stddevs: summary.max_in_stddevs,
            dropped: series.counts.dropped,
            early: series.counts.early,
            saturated: series.counts.saturated,
            percentiles: Percentiles(summary.percentiles.clone()),
            percentiles_at_least: AtLeast(summary.percentiles.clone()),
            expected_interval_ns: series.expected_interval_ns,
            deadline: summary.verdict.as_ref().map(DeadlineOutput::new),
            hiccup_total_ns: summary.hiccup_total_ns,
            early_clusters: summary
                .early_clusters
                .iter()
                .map(ClusterOutput::new)
                .collect(),
            jitter: samples
                .and_then(|s| s.jitter.as_ref())
                .map(JitterOutput::new),
            highest: samples.map_or_else(Vec::new, |s| ExtremeOutput::all(&s.highest)),
            lowest: samples.map_or_else(Vec::new, |s| ExtremeOutput::all(&s.lowest)),
            modes: summary.modes.as_ref().map(RecurringOutput::new),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
