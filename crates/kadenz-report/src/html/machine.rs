//! The machine: host facts, the requested and the granted tuning, and how to repeat the run.

use kadenz_record::run::model::TuningMeasure;
use serde_json::Value;

use super::blocks;
use super::findings;
use super::markup::Markup;
use super::page::{Page, RunOnPage, grouped};
use crate::document::{Document, Finding, Row, Table, TableCell};
use crate::figures::printed;
use crate::machine::facts;
use crate::text::shell_quoted;

/// The facts of each run's machine.
pub(super) fn host(out: &mut Markup, page: &Page<'_>) {
    let document = match page.runs.as_slice() {
        [only] => Document::new().pairs(facts(&only.summary.run)),
        _ => Document::new().table(compared(page)),
    };
    blocks::section(out, "host", "The machine", &document);
}

fn compared(page: &Page<'_>) -> Table {
    let mut head = vec!["Fact".to_owned()];
    let mut rows: Vec<Vec<TableCell>> = Vec::new();
    for run in &page.runs {
        head.push(run.label.clone());
        for (place, (name, value)) in facts(&run.summary.run).into_iter().enumerate() {
            if rows.len() == place {
                rows.push(vec![TableCell::text(name)]);
            }
            rows[place].push(TableCell::text(value));
        }
    }
    Table::of(head, rows).on_page("prose", "Where it was measured")
}

/// Requested and granted tuning, folded away; series with the same tuning share a part of the table.
pub(super) fn tuning(out: &mut Markup, page: &Page<'_>, findings: &[Finding]) {
    let series = page.series.iter();
    let tunings = series.map(|it| (it.summary.series.tuning.as_slice(), it.label.clone()));
    let tunings = grouped(tunings.filter(|(measures, _)| !measures.is_empty()));
    let all = tunings.iter().flat_map(|(measures, _)| measures.iter());
    let words = match all.filter(|measure| !measure.ok).count() {
        0 => "everything was granted".to_owned(),
        number => format!("{number} refused"),
    };
    let caption = "Requested and granted settings";
    let table = measures_table(caption, &tunings, findings);
    let document = match tunings.is_empty() {
        true => Document::new()
            .missing("No tuning was requested: the threads ran as the system runs any other."),
        false => {
            Document::new().folded(format!("{caption}: {words}"), Document::new().table(table))
        }
    };
    blocks::section(out, "tuning", "Tuning", &document);
}

/// The measures of each group, below its names.
pub(super) fn measures_table(
    caption: &'static str,
    groups: &[(&[TuningMeasure], Vec<String>)],
    findings: &[Finding],
) -> Table {
    let head = ["Measure", "Asked", "Granted", "Result"];
    let mut table = Table::of(head, []).on_page("prose", caption);
    for (measures, names) in groups {
        table.push(Row::title(names.join(", ")));
        measures.iter().for_each(|it| table.push(row(it, findings)));
    }
    table
}

/// A measure, with a link to its finding; reason and remedy of one that is not a finding stand below it.
fn row(measure: &TuningMeasure, findings: &[Finding]) -> Vec<TableCell> {
    let words = if measure.ok { "granted" } else { "refused" };
    let mut result = TableCell::standing(words, measure.ok);
    match findings::number(findings, measure) {
        Some(number) => result.link = Some((format!("#doubt-{number}"), "why")),
        None => {
            result.notes.extend(measure.reason.as_deref().map(printed));
            result.remedy.clone_from(&measure.remedy);
        }
    }
    vec![
        TableCell::text(measure.name.replace('_', " ")),
        TableCell::text(&measure.requested),
        TableCell::text(&measure.granted),
        result,
    ]
}

/// How to repeat the run: the command of each run, and its parameters with the defaults.
pub(super) fn repeat(out: &mut Markup, page: &Page<'_>) {
    let mut document = Document::new();
    for (index, run) in page.runs.iter().enumerate() {
        if page.compares() {
            document = document.heading(&run.label);
        }
        document = document.and(command(index, run)).and(parameters(run));
    }
    blocks::section(out, "repeat", "Repeat it", &document);
}

fn command(index: usize, run: &RunOnPage<'_>) -> Document {
    let words = &run.summary.run.command;
    if words.is_empty() {
        return Document::new().missing("The run does not record the command that made it.");
    }
    let line: Vec<_> = words.iter().map(|word| shell_quoted(word)).collect();
    let what = format!("the command of {}", run.label);
    Document::new().copyable(format!("command-{index}"), what, &line.join(" "))
}

fn parameters(run: &RunOnPage<'_>) -> Document {
    let parameters = &run.summary.run.parameters;
    let words = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let all = parameters
        .iter()
        .map(|(name, value)| (name.clone(), words(value)));
    let summary = "Parameters in force, defaults included".to_owned();
    Document::new().folded(summary, Document::new().pairs(all))
}
