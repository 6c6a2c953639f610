//! The data of the charts, as one JSON object in the page: columns of numbers, small enough for a day.

use serde::Serialize;

use super::page::{Page, RunOnPage, SeriesOnPage};
use super::plot;
use crate::statistics::SignedBucket;
use crate::summary::IntervalPoint;
use crate::verdict::Loss;

/// Points of histogram that a page may carry, over all series.
const BUCKET_BUDGET: usize = 40_000;
/// Points of jitter that a page may carry, over all series.
const JITTER_BUDGET: usize = 60_000;

/// The JSON object of the page of runs, which the charts draw.
#[derive(Debug, Serialize)]
pub(super) struct PageData {
    pub(super) runs: Vec<RunData>,
    pub(super) series: Vec<SeriesData>,
}

#[derive(Debug, Serialize)]
pub(super) struct RunData {
    pub(super) label: String,
    pub(super) started_at: String,
}

impl RunData {
    pub(super) fn of(run: &RunOnPage<'_>) -> Self {
        Self {
            label: run.label.clone(),
            started_at: run.summary.run.started_at.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SeriesData {
    label: String,
    run: usize,
    /// The group of the series, for the legend.
    group: &'static str,
    /// Whether it is drawn before the reader chooses.
    drawn: bool,
    /// Dashes and gaps of its line in pixels.
    dash: &'static [u8],
    count: u64,
    mean: Option<f64>,
    sd: Option<f64>,
    min: Option<i64>,
    max: Option<i64>,
    deadline: Option<u64>,
    /// Misses of that deadline.
    misses: Option<u64>,
    /// Whether values were lost, in words.
    loss: Option<&'static str>,
    buckets: Buckets,
    pub(super) extremes: Option<IntervalExtremes>,
    jitter: Option<SignalData>,
}

/// A jitter signal, as the page's object holds it.
#[derive(Debug, Default, Serialize)]
struct SignalData {
    /// Milliseconds since the start of the run.
    time: Vec<f64>,
    value: Vec<i64>,
}

/// The page's data.
pub(super) fn of(page: &Page<'_>) -> PageData {
    let runs = page.runs.iter().map(RunData::of);
    let merge = merging(&page.series);
    let series = page.series.iter().enumerate().map(|(index, on_page)| {
        let (run, series) = (page.runs.get(on_page.run), on_page.summary);
        SeriesData {
            label: on_page.label.clone(),
            run: on_page.run,
            group: on_page.group.name(),
            drawn: on_page.drawn,
            dash: plot::dash(index),
            count: series.count,
            mean: series.mean_ns.map(round),
            sd: series.stddev_ns.map(round),
            min: series.min_ns,
            max: series.max_ns,
            deadline: series.verdict.map(|verdict| verdict.limit_ns),
            misses: series.verdict.map(|verdict| verdict.misses),
            loss: run
                .and_then(|it| it.summary.loss(&series.series))
                .map(Loss::words),
            buckets: buckets(&series.distribution, share(BUCKET_BUDGET, page, 300, 4000)),
            extremes: extremes(&series.intervals, on_page.has_early(), merge),
            jitter: jitter(on_page, share(JITTER_BUDGET, page, 1000, 16_384)),
        }
    });
    PageData {
        runs: runs.collect(),
        series: series.collect(),
    }
}

fn share(budget: usize, page: &Page<'_>, least: usize, most: usize) -> usize {
    (budget / page.series.len().max(1)).clamp(least, most)
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn jitter(series: &SeriesOnPage<'_>, most: usize) -> Option<SignalData> {
    let points = thinned(series.jitter.as_ref().ok()?, most);
    Some(SignalData {
        time: points
            .iter()
            .map(|point| (point.0 * 1e3).round() / 1e3)
            .collect(),
        value: points.iter().map(|point| point.1).collect(),
    })
}

/// Thins a signal to about `most` points; each stretch keeps its smallest and its largest.
fn thinned(points: &[(f64, i64)], most: usize) -> Vec<(f64, i64)> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(most / 2);
    let mut kept = Vec::with_capacity(most);
    for chunk in points.chunks(stretch) {
        let low = chunk.iter().min_by_key(|point| point.1);
        let high = chunk.iter().max_by_key(|point| point.1);
        let mut both: Vec<_> = low.into_iter().chain(high).copied().collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        both.dedup();
        kept.extend(both);
    }
    kept
}

/// Buckets that hold something, ascending, as columns.
#[derive(Debug, Default, Serialize)]
pub(in crate::html) struct Buckets {
    low: Vec<i64>,
    high: Vec<i64>,
    count: Vec<u64>,
}

/// The histogram in at most `most` buckets: neighbours are joined until they fit, sparse tails
/// keep their buckets as they are.
pub(in crate::html) fn buckets(all: &[SignedBucket], most: usize) -> Buckets {
    let mut joined = all.to_vec();
    for bits in (1..=10).rev() {
        if joined.len() <= most {
            break;
        }
        joined = join(all, bits);
    }
    Buckets {
        low: joined.iter().map(|b| b.low_ns).collect(),
        high: joined.iter().map(|b| b.high_ns).collect(),
        count: joined.iter().map(|b| b.count).collect(),
    }
}

/// Joins neighbours that agree in sign, power of two and the next `bits` bits.
fn join(all: &[SignedBucket], bits: u32) -> Vec<SignedBucket> {
    let cell = |value: i64| {
        let magnitude = value.unsigned_abs();
        let shift = magnitude.checked_ilog2().unwrap_or(0).saturating_sub(bits);
        (value < 0, shift, magnitude >> shift)
    };
    let mut joined: Vec<SignedBucket> = Vec::new();
    for bucket in all {
        match joined.last_mut() {
            Some(last) if cell(last.low_ns) == cell(bucket.low_ns) => {
                last.high_ns = bucket.high_ns;
                last.count += bucket.count;
            }
            _ => joined.push(*bucket),
        }
    }
    joined
}

/// Bytes of interval extremes that a page may carry; beyond that, neighbouring intervals are merged.
const BUDGET: usize = 3_800_000;

/// Extremes of intervals. Times in milliseconds since the start of the run.
#[derive(Debug, Default, Serialize)]
pub(in crate::html) struct IntervalExtremes {
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
fn merging(series: &[SeriesOnPage<'_>]) -> usize {
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

fn extremes(all: &[IntervalPoint], early: bool, merge: usize) -> Option<IntervalExtremes> {
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
    Some(IntervalExtremes {
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
    use super::super::page::SeriesGroup;
    use super::super::signal;
    use super::*;
    use crate::statistics::SignedBucket;
    use crate::summary::{IntervalPoint, SeriesSummary};

    /// Bytes of a page beside its data: library, scripts, style, licences, text.
    const REST_OF_PAGE: usize = 1_300_000;

    #[test]
    fn a_day_of_many_series_with_early_values_and_samples_stays_under_eight_megabytes() {
        let bucket = |n: i64| SignedBucket {
            low_ns: n * 50_000 - 1_000_000_000,
            high_ns: n * 50_000 - 999_999_000,
            count: 123_456,
        };
        let interval = |n: u32| IntervalPoint {
            start_s: f64::from(n) * 1.000_3 + f64::from(n % 7) * 0.05,
            length_s: 1.0,
            count: 1000,
            min_ns: -1_234_567,
            max_ns: 12_345_678,
            ..IntervalPoint::default()
        };
        let series = SeriesSummary {
            count: 86_400_000,
            min_ns: Some(-1_234_567),
            distribution: (0..40_000).map(bucket).collect(),
            intervals: (0..86_400).map(interval).collect(),
            ..SeriesSummary::default()
        };
        let jitter: signal::Signal = (0..16_384)
            .map(|n| (f64::from(n) * 5_273.123, -1_234_567))
            .collect();
        let on_page = |run| SeriesOnPage {
            label: String::from("lateness"),
            run,
            summary: &series,
            group: SeriesGroup::Beat,
            drawn: true,
            jitter: Ok(jitter.clone()),
        };
        for many in [1, 4, 12] {
            let page = Page {
                summaries: &[],
                beside: None,
                runs: Vec::new(),
                series: (0..many).map(on_page).collect(),
            };
            let bytes = serde_json::to_string(&of(&page)).unwrap().len();
            assert!(bytes + REST_OF_PAGE < 8_000_000, "{many} series: {bytes}");
        }
    }

    #[test]
    fn thinning_keeps_the_extremes() {
        let points: Vec<_> = (0..10_000)
            .map(|n| (f64::from(n), i64::from(n % 7)))
            .collect();
        let mut spiked = points;
        spiked[5_003].1 = -900;
        spiked[7_001].1 = 900;
        let kept = thinned(&spiked, 100);
        assert!(kept.len() <= 102);
        assert!(kept.contains(&(5003.0, -900)) && kept.contains(&(7001.0, 900)));
    }

    #[test]
    fn joined_buckets_keep_every_count_and_the_tail() {
        let mut all: Vec<SignedBucket> = (1024..9000)
            .map(|v| SignedBucket {
                low_ns: v,
                high_ns: v,
                count: 2,
            })
            .collect();
        all.push(SignedBucket {
            low_ns: 17_170_000,
            high_ns: 17_186_000,
            count: 1,
        });
        let few = buckets(&all, 1000);
        assert!(few.low.len() <= 1000);
        assert_eq!(few.count.iter().sum::<u64>(), 7976 * 2 + 1);
        assert_eq!(few.low.last(), Some(&17_170_000));
    }

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
