//! The extremes of each interval, in as many points as a page can carry.

use serde::Serialize;

use crate::html::page::SeriesOnPage;
use crate::summary::IntervalPoint;

/// Bytes of interval extremes that a page may carry; beyond, neighbouring intervals are merged.
const BUDGET: usize = 3_800_000;

/// Extremes of intervals. Times in milliseconds since the start of the run.
#[derive(Debug, Default, Serialize)]
pub(in crate::html) struct Extremes {
    /// First start and step where the starts are regular, else each start less the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    starts: Vec<i64>,
    max: Vec<i64>,
    /// Only where a value was early.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    min: Vec<i64>,
    /// Intervals behind one point.
    pub(in crate::html) merged: usize,
    /// Length of what one point covers, in seconds.
    pub(in crate::html) covers_s: f64,
}

/// How many neighbouring intervals become one point, so that the page keeps its size.
pub(super) fn merging(series: &[SeriesOnPage<'_>]) -> usize {
    let bytes: usize = series
        .iter()
        .map(|s| bytes(&s.summary.intervals, s.has_early()))
        .sum();
    bytes.div_ceil(BUDGET).max(1)
}

fn bytes(intervals: &[IntervalPoint], early: bool) -> usize {
    let columns = |i: &IntervalPoint| digits(i.max_ns) + if early { digits(i.min_ns) } else { 0 };
    let starts = if regular(intervals).is_none() {
        intervals.len() * 5
    } else {
        0
    };
    intervals.iter().map(columns).sum::<usize>() + starts
}

/// Characters of a number and the comma after it.
fn digits(value: i64) -> usize {
    value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 2 + usize::from(value < 0)
}

pub(super) fn extremes(all: &[IntervalPoint], early: bool, merge: usize) -> Option<Extremes> {
    let recorded: Vec<_> = all
        .iter()
        .filter(|interval| interval.count > 0)
        .copied()
        .collect();
    let merged: Vec<_> = recorded.chunks(merge).filter_map(merged).collect();
    let first = merged.first()?;
    let milliseconds = |start_s: f64| (start_s * 1e3).round() as i64;
    let step = regular(&merged);
    let starts = if step.is_some() {
        Vec::new()
    } else {
        let mut last = 0;
        let delta = |i: &IntervalPoint| {
            let start = milliseconds(i.start_s);
            start - std::mem::replace(&mut last, start)
        };
        merged.iter().map(delta).collect()
    };
    let min = if early {
        merged.iter().map(|i| i.min_ns).collect()
    } else {
        Vec::new()
    };
    Some(Extremes {
        step,
        starts,
        max: merged.iter().map(|i| i.max_ns).collect(),
        min,
        merged: merge,
        covers_s: first.length_s,
    })
}

fn merged(chunk: &[IntervalPoint]) -> Option<IntervalPoint> {
    let (first, last) = (chunk.first()?, chunk.last()?);
    Some(IntervalPoint {
        count: chunk.iter().map(|i| i.count).sum(),
        misses: chunk.iter().map(|i| i.misses).sum(),
        start_s: first.start_s,
        length_s: last.start_s + last.length_s - first.start_s,
        min_ns: chunk.iter().map(|i| i.min_ns).min()?,
        max_ns: chunk.iter().map(|i| i.max_ns).max()?,
        ..IntervalPoint::default()
    })
}

/// First start and step in milliseconds, where every start lies within 1 % of a step of its place.
fn regular(intervals: &[IntervalPoint]) -> Option<[f64; 2]> {
    let (first, last) = (intervals.first()?, intervals.last()?);
    let steps = intervals.len() - 1;
    let step = if steps == 0 {
        first.length_s
    } else {
        (last.start_s - first.start_s) / steps as f64
    };
    let in_place = |(n, i): (usize, &IntervalPoint)| {
        (i.start_s - first.start_s - n as f64 * step).abs() <= 0.01 * step
    };
    let places = intervals.iter().enumerate().all(in_place);
    places.then(|| [(first.start_s * 1e3).round(), (step * 1e6).round() / 1e3])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_s: f64, max_ns: i64) -> IntervalPoint {
        IntervalPoint {
            start_s,
            length_s: 1.0,
            count: 1,
            max_ns,
            ..IntervalPoint::default()
        }
    }

    #[test]
    fn merged_intervals_keep_every_maximum() {
        let day: Vec<_> = (0..86_400)
            .map(|n| interval(f64::from(n), 1_000_000 + i64::from(n)))
            .collect();
        assert_eq!(bytes(&day, false), 86_400 * 8);
        let merged = extremes(&day, false, 7).unwrap();
        assert_eq!(merged.max.iter().max(), Some(&1_086_399));
        assert_eq!(merged.max.len(), 86_400_usize.div_ceil(7));
        assert_eq!((merged.merged, merged.covers_s), (7, 7.0));
    }

    #[test]
    fn starts_are_listed_only_when_irregular() {
        let even = [interval(0.0, 1), interval(1.001, 1), interval(2.0, 1)];
        assert_eq!(regular(&even), Some([0.0, 1000.0]));
        let stalled = [interval(0.0, 1), interval(1.0, 1), interval(4.0, 1)];
        assert_eq!(
            extremes(&stalled, false, 1).unwrap().starts,
            [0, 1000, 3000]
        );
    }
}
