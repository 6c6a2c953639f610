//! The table of series: one row per figure, one column per series.

use std::borrow::Borrow;
use std::iter::once;

use crate::document::{Document, DocumentLine, Medium, Split, Table, TableCell};
use crate::numbers;
use crate::sections::series::{FEW_BEYOND, SeriesFigure};
use crate::statistics::{Extreme, Percentile};
use crate::summary::SeriesSummary;

/// The rows of each series: count, extremes, mean, deviation, percentiles, deadline and,
/// where there are raw samples, jitter and the places of the highest and lowest.
pub(super) fn sheet<S: Borrow<SeriesSummary>>(series: &[S]) -> Document {
    let series = || series.iter().map(Borrow::borrow);
    let mut percentiles = series().flat_map(|it| &it.percentiles);
    let few = percentiles.any(|it| it.beyond < FEW_BEYOND).then(|| {
        format!(
            "(n): only n samples lie beyond this percentile; beyond the others lie {FEW_BEYOND} or \
             more."
        )
    });
    let document = Document::new()
        .table(table(series()))
        .sentences(few)
        .sentences(coarse_note(series()));
    series().map(extremes).fold(document, Document::lines)
}

/// The explanation of the mark of a coarse log's percentiles; nothing where there is none.
pub(super) fn coarse_note<'s>(
    series: impl IntoIterator<Item = &'s SeriesSummary>,
) -> Option<String> {
    let percentiles = series.into_iter().flat_map(|it| &it.percentiles);
    let coarsest = percentiles
        .filter_map(Percentile::coarseness)
        .reduce(f64::max)?;
    let share = numbers::percentage(coarsest);
    Some(format!(
        "<=: the log is coarse, and this is the upper edge of what it counts as one; the value may lie \
         up to {share} lower."
    ))
}

fn table<'s>(series: impl Iterator<Item = &'s SeriesSummary> + Clone) -> Table {
    let names = series.clone().map(|it| it.series.name.clone());
    let mut table = Table::of(once(String::new()).chain(names), []).split(Split::Filled);
    let columns: Vec<Vec<SeriesFigure>> = series.map(SeriesFigure::all).collect();
    let figures = columns.first().map(|it| it.iter());
    for (place, figure) in figures.into_iter().flatten().enumerate() {
        let Some(label) = figure.head.head(Medium::Terminal) else {
            continue;
        };
        let cells = columns.iter().map(|column| column[place].cell.clone());
        let cells: Vec<TableCell> = once(TableCell::text(label)).chain(cells).collect();
        let has_words = |it: &TableCell| !it.shown(Medium::Terminal).is_empty();
        if cells.iter().skip(1).any(has_words) {
            table.push(cells);
        }
    }
    table
}

/// The ten highest and lowest samples with their index, as Sticha's test suites print them.
fn extremes(series: &SeriesSummary) -> Vec<DocumentLine> {
    let samples = series.samples.as_ref();
    let Some(samples) = samples.filter(|samples| samples.count > 0) else {
        return Vec::new();
    };
    let list = |which: &str, extremes: &[Extreme]| {
        let one = |e: &Extreme| format!("{} [{}]", numbers::span(e.value_ns as f64), e.index);
        let all = extremes.iter().map(one).collect::<Vec<_>>().join(", ");
        format!("{}, {which} [index]: {all}", series.series.name).into()
    };
    vec![
        list("highest", &samples.highest),
        list("lowest", &samples.lowest),
    ]
}
