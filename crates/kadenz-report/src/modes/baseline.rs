//! The level of a record: the median of every block of samples, and the samples above it.

use std::collections::VecDeque;

use super::Point;

/// Samples of a block. Its median stays while fewer than 32 of them are raised, and selecting from 64 values costs a
/// few nanoseconds per sample.
pub(super) const BLOCK: usize = 64;

/// Blocks to either side whose medians make the level: a run of up to four blocks does not lift it.
pub(super) const SIDE: usize = 4;

/// Fewer samples make no block of their own: their median is too uncertain.
const MIN: usize = 32;

/// Blocks that are kept at most; more are merged in pairs.
const MAX_BLOCKS: usize = 1 << 18;

/// Median and 90th percentile of a block of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockStatistics {
    pub(super) at_s: f64,
    pub(super) end_s: f64,
    pub(super) median: f64,
    pub(super) p90: f64,
}

/// Samples whose level is known.
#[derive(Debug)]
pub(super) struct Levelled {
    pub(super) points: Vec<Point>,
    pub(super) level: i64,
}

/// Divides a stream into blocks and returns each once its neighbours are known.
#[derive(Debug)]
pub(super) struct Baseline {
    interval_ns: i64,
    open: Vec<Point>,
    held: VecDeque<(Vec<Point>, i64)>,
    /// Place in `held` of the next block to be returned.
    next: usize,
    blocks: Blocks,
    scratch: Vec<i64>,
}

impl Baseline {
    pub(super) fn new(interval_ns: i64) -> Self {
        Self {
            interval_ns,
            open: Vec::with_capacity(BLOCK),
            held: VecDeque::new(),
            next: 0,
            blocks: Blocks::default(),
            scratch: Vec::with_capacity(BLOCK),
        }
    }

    /// Takes a point; a block that became ready goes to `ready`.
    pub(super) fn take(&mut self, point: Point, ready: &mut impl FnMut(&Levelled)) {
        let gap = self.open.last().is_some_and(|last| {
            point.at_ns.saturating_sub(last.at_ns) > self.interval_ns.saturating_mul(BLOCK as i64)
        });
        if gap || self.open.len() == BLOCK {
            self.close(ready);
        }
        self.open.push(point);
    }

    /// Returns the remaining samples, and the blocks.
    pub(super) fn finish(mut self, ready: &mut impl FnMut(&Levelled)) -> Blocks {
        self.close(ready);
        while self.next < self.held.len() {
            self.give(ready);
        }
        self.blocks
    }

    fn close(&mut self, ready: &mut impl FnMut(&Levelled)) {
        let points = std::mem::replace(&mut self.open, Vec::with_capacity(BLOCK));
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return;
        };
        let (at_s, end_s) = (
            seconds(first.at_ns),
            seconds(last.at_ns.saturating_add(self.interval_ns)),
        );
        self.scratch.clear();
        self.scratch
            .extend(points.iter().map(|point| point.value_ns));
        let (median, p90) = median_and_p90(&mut self.scratch);
        if points.len() >= MIN {
            self.blocks.push(BlockStatistics {
                at_s,
                end_s,
                median: median as f64,
                p90: p90 as f64,
            });
        }
        self.held.push_back((points, median));
        if self.held.len() - self.next > SIDE {
            self.give(ready);
        }
    }

    /// Returns the next block with the median of its neighbours' medians.
    fn give(&mut self, ready: &mut impl FnMut(&Levelled)) {
        let from = self.next.saturating_sub(SIDE);
        let mut medians: Vec<i64> = self
            .held
            .iter()
            .skip(from)
            .take(self.next - from + SIDE + 1)
            .map(|&(_, median)| median)
            .collect();
        let middle = medians.len() / 2;
        let level = *medians.select_nth_unstable(middle).1;
        let points = std::mem::take(&mut self.held[self.next].0);
        ready(&Levelled { points, level });
        self.next += 1;
        if self.next > SIDE {
            self.held.pop_front();
            self.next -= 1;
        }
    }
}

/// The blocks of a record, in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    all: Vec<BlockStatistics>,
    /// How many blocks were merged into one.
    merged: usize,
    waiting: Vec<BlockStatistics>,
}

impl Blocks {
    fn push(&mut self, block: BlockStatistics) {
        self.waiting.push(block);
        if self.waiting.len() <= self.merged {
            return;
        }
        self.all.extend(merge(&self.waiting));
        self.waiting.clear();
        if self.all.len() >= MAX_BLOCKS {
            self.all = coarser(&self.all, 2);
            self.merged = 2 * self.merged + 1;
        }
    }

    /// The blocks, all of about one length.
    pub(super) fn into_all(self) -> Vec<BlockStatistics> {
        self.all
    }

    /// The median of the record.
    pub(super) fn level(&self) -> f64 {
        median(
            &mut self
                .all
                .iter()
                .map(|block| block.median)
                .collect::<Vec<_>>(),
        )
        .unwrap_or(0.0)
    }
}

/// Blocks of `factor` times the length.
pub(super) fn coarser(blocks: &[BlockStatistics], factor: usize) -> Vec<BlockStatistics> {
    blocks.chunks(factor).filter_map(merge).collect()
}

fn merge(blocks: &[BlockStatistics]) -> Option<BlockStatistics> {
    let (first, last) = (blocks.first()?, blocks.last()?);
    let mean =
        |of: fn(&BlockStatistics) -> f64| blocks.iter().map(of).sum::<f64>() / blocks.len() as f64;
    Some(BlockStatistics {
        at_s: first.at_s,
        end_s: last.end_s,
        median: mean(|block| block.median),
        p90: mean(|block| block.p90),
    })
}

fn median_and_p90(values: &mut [i64]) -> (i64, i64) {
    let middle = values.len() / 2;
    let ninety = values.len() * 9 / 10;
    let (_, &mut median, above) = values.select_nth_unstable(middle);
    let p90 = if ninety > middle {
        *above.select_nth_unstable(ninety - middle - 1).1
    } else {
        median
    };
    (median, p90)
}

/// The upper median; absent for no values. NaN counts as largest.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

pub(super) fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levelled(values: &[i64]) -> (Vec<i64>, Blocks) {
        let mut baseline = Baseline::new(1000);
        let mut above = Vec::new();
        let mut ready =
            |it: &Levelled| above.extend(it.points.iter().map(|p| p.value_ns - it.level));
        for (index, &value_ns) in values.iter().enumerate() {
            let at_ns = index as i64 * 1000;
            baseline.take(Point { at_ns, value_ns }, &mut ready);
        }
        let blocks = baseline.finish(&mut ready);
        (above, blocks)
    }

    #[test]
    fn every_point_comes_back_once_in_order_and_without_its_level() {
        let values: Vec<i64> = (0..1000).map(|i| 5000 + (i % 3)).collect();
        let (above, blocks) = levelled(&values);
        let expected: Vec<i64> = values.iter().map(|value| value - 5001).collect();
        assert_eq!(above, expected);
        // The last 40 of 1000 make a block, too.
        assert_eq!(blocks.level(), 5001.0);
        assert_eq!(blocks.into_all().len(), 16);
    }

    #[test]
    fn a_run_of_three_blocks_stands_above_the_level_and_a_step_becomes_the_level() {
        let mut values = vec![0; 64 * 40];
        values[64 * 10..64 * 13].fill(700);
        values[64 * 20..].fill(90);
        let (above, _) = levelled(&values);
        assert_eq!(above[64 * 11], 700);
        assert_eq!(above[64 * 30], 0);
    }

    #[test]
    fn ninety_percent_are_not_above_the_ninetieth() {
        let mut values: Vec<i64> = (0..64).rev().collect();
        assert_eq!(median_and_p90(&mut values), (32, 57));
        assert_eq!(median_and_p90(&mut [7]), (7, 7));
    }

    #[test]
    fn blocks_beyond_the_bound_are_merged() {
        let mut blocks = Blocks::default();
        let count = MAX_BLOCKS + 1000;
        for index in 0..count {
            let at_s = index as f64;
            blocks.push(BlockStatistics {
                at_s,
                end_s: at_s + 1.0,
                median: (index % 2) as f64,
                p90: 1.0,
            });
        }
        let all = blocks.into_all();
        assert_eq!(all.len(), MAX_BLOCKS / 2 + 500);
        assert!(
            all.iter()
                .all(|it| it.median == 0.5 && it.end_s - it.at_s == 2.0)
        );
    }
}
