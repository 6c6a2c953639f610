//! The effect of each option on the percentiles, and the times of each combination over its rounds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CampaignRun, CampaignSeries, Varied, places, series_of, values};
use crate::statistics::RatioInterval;

/// The effect of one value of an option on a series, against the option's first value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OptionEffect {
    /// Name of the option that varies.
    pub option: String,
    /// The value of the option whose effect this is.
    pub value: String,
    /// The first value of the option, to which `value` is compared.
    pub against: String,
    /// The measured quantity of the series, such as `rtt`.
    pub series: String,
    /// Number of pairs of runs: of one round, and of one combination except for this option.
    pub pairs: usize,
    /// The ratio of the medians; absent where no pair of runs has both.
    pub p50: Option<RatioInterval>,
    /// The ratio of the 99th percentiles; absent where no pair of runs has both.
    pub p99: Option<RatioInterval>,
}

/// A run by its round and the places of its values.
type Key = (u32, Vec<usize>);

/// The effects of all options, in the order of the options and their values.
pub(super) fn all(varied: &[Varied], runs: &[CampaignRun]) -> Vec<OptionEffect> {
    let mut all = Vec::new();
    for series in series_of(runs) {
        let mut figures: BTreeMap<Key, &CampaignSeries> = BTreeMap::new();
        for run in runs {
            if let Some(it) = run.of_value(series) {
                figures.insert((run.round, places(varied, run.combination)), it);
            }
        }
        for (at, option) in varied.iter().enumerate() {
            for place in 1..option.values.len() {
                all.extend(effect(option, at, place, series, &figures));
            }
        }
    }
    all
}

fn effect(
    option: &Varied,
    at: usize,
    place: usize,
    series: &str,
    figures: &BTreeMap<Key, &CampaignSeries>,
) -> Option<OptionEffect> {
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
    Some(OptionEffect {
        option: option.option.clone(),
        value: option.values[place].clone(),
        against: option.values[0].clone(),
        series: series.to_owned(),
        pairs: pairs.len(),
        p50: ratio(&pairs, |it| it.p50_ns),
        p99: ratio(&pairs, |it| it.p99_ns),
    })
}

/// The ratio over the pairs that have the figure. A time of zero or less, of early wake-ups, has no ratio.
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

/// The percentiles, maximum and misses of a series under one combination of values.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CombinationFigures {
    /// The values of the options that vary, by their names.
    pub values: BTreeMap<String, String>,
    /// The measured quantity of the series, such as `rtt`.
    pub series: String,
    /// How many rounds were measured.
    pub rounds: usize,
    /// How many values there are in all rounds.
    pub count: u64,
    /// The median of the rounds' medians.
    pub p50_ns: Option<f64>,
    /// The median of the rounds' 99th percentiles.
    pub p99_ns: Option<f64>,
    /// The median of the rounds' 99.9th percentiles.
    pub p99_9_ns: Option<f64>,
    /// The longest of all rounds.
    pub max_ns: Option<i64>,
    /// Values beyond the deadline in all rounds, where there is one.
    pub misses: Option<u64>,
}

/// The figures of all combinations, in their order.
pub(super) fn over_rounds(varied: &[Varied], runs: &[CampaignRun]) -> Vec<CombinationFigures> {
    let mut by_combination: BTreeMap<usize, Vec<&CampaignRun>> = BTreeMap::new();
    for run in runs {
        by_combination.entry(run.combination).or_default().push(run);
    }
    let known = series_of(runs);
    let mut all = Vec::new();
    for (combination, runs) in by_combination {
        let options = varied.iter().map(|it| it.option.clone());
        let values: BTreeMap<_, _> = options.zip(values(varied, combination)).collect();
        for series in &known {
            let rounds: Vec<_> = runs.iter().filter_map(|it| it.of_value(series)).collect();
            if !rounds.is_empty() {
                all.push(figures(values.clone(), series, &rounds));
            }
        }
    }
    all
}

fn figures(
    values: BTreeMap<String, String>,
    series: &str,
    rounds: &[&CampaignSeries],
) -> CombinationFigures {
    let of = |figure: fn(&CampaignSeries) -> Option<i64>| {
        median(rounds.iter().filter_map(|it| figure(it)).collect())
    };
    let misses = rounds.iter().filter_map(|it| it.misses);
    CombinationFigures {
        values,
        series: series.to_owned(),
        rounds: rounds.len(),
        count: rounds.iter().map(|it| it.count).sum(),
        p50_ns: of(|it| it.p50_ns),
        p99_ns: of(|it| it.p99_ns),
        p99_9_ns: of(|it| it.p99_9_ns),
        max_ns: rounds.iter().filter_map(|it| it.max_ns).max(),
        misses: misses.reduce(u64::saturating_add),
    }
}

/// The middle one, or the mean of the two in the middle.
fn median(mut values: Vec<i64>) -> Option<f64> {
    values.sort_unstable();
    let above = *values.get(values.len() / 2)?;
    let below = values[(values.len() - 1) / 2];
    Some(f64::midpoint(above as f64, below as f64))
}
