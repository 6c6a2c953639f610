//! The stable form of what was found.

use std::path::Path;

use kadenz_record::run::model::Kind;
use serde::Serialize;

use super::{Mode, ModeKind, SeriesModes, Source, describe};

/// The version of the schema.
const VERSION: u32 = 1;

/// What `kadenz modes` prints with `--json`. Its schema is `docs/schema/modes.schema.json`.
///
/// ```
/// use std::path::Path;
/// use kadenz_report::modes::ModesOutput;
///
/// let output = ModesOutput::new(Path::new("night"), &[]);
/// assert!(output.to_string().contains("\"modes\": []"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModesOutput {
    /// Version of the schema, 1.
    pub version: u32,
    /// The run folder.
    pub run: String,
    /// The series that were searched.
    pub series: Vec<SeriesModesOutput>,
    /// The modes of all series, the most certain of each first.
    pub modes: Vec<ModeOutput>,
}

/// A series that was searched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesModesOutput {
    /// Its name.
    pub name: String,
    /// What kind of value it holds.
    pub kind: Kind,
    /// What the search went by.
    pub source: Source,
    /// Samples or intervals searched.
    pub count: u64,
    /// From the first to the last of them, in seconds.
    pub span_s: f64,
    /// What a reader must know before believing the modes.
    pub notes: Vec<String>,
}

/// A mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModeOutput {
    /// The series.
    pub series: String,
    /// What an occurrence looks like.
    pub kind: ModeKind,
    /// Mean time from one occurrence to the next.
    pub period_s: f64,
    /// How far the time between two occurrences strays from it: median.
    pub stray_s: f64,
    /// How long an occurrence lasts.
    pub duration_s: f64,
    /// Samples of an occurrence.
    pub samples: u64,
    /// How far it rises above the level around it.
    pub height_ns: i64,
    /// The level of the record with the height on top.
    pub peak_ns: i64,
    /// Start of the first occurrence since the start of the run.
    pub first_s: f64,
    /// Occurrences seen.
    pub occurrences: u64,
    /// Occurrences there would be if none were missing.
    pub expected: u64,
    /// One less the probability that chance alone makes such a mode anywhere in the record.
    pub confidence: f64,
    /// The mode in words.
    pub text: String,
}

/// What recurs in a series, beside its other figures: `kadenz show --modes --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecurringOutput {
    /// What the search went by.
    pub source: Source,
    /// Samples or intervals searched.
    pub count: u64,
    /// From the first to the last of them, in seconds.
    pub span_s: f64,
    /// What a reader must know before believing the modes.
    pub notes: Vec<String>,
    /// The modes, the most certain first.
    pub found: Vec<ModeOutput>,
}

impl RecurringOutput {
    pub(crate) fn new(searched: &SeriesModes) -> Self {
        let output = |mode: &Mode| ModeOutput::new(searched, mode);
        Self {
            source: searched.source,
            count: searched.count,
            span_s: searched.span_s,
            notes: searched.notes.clone(),
            found: searched.modes.iter().map(output).collect(),
        }
    }
}

impl ModesOutput {
    /// What was found in the series of a run.
    #[must_use]
    pub fn new(run: &Path, found: &[SeriesModes]) -> Self {
        let modes = |series: &SeriesModes| -> Vec<ModeOutput> {
            let output = |mode: &Mode| ModeOutput::new(series, mode);
            series.modes.iter().map(output).collect()
        };
        Self {
            version: VERSION,
            run: run.display().to_string(),
            series: found.iter().map(SeriesModesOutput::new).collect(),
            modes: found.iter().flat_map(modes).collect(),
        }
    }
}

/// The text to print: indented, no line break at the end.
impl std::fmt::Display for ModesOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

impl SeriesModesOutput {
    fn new(found: &SeriesModes) -> Self {
        Self {
            name: found.series.clone(),
            kind: found.kind,
            source: found.source,
            count: found.count,
            span_s: found.span_s,
            notes: found.notes.clone(),
        }
    }
}

impl ModeOutput {
    fn new(series: &SeriesModes, mode: &Mode) -> Self {
        Self {
            series: series.series.clone(),
            kind: mode.kind,
            period_s: mode.period_s,
            stray_s: mode.stray_s,
            duration_s: mode.duration_s,
            samples: mode.samples,
            height_ns: mode.height_ns,
            peak_ns: mode.peak_ns,
            first_s: mode.first_s,
            occurrences: mode.occurrences,
            expected: mode.expected,
            confidence: mode.confidence,
            text: describe(mode, series.kind),
        }
    }
}
