//! What the charts of a matrix draw.

use serde::Serialize;

use crate::html::data::{Buckets, RunData, buckets};
use crate::html::page::Page;
use crate::matrix::{Bought, Matrix};

/// Points of histogram that a panel may carry.
const MAX_BUCKETS: usize = 500;

/// The object in the page of a matrix.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Data {
    runs: Vec<RunData>,
    /// The control periods of each cell less the interval; named as on other pages, so that the
    /// charts' common ground serves them too.
    series: Vec<PanelData>,
    bought: Vec<BoughtData>,
}

#[derive(Debug, Serialize)]
struct PanelData {
    label: String,
    load: &'static str,
    count: u64,
    min: i64,
    max: i64,
    deadline: Option<u64>,
    p99_9: Option<i64>,
    buckets: Buckets,
}

#[derive(Debug, Serialize)]
struct BoughtData {
    measure: String,
    load: &'static str,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The page's data.
pub(in crate::html) fn of(page: &Page<'_>, matrix: &Matrix) -> Data {
    let runs = page.runs.iter().map(RunData::of);
    let panels = matrix.cells.iter().filter_map(|cell| {
        let jitter = page.runs.first()?.summary.series.get(cell.jitter?)?;
        Some(PanelData {
            label: cell.combination.to_string(),
            load: cell.load.name(),
            count: jitter.count,
            min: jitter.min_ns?,
            max: jitter.max_ns?,
            deadline: None,
            p99_9: cell.excess_ns,
            buckets: buckets(&jitter.distribution, MAX_BUCKETS),
        })
    });
    let bought = matrix
        .contributions
        .iter()
        .filter(|contribution| contribution.figure == Bought::P99_9)
        .filter_map(|contribution| {
            let ratio = contribution.ratio?;
            Some(BoughtData {
                measure: contribution.measure.letter().to_string(),
                load: contribution.load.name(),
                ratio: ratio.ratio,
                low: ratio.interval.map(|(low, _)| low),
                high: ratio.interval.map(|(_, high)| high),
            })
        });
    Data {
        runs: runs.collect(),
        series: panels.collect(),
        bought: bought.collect(),
    }
}
