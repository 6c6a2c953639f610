//! Finds the modes of the series in a run folder.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use kadenz_record::run::folder::{OpenRunError, RunReader};
use kadenz_record::run::model::Series;
use kadenz_record::samples::reader::SamplesFile;
use thiserror::Error;

use super::{IntervalPoint, SummariseError, Summary, SummaryOptions};
use crate::modes::{Finder, FoundModes, Point, SeriesModes, Shape, Shaper, Source, Timing};
use crate::numbers;

/// Why a run could not be searched for modes.
#[derive(Debug, Error)]
pub enum FindModesError {
    /// The run itself could not be opened.
    #[error(transparent)]
    Open(#[from] OpenRunError),
    /// Neither the samples nor the interval log of a series could be read.
    #[error(transparent)]
    Summarise(#[from] SummariseError),
    /// The run has no series of that name.
    #[error("run {} has no series {name:?}; it has {}", folder.display(), known.join(", "))]
    NoSuchSeries {
        /// Path of the run folder.
        folder: PathBuf,
        /// The requested name.
        name: String,
        /// The names of the series that the run has.
        known: Vec<String>,
    },
}

/// The modes of every series of a run, or of one. Where no raw samples were kept, the maxima of the intervals replace
/// them, and [`SeriesModes::source`] says so.
///
/// # Errors
/// [`FindModesError`] if there is no run, no such series, or one of which nothing can be read.
pub fn of_run(
    folder: impl AsRef<Path>,
    series: Option<&str>,
) -> Result<Vec<SeriesModes>, FindModesError> {
    let reader = RunReader::open(folder)?;
    let all = &reader.run().series;
    if let Some(name) = series
        && !all.iter().any(|it| it.name == name)
    {
        return Err(FindModesError::NoSuchSeries {
            folder: reader.dir().to_owned(),
            name: name.to_owned(),
            known: all.iter().map(|it| it.name.clone()).collect(),
        });
    }
    let mut reading = ModesReader {
        reader: &reader,
        summary: None,
    };
    all.iter()
        .filter(|it| series.is_none_or(|name| it.name == name))
        .map(|it| reading.series(it))
        .collect()
}

impl Summary {
    /// Searches every series for recurring modes, which tables, pages and `--json` then show. That reads the raw
    /// samples once more and takes a few seconds for a day at 100 Hz, so it is done only on request.
    ///
    /// # Errors
    /// [`FindModesError`] if the run's folder can no longer be read.
    pub fn search_modes(&mut self) -> Result<(), FindModesError> {
        let reader = RunReader::open(&self.folder)?;
        let mut found = Vec::with_capacity(self.series.len());
        let mut reading = ModesReader {
            reader: &reader,
            summary: Some(Cow::Borrowed(self)),
        };
        for one in &self.series {
            found.push(reading.series(&one.series)?);
        }
        for (one, modes) in self.series.iter_mut().zip(found) {
            one.modes = Some(modes);
        }
        Ok(())
    }
}

/// Reads the modes of the series of one run.
struct ModesReader<'a> {
    reader: &'a RunReader,
    /// Read where a series has no samples.
    summary: Option<Cow<'a, Summary>>,
}

impl ModesReader<'_> {
    fn series(&mut self, series: &Series) -> Result<SeriesModes, FindModesError> {
        let mut notes = Vec::new();
        if series.files.samples.is_some() {
            match self.reader.samples(&series.name) {
                Ok(file) => {
                    let found = of_samples(file, series, &mut notes);
                    return Ok(modes(series, Source::Samples, found, notes));
                }
                Err(error) => notes.push(format!("the samples cannot be read: {error}")),
            }
        }
        notes.push(
            "without raw samples the search went by the maxima of the intervals of the log: \
             measure with --samples to see what recurs within an interval"
                .to_owned(),
        );
        let found = of_intervals(self.intervals(&series.name)?);
        Ok(modes(series, Source::Intervals, found, notes))
    }

    fn intervals(&mut self, name: &str) -> Result<&[IntervalPoint], FindModesError> {
        if self.summary.is_none() {
            let options = SummaryOptions {
                samples: false,
                ..SummaryOptions::default()
            };
            let summary = Summary::of_run_with(self.reader.dir(), options)?;
            self.summary = Some(Cow::Owned(summary));
        }
        let series = self.summary.as_ref().and_then(|it| it.named(name));
        Ok(series.map_or(&[], |it| &it.intervals))
    }
}

fn modes(
    series: &Series,
    source: Source,
    found: FoundModes,
    mut notes: Vec<String>,
) -> SeriesModes {
    if found.overtaken > 0 {
        let (count, were) = match found.overtaken {
            1 => ("1 sample".to_owned(), "was"),
            many => (format!("{} samples", numbers::thousands(many)), "were"),
        };
        notes.push(format!(
            "{count} came too late to be put in order of time and {were} left out"
        ));
    }
    SeriesModes {
        series: series.name.clone(),
        kind: series.kind,
        source,
        count: found.count,
        span_s: found.span_s,
        modes: found.modes,
        starts_s: found.starts_s,
        notes,
    }
}

fn of_samples(file: SamplesFile, series: &Series, notes: &mut Vec<String>) -> FoundModes {
    let mut finder = Finder::new(series.expected_interval_ns);
    notes.extend(each_point(file, series, &mut |point| finder.take(point)));
    finder.finish()
}

/// The shape of an occurrence of each mode, from the raw samples; absent where there are none, or where a mode has no
/// visible shape.
pub(crate) fn shapes(folder: &Path, series: &Series, found: &SeriesModes) -> Vec<Option<Shape>> {
    let starts = found.starts_s.iter().map(Vec::as_slice);
    let starts = starts.chain(std::iter::repeat(&[][..]));
    let modes = found.modes.iter().zip(starts);
    let mut shapers: Vec<Option<Shaper>> = modes
        .map(|(mode, starts)| Shaper::new(mode, starts))
        .collect();
    let reader = RunReader::open(folder).ok();
    let file = reader.and_then(|it| it.samples(&series.name).ok());
    if let Some(file) = file.filter(|_| shapers.iter().any(Option::is_some)) {
        each_point(file, series, &mut |point| {
            let all = shapers.iter_mut().flatten();
            all.for_each(|shaper| shaper.take(point));
        });
    }
    shapers
        .into_iter()
        .map(|it| it.and_then(Shaper::finish))
        .collect()
}

/// Passes on every sample as a point; returns notes for the reader.
fn each_point(mut file: SamplesFile, series: &Series, take: &mut impl FnMut(Point)) -> Vec<String> {
    let mut notes = Vec::new();
    let mut timing = Timing::new(series.expected_interval_ns);
    let read = file.for_each_chunk(|samples| timing.take(samples, take));
    if timing.finish(take) == Some(false) {
        let text = match series.expected_interval_ns {
            Some(_) => "the samples have no times: they are taken to be one interval apart",
            None => "the samples have no times and no interval: a sample is taken for 1 ms",
        };
        notes.push(text.to_owned());
    }
    match read {
        Ok(extent) if extent.truncated => {
            notes.push("the samples file was cut off; its rest is searched".to_owned());
        }
        Ok(_) => {}
        Err(error) => notes.push(format!(
            "the samples are damaged; the rest is searched: {error}"
        )),
    }
    notes
}

fn of_intervals(intervals: &[IntervalPoint]) -> FoundModes {
    let mut finder = Finder::new(None);
    for point in intervals.iter().filter(|it| it.count > 0) {
        finder.take(Point {
            at_ns: (point.start_s * 1e9) as i64,
            value_ns: point.max_ns,
        });
    }
    finder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_too_late_is_noted() {
        let notes = |overtaken| {
            let found = FoundModes {
                overtaken,
                ..FoundModes::default()
            };
            modes(&Series::default(), Source::Samples, found, Vec::new()).notes
        };
        assert!(notes(0).is_empty());
        assert!(
            notes(1)[0].starts_with("1 sample came too late"),
            "{:?}",
            notes(1)
        );
        assert!(notes(3000)[0].starts_with("3,000 samples came too late"));
    }
}
