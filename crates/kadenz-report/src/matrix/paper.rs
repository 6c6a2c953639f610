//! The published matrix, to stand beside the one that was measured here.
//!
//! Source: H. Yoon, J. Song, J. Lee, "Real-Time Performance Analysis in Linux-Based Robotic
//! Systems", Proceedings of the Linux Symposium, Montreal 2009, figures 7 and 8: control periods of
//! 1 ms on a humanoid's computer (x86, 4 CPUs at 2.4 GHz, Linux 2.6.26.8-rt16), 10 minutes a cell.

use super::Load;

/// Yoon's columns are [`Combination::PAPER`](super::Combination::PAPER).
const COLUMNS: usize = 9;

/// Maximum, mean and standard deviation of the lowest control periods, a number a column, in
/// microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperRow {
    /// The largest of them.
    pub max_us: [f64; COLUMNS],
    /// Their mean.
    pub mean_us: [f64; COLUMNS],
    /// Their standard deviation.
    pub stddev_us: [f64; COLUMNS],
}

/// One of Yoon's two tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperTable {
    /// The number of the figure.
    pub figure: u8,
    /// The shortest control period of each column, in microseconds.
    pub min_us: [f64; COLUMNS],
    /// The lowest 99 %, 99.9 %, 99.99 %, 99.999 % and all control periods.
    pub rows: [PaperRow; 5],
}

/// Yoon's table for a load.
#[must_use]
pub fn table(load: Load) -> &'static PaperTable {
    match load {
        Load::Unloaded => &UNLOADED,
        Load::Heavy => &HEAVY,
    }
}

/// Figure 7: control periods on the unloaded system.
pub const UNLOADED: PaperTable = PaperTable {
    figure: 7,
    min_us: [
        1_005.0, 1_006.0, 1_005.0, 1_005.0, 1_005.0, 1_005.0, 1_004.0, 1_004.0, 1_001.0,
    ],
    rows: [
        PaperRow {
            max_us: [
                1_023.0, 1_032.0, 1_030.0, 1_028.0, 1_029.0, 1_030.0, 1_029.0, 1_032.0, 1_006.0,
            ],
            mean_us: [
                1_013.45, 1_020.54, 1_020.01, 1_014.19, 1_019.46, 1_019.75, 1_014.48, 1_017.43,
                1_002.72,
            ],
            stddev_us: [5.02, 4.94, 4.51, 5.10, 4.03, 4.37, 5.34, 4.21, 0.48],
        },
        PaperRow {
            max_us: [
                1_060.0, 1_061.0, 1_072.0, 1_062.0, 1_034.0, 1_035.0, 1_030.0, 1_037.0, 1_008.0,
            ],
            mean_us: [
                1_013.56, 1_020.65, 1_020.11, 1_014.33, 1_019.56, 1_019.86, 1_014.61, 1_017.58,
                1_002.76,
            ],
            stddev_us: [5.17, 5.06, 4.65, 5.33, 4.15, 4.50, 5.50, 4.48, 0.65],
        },
        PaperRow {
            max_us: [
                1_351.0, 1_085.0, 1_355.0, 1_331.0, 1_038.0, 1_038.0, 1_034.0, 1_039.0, 1_013.0,
            ],
            mean_us: [
                1_013.62, 1_020.70, 1_020.19, 1_014.41, 1_019.57, 1_019.88, 1_014.62, 1_017.60,
                1_002.77,
            ],
            stddev_us: [5.76, 5.32, 5.82, 6.16, 4.17, 4.53, 5.52, 4.52, 0.69],
        },
        PaperRow {
            max_us: [
                1_474.0, 1_394.0, 1_463.0, 1_444.0, 1_043.0, 1_040.0, 1_040.0, 1_041.0, 1_016.0,
            ],
            mean_us: [
                1_013.66, 1_020.71, 1_020.22, 1_014.44, 1_019.57, 1_019.88, 1_014.63, 1_017.60,
                1_002.77,
            ],
            stddev_us: [6.96, 5.59, 6.86, 7.08, 4.18, 4.53, 5.52, 4.52, 0.70],
        },
        PaperRow {
            max_us: [
                1_482.0, 1_464.0, 1_484.0, 1_477.0, 1_064.0, 1_044.0, 1_044.0, 1_044.0, 1_020.0,
            ],
            mean_us: [
                1_013.67, 1_020.71, 1_020.23, 1_014.45, 1_019.58, 1_019.88, 1_014.63, 1_017.60,
                1_002.77,
            ],
            stddev_us: [7.12, 5.74, 7.02, 7.23, 4.18, 4.53, 5.52, 4.52, 0.70],
        },
    ],
};

/// Figure 8: control periods on the heavily loaded system.
pub const HEAVY: PaperTable = PaperTable {
    figure: 8,
    min_us: [
        1_002.0, 1_003.0, 1_004.0, 1_004.0, 1_004.0, 1_004.0, 1_004.0, 1_004.0, 1_001.0,
    ],
    rows: [
        PaperRow {
            max_us: [
                36_967.0, 37_019.0, 1_249.0, 1_215.0, 1_020.0, 1_026.0, 1_027.0, 1_027.0, 1_004.0,
            ],
            mean_us: [
                2_072.05, 2_066.02, 1_006.85, 1_006.66, 1_006.96, 1_007.08, 1_005.83, 1_005.81,
                1_002.03,
            ],
            stddev_us: [
                3_935.35, 3_915.51, 13.03, 11.83, 1.85, 2.11, 3.28, 3.23, 0.20,
            ],
        },
        PaperRow {
            max_us: [
                88_376.0, 87_678.0, 2_004.0, 2_004.0, 1_050.0, 1_051.0, 1_048.0, 1_048.0, 1_019.0,
            ],
            mean_us: [
                2_529.41, 2_521.51, 1_013.85, 1_013.33, 1_007.17, 1_007.30, 1_006.09, 1_006.07,
                1_002.08,
            ],
            stddev_us: [
                6_314.70, 6_283.76, 78.55, 76.08, 2.90, 3.25, 4.29, 4.26, 0.74,
            ],
        },
        PaperRow {
            max_us: [
                156_548.0, 152_964.0, 16_513.0, 19_003.0, 1_173.0, 1_160.0, 1_068.0, 1_071.0,
                1_038.0,
            ],
            mean_us: [
                2_624.61, 2_615.18, 1_016.26, 1_016.09, 1_007.23, 1_007.36, 1_006.13, 1_006.11,
                1_002.10,
            ],
            stddev_us: [
                7_081.89, 7_029.08, 138.80, 161.27, 3.57, 3.84, 4.52, 4.51, 0.99,
            ],
        },
        PaperRow {
            max_us: [
                236_548.0, 228_477.0, 39_079.0, 33_098.0, 1_387.0, 1_319.0, 1_081.0, 1_088.0,
                1_055.0,
            ],
            mean_us: [
                2_640.65, 2_630.67, 1_018.49, 1_018.29, 1_007.25, 1_007.38, 1_006.13, 1_006.12,
                1_002.11,
            ],
            stddev_us: [
                7_284.39, 7_219.58, 280.70, 285.45, 4.23, 4.36, 4.56, 4.56, 1.06,
            ],
        },
        PaperRow {
            max_us: [
                346_148.0, 284_092.0, 50_158.0, 56_006.0, 1_510.0, 1_464.0, 1_098.0, 1_100.0,
                1_071.0,
            ],
            mean_us: [
                2_643.59, 2_633.28, 1_018.92, 1_018.73, 1_007.25, 1_007.39, 1_006.14, 1_006.12,
                1_002.11,
            ],
            stddev_us: [
                7_341.15, 7_264.35, 310.66, 317.71, 4.46, 4.53, 4.57, 4.57, 1.08,
            ],
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures that Yoon's text names.
    #[test]
    fn the_tables_say_what_the_text_says() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        let all = |table: &PaperTable| table.rows[4];
        near(all(&UNLOADED).max_us[0], 1_482.0);
        near(all(&HEAVY).max_us[0], 346_148.0);
        near(all(&UNLOADED).max_us[7], 1_044.0);
        near(all(&UNLOADED).mean_us[7], 1_017.60);
        near(all(&HEAVY).max_us[7], 1_100.0);
        near(all(&HEAVY).mean_us[8], 1_002.11);
        near(all(&HEAVY).max_us[8], 1_071.0);
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
