//! Tables of measured and published values.

use kadenz::report::document::Table;
use kadenz::report::numbers;
use kadenz::report::summary::SeriesSummary;

/// A row: each cell with the header of its column.
pub(super) type Row = Vec<(&'static str, String)>;

/// A table of rows that have the same columns, names first.
pub(super) fn table(rows: impl IntoIterator<Item = Row>) -> Table {
    let rows: Vec<Row> = rows.into_iter().collect();
    let first = rows.first().into_iter().flatten();
    let head: Vec<&str> = first.map(|(head, _)| *head).collect();
    let cells = |row: Row| row.into_iter().map(|(_, cell)| cell).collect();
    Table::new(&head, 1, rows.into_iter().map(cells).collect())
}

/// A row as a source gives it, its cells separated by `|`.
pub(super) fn published(head: &[&'static str], cells: &str) -> Row {
    let cells = cells.split('|').map(|it| it.trim().to_owned());
    head.iter().copied().zip(cells).collect()
}

/// The name of a row, with a note where its policy was refused.
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

/// Nanoseconds; `-` for a value that the source omits, or that the sample does not support.
pub(super) fn value(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), numbers::value)
}

/// As [`value`], of whole nanoseconds.
pub(super) fn whole(ns: Option<i64>) -> String {
    value(ns.map(|ns| ns as f64))
}
