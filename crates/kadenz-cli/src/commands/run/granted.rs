//! What was asked of a machine against what it granted: on standard error, and as `kadenz run --report` writes
//! it for scripts.

use std::path::Path;
use std::process::ExitStatus;

use anyhow::Context as _;
use kadenz::lab::session;
use kadenz::record::run::model::TuningMeasure;
use kadenz::report::document::{Document, Table};
use kadenz::report::text::Text;
use kadenz::rt::tuning::Measure;
use serde::Serialize;

use crate::output;

/// Measures as run.json and every JSON answer hold them.
pub(crate) fn recorded(measures: &[Measure]) -> Vec<TuningMeasure> {
    measures.iter().map(session::measure_of).collect()
}

/// A compact table, and below it what was refused with its remedy. Nothing asked for, nothing said.
pub(crate) fn tell(measures: &[TuningMeasure]) {
    if measures.is_empty() {
        return;
    }
    output::note(&table(measures));
    for measure in measures {
        let Some(reason) = &measure.reason else {
            continue;
        };
        output::note(&format!("{}: {reason}", measure.name));
        if let Some(remedy) = &measure.remedy {
            output::note(&format!("  remedy: {remedy}"));
        }
    }
}

fn table(measures: &[TuningMeasure]) -> Text {
    let rows = measures.iter().map(|measure| {
        let ok = if measure.ok { "ok" } else { "REFUSED" };
        [
            measure.name.as_str(),
            &measure.requested,
            &measure.granted,
            ok,
        ]
        .map(str::to_owned)
    });
    let rows = rows.map(Vec::from).collect();
    let table = Table::new(&["measure", "requested", "granted", ""], 4, rows);
    Document::new().table(table).terminal()
}

/// The report of `kadenz run --report`, written at the start and again at the end.
#[derive(Serialize)]
pub(super) struct RunReport<'a> {
    /// The program with its arguments.
    pub(super) program: &'a [String],
    /// Number of its process; `null` when it was not started.
    pub(super) pid: Option<u32>,
    /// Whether everything asked for was granted.
    pub(super) granted: bool,
    /// Requested against granted.
    pub(super) measures: &'a [TuningMeasure],
    /// How it ended; `null` while it runs.
    pub(super) ended: Option<ProgramExit>,
}

/// How a program ended.
#[derive(Clone, Copy, Serialize)]
pub(super) struct ProgramExit {
    /// What it returned; `null` when a signal ended it.
    code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
}

impl RunReport<'_> {
    /// Writes the file anew.
    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(file, text)
            .with_context(|| format!("cannot write the report {}", file.display()))
    }
}

impl ProgramExit {
    pub(super) fn of(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: signal(status),
        }
    }
}

/// The code that a shell gives for it.
pub(crate) fn as_a_shell_says(status: ExitStatus) -> u8 {
    let code = status.code().or(signal(status).map(|it| 128 + it));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}
