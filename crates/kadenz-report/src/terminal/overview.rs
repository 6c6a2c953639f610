//! Enner's table: what mean and deviation say, beside what they hide.

use crate::numbers;
use crate::summary::{SeriesSummary, Summary};
use crate::text::Style;
use crate::text::Text;
use crate::text::table::{Cell, Table};

const HEADER: [&str; 6] = ["", "samples", "mean", "stddev", "max", "(max-mean)/stddev"];

/// One row a series of every run: samples, mean, standard deviation, maximum, and how many
/// deviations the maximum lies from the mean. For normally distributed values the last column
/// would stay below 6 even in a day.
#[must_use]
pub fn overview(runs: &[Summary], style: Style) -> Text {
    let mut table = Table::new(style);
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

fn row(label: &str, series: &SeriesSummary) -> Vec<Cell> {
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
    .map(Cell::new)
    .collect()
}
