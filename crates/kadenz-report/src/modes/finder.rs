//! Takes samples as a stream, and restores their order of time within a bounded number of them.

use std::collections::VecDeque;

use super::baseline::{Baseline, Levelled, seconds};
use super::events::Collectors;
use super::search::{Record, search};
use super::{FoundModes, Point};

/// Points from which the interval is estimated, where none is given.
const HEAD: usize = 1024;

/// Finds recurring modes in a stream of points, in some megabytes of memory however long it is.
///
/// Points may come out of order by up to 4,096 other times: late answers are recorded after those that overtook them.
/// Of points at one time, such as the answers of several devices to one beat, the highest value is searched.
///
/// ```
/// use kadenz_report::modes::{Finder, ModeKind, Point};
///
/// // 100 Hz for an hour at 190 us, and every five seconds one sample at 210 us.
/// let mut finder = Finder::new(Some(10_000_000));
/// let mut noise = 1_u64;
/// for index in 0..360_000_i64 {
///     noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
///     let spike = if index % 500 == 123 { 20_000 } else { 0 };
///     let value_ns = 190_000 + (noise >> 54) as i64 + spike;
///     finder.take(Point { at_ns: index * 10_000_000, value_ns });
/// }
/// let modes = finder.finish().modes;
/// assert_eq!(modes.len(), 1);
/// assert_eq!(modes[0].kind, ModeKind::Spike);
/// assert!((modes[0].period_s - 5.0).abs() < 0.01);
/// assert_eq!(modes[0].samples, 1);
/// ```
#[derive(Debug)]
pub struct Finder {
    interval_ns: Option<i64>,
    /// Points from before the interval was known.
    head: Vec<Point>,
    stage: Option<Stage>,
    order: ReorderBuffer,
    count: u64,
    first_ns: Option<i64>,
    last_ns: i64,
}

#[derive(Debug)]
struct Stage {
    interval_ns: i64,
    baseline: Baseline,
    collectors: Collectors,
}

impl Finder {
    /// Makes a finder. `interval_ns` is the expected interval between two points; without it the median of
    /// the first ones is taken.
    #[must_use]
    pub fn new(interval_ns: Option<u64>) -> Self {
        Self {
            interval_ns: interval_ns
                .and_then(|ns| i64::try_from(ns).ok())
                .filter(|ns| *ns > 0),
            head: Vec::new(),
            stage: None,
            order: ReorderBuffer::default(),
            count: 0,
            first_ns: None,
            last_ns: 0,
        }
    }

    /// Takes a point. A point that comes too late to be put in order is left out and counted
    /// ([`FoundModes::overtaken`]).
    pub fn take(&mut self, point: Point) {
        self.count += 1;
        if let Some(earliest) = self.order.take(point) {
            self.take_next(earliest);
        }
    }

    /// Takes the point that comes next in order of time.
    fn take_next(&mut self, point: Point) {
        self.first_ns.get_or_insert(point.at_ns);
        self.last_ns = point.at_ns;
        if let Some(stage) = &mut self.stage {
            stage.take(point);
        } else {
            self.head.push(point);
            if self.interval_ns.is_some() || self.head.len() == HEAD {
                self.begin();
            }
        }
    }

    /// Searches the points taken so far.
    #[must_use]
    pub fn finish(mut self) -> FoundModes {
        while let Some(point) = self.order.give() {
            self.take_next(point);
        }
        if self.stage.is_none() {
            self.begin();
        }
        let first_ns = self.first_ns.unwrap_or(self.last_ns);
        let mut found = FoundModes {
            count: self.count - self.order.overtaken(),
            overtaken: self.order.overtaken(),
            span_s: seconds(self.last_ns.saturating_sub(first_ns)),
            ..FoundModes::default()
        };
        let Some(stage) = self.stage else {
            return found;
        };
        let Stage {
            interval_ns,
            baseline,
            mut collectors,
        } = stage;
        let blocks = baseline.finish(&mut |block: &Levelled| collectors.take(block));
        let interval_s = seconds(interval_ns);
        let record = Record {
            watched_s: collectors.watched_s(),
            interval_s,
            level_ns: blocks.level(),
        };
        let all = search(&collectors.finish(), blocks.into_all(), record);
        (found.modes, found.starts_s) = all.into_iter().unzip();
        found
    }

    fn begin(&mut self) {
        let interval_ns = self.interval_ns.unwrap_or_else(|| typical(&self.head));
        let mut stage = Stage {
            interval_ns,
            baseline: Baseline::new(interval_ns),
            collectors: Collectors::new(interval_ns),
        };
        std::mem::take(&mut self.head)
            .into_iter()
            .for_each(|point| stage.take(point));
        self.stage = Some(stage);
    }
}

impl Stage {
    fn take(&mut self, point: Point) {
        let collectors = &mut self.collectors;
        self.baseline
            .take(point, &mut |block| collectors.take(block));
    }
}

/// The median time between two points, at least a nanosecond.
fn typical(points: &[Point]) -> i64 {
    let mut apart: Vec<i64> = points
        .windows(2)
        .map(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns))
        .collect();
    if apart.is_empty() {
        return 1;
    }
    let middle = apart.len() / 2;
    (*apart.select_nth_unstable(middle).1).max(1)
}

/// Number of times that are held back: an answer that is recorded late may be overtaken by this many others. At 1 kHz
/// that is four seconds, longer than a probe waits for an answer.
pub(super) const HELD: usize = 4096;

/// Holds points back until no earlier one can be expected. Of several at one time, such as the answers of several
/// devices to one beat, it keeps the highest value. Holds 64 KiB, moves half of it at worst.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    /// Ascending, each time once.
    held: VecDeque<Point>,
    /// The time that was returned last; earlier ones, and others of this one, come too late.
    given: Option<i64>,
    /// Points that came too late.
    overtaken: u64,
}

impl ReorderBuffer {
    /// Takes a point; returns the earliest once more than [`HELD`] times wait.
    pub(super) fn take(&mut self, point: Point) -> Option<Point> {
        if self.given.is_some_and(|given| point.at_ns <= given) {
            self.overtaken += 1;
            return None;
        }
        // Nearly all points are the latest so far: the search for their place ends at once.
        let at = match self.held.back() {
            Some(last) if point.at_ns <= last.at_ns => {
                self.held.partition_point(|it| it.at_ns < point.at_ns)
            }
            _ => self.held.len(),
        };
        match self.held.get_mut(at).filter(|it| it.at_ns == point.at_ns) {
            Some(same) => same.value_ns = same.value_ns.max(point.value_ns),
            None => self.held.insert(at, point),
        }
        if self.held.len() > HELD {
            self.give()
        } else {
            None
        }
    }

    /// The earliest point that is held.
    pub(super) fn give(&mut self) -> Option<Point> {
        let point = self.held.pop_front()?;
        self.given = Some(point.at_ns);
        Some(point)
    }

    /// How many points came too late to be put in order.
    pub(super) fn overtaken(&self) -> u64 {
        self.overtaken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::ModeKind;
    use crate::modes::sim::Recipe;

    /// 100 Hz for 400 s; every five seconds one sample is high.
    fn rtt() -> Vec<Point> {
        let mut recipe = Recipe::enner2016b();
        recipe.samples = 40_000;
        recipe.modes = vec![recipe.modes[1]];
        recipe.points().collect()
    }

    #[test]
    fn late_answers_that_were_overtaken_are_found() {
        let mut finder = Finder::new(Some(10_000_000));
        // A high answer comes after the next three.
        let mut points = rtt();
        for second in points.chunks_mut(500) {
            second[123..127].rotate_left(1);
        }
        points.into_iter().for_each(|point| finder.take(point));
        let found = finder.finish();
        assert_eq!((found.count, found.overtaken), (40_000, 0));
        assert_eq!(found.modes.len(), 1, "{:?}", found.modes);
        assert_eq!(found.modes[0].occurrences, 80);
        assert_eq!(found.modes[0].kind, ModeKind::Spike);
    }

    #[test]
    fn the_slowest_of_the_devices_of_a_beat_is_found() {
        let mut finder = Finder::new(Some(10_000_000));
        for slow in rtt() {
            for value_ns in [190_000, slow.value_ns, 192_000] {
                finder.take(Point { value_ns, ..slow });
            }
        }
        let found = finder.finish();
        assert_eq!((found.count, found.overtaken), (120_000, 0));
        assert_eq!(found.modes.len(), 1, "{:?}", found.modes);
    }

    #[test]
    fn what_comes_too_late_is_counted() {
        let mut finder = Finder::new(Some(10_000_000));
        let points = rtt();
        let again = points[..10_000].iter().chain(&points[..3]);
        again.for_each(|point| finder.take(*point));
        let found = finder.finish();
        assert_eq!((found.count, found.overtaken), (10_000, 3));
    }

    #[test]
    fn times_and_values_from_end_to_end_are_borne() {
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        for interval_ns in [None, Some(1), Some(u64::MAX), Some(i64::MAX as u64)] {
            let mut finder = Finder::new(interval_ns);
            for index in 0..3000_usize {
                let at_ns = match index % 3 {
                    0 => ends[index / 3 % ends.len()],
                    1 => i64::MIN + index as i64,
                    _ => i64::MAX - 4000 + index as i64,
                };
                let value_ns = ends[index % ends.len()];
                finder.take(Point { at_ns, value_ns });
            }
            let found = finder.finish();
            assert_eq!(found.count + found.overtaken, 3000);
        }
    }

    fn point(at_ns: i64, value_ns: i64) -> Point {
        Point { at_ns, value_ns }
    }

    fn ordered(points: &[Point]) -> (Vec<Point>, u64) {
        let mut order = ReorderBuffer::default();
        let mut given: Vec<Point> = points.iter().filter_map(|it| order.take(*it)).collect();
        given.extend(std::iter::from_fn(|| order.give()));
        (given, order.overtaken())
    }

    #[test]
    fn an_overtaken_point_is_put_back_and_the_highest_of_a_time_stands() {
        let taken = [
            point(3, 1),
            point(1, 2),
            point(2, 5),
            point(2, 9),
            point(2, 7),
        ];
        let wanted = vec![point(1, 2), point(2, 9), point(3, 1)];
        assert_eq!(ordered(&taken), (wanted, 0));
    }

    #[test]
    fn what_is_overtaken_by_more_than_is_held_is_counted() {
        let reach = HELD as i64;
        let mut taken: Vec<Point> = (1..=reach).map(|at| point(at, 0)).collect();
        taken.push(point(0, 1));
        let (given, overtaken) = ordered(&taken);
        assert_eq!(
            (given.len(), given[0], overtaken),
            (HELD + 1, point(0, 1), 0)
        );

        taken.insert(HELD, point(reach + 1, 0));
        taken.insert(HELD + 1, point(1, 8));
        let (given, overtaken) = ordered(&taken);
        assert_eq!((given.len(), overtaken), (HELD + 1, 2));
        assert!(given.is_sorted_by(|a, b| a.at_ns < b.at_ns));
    }
}
