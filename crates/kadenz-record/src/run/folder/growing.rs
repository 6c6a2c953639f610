//! A run that grows by whole runs, taken one after another.
//!
//! A part goes into the logs first, and then into `run.json` atomically. That names each log and how many bytes of
//! it count, so whatever a process that is killed in between leaves behind, a line or a whole log, belongs to a
//! part that was never taken over.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::error::{AddPartError, CreateRunError, OpenRunError};
use super::reader::{self, RunReader};
use super::{RUN_JSON, inside, writer};
use crate::histogram::Histogram;
use crate::hlog::writer::{LineEncoder, header};
use crate::recorder::Counts;
use crate::run::disk::{LocalDisk, sync_directory};
use crate::run::labels::Labels;
use crate::run::model::{EndedBy, Run, Series, SeriesFiles, TuningMeasure};

/// A run that grows by whole runs, its parts, which may come from other processes and other days: a part's
/// intervals are appended to series of this run, at the time when they were recorded.
///
/// It is readable after every part, also when the process is killed in the middle of one, and can be opened again
/// to grow further: a part was then taken over as a whole or not at all. It holds histograms only: raw samples stay
/// with the parts.
///
/// ```
/// # use std::time::Duration;
/// # use kadenz_record::run::folder::{GrowingRun, RunReader, RunWriter, SeriesSpec};
/// # use kadenz_record::run::model::{EndedBy, Run, Series};
/// # let folder = std::env::temp_dir().join(format!("kadenz-growing-{}", std::process::id()));
/// # let part = folder.join("part");
/// # let mut writer = RunWriter::create(&part, Run::default())?;
/// # let series = Series { name: "lateness".into(), ..Series::default() };
/// # let mut recorder = writer.series(SeriesSpec { series, raw: false })?;
/// # let running = writer.start(Duration::from_secs(1))?;
/// # recorder.record(Default::default());
/// # running.finish(EndedBy::Finished)?;
/// let mut whole = GrowingRun::create(&folder.join("whole"), Run::default())?;
/// whole.add(&RunReader::open(&part)?, &[("lateness", "monday")])?;
/// whole.add(&RunReader::open(&part)?, &[("lateness", "tuesday")])?;
/// let run = whole.finish(EndedBy::Finished)?;
/// assert_eq!(run.series[1].name, "tuesday");
/// assert_eq!(run.series[1].counts.recorded, 1);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GrowingRun {
    dir: PathBuf,
    run: Run,
    start: Timestamp,
    lines: LineEncoder,
    /// Labels of series that do not exist yet, by name.
    labels: BTreeMap<String, Labels>,
}

/// Lines of a part for one series, and the time of their end.
#[derive(Default)]
struct SeriesLines {
    text: String,
    end_s: f64,
}

impl GrowingRun {
    /// Takes an empty or new folder and writes its `run.json`, incomplete. The run's time starts now, unless
    /// `started_at` is set.
    ///
    /// # Errors
    /// [`CreateRunError`] if the folder holds anything, or cannot be written.
    pub fn create(dir: &Path, run: Run) -> Result<Self, CreateRunError> {
        let run = writer::begin(&LocalDisk, dir, run, Timestamp::now())?;
        Ok(Self::of(dir, run))
    }

    /// Opens a run again that grew before, complete or not. It cuts away what a crash left of a part.
    ///
    /// # Errors
    /// [`OpenRunError`] if there is no run, or it cannot be read or written.
    pub fn reopen(dir: &Path) -> Result<Self, OpenRunError> {
        let (_, stated) = reader::as_written(dir)?;
        let mut run = match cut_back(dir, &stated)? {
            LogLength::AsStated => stated.clone(),
            LogLength::NotStated => RunReader::open(dir)?.run().clone(),
            LogLength::Shorter => RunReader::counted_anew(dir, stated.clone()).run().clone(),
        };
        for (series, stated) in run.series.iter_mut().zip(&stated.series) {
            let path = dir.join(log_name(&series.name));
            let length = std::fs::metadata(&path).map(|it| it.len());
            let length = length.map_err(|source| OpenRunError::Unreadable { path, source })?;
            match stated.files.hlog_bytes {
                Some(bytes) if bytes > length => {
                    series.files.hlog_parts = parts_left(stated, series.counts.recorded);
                }
                // Its stated counts are exact, those of a histogram are not.
                Some(_) => series.counts = stated.counts,
                None => {}
            }
            series.files.hlog_bytes = Some(length);
        }
        run.complete = false;
        run.ended_by = None;
        run.warnings.retain(|warning| warning.id != "incomplete");
        let growing = Self::of(dir, run);
        growing.write().map_err(|source| OpenRunError::Unreadable {
            path: dir.join(RUN_JSON),
            source,
        })?;
        Ok(growing)
    }

    fn of(dir: &Path, run: Run) -> Self {
        Self {
            dir: dir.to_owned(),
            start: run.started_at.parse().unwrap_or_else(|_| Timestamp::now()),
            run,
            lines: LineEncoder::new(),
            labels: BTreeMap::new(),
        }
    }

    /// The present content of `run.json`.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The content of `run.json` after the next part.
    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// The folder that holds the growing run's files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Sets the labels that a new series gets instead of those of its part.
    pub fn label(&mut self, series: &str, labels: Labels) {
        self.labels.insert(series.to_owned(), labels);
    }

    /// Appends series of a part: the first name is the part's, the second this run's, which is made at its first
    /// part with the properties that the series has there. A tuning that any part was refused is refused in the series.
    ///
    /// A part that cannot be read, or not be written to its end, leaves this run as it was. When this returns, the
    /// disk has the part, so that the part's own folder may be removed.
    ///
    /// # Errors
    /// [`AddPartError`] if the part lacks a series or cannot be read, or this run not be written.
    pub fn add(&mut self, part: &RunReader, names: &[(&str, &str)]) -> Result<(), AddPartError> {
        let taken: Timestamp = part.run().started_at.parse().unwrap_or(self.start);
        let after_s = (taken.as_microsecond() - self.start.as_microsecond()) as f64 / 1e6;
        // Parts follow each other, also when the wall clock was set back in between.
        let offset_s = after_s.max(self.run.duration_ns as f64 / 1e9);
        let mut read = Vec::with_capacity(names.len());
        for &(theirs, ours) in names {
            let known = part.run().series.iter().find(|it| it.name == theirs);
            let series = known.ok_or_else(|| AddPartError::NoSuchSeries {
                name: theirs.to_owned(),
            })?;
            read.push((ours, series, self.lines_of(part, theirs, offset_s)?));
        }
        let mut grown = self.run.clone();
        let taken = read
            .iter()
            .try_for_each(|(ours, series, lines)| self.grow(&mut grown, ours, series, lines))
            .and_then(|()| self.write_as(&grown));
        match taken {
            Ok(()) => self.run = grown,
            // If this fails as well, reopening cuts the logs back.
            Err(_) => drop(cut_back(&self.dir, &self.run)),
        }
        taken
    }

    /// The intervals of a series of a part, as lines of this run.
    fn lines_of(
        &mut self,
        part: &RunReader,
        series: &str,
        offset_s: f64,
    ) -> Result<SeriesLines, AddPartError> {
        let mut lines = SeriesLines::default();
        for interval in part.hlog(series)? {
            let interval = interval?;
            let mut histogram = Histogram::new();
            interval.histogram.add_to(&mut histogram)?;
            let (start_s, length_s) = (interval.relative_s + offset_s, interval.length_s);
            let tag = interval.tag.as_deref();
            lines.text += self.lines.line(tag, start_s, length_s, &histogram)?;
            lines.end_s = lines.end_s.max(start_s + length_s);
        }
        Ok(lines)
    }

    /// Appends lines to a series of `run`, which is made first if it is new.
    fn grow(
        &self,
        run: &mut Run,
        name: &str,
        like: &Series,
        lines: &SeriesLines,
    ) -> Result<(), AddPartError> {
        let path = self.dir.join(log_name(name));
        let failed = |source| AddPartError::Write {
            path: path.clone(),
            source,
        };
        let known = run.series.iter().position(|it| it.name == name);
        let place = if let Some(place) = known {
            place
        } else {
            let labels = self.labels.get(name).unwrap_or(&like.labels);
            writer::check_new(run, name, labels)?;
            let start_s = self.start.as_microsecond() as f64 / 1e6;
            let comment = format!("Series: {name}");
            let header = header(start_s, &[&comment, "Unit: ns"]);
            // A log that `run.json` does not name belongs to a part that was not taken over.
            let mut file = create_anew(&path).map_err(failed)?;
            file.write_all(header.as_bytes()).map_err(failed)?;
            sync_directory(&self.dir).map_err(failed)?;
            run.series.push(grown_like(name, labels, like));
            run.series.len() - 1
        };
        let series = &mut run.series[place];
        let bytes = append_whole(&self.dir, name, lines.text.as_bytes()).map_err(failed)?;
        series.files.hlog_bytes = Some(bytes);
        series.files.hlog_parts = Some(series.files.hlog_parts.unwrap_or(0) + 1);
        series.counts.add(&like.counts);
        add_refusals(&mut series.tuning, &like.tuning);
        let end_ns = (lines.end_s * 1e9) as u64;
        run.duration_ns = run.duration_ns.max(end_ns);
        Ok(())
    }

    /// Completes the run.
    ///
    /// # Errors
    /// When `run.json` cannot be written; the parts stay readable.
    pub fn finish(mut self, ended_by: EndedBy) -> io::Result<Run> {
        self.run.complete = true;
        self.run.ended_by = Some(ended_by);
        self.write()?;
        Ok(self.run)
    }

    fn write(&self) -> io::Result<()> {
        let path = self.dir.join(RUN_JSON);
        super::write(&LocalDisk, &path, &self.run, self.run.complete)
    }

    fn write_as(&self, run: &Run) -> Result<(), AddPartError> {
        let path = self.dir.join(RUN_JSON);
        super::write(&LocalDisk, &path, run, true)
            .map_err(|source| AddPartError::Write { path, source })
    }
}

fn log_name(series: &str) -> String {
    format!("{series}.hlog")
}

/// A new series with the properties of a series of a part.
fn grown_like(name: &str, labels: &Labels, like: &Series) -> Series {
    Series {
        name: name.to_owned(),
        labels: labels.clone(),
        files: SeriesFiles {
            hlog: Some(log_name(name)),
            ..SeriesFiles::default()
        },
        counts: Counts::default(),
        ..like.clone()
    }
}

/// What was refused in one part was not in force in all values.
fn add_refusals(tuning: &mut Vec<TuningMeasure>, part: &[TuningMeasure]) {
    for refused in part.iter().filter(|it| !it.ok) {
        match tuning.iter_mut().find(|it| it.name == refused.name) {
            Some(known) if known.ok => known.clone_from(refused),
            Some(_) => {}
            None => tuning.push(refused.clone()),
        }
    }
}

/// Creates a file in place of an existing one, which may be a link to another place.
fn create_anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::create_new(path),
    }
}

/// The whole parts that the values left in a log make up, if all parts of the series have as many.
fn parts_left(stated: &Series, left: u64) -> Option<u32> {
    let parts = u128::from(stated.files.hlog_parts?);
    let whole = (parts * u128::from(left)).checked_div(u128::from(stated.counts.recorded));
    Some(u32::try_from(whole.unwrap_or(0).min(parts)).unwrap_or(u32::MAX))
}

/// Appends bytes to the log of a series, or cuts away what was written of them; returns its length then.
fn append_whole(dir: &Path, series: &str, bytes: &[u8]) -> io::Result<u64> {
    let mut file = inside::open_with(OpenOptions::new().write(true), dir, &log_name(series))?;
    let good = file.seek(SeekFrom::End(0))?;
    // `run.json` must not state more than the disk has.
    if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_all()) {
        // If this fails as well, reopening cuts the line away.
        let _ = file.set_len(good);
        return Err(error);
    }
    Ok(good + bytes.len() as u64)
}

/// The length of a log, compared with the bytes that count according to `run.json`; the last one is the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LogLength {
    /// The log has them all.
    AsStated,
    /// An older program wrote `run.json`, without them.
    NotStated,
    /// The log lacks some: the disk did not have them when the power failed.
    Shorter,
}

/// Cuts every log back to the bytes that count, or to its last whole line where it is shorter or the count is not
/// stated. Returns the worst length.
fn cut_back(dir: &Path, run: &Run) -> Result<LogLength, OpenRunError> {
    let mut worst = LogLength::AsStated;
    for series in &run.series {
        let name = log_name(&series.name);
        let cut = cut_log(dir, &name, series.files.hlog_bytes);
        worst = worst.max(cut.map_err(|source| OpenRunError::Unreadable {
            path: dir.join(name),
            source,
        })?);
    }
    Ok(worst)
}

fn cut_log(dir: &Path, name: &str, counts: Option<u64>) -> io::Result<LogLength> {
    let file = inside::open_with(OpenOptions::new().read(true).write(true), dir, name)?;
    let length = file.metadata()?.len();
    match counts {
        Some(counts) if counts <= length => file.set_len(counts).map(|()| LogLength::AsStated),
        Some(_) => cut_torn_line(file).map(|()| LogLength::Shorter),
        None => cut_torn_line(file).map(|()| LogLength::NotStated),
    }
}

/// Cuts a file back to the end of its last whole line.
fn cut_torn_line(mut file: File) -> io::Result<()> {
    /// No line of a log is longer than its reader accepts.
    const MAX: i64 = 1 << 24;
    let length = file.seek(SeekFrom::End(0))?;
    let back = MAX.min(i64::try_from(length).unwrap_or(MAX));
    file.seek(SeekFrom::End(-back))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let torn = tail.iter().rev().take_while(|&&byte| byte != b'\n').count();
    if torn > 0 && torn < tail.len() {
        file.set_len(length - torn as u64)?;
    }
    Ok(())
}
