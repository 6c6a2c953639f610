//! Recurring modes: periodic interference in a record, with its periods.
//!
//! A mode is a latency that recurs with a period: one packet every five seconds, a phase of fifteen
//! seconds every five minutes, a ramp once an hour. [`Finder`] takes the samples as they stream by,
//! in bounded memory, puts them in order of time, and [`Finder::finish`] searches what it kept:
//!
//! 1. `baseline`: the median of every 64 samples; samples above the median of nine such blocks form a run, kept by
//!    collectors (`events`) of levels an octave apart.
//! 2. `phases`: stretches of block medians above a running median, at scales a factor of four apart.
//! 3. `classes`: sets of events that may be one mode, by level and by height.
//! 4. `lags`: the periods that the events of a class suggest.
//! 5. `presence`: follows each (`chain`), and computes the share of the expected occurrences that are present, beyond
//!    those of chance.
//! 6. `suggest`: the most certain period of a class, and its fundamental; the common properties of its occurrences.
//! 7. `search`: the strongest mode is subtracted, and the rest is searched again.
//!
//! `shape` then overlays the occurrences of a mode, for display.
//!
//! The method, the definition of confidence and the limits are in `docs/modes.md`.

mod baseline;
mod chain;
mod classes;
mod events;
mod finder;
mod lags;
mod phases;
mod presence;
mod search;
mod shape;
pub mod sim;
mod suggest;
mod timing;
mod words;

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Answer, Document, Version};

pub use finder::Finder;
pub(crate) use shape::{Shape, Shaper};
pub(crate) use timing::Timing;
pub(crate) use words::{ABOUT, confidence, extent};
pub use words::{describe, describe_series};

/// A mode is reported if chance alone makes one anywhere in the record with this probability at most.
pub(crate) const MAX_CHANCE: f64 = 0.02;

/// Fewest occurrences of a mode: two intervals that agree.
pub(crate) const MIN_OCCURRENCES: u64 = 3;

/// A value and when it was due, both in nanoseconds; times count from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// When the event should have been.
    pub at_ns: i64,
    /// The value of the series.
    pub value_ns: i64,
}

/// The form of a mode's occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeKind {
    /// A sample, or a few in a row.
    Spike,
    /// A stretch of time in which the level is raised.
    Phase,
    /// Samples that rise one after the other, and fall back at once.
    Ramp,
}

/// A recurring mode of a record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mode {
    /// Form of an occurrence.
    pub kind: ModeKind,
    /// Mean time from one occurrence to the next, in seconds.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub period_s: f64,
    /// How far the time between two occurrences strays from the period: median, in seconds.
    #[schemars(range(min = 0))]
    pub stray_s: f64,
    /// How long an occurrence lasts, in seconds: median. One sample lasts one interval.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration_s: f64,
    /// Samples of an occurrence: median.
    #[schemars(range(min = 1))]
    pub samples: u64,
    /// How far an occurrence rises above the level around it: median of the peaks; of a phase, the
    /// rise of the 90th percentile.
    pub height_ns: i64,
    /// The level of the record, its median, with `height_ns` on top.
    pub peak_ns: i64,
    /// Start of the first occurrence in seconds since the start of the run.
    pub first_s: f64,
    /// Occurrences that were found.
    #[schemars(range(min = 3))]
    pub occurrences: u64,
    /// Number of occurrences in the searched time if none were missing.
    #[schemars(range(min = 3))]
    pub expected: u64,
    /// How far the mode can be relied on, 0 to 1: the share of the expected occurrences that is present beyond chance,
    /// times one less the probability that chance alone makes such a mode.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub confidence: f64,
}

/// The data of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Raw samples.
    Samples,
    /// The maxima of the intervals of the log: modes shorter than three intervals are not seen, and the place of an
    /// event within an interval is unknown.
    Intervals,
}

/// The modes of a series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesModes {
    /// Name of the series.
    #[serde(rename = "name")]
    pub series: String,
    /// What kind of value it holds.
    pub kind: kadenz_record::run::model::Kind,
    /// The data of the search.
    pub source: Source,
    /// Samples or intervals searched.
    pub count: u64,
    /// From the first to the last of them, in seconds.
    #[schemars(range(min = 0))]
    pub span_s: f64,
    /// The modes, the most certain first.
    #[serde(skip)]
    pub modes: Vec<Mode>,
    /// For each mode the starts of its occurrences, ascending, in seconds since the start of the run; at most about a
    /// thousand, spread over the record.
    #[serde(skip)]
    pub starts_s: Vec<Vec<f64>>,
    /// What a reader must know before believing the modes.
    pub notes: Vec<String>,
}

/// The result of a search in a stream of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundModes {
    /// Points taken, without those that came too late.
    pub count: u64,
    /// Points that came too late: more later times than [`Finder`] can hold back had been taken before.
    pub overtaken: u64,
    /// From the first point to the last, in seconds.
    pub span_s: f64,
    /// The modes, the most certain first.
    pub modes: Vec<Mode>,
    /// For each mode the starts of its occurrences, as in [`SeriesModes::starts_s`].
    pub starts_s: Vec<Vec<f64>>,
}

/// Recurring modes in the series of a run. Times with _s are in seconds, values with _ns in nanoseconds.
///
/// ```
/// use std::path::Path;
/// use kadenz_report::modes::ModesOutput;
///
/// let output = ModesOutput::new(Path::new("night"), &[]);
/// assert!(output.to_string().contains("\"modes\": []"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModesOutput {
    /// Version of this form.
    pub version: Version<1>,
    /// Path of the run folder.
    pub run: String,
    /// The series that were searched.
    pub series: Vec<SeriesModes>,
    /// The modes of all series, the most certain of each first.
    pub modes: Vec<ModeOutput>,
}

/// A recurring mode, with the series that holds it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeOutput {
    /// Name of the series in which it was found.
    pub series: String,
    /// The mode's figures.
    #[serde(flatten)]
    pub mode: Mode,
    /// The mode in words.
    pub text: String,
}

/// Recurring modes of a series, beside its other figures: `kadenz show --modes --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RecurringOutput {
    /// The data of the search.
    pub source: Source,
    /// Samples or intervals searched.
    pub count: u64,
    /// From the first to the last of them, in seconds.
    #[schemars(range(min = 0))]
    pub span_s: f64,
    /// What a reader must know before believing the modes.
    pub notes: Vec<String>,
    /// The modes, the most certain first.
    pub found: Vec<ModeOutput>,
}

impl RecurringOutput {
    pub(crate) fn new(searched: &SeriesModes) -> Self {
        Self {
            source: searched.source,
            count: searched.count,
            span_s: searched.span_s,
            notes: searched.notes.clone(),
            found: ModeOutput::all(searched).collect(),
        }
    }
}

impl ModesOutput {
    /// Makes the output from the modes found in the series of a run.
    #[must_use]
    pub fn new(run: &Path, found: &[SeriesModes]) -> Self {
        Self {
            version: Version,
            run: run.display().to_string(),
            series: found.to_vec(),
            modes: found.iter().flat_map(ModeOutput::all).collect(),
        }
    }

    /// The most certain mode in one line, or that there is none.
    #[must_use]
    pub fn headline(&self) -> String {
        let by_confidence = |one: &&ModeOutput, other: &&ModeOutput| {
            one.mode.confidence.total_cmp(&other.mode.confidence)
        };
        // Of equal ones the first.
        if let Some(best) = self.modes.iter().rev().max_by(by_confidence) {
            let confidence = confidence(best.mode.confidence);
            return format!("{}: {} (confidence {confidence})", best.series, best.text);
        }
        match self.series.as_slice() {
            [] => "the run has no series: there is nothing to search".to_owned(),
            [one] => format!("{}: no recurring mode", one.series),
            all => format!("no recurring mode in {} series", all.len()),
        }
    }
}

impl Answer for ModesOutput {
    fn document(&self) -> Document {
        let series: Vec<String> = self.series.iter().map(describe_series).collect();
        Document::new().listing(series.join("\n"))
    }
}

/// The text to print: indented, no line break at the end.
impl std::fmt::Display for ModesOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

impl ModeOutput {
    fn all(of: &SeriesModes) -> impl Iterator<Item = Self> {
        of.modes.iter().map(|mode| Self {
            series: of.series.clone(),
            mode: *mode,
            text: describe(mode, of.kind),
        })
    }
}

#[cfg(test)]
mod tests;
