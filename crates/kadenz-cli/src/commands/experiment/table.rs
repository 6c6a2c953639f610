//! Tables as Markdown.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use kadenz_report::numbers;
use kadenz_report::summary::SeriesSummary;

/// A table of rows under a head; numbers to the right.
pub(super) fn markdown(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(head.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table.to_string()
}

/// A row as a source gives it.
pub(super) fn told(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|&cell| cell.to_owned()).collect()
}

/// The name of a row, which tells where the policy it should stand for was refused.
pub(super) fn named(name: &str, series: &SeriesSummary) -> String {
    let tuning = &series.series.tuning;
    let refused = tuning
        .iter()
        .find(|measure| measure.name == "policy" && !measure.ok);
    match refused {
        Some(policy) => format!("{name} (refused: {})", policy.granted),
        None => name.to_owned(),
    }
}

/// Nanoseconds; `-` for what a source does not tell, or a sample cannot carry.
pub(super) fn value(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), numbers::value)
}

/// As [`value`], of whole nanoseconds.
pub(super) fn whole(ns: Option<i64>) -> String {
    value(ns.map(|ns| ns as f64))
}
