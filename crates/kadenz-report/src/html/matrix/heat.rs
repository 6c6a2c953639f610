//! The cells as a heat table: colour by how near p99.9 comes to the deadline, and a sign and words for readers without
//! colours.

use crate::document::{CellMark, Document, Table, TableCell};
use crate::figures::{count, plural, span};
use crate::matrix::document::{cells, chosen};
use crate::matrix::{Cell, Combination, Load, Matrix, combinations};
use crate::statistics::Percent;
use crate::verdict::Standing;

/// How near p99.9 comes to the deadline: its limit, its colour, and its words.
const STEPS: [(f64, &str, &str); 5] = [
    (0.1, "heat-0", "p99.9 is below 10\u{a0}% of the deadline"),
    (0.5, "heat-1", "below half"),
    (1.0, "heat-2", "below the deadline"),
    (10.0, "heat-3", "above the deadline"),
    (f64::INFINITY, "heat-4", "more than 10 times the deadline"),
];

const LEAD: &str = "Lateness that 99.9\u{a0}% of the wake-ups stay below; in small print the largest of all and the \
     misses. P: real-time priority, M: locked memory, C: a shielded CPU, S: a spinning sleep, I: idle states held off \
     by PM QoS (`/dev/cpu_dma_latency`).";

/// The table, its key, and all figures.
pub(super) fn heat(matrix: &Matrix) -> Document {
    let document = Document::new().lead(LEAD);
    if matrix.cells.is_empty() {
        return document.missing("No cell of this matrix was measured.");
    }
    let mut table = table(matrix);
    if matrix.deadline_ns.is_some() {
        table.key = STEPS.map(|(_, class, words)| (class, words)).into();
        let signs = "✓ no miss in enough samples, ✗ at least one miss, – too few samples.";
        table.notes.push(signs.to_owned());
    }
    let summary = "All figures of every cell".to_owned();
    document.table(table).folded(summary, all_figures(matrix))
}

fn table(matrix: &Matrix) -> Table {
    let loads = loads(matrix);
    let head = ["Measures"]
        .into_iter()
        .chain(loads.iter().map(|&load| title(load)));
    let rows = combinations(&matrix.cells).into_iter().map(|combination| {
        let cells = loads.iter().map(|&load| {
            let cell = matrix.cell(load, combination);
            cell.filter(|it| it.lateness.count > 0)
                .map_or_else(unmeasured, |it| figure(matrix, it))
        });
        [name(matrix, combination)]
            .into_iter()
            .chain(cells)
            .collect()
    });
    let caption = "p99.9 of the lateness, the cheapest combination first";
    Table::of(head, rows).on_page("heat named", caption)
}

/// The loads that have cells, in the order of Yoon.
pub(super) fn loads(matrix: &Matrix) -> Vec<Load> {
    let any = |load: &Load| matrix.of_load(*load).next().is_some();
    Load::ALL.into_iter().filter(any).collect()
}

pub(super) fn title(load: Load) -> &'static str {
    match load {
        Load::Unloaded => "Without load",
        Load::Heavy => "Under heavy load",
    }
}

fn name(matrix: &Matrix, combination: Combination) -> TableCell {
    let recommendation = &matrix.recommendation;
    let is_chosen = recommendation.combination == Some(combination);
    TableCell::text(combination.to_string())
        .tagged(is_chosen.then(|| chosen(recommendation.standing)))
        .noted(combination.words())
}

fn unmeasured() -> TableCell {
    TableCell::unknown("not measured".to_owned()).of_class("heat-none")
}

fn figure(matrix: &Matrix, cell: &Cell) -> TableCell {
    let p99_9 = cell.percentile(Percent::P99_9);
    // The colour would praise a combination that was not in force.
    let heat = step(p99_9, matrix.deadline_ns).filter(|_| cell.granted);
    let heat = heat.unwrap_or("heat-none");
    let (sign, class) = sign(cell);
    let few = p99_9
        .is_none()
        .then(|| "p99.9 needs 1,000 samples".to_owned());
    let misses = cell.verdict.map(|it| {
        let misses = match it.misses {
            0 => "no miss".to_owned(),
            misses => plural(misses, "miss", "misses"),
        };
        format!("{misses} in {}", count(it.count))
    });
    let lacking: String = cell.lacking.iter().map(|m| m.letter()).collect();
    let ungranted = if cell.granted { "" } else { " ungranted" };
    TableCell::span(p99_9)
        .marked(CellMark::Sign(sign))
        .of_class(format!("{heat} {class}{ungranted}"))
        .noted(few)
        .noted(
            cell.lateness
                .max_ns
                .map(|max| format!("largest {}", span(max))),
        )
        .noted(misses)
        .noted((!cell.granted).then(|| format!("without {lacking}: not granted")))
}

/// Kept, missed, or too few samples: as a sign and as a class.
fn sign(cell: &Cell) -> (&'static str, &'static str) {
    match cell.verdict.map(|verdict| verdict.standing) {
        Some(Standing::Kept) => ("✓", "all-kept"),
        Some(Standing::Missed | Standing::ValuesLost(_)) => ("✗", "some-missed"),
        Some(Standing::TooFew) | None => ("–", "unsure"),
    }
}

/// The CSS class of the colour of a cell, by its 99.9th percentile over the deadline.
fn step(p99_9: Option<i64>, deadline_ns: Option<u64>) -> Option<&'static str> {
    let part = p99_9? as f64 / deadline_ns? as f64;
    let step = STEPS.iter().find(|(limit, ..)| part < *limit);
    step.map(|(_, class, _)| *class)
}

/// All percentiles, for readers who want more than the colour.
fn all_figures(matrix: &Matrix) -> Document {
    let tables = loads(matrix).into_iter().map(|load| cells(matrix, load));
    let tables = tables.fold(Document::new(), Document::table);
    tables.hint(
        "Excess: the 99.9th percentile of the control period less the requested period, and how it stands to that of \
         no tuning.",
    )
}
