//! Which option moved which percentile.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CampaignRun, CampaignSeries, Varied, places, series_of};
use crate::statistics::RatioInterval;

/// By how much one value of an option changes a series against the option's first value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Moved {
    /// The option.
    pub option: String,
    /// The value.
    pub value: String,
    /// The first value.
    pub against: String,
    /// What the series is of.
    pub series: String,
    /// How many pairs of runs there are: of one round, and of one combination but for this option.
    pub pairs: usize,
    /// The ratio of the medians; absent where no pair of runs has both.
    pub p50: Option<RatioInterval>,
    /// The ratio of the 99th percentiles; absent where no pair of runs has both.
    pub p99: Option<RatioInterval>,
}

/// A run by its round and the places of its values.
type Key = (u32, Vec<usize>);

/// All of them, in the order of the options and their values.
pub(super) fn all(varied: &[Varied], runs: &[CampaignRun]) -> Vec<Moved> {
    let mut all = Vec::new();
    for series in series_of(runs) {
        let mut figures: BTreeMap<Key, &CampaignSeries> = BTreeMap::new();
        for run in runs {
            if let Some(it) = run.series.iter().find(|it| it.value == series) {
                figures.insert((run.round, places(varied, run.combination)), it);
            }
        }
        for (at, option) in varied.iter().enumerate() {
            for place in 1..option.values.len() {
                all.extend(moved(option, at, place, series, &figures));
            }
        }
    }
    all
}

fn moved(
    option: &Varied,
    at: usize,
    place: usize,
    series: &str,
    figures: &BTreeMap<Key, &CampaignSeries>,
) -> Option<Moved> {
    let pairs = figures
        .iter()
        .filter(|((_, places), _)| places[at] == place);
    let pairs: Vec<[&CampaignSeries; 2]> = pairs
        .filter_map(|((round, places), it)| {
            let mut first = places.clone();
            first[at] = 0;
            Some([*it, *figures.get(&(*round, first))?])
        })
        .collect();
    if pairs.is_empty() {
        return None;
    }
    Some(Moved {
        option: option.option.clone(),
        value: option.values[place].clone(),
        against: option.values[0].clone(),
        series: series.to_owned(),
        pairs: pairs.len(),
        p50: ratio(&pairs, |it| it.p50_ns),
        p99: ratio(&pairs, |it| it.p99_ns),
    })
}

/// Of the pairs that have the figure. A time of zero or less, of early wake-ups, has no ratio.
fn ratio(
    pairs: &[[&CampaignSeries; 2]],
    figure: fn(&CampaignSeries) -> Option<i64>,
) -> Option<RatioInterval> {
    let positive = |it: &CampaignSeries| figure(it).filter(|it| *it > 0);
    let ratio =
        |[it, first]: &[&CampaignSeries; 2]| Some(positive(it)? as f64 / positive(first)? as f64);
    let ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
    RatioInterval::of(&ratios)
}
