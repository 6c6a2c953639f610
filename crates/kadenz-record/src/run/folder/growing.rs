//! A run that grows by whole runs, taken one after another.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::claim;
use super::error::{AddPartError, CreateRunError, OpenRunError};
use super::manifest::{self, RUN_JSON};
use super::reader::RunReader;
use crate::histogram::Histogram;
use crate::hlog::writer::{LineEncoder, header};
use crate::run::disk::LocalDisk;
use crate::run::model::{Counts, EndedBy, FORMAT_VERSION, Run, Series, SeriesFiles};

/// A run that grows by whole runs, its parts, which may come from other processes and other days:
/// a part's intervals are appended to series of this run, at the time when they were taken.
///
/// It is readable after every part, also when the process is killed in the middle of one, and can
/// be opened again to grow further. Histograms only: raw samples stay with the parts.
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
}

/// Lines of a part for one series, and how far they reach.
#[derive(Default)]
struct Lines {
    text: String,
    end_s: f64,
}

impl GrowingRun {
    /// Takes an empty or new folder and writes its `run.json`, incomplete. The run's time starts
    /// now, unless `started_at` says otherwise.
    ///
    /// # Errors
    /// [`CreateRunError`] if the folder holds anything, or cannot be written.
    pub fn create(dir: &Path, mut run: Run) -> Result<Self, CreateRunError> {
        claim::claim(&LocalDisk, dir)?;
        run.version = FORMAT_VERSION;
        run.complete = false;
        run.ended_by = None;
        run.series.clear();
        if run.started_at.is_empty() {
            run.started_at = Timestamp::now().to_string();
        }
        let growing = Self::of(dir, run);
        growing
            .write()
            .map_err(|source| CreateRunError::Unwritable {
                path: dir.to_owned(),
                source,
            })?;
        Ok(growing)
    }

    /// Opens a run again that grew before, complete or not. What a crash left of a line is cut away.
    ///
    /// # Errors
    /// [`OpenRunError`] if there is no run, or it cannot be read or written.
    pub fn reopen(dir: &Path) -> Result<Self, OpenRunError> {
        let reader = RunReader::open(dir)?;
        let mut run = reader.run().clone();
        for series in &run.series {
            let path = dir.join(log_name(&series.name));
            cut_torn_line(&path).map_err(|source| OpenRunError::Unreadable { path, source })?;
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
        }
    }

    /// What `run.json` says.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// What `run.json` will say after the next part.
    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// The run folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Appends series of a part: the first name is the part's, the second this run's, where it is
    /// made at its first part and looks as it does there.
    ///
    /// A part that cannot be read leaves this run as it was.
    ///
    /// # Errors
    /// [`AddPartError`] if the part lacks a series or cannot be read, or this run not be written.
    pub fn add(&mut self, part: &RunReader, names: &[(&str, &str)]) -> Result<(), AddPartError> {
        let taken: Timestamp = part.run().started_at.parse().unwrap_or(self.start);
        let after_s = (taken.as_microsecond() - self.start.as_microsecond()) as f64 / 1e6;
        // Parts follow each other, also when somebody set the clock back in between.
        let offset_s = after_s.max(self.run.duration_ns as f64 / 1e9);
        let mut read = Vec::with_capacity(names.len());
        for &(theirs, ours) in names {
            let known = part.run().series.iter().find(|it| it.name == theirs);
            let series = known.ok_or_else(|| AddPartError::NoSuchSeries {
                name: theirs.to_owned(),
            })?;
            read.push((ours, series, self.lines_of(part, theirs, offset_s)?));
        }
        for (ours, series, lines) in read {
            self.grow(ours, series, &lines)?;
        }
        self.write().map_err(|source| AddPartError::Write {
            path: self.dir.join(RUN_JSON),
            source,
        })
    }

    /// The intervals of a series of a part, as lines of this run.
    fn lines_of(
        &mut self,
        part: &RunReader,
        series: &str,
        offset_s: f64,
    ) -> Result<Lines, AddPartError> {
        let mut lines = Lines::default();
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

    /// Appends lines to a series, which is made first if it is new.
    fn grow(&mut self, name: &str, like: &Series, lines: &Lines) -> Result<(), AddPartError> {
        let path = self.dir.join(log_name(name));
        let failed = |source| AddPartError::Write {
            path: path.clone(),
            source,
        };
        let known = self.run.series.iter().position(|it| it.name == name);
        let place = if let Some(place) = known {
            place
        } else {
            let start_s = self.start.as_microsecond() as f64 / 1e6;
            let comment = format!("Series: {name}");
            let header = header(start_s, &[&comment, "Unit: ns"]);
            claim::check_name(name)?;
            let mut file = File::create_new(&path).map_err(failed)?;
            file.write_all(header.as_bytes()).map_err(failed)?;
            self.run.series.push(grown_like(name, like));
            self.run.series.len() - 1
        };
        append_whole(&path, lines.text.as_bytes()).map_err(failed)?;
        add_counts(&mut self.run.series[place].counts, &like.counts);
        let end_ns = (lines.end_s * 1e9) as u64;
        self.run.duration_ns = self.run.duration_ns.max(end_ns);
        Ok(())
    }

    /// Completes the run.
    ///
    /// # Errors
    /// When `run.json` cannot be written; what was added stays readable.
    pub fn finish(mut self, ended_by: EndedBy) -> io::Result<Run> {
        self.run.complete = true;
        self.run.ended_by = Some(ended_by);
        self.write()?;
        Ok(self.run)
    }

    fn write(&self) -> io::Result<()> {
        let path = self.dir.join(RUN_JSON);
        manifest::write(&LocalDisk, &path, &self.run, self.run.complete)
    }
}

fn log_name(series: &str) -> String {
    format!("{series}.hlog")
}

/// A new series that looks as one of a part does.
fn grown_like(name: &str, like: &Series) -> Series {
    Series {
        name: name.to_owned(),
        files: SeriesFiles {
            hlog: Some(log_name(name)),
            samples: None,
        },
        counts: Counts::default(),
        ..like.clone()
    }
}

/// A run of misses does not go on from one part to the next: time lies between them.
fn add_counts(sum: &mut Counts, part: &Counts) {
    sum.recorded += part.recorded;
    sum.dropped += part.dropped;
    sum.early += part.early;
    sum.saturated += part.saturated;
    sum.misses += part.misses;
    sum.longest_miss_run = sum.longest_miss_run.max(part.longest_miss_run);
    let lowest = [sum.min_ns, part.min_ns].into_iter().flatten().min();
    (sum.min_ns, sum.max_ns) = (lowest, sum.max_ns.max(part.max_ns));
}

/// Appends bytes, or cuts away what was written of them.
fn append_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let good = file.seek(SeekFrom::End(0))?;
    let written = file.write_all(bytes);
    if written.is_err() {
        // If this fails as well, reopening cuts the line away.
        let _ = file.set_len(good);
    }
    written
}

/// Cuts a file back to the end of its last whole line.
fn cut_torn_line(path: &Path) -> io::Result<()> {
    /// No line of a log is longer than what its reader takes.
    const LONGEST: i64 = 1 << 24;
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let back = LONGEST.min(i64::try_from(length).unwrap_or(LONGEST));
    file.seek(SeekFrom::End(-back))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let torn = tail.iter().rev().take_while(|&&byte| byte != b'\n').count();
    if torn > 0 && torn < tail.len() {
        file.set_len(length - torn as u64)?;
    }
    Ok(())
}
