//! A run folder in the making, filled by an importer. The intervals of an interval log are copied in their encoded
//! form, and decoded only for their count, minimum and maximum.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, available_parallelism};

use jiff::Timestamp;
use kadenz_record::histogram::{SignedHistogram, SparseHistogram};
use kadenz_record::hlog::reader::{Encoded, ReadLogError};
use kadenz_record::hlog::writer::IntervalLogWriter;
use kadenz_record::recorder::Counts;
use kadenz_record::run::disk::{Disk, LocalDisk};
use kadenz_record::run::folder::EARLY_TAG;
use kadenz_record::run::model::{Clock, EndedBy, FORMAT_VERSION, Host, Run, Series};
use kadenz_record::samples::writer::SamplesWriter;
use kadenz_record::samples::{Sample, SamplesHeader};

use super::sink::{EncodedInterval, Sink, count_interval, count_sample, describe, extend};
use super::slots::Slots;
use super::{ReadError, StoreError, source};

const RUN_JSON: &str = "run.json";
/// Samples that are written as one batch.
const BATCH: usize = 16_384;

/// An unfinished run folder. Dropped before [`Folder::finish`], it removes its files.
pub(super) struct Folder {
    path: PathBuf,
    /// Whether this import made the folder itself.
    made: bool,
    run: Run,
    stores: Vec<Store>,
    /// End of the latest interval or sample, in ns since the start of the run.
    end_ns: i64,
    finished: bool,
}

/// The files of one series.
struct Store {
    hlog: IntervalLogWriter<Whole>,
    raw: Option<Raw>,
}

/// A file that only counts once it is complete, so that lines need not be flushed one by one.
struct Whole(BufWriter<File>);

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The raw samples of one series, on their way to the disk.
struct Raw {
    samples: SamplesWriter<File>,
    batch: Vec<Sample>,
    slots: Slots,
}

impl Folder {
    /// Takes an absent or empty folder and writes the `run.json` of a run that is not complete.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        let made = !path.exists();
        fs::create_dir_all(path)?;
        if fs::read_dir(path)?.next().is_some() {
            return Err(StoreError::NotEmpty);
        }
        let folder = Self {
            path: path.to_owned(),
            made,
            run: blank_run(),
            stores: Vec::new(),
            end_ns: 0,
            finished: false,
        };
        // Until it is complete, the run is marked as incomplete.
        let begun = Run {
            complete: false,
            ended_by: None,
            ..folder.run.clone()
        };
        write_run(path, &begun)?;
        Ok(folder)
    }

    /// Writes buffered data, completes `run.json` and returns its content.
    pub(super) fn finish(mut self) -> Result<Run, StoreError> {
        let mut strays = 0;
        for mut store in std::mem::take(&mut self.stores) {
            if let Some(mut raw) = store.raw.take() {
                raw.slots
                    .flush(&mut |start_s, length_s, histogram: &SignedHistogram| {
                        append(&mut store.hlog, start_s, length_s, histogram)
                    })?;
                raw.samples.write(&raw.batch)?;
                raw.samples.finish()?;
                strays += raw.slots.strays();
            }
            store.hlog.into_inner().0.flush()?;
        }
        if strays > 0 {
            let text = format!(
                "{strays} values stand in the source after values of a later time: the interval \
                 log holds them in the interval of those"
            );
            (&mut self as &mut dyn Sink).warn("out_of_order", text, None);
        }
        if self.run.started_at == source::UNKNOWN_START.to_string() {
            let text = "the source states no date; 1970 stands for unknown";
            (&mut self as &mut dyn Sink).warn("start_unknown", text.to_owned(), None);
        }
        self.run.duration_ns = self.run.duration_ns.max(self.end_ns.max(0).unsigned_abs());
        write_run(&self.path, &self.run)?;
        self.finished = true;
        Ok(std::mem::take(&mut self.run))
    }

    fn file(&self, name: &str) -> Result<File, StoreError> {
        Ok(File::create_new(self.path.join(name))?)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // Files that cannot be removed stay an incomplete run, marked as such.
        for series in &self.run.series {
            for file in [&series.files.hlog, &series.files.samples]
                .into_iter()
                .flatten()
            {
                let _ = fs::remove_file(self.path.join(file));
            }
        }
        let _ = fs::remove_file(self.path.join(RUN_JSON));
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Writes `run.json` into a run folder, and replaces an existing one.
pub(crate) fn write_run(folder: &Path, run: &Run) -> Result<(), StoreError> {
    let mut json = serde_json::to_vec_pretty(run)?;
    json.push(b'\n');
    Ok(LocalDisk.replace(&folder.join(RUN_JSON), &json, run.complete)?)
}

/// A run without any facts.
fn blank_run() -> Run {
    let unknown = || "unknown".to_owned();
    Run {
        version: FORMAT_VERSION,
        kadenz: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: "import".to_owned(),
        complete: true,
        ended_by: Some(EndedBy::Finished),
        started_at: source::UNKNOWN_START.to_string(),
        host: Host {
            os: unknown(),
            ..Host::default()
        },
        clock: Clock {
            name: unknown(),
            ..Clock::default()
        },
        ..Run::default()
    }
}

impl Sink for Folder {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    fn open(&mut self, mut series: Series, raw: bool) -> Result<usize, StoreError> {
        describe(&self.run, &mut series)?;
        let name = series.name.clone();
        let hlog = format!("{name}.hlog");
        let start: Timestamp = self.run.started_at.parse().unwrap_or_default();
        let start_s = start.as_microsecond() as f64 / 1e6;
        let writer = IntervalLogWriter::new(Whole(BufWriter::new(self.file(&hlog)?)), start_s)?;
        series.files.hlog = Some(hlog);
        let mut store = Store {
            hlog: writer,
            raw: None,
        };
        // From here on a failure finds the files in the run, and removes them.
        self.run.series.push(series);
        if raw {
            let file = format!("{name}.samples.arrow");
            let header = SamplesHeader {
                series: name,
                unit: "ns".to_owned(),
                started_at: self.run.started_at.clone(),
                start_monotonic_ns: 0,
            };
            store.raw = Some(Raw {
                samples: SamplesWriter::new(self.file(&file)?, &header)?,
                batch: Vec::with_capacity(BATCH),
                slots: Slots::new(),
            });
            let series = self.run.series.last_mut();
            series.expect("it was pushed above").files.samples = Some(file);
        }
        self.stores.push(store);
        Ok(self.stores.len() - 1)
    }

    fn sample(&mut self, series: usize, sample: Sample) -> Result<(), StoreError> {
        count_sample(&mut self.run.series[series].counts, sample.value_ns);
        self.end_ns = self.end_ns.max(sample.actual_ns);
        let Store {
            hlog,
            raw: Some(raw),
        } = &mut self.stores[series]
        else {
            return Ok(());
        };
        raw.batch.push(sample);
        if raw.batch.len() >= BATCH {
            raw.samples.write(&raw.batch)?;
            raw.batch.clear();
        }
        let mut append = |start_s, length_s, histogram: &SignedHistogram| {
            append(hlog, start_s, length_s, histogram)
        };
        raw.slots
            .record(sample.actual_ns, sample.value_ns, &mut append)
    }

    fn interval(
        &mut self,
        series: usize,
        start_s: f64,
        length_s: f64,
        histogram: &SignedHistogram,
    ) -> Result<(), StoreError> {
        count_interval(&mut self.run.series[series].counts, histogram);
        self.end_ns = self.end_ns.max(((start_s + length_s) * 1e9) as i64);
        append(&mut self.stores[series].hlog, start_s, length_s, histogram)
    }

    fn encoded_intervals(&mut self, intervals: &[EncodedInterval]) -> Result<(), ReadError> {
        for (interval, contents) in intervals.iter().zip(contents(intervals)) {
            let contents = contents?;
            let (start_s, length_s) = (interval.start_s, interval.length_s);
            self.end_ns = self.end_ns.max(((start_s + length_s) * 1e9) as i64);
            contents.count_in(&mut self.run.series[interval.series].counts);
            let hlog = &mut self.stores[interval.series].hlog;
            let max_ns = contents.late.max;
            hlog.append_encoded(None, start_s, length_s, max_ns, &interval.late)
                .map_err(StoreError::from)?;
            let early = contents.early.filter(|early| early.count > 0);
            if let (Some(values), Some(early)) = (early, &interval.early) {
                hlog.append_encoded(Some(EARLY_TAG), start_s, length_s, values.max, early)
                    .map_err(StoreError::from)?;
            }
        }
        Ok(())
    }
}

/// Appends the lines of one interval as a running measurement does: always the late values, and early ones if there are
/// any.
fn append(
    hlog: &mut IntervalLogWriter<Whole>,
    start_s: f64,
    length_s: f64,
    histogram: &SignedHistogram,
) -> Result<(), StoreError> {
    hlog.append(None, start_s, length_s, &histogram.late)?;
    if !histogram.early.is_empty() {
        hlog.append(Some(EARLY_TAG), start_s, length_s, &histogram.early)?;
    }
    Ok(())
}

/// Content of an interval.
pub(super) struct Contents {
    pub(super) late: Values,
    pub(super) early: Option<Values>,
}

/// Content of a histogram; magnitudes where it is one of early values.
#[derive(Clone, Copy, Default)]
pub(super) struct Values {
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

/// The content of each interval, in their order, computed by as many threads as there are CPUs.
pub(super) fn contents(intervals: &[EncodedInterval]) -> Vec<Result<Contents, ReadLogError>> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let share = intervals.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let looking: Vec<_> = intervals
            .chunks(share)
            .map(|share| scope.spawn(|| look_at_all(share)))
            .collect();
        let seen = looking
            .into_iter()
            .map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        seen.flatten().collect()
    })
}

fn look_at_all(intervals: &[EncodedInterval]) -> Vec<Result<Contents, ReadLogError>> {
    let mut scratch = SparseHistogram::default();
    let mut look = |encoded: &Encoded| -> Result<Values, ReadLogError> {
        encoded.sparse_into(&mut scratch)?;
        Ok(Values {
            count: scratch.count(),
            min: scratch.min(),
            max: scratch.max(),
        })
    };
    intervals
        .iter()
        .map(|interval| {
            let late = look(&interval.late)?;
            let early = interval.early.as_ref().map(&mut look).transpose()?;
            Ok(Contents { late, early })
        })
        .collect()
}

impl Contents {
    /// Counts the values as a recorder would; the extremes are as exact as the histograms are.
    pub(super) fn count_in(&self, counts: &mut Counts) {
        // Layouts end below 2^63, so nothing is cut off.
        if self.late.count > 0 {
            counts.recorded = counts.recorded.saturating_add(self.late.count);
            extend(counts, self.late.min as i64, self.late.max as i64);
        }
        if let Some(early) = self.early.filter(|early| early.count > 0) {
            counts.recorded = counts.recorded.saturating_add(early.count);
            counts.early = counts.early.saturating_add(early.count);
            extend(counts, -(early.max as i64), -(early.min as i64));
        }
    }
}
