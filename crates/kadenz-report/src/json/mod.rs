//! The stable form in which every command prints its measurement: `--json`.
//!
//! `docs/schema/output.schema.json` is made from these types; the reader's guide is `docs/json.md`. Within version 1
//! fields are only added. A field without a value is `null`, never absent.

mod comparison;
mod network;

use kadenz_record::run::camera::Camera;
use kadenz_record::run::messages::{Messages, Subscriber};
use kadenz_record::run::model::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer;
use crate::answers::budget::Budget;
use crate::document::Version;
use crate::modes::RecurringOutput;
use crate::statistics::{Extreme, JitterFacts, Percentile, Percentiles, by_name_at_least};
use crate::summary::{SeriesSummary, Summary};
use crate::verdict::messages;

pub use comparison::ComparisonOutput;
use network::NetworkOutput;

/// The runs as show and every measuring command print them. Durations are in nanoseconds, as their names say; early
/// values are negative. Within version 1 fields are only added; a field without a value is null, never absent.
///
/// ```
/// use kadenz_report::json::Output;
/// use kadenz_report::summary::Summary;
///
/// let runs = [Summary::default()];
/// assert!(Output::new(&runs).to_string().starts_with("{\n  \"version\": 1,"));
/// ```
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output<'a> {
    /// Version of this form.
    version: Version<1>,
    /// The runs, in the order given.
    runs: Vec<RunOutput<'a>>,
    /// The series of all runs, in their order.
    series: Vec<SeriesOutput<'a>>,
    /// What a reader must know before believing the numbers.
    warnings: Vec<WarningOutput<'a>>,
}

impl<'a> Output<'a> {
    /// Makes the output of `runs`.
    #[must_use]
    pub fn new(runs: &'a [Summary]) -> Self {
        let series = |run: &'a Summary| {
            let series = run.series.iter();
            series.map(|series| SeriesOutput::new(run, series))
        };
        Self {
            version: Version,
            runs: runs.iter().map(RunOutput::new).collect(),
            series: runs.iter().flat_map(series).collect(),
            warnings: runs.iter().flat_map(WarningOutput::all).collect(),
        }
    }
}

/// The text to print: indented, no line break at the end.
impl std::fmt::Display for Output<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

/// A run as a whole.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct RunOutput<'a> {
    /// Path of the run folder.
    folder: String,
    /// Name of the experiment, for example `check`.
    experiment: &'a str,
    /// Wall time of the start, RFC 3339.
    started_at: &'a str,
    /// Duration of the measurement; 0 if unknown.
    duration_ns: u64,
    /// False for a run that was killed: its last interval may be missing.
    complete: bool,
    /// The verdict in words; `null` without a deadline.
    answer: Option<String>,
    /// Counts of packets; `null` in a run that sent none.
    network: Option<NetworkOutput<'a>>,
    /// Counts of messages; `null` in a run that published none.
    messages: Option<MessagesOutput<'a>>,
    /// How much of the deadline each layer of a round trip takes; `null` without round trips or without a deadline.
    budget: Option<BudgetOutput>,
    /// The same for messages; `null` without any, to several subscribers, or without a deadline.
    message_budget: Option<BudgetOutput>,
    /// Counts of a camera's frames; absent in a run that took none.
    #[serde(skip_serializing_if = "Option::is_none")]
    camera: Option<&'a Camera>,
    /// How much of a deadline each layer of a frame's age takes; absent without frames or without a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_budget: Option<BudgetOutput>,
}

impl<'a> RunOutput<'a> {
    fn new(run: &'a Summary) -> Self {
        Self {
            folder: run.shown().display().to_string(),
            experiment: &run.run.experiment,
            started_at: &run.run.started_at,
            duration_ns: run.run.duration_ns,
            complete: run.run.complete,
            answer: answer(run),
            network: NetworkOutput::new(run),
            messages: run.run.messages.as_ref().map(MessagesOutput::new),
            budget: Budget::of(run).map(BudgetOutput::new),
            message_budget: Budget::of_messages(run).map(BudgetOutput::new),
            camera: run.run.camera.as_ref(),
            frame_budget: Budget::of_frames(run).map(BudgetOutput::new),
        }
    }
}

/// The layers of a round trip against the deadline. Percentiles of layers do not add up to the whole's, which is
/// measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct BudgetOutput {
    /// The budget in words.
    sentence: String,
    /// The same budget in numbers.
    #[serde(flatten)]
    budget: Budget,
    /// The rest of the deadline after 99.9 % of all packets; negative if they take longer.
    left_p99_9_ns: Option<i64>,
    /// The rest after the longest round trip; `null` where a packet was never answered.
    left_max_ns: Option<i64>,
}

impl BudgetOutput {
    fn new(budget: Budget) -> Self {
        Self {
            sentence: budget.to_string(),
            left_p99_9_ns: budget.left_p99_9_ns(),
            left_max_ns: budget.left_max_ns(),
            budget,
        }
    }
}

/// Counts of a measurement of messages; its series hold the times.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct MessagesOutput<'a> {
    /// The counts in words.
    answer: String,
    /// The bus, as its URL.
    url: &'a str,
    /// Bytes of an encoded message.
    message_bytes: u64,
    /// Messages that were published.
    published: u64,
    /// Of these, messages that the provider refused.
    refused: u64,
    /// Counts of the messages, by subscriber.
    subscribers: Vec<SubscriberOutput<'a>>,
}

/// Counts of the messages to one subscriber.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SubscriberOutput<'a> {
    /// The counts that the run holds of this subscriber.
    #[serde(flatten)]
    subscriber: &'a Subscriber,
    /// One-sided 95 % upper bound of the share that is lost (Clopper and Pearson).
    loss_upper_bound_95: f64,
}

impl<'a> MessagesOutput<'a> {
    fn new(counted: &'a Messages) -> Self {
        let subscribers = counted.subscribers.iter();
        let subscribers = subscribers.map(|subscriber| SubscriberOutput {
            subscriber,
            loss_upper_bound_95: messages::loss_bound(counted, subscriber),
        });
        Self {
            answer: messages::answer(counted),
            url: &counted.url,
            message_bytes: counted.message_bytes,
            published: counted.published,
            refused: counted.refused,
            subscribers: subscribers.collect(),
        }
    }
}

/// What a reader must know before believing the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct WarningOutput<'a> {
    /// The run folder that it concerns.
    run: String,
    /// Stable name, for example `virtual_machine`.
    id: &'a str,
    /// The warning in words.
    text: &'a str,
    /// The command or step that removes the cause.
    remedy: Option<&'a str>,
}

impl<'a> WarningOutput<'a> {
    fn all(run: &'a Summary) -> impl Iterator<Item = Self> {
        run.warnings.iter().map(|warning| Self {
            run: run.shown().display().to_string(),
            id: &warning.id,
            text: &warning.text,
            remedy: warning.remedy.as_deref(),
        })
    }
}

/// One measured quantity of a run, with its figures.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SeriesOutput<'a> {
    /// The run folder that holds it.
    run: String,
    /// Name of the series in its run, for example `lateness`.
    #[schemars(regex(pattern = "^[A-Za-z0-9._-]+$"))]
    name: &'a str,
    /// What kind of value it holds.
    kind: Kind,
    /// Unit of the values.
    #[schemars(extend("const" = "ns"))]
    unit: &'static str,
    /// The statistics of its values.
    #[serde(flatten)]
    figures: &'a SeriesSummary,
    /// Values missing from the raw samples, because they did not fit the ring; the histogram has them.
    dropped: u64,
    /// Values below zero: events that came before their expected time.
    early: u64,
    /// Values beyond what the histogram holds.
    saturated: u64,
    /// The same percentiles, each as the lowest value that the histogram cannot distinguish from it: far lower where an
    /// imported log is coarse.
    #[serde(serialize_with = "by_name_at_least")]
    #[schemars(with = "Percentiles")]
    percentiles_at_least: &'a [Percentile],
    /// The interval of the ideal signal.
    expected_interval_ns: Option<u64>,
    /// Interval between two samples less the expected one, for latencies their difference; `null` without raw
    /// samples.
    jitter: Option<&'a JitterFacts>,
    /// The ten highest samples; empty without raw samples.
    #[schemars(length(max = 10))]
    highest: &'a [Extreme],
    /// The ten lowest samples; empty without raw samples.
    #[schemars(length(max = 10))]
    lowest: &'a [Extreme],
    /// Recurring modes; `null` where they were not searched for.
    modes: Option<RecurringOutput>,
}

impl<'a> SeriesOutput<'a> {
    fn new(run: &Summary, figures: &'a SeriesSummary) -> Self {
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

#[cfg(test)]
pub(crate) mod tests;
