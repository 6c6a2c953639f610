//! The layout of Yoon's figures 7 and 8: one column per combination, rows of microseconds.

use super::Matrix;
use super::period::{Periods, shares};
use super::yoon2009;
use crate::numbers;
use crate::statistics::Percent;
use kadenz_record::run::matrix::{Combination, Load};

/// A table in the layout of Yoon's.
pub(crate) struct Layout {
    /// The names of the columns.
    pub(crate) columns: Vec<String>,
    /// The rows, from the shortest control period to the deviation of all.
    pub(crate) rows: Vec<LayoutRow>,
}

/// A row of Yoon's table.
pub(crate) struct LayoutRow {
    /// `Low 99 %`, `100 %`; empty for the row of the shortest.
    pub(crate) range: String,
    /// `min`, `max`, `avg`, `SD`.
    pub(crate) figure: &'static str,
    /// One figure per column, in microseconds; absent where the sample does not support it.
    pub(crate) cells: Vec<Option<f64>>,
}

impl LayoutRow {
    /// Range and figure as one label.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.range, self.figure).trim().to_owned()
    }
}

/// The control periods that were measured here under a load; absent where there are none. A row that no sample supports
/// is left out.
pub(crate) fn here(matrix: &Matrix, load: Load) -> Option<Layout> {
    let cells: Vec<(Combination, &Periods)> = matrix
        .of_load(load)
        .filter_map(|cell| Some((cell.combination, cell.periods.as_ref()?)))
        .collect();
    let of_each = |of: &dyn Fn(&Periods) -> Option<f64>| -> Vec<Option<f64>> {
        let each = cells.iter().map(|(_, periods)| of(periods));
        each.map(|ns| Some(ns? / 1e3)).collect()
    };
    let min = of_each(&|it| Some(it.min_ns));
    let mut rows = rows(min, |_, share| {
        let of = |it: &Periods| it.row(share).copied();
        [
            of_each(&|it| Some(of(it)?.max_ns)),
            of_each(&|it| Some(of(it)?.mean_ns)),
            of_each(&|it| Some(of(it)?.stddev_ns)),
        ]
    });
    rows.retain(|row| row.cells.iter().any(Option::is_some));
    (!cells.is_empty()).then(|| Layout {
        columns: cells.iter().map(|(c, _)| c.to_string()).collect(),
        rows,
    })
}

/// Yoon's own table for a load.
pub(crate) fn published(load: Load) -> Layout {
    let table = yoon2009::table(load);
    let all = |values: &[f64]| values.iter().copied().map(Some).collect();
    let rows = rows(all(&table.min_us), |place, _| {
        let row = &table.rows[place];
        [&row.max_us, &row.mean_us, &row.stddev_us].map(|it| all(it))
    });
    Layout {
        columns: Combination::YOON2009
            .iter()
            .map(ToString::to_string)
            .collect(),
        rows,
    }
}

/// The rows: the shortest, then the cells of maximum, mean and deviation for each share, and for all.
fn rows(
    min: Vec<Option<f64>>,
    of: impl Fn(usize, Option<Percent>) -> [Vec<Option<f64>>; 3],
) -> Vec<LayoutRow> {
    let mut rows = vec![LayoutRow {
        range: String::new(),
        figure: "min",
        cells: min,
    }];
    for (place, share) in shares().map(Some).chain([None]).enumerate() {
        let figures = ["max", "avg", "SD"].into_iter().zip(of(place, share));
        rows.extend(figures.map(|(figure, cells)| LayoutRow {
            range: range(share),
            figure,
            cells,
        }));
    }
    rows
}

fn range(share: Option<Percent>) -> String {
    match share {
        Some(share) => format!("Low {share} %"),
        None => "100 %".to_owned(),
    }
}

/// Microseconds as Yoon prints them: `1,005.00`.
pub(crate) fn microseconds(us: f64) -> String {
    let hundredths = (us.abs() * 100.0).round() as u64;
    let sign = if us < 0.0 && hundredths > 0 { "-" } else { "" };
    let whole = numbers::thousands(hundredths / 100);
    format!("{sign}{whole}.{:02}", hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table_is_laid_out_as_published() {
        let layout = published(Load::Heavy);
        let labels: Vec<String> = layout.rows.iter().map(LayoutRow::label).collect();
        assert_eq!(labels.len(), 16);
        assert_eq!(labels[..3], ["min", "Low 99 % max", "Low 99 % avg"]);
        assert_eq!(labels[15], "100 % SD");
        assert_eq!(layout.columns[8], "PMCS");
        assert_eq!(
            microseconds(layout.rows[13].cells[0].unwrap()),
            "346,148.00"
        );
    }

    #[test]
    fn numbers_are_printed_as_published() {
        let cases = [
            (1_005.0, "1,005.00"),
            (0.994, "0.99"),
            (-3.5, "-3.50"),
            (-0.001, "0.00"),
        ];
        for (us, text) in cases {
            assert_eq!(microseconds(us), text);
        }
    }
}
