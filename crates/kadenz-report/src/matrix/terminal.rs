//! A matrix in a terminal.

use super::cell::Cell;
use super::contribution::Bought;
use super::layout::{self, Layout, microseconds};
use super::{Load, Matrix, Recommendation, Standing, words};
use crate::numbers;
use crate::statistics::Percent;
use crate::terminal::Style;
use crate::terminal::table::{Cell as TableCell, Table, fitting};
use crate::terminal::text::{Text, indented, wrap};

const HEADER: [&str; 6] = ["p50", "p99", "p99.9", "max", "misses", ""];
/// Border and padding of a column.
const MARGIN: usize = 3;

/// The answer, a row a cell for each load, what each measure bought, the ranking, and how to use
/// what is recommended.
///
/// ```
/// use kadenz_report::matrix::{self, Matrix};
/// use kadenz_report::summary::Summary;
/// use kadenz_report::terminal::Style;
///
/// let mut summary = Summary::default();
/// summary.run.experiment = matrix::EXPERIMENT.to_owned();
/// let matrix = Matrix::of(&summary).expect("a matrix");
/// let text = matrix::terminal(&matrix, Style::plain());
/// assert!(text.starts_with("No deadline was stated"));
/// ```
#[must_use]
pub fn terminal(matrix: &Matrix, style: Style) -> Text {
    let wrapped = |text: &String| wrap(text, style.width);
    let mut parts: Vec<Text> = matrix
        .recommendation
        .sentences
        .iter()
        .map(|text| wrapped(text).into())
        .collect();
    parts.extend(matrix.loads.iter().map(|&load| cells(matrix, load, style)));
    parts.extend(bought(matrix, style).map(Text::from));
    let ranking = matrix.ranking_words();
    if !ranking.is_empty() {
        let lines: Vec<String> = ranking.iter().map(wrapped).collect();
        parts.push(lines.join("\n").into());
    }
    parts.extend(how(&matrix.recommendation, style).map(Text::from));
    Text::join(parts, "\n\n")
}

/// The control periods in the rows and columns of Yoon's figures, a table a load, in
/// microseconds.
#[must_use]
pub fn terminal_periods(matrix: &Matrix, style: Style) -> Text {
    let table = |&load: &Load| {
        let layout = layout::here(matrix, load)?;
        let title = format!("control periods {} (us)", load.words());
        Some(Text::join([title.into(), periods(&layout, style)], "\n"))
    };
    Text::join(matrix.loads.iter().filter_map(table), "\n\n")
}

fn cells(matrix: &Matrix, load: Load, style: Style) -> Text {
    let mut table = Table::new(style);
    table.set_header(std::iter::once(load.words()).chain(HEADER));
    for cell in matrix.of_load(load) {
        table.add_row(row(matrix, cell));
    }
    table.align_right(1..HEADER.len());
    table.text()
}

fn row(matrix: &Matrix, cell: &Cell) -> Vec<TableCell> {
    let value = |ns: Option<i64>| ns.map_or_else(String::new, |ns| numbers::value(ns as f64));
    let mut row = vec![TableCell::new(cell.combination)];
    for percent in [Percent::P50, Percent::P99, Percent::P99_9] {
        row.push(TableCell::new(value(cell.percentile(percent))));
    }
    row.push(TableCell::new(value(cell.max_ns)));
    row.push(match cell.verdict.filter(|verdict| verdict.count > 0) {
        Some(verdict) => {
            let misses = TableCell::new(numbers::thousands(verdict.misses));
            misses.judged(verdict.misses == 0)
        }
        None => TableCell::new(""),
    });
    row.push(TableCell::new(remark(matrix, cell)));
    row
}

/// What a row must say besides its figures.
pub(super) fn remark(matrix: &Matrix, cell: &Cell) -> &'static str {
    match () {
        () if cell.count == 0 => "not measured",
        () if !cell.granted() => "not granted",
        () if matrix.recommendation.combination == Some(cell.combination) => {
            chosen(matrix.recommendation.standing)
        }
        () => "",
    }
}

/// What the combination is that a recommendation names.
pub(crate) fn chosen(standing: Standing) -> &'static str {
    match standing {
        Standing::Keeps => "recommended",
        Standing::SoFar { .. } => "kept it so far",
        Standing::NoneKeeps => "closest",
        Standing::Unknown => "",
    }
}

fn bought(matrix: &Matrix, style: Style) -> Option<String> {
    let told = matrix
        .contributions
        .iter()
        .filter(|contribution| contribution.figure == Bought::P99_9);
    let lines: Vec<String> = told
        .map(|contribution| wrap(&words::contribution(contribution), style.width))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn how(recommendation: &Recommendation, style: Style) -> Option<String> {
    let permanent = recommendation.permanent.as_ref()?;
    let mut parts = vec![format!("To try it:\n  {}", permanent.command)];
    let unit = permanent.unit.lines().map(|line| format!("  {line}"));
    let unit: Vec<String> = unit.map(|line| line.trim_end().to_owned()).collect();
    parts.push(format!("For good, as a systemd unit:\n{}", unit.join("\n")));
    if let Some(parameters) = &permanent.kernel_parameters {
        parts.push(format!(
            "And on the kernel's command line, so that the CPU is free from the start:\n{}",
            indented(parameters, u16::MAX)
        ));
    }
    let idle_states = permanent.idle_states.as_ref();
    parts.extend(idle_states.map(|sentence| wrap(sentence, style.width)));
    Some(parts.join("\n\n"))
}

/// A layout in as many tables as the width asks for.
fn periods(layout: &Layout, style: Style) -> Text {
    let labels: Vec<String> = layout.rows.iter().map(layout::Row::label).collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0) + MARGIN;
    let label_width = width(&mut labels.iter().map(String::len)) + 1;
    let text =
        |row: &layout::Row, column: usize| row.cells[column].map_or_else(String::new, microseconds);
    let of_column = |(column, name): (usize, &String)| {
        let rows = layout.rows.iter().map(|row| text(row, column).len());
        width(&mut rows.chain([name.len()]))
    };
    let widths: Vec<usize> = layout.columns.iter().enumerate().map(of_column).collect();
    let room = usize::from(style.width).saturating_sub(label_width);
    let tables = fitting(&widths, room).into_iter().map(|columns| {
        let mut table = Table::new(style);
        let names = layout.columns[columns.clone()].iter().map(String::as_str);
        table.set_header(std::iter::once("").chain(names));
        for (row, label) in layout.rows.iter().zip(&labels) {
            let figures = columns.clone().map(|column| text(row, column));
            table.add_row(std::iter::once(label.clone()).chain(figures));
        }
        table.align_right_from(1);
        table.text()
    });
    Text::join(tables, "\n\n")
}
