//! The stable form of what was found.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Mode, SeriesModes, Source, describe, told};
use crate::document::{Answer, Document, Version};

/// What recurs in the series of a run. Times with _s are in seconds, values with _ns in nanoseconds.
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
    /// The run folder.
    pub run: String,
    /// The series that were searched.
    pub series: Vec<SeriesModes>,
    /// The modes of all series, the most certain of each first.
    pub modes: Vec<ModeOutput>,
}

/// A mode.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeOutput {
    /// The series.
    pub series: String,
    /// What was found.
    #[serde(flatten)]
    pub mode: Mode,
    /// The mode in words.
    pub text: String,
}

/// What recurs in a series, beside its other figures: `kadenz show --modes --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecurringOutput {
    /// What the search went by.
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
    /// What was found in the series of a run.
    #[must_use]
    pub fn new(run: &Path, found: &[SeriesModes]) -> Self {
        Self {
            version: Version,
            run: run.display().to_string(),
            series: found.to_vec(),
            modes: found.iter().flat_map(ModeOutput::all).collect(),
        }
    }
}

impl Answer for ModesOutput {
    fn document(&self) -> Document {
        let series: Vec<String> = self.series.iter().map(told).collect();
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
