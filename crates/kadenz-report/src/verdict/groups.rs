//! Misses that come in groups: how much weaker the bound of a run is than with independent ones.

use std::fmt;

use super::bound::upper_bound;
use crate::numbers::thousands;
use crate::statistics::student::two_sided;

/// Fewer parts of a run than this do not show how the misses vary between them.
const MIN_BLOCKS: usize = 3;
/// Parts are not joined to fewer than this: with fewer, the correction by Student's t would widen the bound.
const MIN_JOINED: usize = 8;

/// A part of a run: one interval of its log, or several in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Samples in this part.
    pub count: u64,
    /// Samples that missed the deadline.
    pub misses: u64,
}

/// The assumption of a bound on how misses follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// Each is independent of the others; nothing in the run contradicts that, or there is no information.
    Independent,
    /// They are grouped as in the run, which was divided into this many parts.
    Blocks(u32),
    /// The longest row of misses is one event, and every event is as long; for a run too short to be divided.
    Rows(u64),
    /// The longest rows of losses of all receivers are one event, as long as those together.
    Together(u64),
}

/// "by the spread over 60 parts of the run", the text after a bound.
impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Independent => f.write_str("if each is independent"),
            Self::Blocks(parts) => write!(f, "by the spread over {parts} parts of the run"),
            Self::Rows(row) => write!(f, "taking {} in a row as one event", thousands(*row)),
            Self::Together(all) => write!(f, "taking {} together as one event", thousands(*all)),
        }
    }
}

/// One-sided 95 % upper bound of the miss rate, with its assumption.
///
/// The run is divided into blocks, and the miss rate's variance between them is divided by that of independent misses
/// (the design effect). The number of samples is divided by that, with a correction by Student's t for few blocks; the
/// bound is Clopper and Pearson's for the result. Blocks are joined two by two while there are enough of them, and the
/// largest design effect counts, so that groups longer than an interval of the log are seen too; it is never below the
/// longest row of misses. A run with fewer than about ten groups cannot show how often they come, whatever the method.
///
/// Source: E. L. Korn and B. I. Graubard, "Confidence Intervals for Proportions with Small Expected Number
/// of Positive Counts Estimated from Survey Data", Survey Methodology 24 (1998), with the design effect
/// never below 1.
pub(super) fn bound(
    count: u64,
    misses: u64,
    longest_run: u64,
    blocks: &[Block],
) -> (f64, Assumption) {
    if misses == 0 || misses >= count {
        return (upper_bound(misses, count), Assumption::Independent);
    }
    let blocks: Vec<Block> = blocks.iter().filter(|it| it.count > 0).copied().collect();
    if blocks.len() < MIN_BLOCKS {
        return of_rows(count, misses, longest_run);
    }
    let finest = blocks.len() as u32;
    let shrink = largest_shrinkage(blocks).max(longest_run as f64);
    (shrunk(count, misses, shrink), Assumption::Blocks(finest))
}

/// The bound where a row of misses is one event.
pub(super) fn of_rows(count: u64, misses: u64, longest_row: u64) -> (f64, Assumption) {
    match longest_row {
        0 | 1 => (upper_bound(misses, count), Assumption::Independent),
        row => (shrunk(count, misses, row as f64), Assumption::Rows(row)),
    }
}

/// The bound of losses of several receivers, which one event can cause at all of them.
pub(super) fn of_rows_together(
    count: u64,
    losses: u64,
    longest_rows: impl IntoIterator<Item = u64>,
) -> (f64, Assumption) {
    let rows = longest_rows.into_iter();
    let (all, longest) = rows.fold((0_u64, 0), |(all, longest), row| {
        (all.saturating_add(row), row.max(longest))
    });
    match of_rows(count, losses, all) {
        (bound, Assumption::Rows(all)) if all > longest => (bound, Assumption::Together(all)),
        of_one => of_one,
    }
}

/// The bound of a number of samples divided by `shrink`, at the same rate.
///
/// Clopper and Pearson's bound is defined for whole misses only; between two it is interpolated.
fn shrunk(count: u64, misses: u64, shrink: f64) -> f64 {
    let rate = misses as f64 / count as f64;
    let samples = (count as f64 / shrink).max(1.0);
    let hits = rate * samples;
    let at = |hits: f64| upper_bound(hits as u64, samples.round() as u64);
    let (below, above) = (at(hits.floor()), at(hits.ceil()));
    below + (above - below) * hits.fract()
}

/// By how much the samples shrink, at the block length at which they shrink most.
fn largest_shrinkage(mut blocks: Vec<Block>) -> f64 {
    let mut largest = shrinkage(&blocks);
    while blocks.len().div_ceil(2) >= MIN_JOINED {
        blocks = blocks
            .chunks(2)
            .map(|pair| Block {
                count: pair.iter().map(|it| it.count).sum(),
                misses: pair.iter().map(|it| it.misses).sum(),
            })
            .collect();
        largest = largest.max(shrinkage(&blocks));
    }
    largest
}

/// The design effect of these blocks times the square of the ratio of Student's t to the normal quantile.
fn shrinkage(blocks: &[Block]) -> f64 {
    let sum = |of: fn(&Block) -> u64| blocks.iter().map(of).sum::<u64>() as f64;
    let (count, misses) = (sum(|it| it.count), sum(|it| it.misses));
    let rate = misses / count;
    let number = blocks.len() as f64;
    let squares: f64 = (blocks.iter())
        .map(|it| (it.misses as f64 - rate * it.count as f64).powi(2))
        .sum();
    let between = number / (number - 1.0) * squares / (count * count);
    let independent = rate * (1.0 - rate) / count;
    if independent <= 0.0 {
        return 1.0;
    }
    (between / independent).max(1.0) * (two_sided(0.9, blocks.len() as u32 - 1) / NORMAL).powi(2)
}

/// The 95 % quantile of the normal distribution.
const NORMAL: f64 = 1.644_853_626_951;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::random::Random;

    #[test]
    fn a_row_counts_once() {
        let (bound, assumed) = of_rows(60_000, 200, 200);
        assert_eq!(assumed, Assumption::Rows(200));
        let once = upper_bound(1, 300);
        assert!((bound - once).abs() < 1e-12, "{bound} {once}");
        assert_eq!(
            of_rows(60_000, 3, 1),
            (upper_bound(3, 60_000), Assumption::Independent)
        );
    }

    const RATE: f64 = 0.01;

    /// A random process of misses, at [`RATE`] in the long run.
    #[derive(Clone, Copy, Debug)]
    enum Process {
        /// Each independently.
        Independent,
        /// In rows with this mean length.
        Rows(f64),
        /// In phases with this mean length in which every eleventh sample misses.
        Phases(f64),
        /// Where an AR(1) process with a memory of this many samples is above its 99 % quantile.
        Autoregressive(f64),
    }

    impl Process {
        /// Whether each of `number` samples misses.
        fn run(self, random: &mut Random, number: usize) -> Vec<bool> {
            let normal = |random: &mut Random| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            let share = match self {
                Self::Phases(_) => 11.0 * RATE,
                _ => RATE,
            };
            let mut on = random.unit() < share;
            let mut switch = |random: &mut Random, length: f64| {
                let leave = 1.0 / length;
                let chance = if on {
                    leave
                } else {
                    leave * share / (1.0 - share)
                };
                on ^= random.unit() < chance;
                on
            };
            let mut level = normal(random);
            let next = |_| match self {
                Self::Independent => random.unit() < RATE,
                Self::Rows(length) => switch(random, length),
                Self::Phases(length) => switch(random, length) && random.unit() < 1.0 / 11.0,
                Self::Autoregressive(memory) => {
                    let kept = (-1.0 / memory).exp();
                    level = kept * level + (1.0 - kept * kept).sqrt() * normal(random);
                    level > 2.326
                }
            };
            (0..number).map(next).collect()
        }

        /// In how many of 300 runs of `seconds` at 1 kHz `bound` lies above the rate.
        fn covered(self, seconds: u64, bound: fn(&[bool]) -> f64) -> f64 {
            let above = (0..300).filter(|&seed| {
                let missed = self.run(&mut Random::new(seed, seconds), 1000 * seconds as usize);
                bound(&missed) > RATE
            });
            above.count() as f64 / 300.0
        }
    }

    fn misses(missed: &[bool]) -> u64 {
        missed.iter().filter(|&&it| it).count() as u64
    }

    fn of_the_run(missed: &[bool]) -> f64 {
        let block = |second: &[bool]| Block {
            count: second.len() as u64,
            misses: misses(second),
        };
        let blocks: Vec<Block> = missed.chunks(1000).map(block).collect();
        let rows = missed.split(|it| !it).map(<[bool]>::len);
        let longest = rows.max().unwrap_or(0) as u64;
        bound(missed.len() as u64, misses(missed), longest, &blocks).0
    }

    fn as_independent(missed: &[bool]) -> f64 {
        upper_bound(misses(missed), missed.len() as u64)
    }

    /// The bound promises 95 %; 300 runs show it to 2.5 % (two standard errors).
    #[test]
    fn the_bound_covers_the_rate_however_misses_are_grouped() {
        for (process, seconds) in [
            // In short runs only groups that are as short come often enough to be reported.
            (Process::Independent, 2),
            (Process::Independent, 3),
            (Process::Rows(3.0), 4),
            (Process::Phases(10.0), 4),
            (Process::Autoregressive(3.0), 4),
            (Process::Rows(3.0), 6),
            (Process::Phases(20.0), 6),
            (Process::Autoregressive(5.0), 6),
            (Process::Independent, 10),
            (Process::Rows(10.0), 10),
            (Process::Phases(100.0), 10),
            (Process::Autoregressive(20.0), 10),
            (Process::Independent, 60),
            (Process::Rows(50.0), 60),
            (Process::Phases(500.0), 60),
            (Process::Autoregressive(100.0), 60),
        ] {
            let share = process.covered(seconds, of_the_run);
            let naive = process.covered(seconds, as_independent);
            println!("{process:?}, {seconds} s: {share:.3}, as if independent {naive:.3}");
            assert!(share >= 0.92, "{process:?}, {seconds} s: {share}");
        }
    }

    #[test]
    fn independence_would_claim_too_much() {
        let naive = Process::Rows(50.0).covered(60, as_independent);
        assert!(naive < 0.8, "the test above could not fail: {naive}");
    }
}
