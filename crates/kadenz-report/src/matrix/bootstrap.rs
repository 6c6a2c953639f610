//! How far a figure would change if the run were repeated: a block bootstrap over intervals.
//!
//! Latency comes in spells: a daemon wakes, a cache is cold, a minute is bad. Samples are therefore not independent,
//! and resampling them one by one would give far too narrow intervals. Instead the bootstrap draws blocks of
//! consecutive intervals, as long as the cube root of their number, wrapping around the end, until the drawn run is as
//! long as the measured one.
//!
//! Sources: D. N. Politis and J. P. Romano, "A circular block-resampling procedure for stationary
//! data" (1992); block length after P. Hall, J. L. Horowitz and B.-Y. Jing, "On blocking rules for
//! the bootstrap with dependent data", Biometrika 82 (1995); percentile intervals after B. Efron,
//! "Better bootstrap confidence intervals" (1987), without his corrections.

use crate::compare::interval::Cells;
use crate::statistics::random::Random;
use crate::statistics::{Percent, SignedBucket};

/// Fewer cells than this are not resampled.
pub(crate) const MIN_CELLS: usize = 10;

/// The cells of a run over the values that occur in any of them.
struct BucketGrid {
    /// Highest value of each bucket, ascending.
    values: Vec<f64>,
    /// For each cell, the buckets that it holds, and their counts.
    cells: Vec<Vec<(usize, u64)>>,
}

impl BucketGrid {
    fn new(cells: &Cells) -> Self {
        let mut buckets: Vec<&SignedBucket> = cells.iter().flatten().collect();
        buckets.sort_unstable_by_key(|bucket| bucket.high_ns);
        buckets.dedup_by_key(|bucket| bucket.high_ns);
        let place = |bucket: &SignedBucket| {
            (
                buckets.partition_point(|b| b.high_ns < bucket.high_ns),
                bucket.count,
            )
        };
        Self {
            cells: cells
                .iter()
                .map(|cell| cell.iter().map(place).collect())
                .collect(),
            values: buckets.iter().map(|it| it.high_ns as f64).collect(),
        }
    }

    /// Sums the cells, each as often as it was drawn.
    fn sum(&self, times: &[u64], totals: &mut [u64]) {
        totals.fill(0);
        for (cell, &times) in self.cells.iter().zip(times) {
            if times > 0 {
                cell.iter()
                    .for_each(|&(bucket, count)| totals[bucket] += times * count);
            }
        }
    }
}

/// Draws `number` runs from `cells` and returns the values of each of `percents` (ascending) in them. Empty if there are
/// too few cells.
pub(crate) fn draw(
    cells: &Cells,
    percents: &[Percent],
    number: usize,
    mut random: Random,
) -> Vec<Vec<f64>> {
    let mut draws = vec![Vec::new(); percents.len()];
    if cells.len() < MIN_CELLS {
        return draws;
    }
    let grid = BucketGrid::new(cells);
    let block = (cells.len() as f64).cbrt().ceil() as usize;
    let mut times = vec![0; cells.len()];
    let mut totals = vec![0; grid.values.len()];
    for _ in 0..number {
        draw_blocks(&mut times, block, &mut random);
        grid.sum(&times, &mut totals);
        read(&grid, &totals, percents, &mut draws);
    }
    draws
}

/// How often each cell is drawn, in blocks that wrap around the end; as many cells as there are.
fn draw_blocks(times: &mut [u64], block: usize, random: &mut Random) {
    let cells = times.len();
    times.fill(0);
    let mut left = cells;
    while left > 0 {
        let start = random.below(cells);
        let length = block.min(left);
        (start..start + length).for_each(|cell| times[cell % cells] += 1);
        left -= length;
    }
}

fn read(grid: &BucketGrid, totals: &[u64], percents: &[Percent], draws: &mut [Vec<f64>]) {
    let count: u64 = totals.iter().sum();
    let mut walk = grid.values.iter().zip(totals);
    let (mut seen, mut value) = (0, 0.0);
    for (percent, values) in percents.iter().zip(draws) {
        let rank = percent.rank(count);
        while seen < rank {
            let Some((&highest, &count)) = walk.next() else {
                break;
            };
            seen += count;
            value = if count > 0 { highest } else { value };
        }
        values.push(value);
    }
}

/// The interval that holds the middle `confidence` of `draws`; absent without draws, or where one
/// of them is not a number.
pub(crate) fn interval(mut draws: Vec<f64>, confidence: f64) -> Option<(f64, f64)> {
    if draws.is_empty() || draws.iter().any(|draw| !draw.is_finite()) {
        return None;
    }
    draws.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let last = draws.len() - 1;
    let low = (tail * last as f64).floor() as usize;
    Some((draws[low], draws[last - low]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells whose samples all have one value, which follows the one before as AR(1) does.
    fn correlated(number: usize, memory: f64, random: &mut Random) -> Cells {
        let mut state = 0.0;
        let mut cell = || {
            let noise: f64 = (0..12)
                .map(|_| random.below(1 << 20) as f64 / 1048576.0)
                .sum::<f64>()
                - 6.0;
            state = memory * state + noise;
            let value = 100_000 + (1000.0 * state) as i64;
            vec![SignedBucket {
                low_ns: value,
                high_ns: value,
                count: 10,
            }]
        };
        (0..number).map(|_| cell()).collect()
    }

    /// How often, in 200 runs, the 95 % interval of the median holds the true median.
    fn coverage(memory: f64, seed: u64) -> u32 {
        let mut random = Random::new(seed, 0);
        let mut hits = 0;
        for run in 0..200 {
            let cells = correlated(200, memory, &mut random);
            let draws = draw(&cells, &[Percent::P50], 200, Random::new(seed, run + 1));
            let (low, high) = interval(draws.concat(), 0.95).unwrap();
            hits += u32::from((low..=high).contains(&100_000.0));
        }
        hits
    }

    #[test]
    fn intervals_cover_the_truth_about_as_often_as_they_say() {
        let independent = coverage(0.0, 1);
        assert!((180..=199).contains(&independent), "{independent} of 200");
        let spells = coverage(0.5, 2);
        assert!((168..=199).contains(&spells), "{spells} of 200");
    }

    #[test]
    fn the_same_seed_gives_the_same_draws() {
        let cells = correlated(50, 0.3, &mut Random::new(5, 5));
        let draws = |seed| {
            draw(
                &cells,
                &[Percent::P50, Percent::P90],
                20,
                Random::new(seed, 1),
            )
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
    }

    #[test]
    fn equal_cells_leave_no_doubt() {
        let cell = vec![
            SignedBucket {
                low_ns: -5,
                high_ns: -5,
                count: 10,
            },
            SignedBucket {
                low_ns: 100,
                high_ns: 101,
                count: 90,
            },
        ];
        let draws = draw(
            &vec![cell; 30],
            &[Percent::P50, Percent::P99],
            50,
            Random::new(3, 3),
        );
        assert_eq!(interval(draws[0].clone(), 0.95), Some((101.0, 101.0)));
        assert_eq!(interval(draws[1].clone(), 0.95), Some((101.0, 101.0)));
    }

    #[test]
    fn few_intervals_give_no_confidence() {
        let cells = correlated(9, 0.0, &mut Random::new(1, 1));
        let draws = draw(&cells, &[Percent::P50], 100, Random::new(1, 1));
        assert_eq!(interval(draws.concat(), 0.95), None);
    }

    #[test]
    fn blocks_are_drawn_whole_and_no_more_than_there_are() {
        let mut times = vec![0; 27];
        draw_blocks(&mut times, 3, &mut Random::new(9, 9));
        assert_eq!(times.iter().sum::<u64>(), 27);
    }
}
