//! Takes samples as they stream by.

use super::baseline::{Baseline, Levelled, seconds};
use super::events::Ladder;
use super::search::{Record, search};
use super::{Found, Point};

/// Points that are looked at for their interval, where none is given.
const HEAD: usize = 1024;

/// Finds what recurs in a stream of points, in some megabytes of memory however long it is.
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
    count: u64,
    first_ns: i64,
    last_ns: i64,
}

#[derive(Debug)]
struct Stage {
    interval_ns: i64,
    baseline: Baseline,
    ladder: Ladder,
}

impl Finder {
    /// Begins. `interval_ns` is the expected interval between two points; without it the median of
    /// the first ones is taken.
    #[must_use]
    pub fn new(interval_ns: Option<u64>) -> Self {
        Self {
            interval_ns: interval_ns
                .and_then(|ns| i64::try_from(ns).ok())
                .filter(|ns| *ns > 0),
            head: Vec::new(),
            stage: None,
            count: 0,
            first_ns: 0,
            last_ns: 0,
        }
    }

    /// Takes a point. One that is not later than the one before is left out: of two at one time
    /// nobody knows which came first.
    pub fn take(&mut self, point: Point) {
        if self.count > 0 && point.at_ns <= self.last_ns {
            return;
        }
        if self.count == 0 {
            self.first_ns = point.at_ns;
        }
        self.last_ns = point.at_ns;
        self.count += 1;
        if let Some(stage) = &mut self.stage {
            stage.take(point);
        } else {
            self.head.push(point);
            if self.interval_ns.is_some() || self.head.len() == HEAD {
                self.begin();
            }
        }
    }

    /// Searches what was taken.
    #[must_use]
    pub fn finish(mut self) -> Found {
        if self.stage.is_none() {
            self.begin();
        }
        let span_s = seconds(self.last_ns.saturating_sub(self.first_ns));
        let mut found = Found {
            count: self.count,
            span_s,
            modes: Vec::new(),
        };
        let Some(stage) = self.stage else {
            return found;
        };
        let Stage {
            interval_ns,
            baseline,
            mut ladder,
        } = stage;
        let blocks = baseline.finish(&mut |block: &Levelled| ladder.take(block));
        let interval_s = seconds(interval_ns);
        let record = Record {
            watched_s: ladder.watched_s(),
            interval_s,
            level_ns: blocks.level(),
        };
        found.modes = search(&ladder.finish(), blocks.into_all(), record);
        found
    }

    fn begin(&mut self) {
        let interval_ns = self.interval_ns.unwrap_or_else(|| typical(&self.head));
        let mut stage = Stage {
            interval_ns,
            baseline: Baseline::new(interval_ns),
            ladder: Ladder::new(interval_ns),
        };
        std::mem::take(&mut self.head)
            .into_iter()
            .for_each(|point| stage.take(point));
        self.stage = Some(stage);
    }
}

impl Stage {
    fn take(&mut self, point: Point) {
        let ladder = &mut self.ladder;
        self.baseline.take(point, &mut |block| ladder.take(block));
    }
}

/// The median time between two points, at least a nanosecond.
fn typical(points: &[Point]) -> i64 {
    let mut apart: Vec<i64> = points
        .windows(2)
        .map(|pair| pair[1].at_ns - pair[0].at_ns)
        .collect();
    if apart.is_empty() {
        return 1;
    }
    let middle = apart.len() / 2;
    (*apart.select_nth_unstable(middle).1).max(1)
}
