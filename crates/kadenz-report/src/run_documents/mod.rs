//! Runs and their comparisons as documents: on one screen, or with every figure.

mod brief;
mod comparison;
mod sheet;

use std::iter::once;

use crate::answers::answer;
use crate::document::{Document, DocumentLine, Table, TableCell};
use crate::findings::findings;
use crate::machine;
use crate::matrix::{self, Matrix};
use crate::modes::describe_series;
use crate::numbers;
use crate::sections::series::{Figure, SeriesFigure, by_series};
use crate::sections::{self, packets};
use crate::summary::{SeriesSummary, Summary};

pub use brief::{BriefAdditions, brief, first_sentence, headline};
pub use comparison::{comparison, comparison_answer};
use sheet::sheet;

/// The whole document of a run: experiment and machine, the answer in words, the series, the warnings.
///
/// ```
/// use kadenz_report::run_documents::summary;
/// use kadenz_report::summary::Summary;
///
/// assert!(summary(&Summary::default()).markdown().contains("no series"));
/// ```
#[must_use]
pub fn summary(summary: &Summary) -> Document {
    summary_with(summary, Matrix::of(summary).as_ref())
}

/// As [`summary()`], for a run with a computed matrix: [`Matrix::of`] takes most of the time of such a document.
#[must_use]
pub fn summary_of_matrix(summary: &Summary, matrix: &Matrix) -> Document {
    summary_with(summary, Some(matrix))
}

fn summary_with(summary: &Summary, matrix: Option<&Matrix>) -> Document {
    let mut document = Document::new().lines(heading(summary));
    if let Some(matrix) = matrix {
        let others: Vec<_> = matrix.others(summary).collect();
        document = document.and(matrix::document(matrix));
        if !others.is_empty() {
            document = document.and(sheet(&others));
        }
    } else {
        document = document.sentences(answer(summary));
        for of in [sections::budgets, packets::of, sections::messages] {
            document = of(summary).into_iter().fold(document, Document::and);
        }
        document = match summary.series.is_empty() {
            true => document.sentence("This run holds no series."),
            false => document.and(sheet(&summary.by_themselves().collect::<Vec<_>>())),
        };
    }
    let series = summary.series.iter();
    let series = series.map(|it| (it, it.series.name.as_str()));
    document
        .and(modes(summary))
        .findings(findings(series, once((summary, None))))
        .fitted()
}

/// Several runs: each by itself, then the table of all.
#[must_use]
pub fn summaries(runs: &[Summary]) -> Document {
    let all = runs
        .iter()
        .map(summary)
        .fold(Document::new(), Document::and);
    match runs {
        [] | [_] => all,
        _ => all.table(overview(runs)).fitted(),
    }
}

/// The run, its time and duration, and its machine.
fn heading(summary: &Summary) -> Vec<DocumentLine> {
    let run = &summary.run;
    let mut first = format!(
        "{} of {}",
        or_unknown(&run.experiment),
        or_unknown(&run.started_at)
    );
    if run.duration_ns > 0 {
        first += &format!(", {}", numbers::span(run.duration_ns as f64));
    }
    if !run.complete {
        first += ", incomplete";
    }
    first += &format!(" ({})", summary.shown().display());
    let mut lines = vec![first.into()];
    let machine = machine::line(run);
    lines.extend((!machine.is_empty()).then(|| machine.into()));
    lines
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

/// The modes of the series that are shown by themselves, as on a page, where they were searched.
fn modes(summary: &Summary) -> Document {
    let searched = summary.by_themselves().filter_map(|it| it.modes.as_ref());
    let all: Vec<String> = searched.map(describe_series).collect();
    match all.is_empty() {
        true => Document::new(),
        false => Document::new().listing(all.join("\n")),
    }
}

/// The table of \[Enner2016\]: mean and deviation, beside what they hide.
///
/// One row per series of every run: samples, mean, standard deviation, maximum, and how many
/// deviations the maximum lies from the mean. For normally distributed values the last column
/// would stay below 6 even in a day.
fn overview(runs: &[Summary]) -> Table {
    let rows = runs.iter().flat_map(|run| {
        let series = run.series.iter();
        series.map(move |it| (TableCell::text(label(run, it, runs)), it))
    });
    let is_wanted = |it: &SeriesFigure| {
        use Figure::{Deviation, Max, MaxInDeviations, Mean, Samples};
        matches!(
            it.figure,
            Samples | Mean | Deviation | Max | MaxInDeviations
        )
    };
    by_series("", "", rows, is_wanted).0
}

/// The name of a series; its run's where there are several, with both where a run has more than one.
fn label(run: &Summary, series: &SeriesSummary, runs: &[Summary]) -> String {
    let name = &series.series.name;
    match run.shown().file_name() {
        Some(folder) if runs.len() > 1 && run.series.len() == 1 => folder.display().to_string(),
        Some(folder) if runs.len() > 1 => format!("{}: {name}", folder.display()),
        _ => name.clone(),
    }
}

#[cfg(test)]
mod tests;
