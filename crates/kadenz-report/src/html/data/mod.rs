//! What the charts draw, as one JSON object in the page: columns of numbers, small enough for a day.

mod buckets;
mod extremes;

use serde::Serialize;

pub(super) use self::buckets::{Buckets, buckets};
use self::extremes::{Extremes, extremes, merging};
use super::mark;
use super::page::{Page, RunOnPage, SeriesOnPage};

/// Points of histogram that a page may carry, over all series.
const BUCKET_BUDGET: usize = 40_000;
/// Points of jitter that a page may carry, over all series.
const JITTER_BUDGET: usize = 60_000;

/// The object in the page.
#[derive(Debug, Serialize)]
pub(super) struct Data {
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
    /// What it is of, for the legend.
    group: &'static str,
    /// Whether it is drawn until the reader chooses.
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
    buckets: Buckets,
    pub(super) extremes: Option<Extremes>,
    jitter: Option<Signal>,
}

#[derive(Debug, Default, Serialize)]
struct Signal {
    /// Milliseconds since the start of the run.
    time: Vec<f64>,
    value: Vec<i64>,
}

/// The page's data.
pub(super) fn of(page: &Page<'_>) -> Data {
    let runs = page.runs.iter().map(RunData::of);
    let merge = merging(&page.series);
    let series = page.series.iter().enumerate().map(|(index, on_page)| {
        let series = on_page.summary;
        SeriesData {
            label: on_page.label.clone(),
            run: on_page.run,
            group: on_page.group.name(),
            drawn: on_page.drawn,
            dash: mark::dash(index),
            count: series.count,
            mean: series.mean_ns.map(round),
            sd: series.stddev_ns.map(round),
            min: series.min_ns,
            max: series.max_ns,
            deadline: series.verdict.map(|verdict| verdict.limit_ns),
            misses: series.verdict.map(|verdict| verdict.misses),
            buckets: buckets(&series.distribution, share(BUCKET_BUDGET, page, 300, 4000)),
            extremes: extremes(&series.intervals, on_page.has_early(), merge),
            jitter: jitter(on_page, share(JITTER_BUDGET, page, 1000, 16_384)),
        }
    });
    Data {
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

fn jitter(series: &SeriesOnPage<'_>, most: usize) -> Option<Signal> {
    let points = thinned(&series.jitter.as_ref().ok()?.points, most);
    Some(Signal {
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

#[cfg(test)]
mod tests {
    use super::super::page::Group;
    use super::super::signal;
    use super::*;
    use crate::statistics::SignedBucket;
    use crate::summary::{IntervalPoint, SeriesSummary};

    /// What a page holds beside its data: library, scripts, style, licences, text.
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
        let points = (0..16_384)
            .map(|n| (f64::from(n) * 5_273.123, -1_234_567))
            .collect();
        let jitter = signal::Signal {
            points,
            values_per_bin: 5000,
        };
        let on_page = |run| SeriesOnPage {
            label: String::from("lateness"),
            run,
            summary: &series,
            group: Group::Beat,
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
}
