//! Tables for a terminal: suitable units, separated thousands, and no styles where the output is no terminal.

mod brief;
mod comparison;
mod sheet;

use kadenz_record::run::model::{Host, Run, TuningMeasure, Warning};

use crate::answers::answer;
use crate::matrix::{self, Matrix};
use crate::modes::told;
use crate::numbers;
use crate::sections::{self, packets};
use crate::summary::{SeriesSummary, Summary};
use crate::text::table::{TextCell, TextTable};
use crate::text::{Style, Text, indented, wrap};

pub use brief::{Aside, brief, headline};
pub use comparison::comparison;
pub use comparison::comparison_answer;
pub use sheet::sheet;

/// The whole text of a run: experiment and machine, the answer in words, the series, the warnings.
///
/// ```
/// use kadenz_report::summary::Summary;
/// use kadenz_report::terminal::summary;
/// use kadenz_report::text::Style;
///
/// let text = summary(&Summary::default(), Style::plain());
/// assert!(text.contains("no series"));
/// ```
#[must_use]
pub fn summary(summary: &Summary, style: Style) -> Text {
    summary_with(summary, Matrix::of(summary).as_ref(), style)
}

/// As [`summary()`], for a run with a computed matrix: [`Matrix::of`] takes most of the time of such a text.
#[must_use]
pub fn summary_of_matrix(summary: &Summary, matrix: &Matrix, style: Style) -> Text {
    summary_with(summary, Some(matrix), style)
}

fn summary_with(summary: &Summary, matrix: Option<&Matrix>, style: Style) -> Text {
    let mut parts: Vec<Text> = vec![heading(summary, style).into()];
    if let Some(matrix) = matrix {
        parts.extend(matrix::document(matrix).parts(style));
        parts.extend(beside(matrix, summary, style));
    } else {
        parts.extend(answer(summary).map(|answer| wrap(&answer, style.width).into()));
        for of in [sections::budgets, packets::of, sections::messages] {
            parts.extend(of(summary).iter().flat_map(|it| it.parts(style)));
        }
        if summary.series.is_empty() {
            parts.push("This run holds no series.".into());
        } else {
            parts.push(sheet(&summary.by_themselves().collect::<Vec<_>>(), style));
        }
    }
    let last = [
        modes(summary),
        refused(summary, style),
        warnings(&summary.warnings, style),
    ];
    parts.extend(last.into_iter().flatten().map(Text::from));
    Text::join(parts, "\n\n")
}

/// The series of a matrix that are not its cells'.
fn beside(matrix: &Matrix, summary: &Summary, style: Style) -> Option<Text> {
    let others: Vec<_> = matrix.others(summary).collect();
    (!others.is_empty()).then(|| sheet(&others, style))
}

/// Several runs: each by itself, then the table of all.
#[must_use]
pub fn summaries(runs: &[Summary], style: Style) -> Text {
    let mut parts: Vec<Text> = runs.iter().map(|run| summary(run, style)).collect();
    if runs.len() > 1 {
        parts.push(overview(runs, style));
    }
    Text::join(parts, "\n\n")
}

/// The run, its time and duration, and its machine.
fn heading(summary: &Summary, style: Style) -> String {
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
    let mut lines = vec![wrap(&first, style.width)];
    let machine = machine(&run.host, run);
    if !machine.is_empty() {
        lines.push(wrap(&machine.join(", "), style.width));
    }
    lines.join("\n")
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

fn machine(host: &Host, run: &Run) -> Vec<String> {
    let told =
        |words: &str, value: &Option<String>| value.as_ref().map(|value| format!("{words}{value}"));
    let clock = (!run.clock.name.is_empty()).then(|| {
        let cost = numbers::span(run.clock.read_cost_ns);
        format!("clock {} ({cost} a reading)", run.clock.name)
    });
    [
        told("", &host.cpu),
        told("", &host.os_release),
        told("kernel ", &host.kernel),
        told("", &host.preemption),
        told("governor ", &host.governor),
        host.virtualisation
            .as_ref()
            .filter(|v| *v != "none")
            .map(|v| format!("virtualised: {v}")),
        clock,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The measures that were requested of the machine and not granted, each once for all series.
fn refused(summary: &Summary, style: Style) -> Option<String> {
    let mut seen: Vec<&TuningMeasure> = Vec::new();
    for measure in summary
        .series
        .iter()
        .flat_map(|series| &series.series.tuning)
    {
        if !measure.ok && !seen.contains(&measure) {
            seen.push(measure);
        }
    }
    let line = |measure: &&TuningMeasure| {
        let TuningMeasure {
            name,
            requested,
            granted,
            ..
        } = measure;
        let reason = measure
            .reason
            .as_ref()
            .map_or_else(String::new, |r| format!(" ({r})"));
        let first = format!("not granted: {name} {requested}, in force is {granted}{reason}");
        with_remedy(&first, measure.remedy.as_deref(), style)
    };
    (!seen.is_empty()).then(|| seen.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn warnings(warnings: &[Warning], style: Style) -> Option<String> {
    let line = |warning: &Warning| {
        with_remedy(
            &format!("warning: {}", warning.text),
            warning.remedy.as_deref(),
            style,
        )
    };
    (!warnings.is_empty()).then(|| warnings.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn with_remedy(first: &str, remedy: Option<&str>, style: Style) -> String {
    let mut text = wrap(first, style.width);
    if let Some(remedy) = remedy {
        text.push('\n');
        text += &indented(&format!("remedy: {remedy}"), style.width);
    }
    text
}

/// The modes of the series that are shown by themselves, as on a page, where they were searched; absent
/// where none was.
fn modes(summary: &Summary) -> Option<String> {
    let searched = summary.by_themselves().filter_map(|it| it.modes.as_ref());
    let all: Vec<String> = searched.map(told).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

const HEADER: [&str; 6] = ["", "samples", "mean", "stddev", "max", "(max-mean)/stddev"];

/// The table of \[Enner2016\]: mean and deviation, beside what they hide.
///
/// One row per series of every run: samples, mean, standard deviation, maximum, and how many
/// deviations the maximum lies from the mean. For normally distributed values the last column
/// would stay below 6 even in a day.
fn overview(runs: &[Summary], style: Style) -> Text {
    let mut table = TextTable::new(style);
    table.set_header(HEADER);
    for run in runs {
        for series in &run.series {
            table.add_row(row(&label(run, series, runs), series));
        }
    }
    table.align_right_from(1);
    table.text()
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

fn row(label: &str, series: &SeriesSummary) -> Vec<TextCell> {
    let value = |ns: Option<f64>| ns.map_or_else(String::new, numbers::value);
    let deviations = series
        .max_in_stddevs
        .map_or_else(String::new, numbers::three_digits);
    [
        label.to_owned(),
        numbers::thousands(series.count),
        value(series.mean_ns),
        value(series.stddev_ns),
        value(series.max_ns.map(|ns| ns as f64)),
        deviations,
    ]
    .into_iter()
    .map(TextCell::new)
    .collect()
}

#[cfg(test)]
mod tests;
