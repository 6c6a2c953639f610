//! Runs by sizes of values: what both drawings draw.

use std::collections::BTreeMap;

use crate::campaign::{CampaignRun, CampaignSeries, bin_edge_ns};

/// Which run is in which row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The first run first.
    AsMeasured,
    /// The runs of a combination together.
    ByCombination,
}

/// How many values of each size there are in each row. Where there are more runs than can be told apart,
/// neighbours share a row.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) rows: Vec<Row>,
    /// The bin of the first column.
    pub(super) first: u16,
    pub(super) columns: u16,
    /// The most values of a bin.
    pub(super) most: u64,
}

/// A row.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Of its first run.
    pub(super) number: usize,
    /// Of its first run.
    pub(super) combination: usize,
    /// By bin.
    pub(super) counts: BTreeMap<u16, u64>,
}

/// More rows than these are not told apart.
const MAX_ROWS: usize = 160;

impl Grid {
    pub(super) fn of(runs: &[CampaignRun], series: &str, order: Order) -> Self {
        let find = |run: &'_ CampaignRun| run.series.iter().position(|it| it.value == series);
        let mut all: Vec<(&CampaignRun, &CampaignSeries)> = runs
            .iter()
            .filter_map(|run| Some((run, run.series.get(find(run)?)?)))
            .collect();
        if order == Order::ByCombination {
            all.sort_by_key(|(run, _)| (run.combination, run.number));
        }
        let together = all.len().div_ceil(MAX_ROWS).max(1);
        let rows: Vec<Row> = all.chunks(together).map(Row::of).collect();
        let bins = || rows.iter().flat_map(|it| it.counts.keys().copied());
        let first = bins().min().unwrap_or(0);
        let last = bins().max().unwrap_or(0);
        let counts = rows.iter().flat_map(|it| it.counts.values().copied());
        Self {
            first,
            columns: last - first + 1,
            most: counts.max().unwrap_or(1),
            rows,
        }
    }

    /// How high a count stands among all, 0 to 1 on a logarithmic scale; one value is visible.
    pub(super) fn share(&self, count: u64) -> f64 {
        (count as f64).ln_1p() / (self.most as f64).ln_1p()
    }

    /// The powers of ten among the columns: value in nanoseconds, and column.
    pub(super) fn decades(&self) -> Vec<(f64, f64)> {
        let column = |ns: f64| {
            let first = bin_edge_ns(self.first);
            (ns / first).log2() / (bin_edge_ns(1).log2())
        };
        let all = (0..19).map(|power| 10_f64.powi(power));
        all.map(|ns| (ns, column(ns)))
            .filter(|(_, at)| (0.0..=f64::from(self.columns)).contains(at))
            .collect()
    }
}

impl Row {
    fn of(runs: &[(&CampaignRun, &CampaignSeries)]) -> Self {
        let mut row = Self::default();
        if let Some((first, _)) = runs.first() {
            row.number = first.number;
            row.combination = first.combination;
        }
        for (bin, count) in runs.iter().flat_map(|(_, it)| &it.bins) {
            let sum = row.counts.entry(*bin).or_default();
            *sum = sum.saturating_add(*count);
        }
        row
    }
}
