//! Makes the summary of a run folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kadenz_record::histogram::SignedHistogram;
use kadenz_record::recorder::Counts;
use kadenz_record::run::folder::{OpenRunError, OpenSeriesError, RunReader};
use kadenz_record::run::model::{Kind, Series, Warning};
use kadenz_record::samples::reader::ReadSamplesError;
use thiserror::Error;

use super::log::{self, LogFacts, recount_misses};
use super::{Imported, IntervalPoint, SeriesSummary, Summary, testbed};
use crate::import::{self, DetectError, ImportError};
use crate::statistics::{SampleMeter, distribution, early_clusters, hiccup_total, percentiles};
use crate::verdict::Verdict;

/// Maximum number of buckets of all series of a run together, 192 MiB. A thousand series with eight thousand different
/// values each are fewer.
const MAX_BUCKETS: usize = 8 << 20;

/// Why a run could not be summarised.
#[derive(Debug, Error)]
pub enum SummariseError {
    /// The run itself could not be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// Neither the interval log nor the samples of a series could be read.
    #[error("run {}: {source}", folder.display())]
    Series {
        /// Path of the run folder.
        folder: PathBuf,
        /// What kept the file from being opened.
        source: OpenSeriesError,
    },
    /// Its series need more memory than any measurement does.
    #[error(
        "run {}: its series hold more than {limit} different values together, the most that is \
         read; check where the run comes from",
        folder.display()
    )]
    TooManyValues {
        /// Path of the run folder.
        folder: PathBuf,
        /// The most different values that all series of a run may hold.
        limit: usize,
    },
    /// There is neither a folder nor a file of this name.
    #[error(
        "there is no run folder and no file {}; a measuring command names the folder that it writes, or \
         takes one with `--out`",
        .0.display()
    )]
    Absent(PathBuf),
    /// A file of no known format.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// A file that could not be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// There is no room for the run that a file is imported to.
    #[error("cannot make a temporary folder for the import: {0}; name a writable one with TMPDIR")]
    Temporary(std::io::Error),
}

/// Options of reading a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryOptions {
    /// A deadline that replaces the one stated for the run: for the series that had one, or for every series where none
    /// had. Without raw samples the misses are then known to the histogram's 0.1 % only, and their longest run not at
    /// all.
    pub deadline_ns: Option<u64>,
    /// Whether to read raw samples, where there are any: for extremes with their index, jitter and early clusters. It
    /// takes about 30 ns per sample.
    pub samples: bool,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        Self {
            deadline_ns: None,
            samples: true,
        }
    }
}

impl Summary {
    /// Reads a run folder, complete or not. Damaged or missing data becomes a warning.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kadenz_record::run::folder::{RunWriter, SeriesSpec};
    /// use kadenz_record::run::model::{EndedBy, Run, Series};
    /// use kadenz_record::samples::Sample;
    /// use kadenz_report::statistics::Percent;
    /// use kadenz_report::summary::Summary;
    ///
    /// # let folder = std::env::temp_dir().join(format!("kadenz-summary-{}", std::process::id()));
    /// let mut writer = RunWriter::create(&folder, Run::default())?;
    /// let series = Series { name: "wakeup".into(), deadline_ns: Some(400_000), ..Series::default() };
    /// let mut recorder = writer.series(SeriesSpec { series, raw: true })?;
    /// let running = writer.start(Duration::from_secs(1))?;
    /// for sequence in 0..1000 {
    ///     recorder.record(Sample { sequence, value_ns: 50_000, ..Sample::default() });
    /// }
    /// running.finish(EndedBy::Finished)?;
    ///
    /// let summary = Summary::of_run(&folder)?;
    /// let wakeup = &summary.series[0];
    /// assert_eq!(wakeup.percentile(Percent::P99_9), Some(50_000));
    /// assert!(wakeup.verdict.expect("a deadline was stated").kept());
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SummariseError`] if there is no run, or a series of which nothing can be read.
    pub fn of_run(folder: impl AsRef<Path>) -> Result<Self, SummariseError> {
        Self::of_run_with(folder, SummaryOptions::default())
    }

    /// Reads a run folder, or a file that [`import`] takes.
    ///
    /// # Errors
    /// As [`Summary::of_run`]; and where a file is of no known format or cannot be read.
    pub fn of(path: impl AsRef<Path>, options: SummaryOptions) -> Result<Self, SummariseError> {
        let path = path.as_ref();
        if path.is_dir() {
            return Self::of_run_with(path, options);
        }
        if !path.exists() {
            return Err(SummariseError::Absent(path.to_owned()));
        }
        let folder = tempfile::tempdir().map_err(SummariseError::Temporary)?;
        let run = folder.path().join("run");
        import::import(path, import::detect(path)?, &run)?;
        let mut summary = Self::of_run_with(run, options)?;
        summary.imported = Some(Imported {
            file: path.to_owned(),
            _folder: Arc::new(folder),
        });
        Ok(summary)
    }

    /// As [`Summary::of_run`], with options.
    ///
    /// # Errors
    /// As [`Summary::of_run`].
    pub fn of_run_with(
        folder: impl AsRef<Path>,
        options: SummaryOptions,
    ) -> Result<Self, SummariseError> {
        let mut summary = Self::read(folder, options)?;
        summary.testbed_error = testbed::error(&summary);
        Ok(summary)
    }

    /// The run itself, without the testbed's run beside it.
    pub(super) fn read(
        folder: impl AsRef<Path>,
        options: SummaryOptions,
    ) -> Result<Self, SummariseError> {
        Self::read_within(folder, options, MAX_BUCKETS)
    }

    /// The same as [`Summary::read`], with a maximum number of buckets.
    pub(super) fn read_within(
        folder: impl AsRef<Path>,
        options: SummaryOptions,
        max_buckets: usize,
    ) -> Result<Self, SummariseError> {
        let reader = RunReader::open(folder)?;
        let mut summary = Self {
            folder: reader.dir().to_owned(),
            imported: None,
            run: reader.run().clone(),
            series: Vec::new(),
            warnings: reader.run().warnings.clone(),
            testbed_error: None,
        };
        let described = &reader.run().series;
        let any_stated = described.iter().any(|it| it.deadline_ns.is_some());
        let mut buckets = 0;
        for series in described {
            let judged = series.deadline_ns.is_some() || !any_stated;
            let mut reading = SummaryReader {
                reader: &reader,
                options: SummaryOptions {
                    deadline_ns: options.deadline_ns.filter(|_| judged),
                    ..options
                },
                warnings: Vec::new(),
            };
            let mut of_series =
                reading
                    .series(series)
                    .map_err(|source| SummariseError::Series {
                        folder: reader.dir().to_owned(),
                        source,
                    })?;
            buckets += of_series.distribution.len();
            if buckets > max_buckets {
                return Err(SummariseError::TooManyValues {
                    folder: summary.folder,
                    limit: max_buckets,
                });
            }
            if let Some(loss) = summary.loss(&of_series.series) {
                of_series.verdict = of_series.verdict.map(|it| it.with_loss(loss));
            }
            summary.series.push(of_series);
            summary.warnings.append(&mut reading.warnings);
        }
        Ok(summary)
    }

    /// Several runs, in the order given.
    ///
    /// # Errors
    /// As [`Summary::of_run`], for the first that fails.
    pub fn of_runs<P: AsRef<Path>>(
        folders: impl IntoIterator<Item = P>,
    ) -> Result<Vec<Self>, SummariseError> {
        folders.into_iter().map(Self::of_run).collect()
    }
}

/// Reads the series of one run.
struct SummaryReader<'a> {
    reader: &'a RunReader,
    options: SummaryOptions,
    warnings: Vec<Warning>,
}

impl SummaryReader<'_> {
    fn series(&mut self, described: &Series) -> Result<SeriesSummary, OpenSeriesError> {
        let mut series = described.clone();
        let restated = self
            .options
            .deadline_ns
            .filter(|ns| series.deadline_ns != Some(*ns));
        series.deadline_ns = self.options.deadline_ns.or(series.deadline_ns);
        let log = self.log(&series);
        let lacks = log.as_ref().map_or(true, |log| log.lacks(&series));
        let samples = match self.options.samples || lacks {
            true => self.samples(&series),
            false => None,
        };
        let (histogram, intervals) = self.values(&series, log, samples.as_ref())?;
        self.check_counts(&series, &histogram);
        // The recorder counted all values, also those that can no longer be read; of a killed run it counted too few.
        let lost = histogram.count() < series.counts.recorded;
        let counts = &series.counts;
        let impossible = counts.misses > counts.recorded || counts.longest_miss_run > counts.misses;
        if impossible {
            let name = &series.name;
            let text =
                format!("series {name}: the count of its misses is impossible; counted again");
            self.warn("counts_differ", text);
        }
        if restated.is_some() || histogram.count() > series.counts.recorded || impossible {
            recount_misses(&mut series, &histogram, samples.as_ref());
        }
        let run = self.reader.run();
        let duration_ns = if run.duration_ns > 0 {
            run.duration_ns
        } else {
            log::end_of(&intervals)
        };
        let mut summary = SeriesSummary::new(series, &histogram, intervals, duration_ns);
        if lost && restated.is_none() && !impossible {
            summary.judge_by_recorder(duration_ns);
        }
        if let Some(meter) = samples {
            summary.take_samples(&meter);
        }
        Ok(summary)
    }

    /// The values of a series from its log, or from its samples where they are more and the log is damaged.
    fn values(
        &mut self,
        series: &Series,
        log: Result<LogFacts, OpenSeriesError>,
        samples: Option<&SampleMeter>,
    ) -> Result<(SignedHistogram, Vec<IntervalPoint>), OpenSeriesError> {
        let name = &series.name;
        match (log, samples) {
            (Ok(log), Some(meter)) if log.lacks(series) && meter.count() > log.total.count() => {
                let (logged, sampled) = (log.total.count(), meter.count());
                let text = format!(
                    "series {name}: its log holds {logged} values and its samples {sampled}, which are \
                     shown instead"
                );
                self.warn("log_incomplete", text);
                Ok((meter.histogram(), log.intervals))
            }
            (Ok(log), _) => Ok((log.total, log.intervals)),
            (Err(error), Some(meter)) => {
                self.warn("log_unreadable", format!("series {name}: {error}"));
                Ok((meter.histogram(), Vec::new()))
            }
            (Err(error), None) => Err(error),
        }
    }

    fn log(&mut self, series: &Series) -> Result<LogFacts, OpenSeriesError> {
        let facts = log::read(self.reader.hlog(&series.name)?, series.deadline_ns);
        let name = &series.name;
        if let Some((number, first)) = &facts.damaged {
            let lines = if *number == 1 { "line is" } else { "lines are" };
            let text = format!("series {name}: {number} {lines} left out of the log; {first}");
            self.warn("log_damaged", text);
        }
        if facts.foreign > 0 {
            let text = format!(
                "series {name}: {} lines with foreign tags are left out",
                facts.foreign
            );
            self.warn("log_foreign_tags", text);
        }
        if facts.truncated && self.reader.complete() {
            let text =
                format!("series {name}: the last line of the log was cut off and is left out");
            self.warn("log_truncated", text);
        }
        Ok(facts)
    }

    /// The samples of a series; absent if none were kept, or none can be read.
    fn samples(&mut self, series: &Series) -> Option<SampleMeter> {
        let name = &series.name;
        series.files.samples.as_ref()?;
        let mut file = match self.reader.samples(name) {
            Ok(file) => file,
            Err(error) => {
                self.warn("samples_unreadable", format!("series {name}: {error}"));
                return None;
            }
        };
        let mut meter = SampleMeter::new(series);
        // A lost packet leaves a gap in the sequence too.
        let has_gaps = series.counts.dropped > 0 || series.kind == Kind::Latency;
        let whole = self.reader.complete() && !has_gaps;
        let mut read = || -> Result<bool, ReadSamplesError> {
            // The first chunk gives the start of the sequence; after it, values without gaps suffice.
            if let Some(samples) = file.next_samples()? {
                meter.take_samples(samples);
            }
            let extent = if whole {
                file.for_each_value(|values| meter.take_values(values))?
            } else {
                file.for_each_chunk(|samples| meter.take_samples(samples))?
            };
            Ok(extent.truncated)
        };
        match read() {
            Ok(truncated) if truncated && self.reader.complete() => {
                let text = format!("series {name}: the samples file was cut off; its rest is read");
                self.warn("samples_truncated", text);
            }
            Ok(_) => {}
            Err(error) => self.warn("samples_damaged", format!("series {name}: {error}")),
        }
        Some(meter)
    }

    /// The recorder counted its values; the log must hold as many.
    fn check_counts(&mut self, series: &Series, histogram: &SignedHistogram) {
        let (recorded, logged) = (series.counts.recorded, histogram.count());
        if self.reader.complete() && recorded != logged {
            let text = format!(
                "series {}: {recorded} values were recorded, but its files hold {logged}",
                series.name
            );
            self.warn("counts_differ", text);
        }
    }

    fn warn(&mut self, id: &str, text: String) {
        self.warnings.push(Warning::new(id, text, None));
    }
}

impl SeriesSummary {
    /// Judges the series by the counts of its recorder, where values can no longer be read.
    fn judge_by_recorder(&mut self, duration_ns: u64) {
        let Counts {
            recorded,
            misses,
            longest_miss_run,
            ..
        } = self.series.counts;
        let judge = |limit| Verdict::new(limit, recorded, misses, longest_miss_run, duration_ns);
        self.verdict = self.series.deadline_ns.map(judge);
    }

    /// The summary of a series from its histogram and its intervals, without raw samples. Exact extremes and misses are
    /// taken from the counts of `series`; `duration_ns` is the duration of the measurement, 0 if unknown. It matters
    /// only to a series without an expected interval.
    #[must_use]
    pub fn new(
        series: Series,
        histogram: &SignedHistogram,
        intervals: Vec<IntervalPoint>,
        duration_ns: u64,
    ) -> Self {
        let count = histogram.count();
        let distribution = distribution(histogram);
        let any = count > 0;
        let min_ns = any.then(|| series.counts.min_ns.unwrap_or_else(|| histogram.min()));
        let max_ns = any.then(|| series.counts.max_ns.unwrap_or_else(|| histogram.max()));
        let (mean_ns, stddev_ns) = (
            any.then(|| histogram.mean()),
            any.then(|| histogram.stddev()),
        );
        let verdict = series.deadline_ns.map(|limit| {
            let Counts {
                misses,
                longest_miss_run,
                ..
            } = series.counts;
            // A run may take its series one after the other; the beat gives the duration of each.
            let beat_ns = series.expected_interval_ns.map(|ns| {
                // A log of several parts also holds the start of each, without values.
                let is_one_part = series.files.hlog_parts.is_none();
                let kept = log::kept_interval_ns(&intervals).filter(|_| is_one_part);
                (kept.unwrap_or(ns as f64) * count as f64) as u64
            });
            Verdict::of_blocks(
                limit,
                count,
                misses,
                longest_miss_run,
                beat_ns.unwrap_or(duration_ns),
                &log::blocks(&intervals),
            )
        });
        let signed = matches!(series.kind, Kind::Lateness | Kind::Jitter);
        let early_clusters = if signed {
            early_clusters(&distribution, series.expected_interval_ns)
        } else {
            Vec::new()
        };
        let hiccups = series
            .expected_interval_ns
            .filter(|_| series.kind == Kind::Hiccup);
        Self {
            count,
            min_ns,
            max_ns,
            mean_ns,
            stddev_ns,
            max_in_stddevs: max_in_stddevs(max_ns, mean_ns, stddev_ns),
            percentiles: max_ns.map_or_else(Vec::new, |max| percentiles(&distribution, max)),
            hiccup_total_ns: hiccups.map(|resolution| hiccup_total(&distribution, resolution)),
            verdict,
            early_clusters,
            samples: None,
            modes: None,
            series,
            distribution,
            intervals,
        }
    }

    /// Adds the figures of raw samples; if none is missing, mean and deviation become exact.
    pub(crate) fn take_samples(&mut self, meter: &SampleMeter) {
        let facts = meter.facts();
        if facts.count == self.count && facts.count > 0 {
            self.mean_ns = Some(facts.mean_ns);
            self.stddev_ns = Some(facts.stddev_ns);
            self.max_in_stddevs = max_in_stddevs(self.max_ns, self.mean_ns, self.stddev_ns);
        }
        if let Some(jitter) = &facts.jitter {
            self.early_clusters.clone_from(&jitter.early_clusters);
        }
        self.samples = Some(facts);
    }
}

/// Enner's last column: `(max - mean) / stddev`.
fn max_in_stddevs(
    max_ns: Option<i64>,
    mean_ns: Option<f64>,
    stddev_ns: Option<f64>,
) -> Option<f64> {
    let stddev = stddev_ns.filter(|&stddev| stddev > 0.0)?;
    Some((max_ns? as f64 - mean_ns?) / stddev)
}
