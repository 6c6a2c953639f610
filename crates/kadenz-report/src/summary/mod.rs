//! The figures of one run, series by series: the common basis of every table, report, export and comparison.

mod log;
mod read;
pub mod recurring;
mod testbed;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::recorder::Counts;
use kadenz_record::run::labels::DEVICE;
use kadenz_record::run::messages::{
    DECODE, KERNEL_TO_INLET, ONE_WAY, ONE_WAY_FROM_SEND, PUBLISH, QUEUE,
};
use kadenz_record::run::model::{Kind, Run, Series, Warning};
use kadenz_record::run::network::{MaxLoss, RESPONSE};
use schemars::JsonSchema;
use serde::Serialize;

use crate::import::{ImportError, LOST, MAYBE_LOST, write_run};
use crate::modes::SeriesModes;
use crate::numbers;
use crate::statistics::{
    Cluster, Percent, Percentile, Percentiles, SampleFacts, SignedBucket, by_name,
};
use crate::verdict::{Loss, Verdict, messages, packets};

pub(crate) use log::make_room;
pub use read::{SummariseError, SummaryOptions};
pub use testbed::TestbedError;

/// The figures of one run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The run folder, from which further analyses read logs and samples again.
    pub folder: PathBuf,
    /// The file that the run was imported from, if another program wrote it.
    pub imported: Option<Imported>,
    /// Content of `run.json`.
    pub run: Run,
    /// The series, in the order in which they should be shown.
    pub series: Vec<SeriesSummary>,
    /// The run's warnings, and those from reading it (incomplete, truncated, dropped).
    pub warnings: Vec<Warning>,
    /// The lateness of the run's testbed, where the testbed's own run is beside it.
    pub testbed_error: Option<TestbedError>,
}

/// A file of another program, and the temporary run folder that was made of it. The folder lives as
/// long as a summary that names it.
#[derive(Clone, Debug)]
pub struct Imported {
    file: PathBuf,
    /// Removes the folder with the last copy.
    _folder: Arc<tempfile::TempDir>,
}

/// The figures of one series of a run. All values are in nanoseconds; early ones are negative.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SeriesSummary {
    /// Its entry in `run.json`, with its counts exact (counted from the files in a run that was killed).
    #[serde(skip)]
    pub series: Series,
    /// Values recorded, early ones included.
    pub count: u64,
    /// Smallest value, exact where the recorder or the samples give it.
    pub min_ns: Option<i64>,
    /// Largest value, exact where the recorder or the samples give it.
    pub max_ns: Option<i64>,
    /// Arithmetic mean of the values, in nanoseconds.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the values, in nanoseconds.
    pub stddev_ns: Option<f64>,
    /// `(max - mean) / stddev`: the distance of the maximum from the mean in standard deviations. Absent when all
    /// values are equal.
    pub max_in_stddevs: Option<f64>,
    /// The percentiles that the sample supports, ascending.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "Percentiles")]
    pub percentiles: Vec<Percentile>,
    /// How often each value was recorded, ascending; recorded buckets only. The histogram itself is not
    /// kept: half a megabyte a series, most of it zeros.
    #[serde(skip)]
    pub distribution: Vec<SignedBucket>,
    /// One point per interval of the log, in order of time.
    #[serde(skip)]
    pub intervals: Vec<IntervalPoint>,
    /// Sum of all hiccups, without those that omission correction added; only for hiccups whose
    /// resolution is known as their expected interval.
    pub hiccup_total_ns: Option<f64>,
    /// The verdict on the deadline, where the user stated one.
    #[serde(rename = "deadline")]
    pub verdict: Option<Verdict>,
    /// Groups of early wake-ups, from the jitter where there are samples, else from the values.
    pub early_clusters: Vec<Cluster>,
    /// Figures that need raw samples; absent when none were kept.
    #[serde(skip)]
    pub samples: Option<SampleFacts>,
    /// Recurring modes; absent unless they were searched for ([`Summary::search_modes`]).
    #[serde(skip)]
    pub modes: Option<SeriesModes>,
}

/// Maximum number of devices whose series are shown separately.
const FEW_DEVICES: usize = 4;

/// What is timed of messages that arrived.
const OF_MESSAGES: [&str; 5] = [ONE_WAY, ONE_WAY_FROM_SEND, KERNEL_TO_INLET, QUEUE, DECODE];

impl Summary {
    /// The series of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&SeriesSummary> {
        self.series.iter().find(|series| series.series.name == name)
    }

    /// The user's name of the run: its folder, or the file that it was imported from.
    #[must_use]
    pub fn shown(&self) -> &Path {
        self.imported.as_ref().map_or(&self.folder, |it| &it.file)
    }

    /// Whether the other program lost values of an imported run.
    pub(crate) fn loss_of_import(&self) -> Option<Loss> {
        let has = |id| self.warnings.iter().any(|it| it.id == id);
        let possible = has(MAYBE_LOST).then_some(Loss::Possible);
        has(LOST).then_some(Loss::Certain).or(possible)
    }

    /// Whether values of a series were lost, each of which may have missed a deadline: by another program, or packets
    /// or messages that never arrived, beyond what the run allows.
    pub(crate) fn loss(&self, series: &Series) -> Option<Loss> {
        let never_arrived = || self.never_arrived(series).map(|_| Loss::Certain);
        self.loss_of_import().or_else(never_arrived)
    }

    /// The packets or messages lost beyond what the run allows, whose times a series lacks: "3 lost packets".
    pub(crate) fn never_arrived(&self, series: &Series) -> Option<String> {
        let value = series.value();
        // Only what arrived has a latency; the duration of a publishing call is known of every message.
        if series.kind != Kind::Latency || value == PUBLISH {
            return None;
        }
        // One device or subscriber among several may have lost nothing.
        let is_whole = |(name, lost): (String, u64)| name == series.name && lost == 0;
        if OF_MESSAGES.contains(&value) {
            let subscribers = self.run.messages.iter().flat_map(|it| &it.subscribers);
            let number = subscribers.clone().count();
            let mut each = subscribers.map(|it| (it.series(value, number), it.lost));
            return self.lost_messages().filter(|_| !each.any(is_whole));
        }
        let flows = self.run.network.iter().flat_map(|it| &it.flows);
        let number = flows.clone().count();
        let mut each = flows.map(|it| (it.series(value, number), it.lost));
        self.lost_packets(true).filter(|_| !each.any(is_whole))
    }

    /// The packets or messages lost beyond what the run allows, where one of the series that `judged` names times them:
    /// "3 lost packets".
    pub(crate) fn lost_beyond_limit(&self, judged: impl Fn(&str) -> bool) -> Option<String> {
        let messages = || self.lost_messages().filter(|_| judged(ONE_WAY));
        self.lost_packets(judged(RESPONSE)).or_else(messages)
    }

    /// The packets lost beyond what the run allows: none, where their round trips are judged and it states nothing.
    fn lost_packets(&self, are_judged: bool) -> Option<String> {
        let network = self.run.network.as_ref()?;
        let none = are_judged.then_some(MaxLoss::Packets(0));
        let limit = network.max_loss.or(none)?;
        let total = packets::total(network);
        let is_exceeded = limit.exceeded_by(total.lost, total.sent);
        is_exceeded.then(|| numbers::counted(total.lost, "lost packet"))
    }

    fn lost_messages(&self) -> Option<String> {
        let lost = self.run.messages.as_ref().map(messages::lost)?;
        (lost > 0).then(|| numbers::counted(lost, "lost message"))
    }

    /// The series that a page or a table shows in full. In a run of many devices their own series are left out: the
    /// table of packets has a row for each, and one more series combines them.
    pub(crate) fn by_themselves(&self) -> impl Iterator<Item = &SeriesSummary> {
        let network = self.run.network.as_ref();
        let many = network.is_some_and(|it| it.flows.len() > FEW_DEVICES);
        let of_one_device = |it: &SeriesSummary| it.series.label(DEVICE).is_some();
        self.series
            .iter()
            .filter(move |it| !(many && of_one_device(it)))
    }
}

impl SeriesSummary {
    /// How many values are above `limit_ns` and can be distinguished from it.
    #[must_use]
    pub fn count_above(&self, limit_ns: i64) -> u64 {
        let above = self.distribution.iter().filter(|it| it.low_ns > limit_ns);
        above.fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// The value of a reported percentile; absent when the sample does not support it.
    #[must_use]
    pub fn percentile(&self, percent: Percent) -> Option<i64> {
        self.percentiles
            .iter()
            .find(|row| row.percent == percent)
            .map(|row| row.value_ns)
    }
}

/// The figures of one interval of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalPoint {
    /// Start in seconds since the start of the run.
    pub start_s: f64,
    /// Length of the interval in seconds.
    pub length_s: f64,
    /// Values recorded in it; with 0 the values below are meaningless.
    pub count: u64,
    /// Values above the deadline, to the resolution of the histogram; 0 without a deadline.
    pub misses: u64,
    /// Smallest value of the interval, in nanoseconds.
    pub min_ns: i64,
    /// Largest value of the interval, in nanoseconds.
    pub max_ns: i64,
    /// Median, where the interval supports it.
    pub p50_ns: Option<i64>,
    /// 99th percentile, where the interval supports it.
    pub p99_ns: Option<i64>,
}

/// States a deadline for every series of an imported run, and counts its misses: exactly where there are samples, else
/// to the resolution of the histograms. Returns the new summary.
///
/// # Errors
/// [`SummariseError`] where the run cannot be read again or its `run.json` not be written.
pub fn state_deadline(run: &Path, deadline_ns: u64) -> Result<Summary, SummariseError> {
    let options = SummaryOptions {
        deadline_ns: Some(deadline_ns),
        ..SummaryOptions::default()
    };
    let mut summary = Summary::of_run_with(run, options)?;
    summary.run.series = summary.series.iter().map(|it| it.series.clone()).collect();
    let store = |source| ImportError::Store {
        folder: run.to_owned(),
        source,
    };
    write_run(run, &summary.run).map_err(store)?;
    Ok(summary)
}

impl SeriesSummary {
    /// Joins series that were measured alternately: their values in one histogram of the standard layout, exact
    /// extremes and counts. Its name, kind, interval and deadline are the first one's; it has no intervals and no
    /// samples. `None` without series.
    ///
    /// ```
    /// use kadenz_record::histogram::SignedHistogram;
    /// use kadenz_record::run::model::Series;
    /// use kadenz_report::statistics::Percent;
    /// use kadenz_report::summary::SeriesSummary;
    ///
    /// let round = |value_ns: i64| {
    ///     let mut histogram = SignedHistogram::new();
    ///     (0..100).for_each(|_| histogram.record(value_ns));
    ///     SeriesSummary::new(Series::default(), &histogram, Vec::new(), 0)
    /// };
    /// let (first, second) = (round(1000), round(2000));
    /// let both = SeriesSummary::together([&first, &second]).expect("two are something");
    /// assert_eq!((both.count, both.percentile(Percent::P90)), (200, Some(2000)));
    /// assert!(SeriesSummary::together([]).is_none());
    /// ```
    #[must_use]
    pub fn together<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        let mut histogram = SignedHistogram::new();
        first.add_to(&mut histogram);
        let mut counts = first.exact_counts();
        for part in parts {
            part.add_to(&mut histogram);
            counts.add(&part.exact_counts());
        }
        let series = Series {
            counts,
            ..first.series.clone()
        };
        Some(Self::new(series, &histogram, Vec::new(), 0))
    }

    /// Adds all values by the rule of [`Histogram::add`](kadenz_record::histogram::Histogram::add).
    fn add_to(&self, sum: &mut SignedHistogram) {
        for bucket in &self.distribution {
            let early = bucket.high_ns < 0;
            let nearest_to_zero = if early { bucket.high_ns } else { bucket.low_ns };
            sum.record_n(nearest_to_zero, bucket.count);
        }
    }

    /// The counts with the extremes that this summary gives.
    fn exact_counts(&self) -> Counts {
        Counts {
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            ..self.series.counts
        }
    }
}

#[cfg(test)]
mod tests;
