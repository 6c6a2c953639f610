//! Requested against granted tuning: on standard error, and in the file of `kadenz run --granted` for scripts.

use std::fs::{self, File};
use std::path::Path;
use std::process::ExitStatus;

use anyhow::Context as _;
use kadenz::lab::session;
use kadenz::record::run::model::TuningMeasure;
use kadenz::report::document::{Document, Table};
use kadenz::report::text::{Style, Text};
use kadenz::rt::tuning::Measure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output;

/// Measures in the form of run.json and of every JSON answer.
pub(crate) fn recorded(measures: &[Measure]) -> Vec<TuningMeasure> {
    measures.iter().map(session::measure_of).collect()
}

/// Prints a compact table, and below it each refusal with its remedy. Prints nothing if nothing was requested.
pub(crate) fn note_measures(measures: &[TuningMeasure]) {
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
    Document::new().table(table).terminal(Style::plain())
}

/// The file of `kadenz run --granted`, written at the start and again at the end.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct RunReport<'a> {
    /// The program with its arguments.
    pub(super) program: &'a [String],
    /// Process number; `null` when it was not started.
    pub(super) pid: Option<u32>,
    /// Whether every requested measure was granted.
    pub(super) granted: bool,
    /// Requested against granted.
    pub(super) measures: &'a [TuningMeasure],
    /// End of the program; `null` while it runs.
    pub(super) ended: Option<ProgramExit>,
}

/// End of a program.
#[derive(Clone, Copy, JsonSchema, Serialize)]
pub(in crate::commands) struct ProgramExit {
    /// Its exit code; `null` when a signal ended it.
    code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
}

impl RunReport<'_> {
    /// Rewrites the file.
    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(file, text).with_context(|| unwritable(file))
    }
}

/// Checks that the file of `--granted` can be written, and changes nothing. A pipe is not opened: its reader would take
/// its end for that of the report.
///
/// # Errors
/// The file cannot be written.
pub(super) fn ensure_writable(file: &Path) -> anyhow::Result<()> {
    if fs::metadata(file).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Ok(());
    }
    let is_new = fs::metadata(file).is_err();
    let opened = File::options().append(true).create(true).open(file);
    opened.with_context(|| unwritable(file))?;
    if is_new {
        // A program that is not found has no report.
        let _ = fs::canonicalize(file).and_then(fs::remove_file);
    }
    Ok(())
}

fn unwritable(file: &Path) -> String {
    format!(
        "cannot write the report {}; name a file with `--granted` that you may write to",
        file.display()
    )
}

impl ProgramExit {
    pub(super) fn of(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: signal(status),
        }
    }
}

/// The exit code that a shell would return for this status.
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
