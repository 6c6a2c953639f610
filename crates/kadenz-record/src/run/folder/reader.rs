//! Opens a run folder.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{OpenRunError, OpenSeriesError};
use super::recount::{add, recount};
use super::{RUN_JSON, inside};
use crate::histogram::SignedHistogram;
use crate::hlog::reader::{LogOfRun, OpenLogError};
use crate::recorder::Counts;
use crate::run::model::{Run, Series, Warning};
use crate::samples::reader::{OpenSamplesError, SamplesFile};

/// A run folder, opened for reading.
#[derive(Debug)]
pub struct RunReader {
    dir: PathBuf,
    run: Run,
}

impl RunReader {
    /// Opens a run folder, given by its path or by that of its `run.json`.
    ///
    /// The folder may come from any source. Names of series and files that could lead out of it, or that two series
    /// share, are refused here, so that a series' name can become a file name. Only regular files are opened, and
    /// symbolic links only where they stay inside. A run has at most [`MAX_SERIES`](super::MAX_SERIES) series and a
    /// `run.json` of 8 MiB.
    ///
    /// A run that was killed, or is still being measured, opens too: its counts are taken from its
    /// files, and a warning says so. Extremes and misses are then exact if all samples were kept,
    /// else to the resolution of the histogram (0.1 %).
    ///
    /// # Errors
    /// [`OpenRunError`] if there is no run, or `run.json` cannot be read or is refused.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenRunError> {
        let (dir, run) = as_written(path.as_ref())?;
        let mut reader = Self { dir, run };
        if !reader.run.complete {
            reader.recount();
        }
        Ok(reader)
    }

    /// The run in `dir`, with its counts taken from its files.
    pub(super) fn counted_anew(dir: &Path, run: Run) -> Self {
        let dir = dir.to_owned();
        let mut reader = Self { dir, run };
        reader.recount();
        reader
    }

    /// The content of `run.json`; for an incomplete run with counts taken from the files.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Whether the run was ended properly.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.run.complete
    }

    /// The folder that the run was opened from.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The interval log of a series, up to the bytes that count (`hlog_bytes`). Values below zero are in intervals
    /// that are tagged [`EARLY_TAG`](super::EARLY_TAG), as magnitudes.
    ///
    /// # Errors
    /// [`OpenSeriesError`] if there is no such series or the file cannot be read.
    pub fn hlog(&self, series: &str) -> Result<LogOfRun, OpenSeriesError> {
        let series = self.series(series)?;
        let file = named(series, series.files.hlog.as_deref(), "interval log")?;
        let opened = self.file(file);
        let log = opened.map_err(|(path, source)| OpenLogError { path, source })?;
        let counts = series.files.hlog_bytes.unwrap_or(u64::MAX);
        Ok(LogOfRun::of_first(log, counts))
    }

    /// All recorded values of a series, from its interval log.
    ///
    /// # Errors
    /// As [`RunReader::hlog`], and where an interval is damaged.
    pub fn histogram(&self, series: &str) -> Result<SignedHistogram, OpenSeriesError> {
        let mut sum = SignedHistogram::new();
        for interval in self.hlog(series)? {
            add(&interval?, &mut sum)?;
        }
        Ok(sum)
    }

    /// The samples of a series.
    ///
    /// # Errors
    /// [`OpenSeriesError`] if there is no such series, its samples were not kept, or the file
    /// cannot be read.
    pub fn samples(&self, series: &str) -> Result<SamplesFile, OpenSeriesError> {
        let series = self.series(series)?;
        let file = named(series, series.files.samples.as_deref(), "raw samples")?;
        let opened = self.file(file);
        let samples = opened.map_err(|(path, source)| OpenSamplesError::Open { path, source })?;
        Ok(SamplesFile::from_reader(samples)?)
    }

    fn series(&self, name: &str) -> Result<&Series, OpenSeriesError> {
        let known = &self.run.series;
        known
            .iter()
            .find(|series| series.name == name)
            .ok_or_else(|| {
                let known = known.iter().map(|series| series.name.clone()).collect();
                OpenSeriesError::NoSuchSeries {
                    name: name.to_owned(),
                    known,
                }
            })
    }

    /// Opens a file that `run.json` names; the error holds its path.
    fn file(&self, name: &str) -> Result<File, (PathBuf, io::Error)> {
        inside::open(&self.dir, name).map_err(|source| (self.dir.join(name), source))
    }

    /// Fills in the missing counts of a run that was not ended.
    fn recount(&mut self) {
        let counted: Vec<_> = self
            .run
            .series
            .iter()
            .map(|series| recount(self, series))
            .collect();
        let text = match self.run.ended_by {
            Some(_) => {
                "the run ended, but not all of it is in its files: its counts are taken from them, \
                 and other warnings say what is missing"
            }
            None => {
                "the run was not ended: it was killed, its disk was full, or it is still being \
                 measured. It may lack its last interval, and its counts are taken from its files"
            }
        };
        self.run
            .warnings
            .push(Warning::new("incomplete", text, None));
        let mut end = Duration::ZERO;
        for (series, counted) in self.run.series.iter_mut().zip(counted) {
            let dropped = series.counts.dropped;
            series.counts = Counts {
                dropped: dropped.max(counted.counts.dropped),
                ..counted.counts
            };
            self.run.warnings.extend(counted.warnings);
            end = end.max(counted.end);
        }
        self.run.duration_ns = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX);
    }
}

/// The name of a file of a series, if it has one.
fn named<'a>(
    series: &Series,
    file: Option<&'a str>,
    what: &'static str,
) -> Result<&'a str, OpenSeriesError> {
    file.ok_or_else(|| OpenSeriesError::NotKept {
        name: series.name.clone(),
        what,
    })
}

/// The folder of a run, and the content of its `run.json`.
pub(super) fn as_written(path: &Path) -> Result<(PathBuf, Run), OpenRunError> {
    let named = path.file_name().is_some_and(|name| name == RUN_JSON) && path.is_file();
    let dir = if named {
        path.parent().unwrap_or(Path::new(""))
    } else {
        path
    };
    let run = super::read(dir).map_err(|error| match error {
        OpenRunError::Unreadable { source, .. }
            if matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            OpenRunError::NoRun {
                path: dir.to_owned(),
            }
        }
        other => other,
    })?;
    Ok((dir.to_owned(), run))
}
