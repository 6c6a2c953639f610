//! The published matrix, for comparison with the measured one.
//!
//! Source: \[Yoon2009\], figures 7 and 8: control periods of 1 ms on a humanoid's computer (x86, 4 CPUs at 2.4 GHz, Linux
//! 2.6.26.8-rt16), 10 minutes a cell.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Load;

/// Yoon's columns are [`Combination::YOON2009`](super::Combination::YOON2009).
const COLUMNS: usize = 9;

/// Maximum, mean and standard deviation of the lowest control periods, one number per column, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct PublishedRow {
    /// The largest of them.
    pub max_us: [f64; COLUMNS],
    /// Mean of the periods.
    pub mean_us: [f64; COLUMNS],
    /// Standard deviation of the periods.
    pub stddev_us: [f64; COLUMNS],
}

/// One of Yoon's two tables.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct PublishedTable {
    /// The number of the figure.
    pub figure: u8,
    /// The shortest control period of each column, in microseconds.
    pub min_us: [f64; COLUMNS],
    /// The lowest 99 %, 99.9 %, 99.99 %, 99.999 % and all control periods.
    pub rows: [PublishedRow; 5],
}

/// Yoon's table for a load. Figure 7: unloaded, figure 8: heavy.
#[must_use]
pub fn table(load: Load) -> &'static PublishedTable {
    static TABLES: LazyLock<[PublishedTable; 2]> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../assets/yoon.json")).expect("the asset is tested")
    });
    let [unloaded, heavy] = &*TABLES;
    match load {
        Load::Unloaded => unloaded,
        Load::Heavy => heavy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures that Yoon's text states.
    #[test]
    fn the_tables_say_what_the_text_says() {
        assert_eq!(Load::ALL.map(|load| table(load).figure), [7, 8]);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        let all = |table: &PublishedTable| table.rows[4];
        near(all(table(Load::Unloaded)).max_us[0], 1_482.0);
        near(all(table(Load::Heavy)).max_us[0], 346_148.0);
        near(all(table(Load::Unloaded)).max_us[7], 1_044.0);
        near(all(table(Load::Unloaded)).mean_us[7], 1_017.60);
        near(all(table(Load::Heavy)).max_us[7], 1_100.0);
        near(all(table(Load::Heavy)).mean_us[8], 1_002.11);
        near(all(table(Load::Heavy)).max_us[8], 1_071.0);
    }

    #[test]
    fn rows_grow_with_their_share() {
        for table in Load::ALL.map(table) {
            for column in 0..COLUMNS {
                let max = table.rows.map(|row| row.max_us[column]);
                let stddev = table.rows.map(|row| row.stddev_us[column]);
                assert!(table.min_us[column] < max[0]);
                assert!(max.is_sorted() && stddev.is_sorted());
            }
        }
    }
}
