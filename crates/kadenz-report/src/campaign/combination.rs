//! What each combination took, over its rounds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CampaignRun, CampaignSeries, Varied, series_of, values};

/// What a series took under one combination of values.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CombinationFigures {
    /// The values of the options that vary, by their names.
    pub values: BTreeMap<String, String>,
    /// What the series is of.
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

/// All of them, in the order of the combinations.
pub(super) fn all(varied: &[Varied], runs: &[CampaignRun]) -> Vec<CombinationFigures> {
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
            let of_run = |run: &&'_ CampaignRun| run.series.iter().any(|it| it.value == *series);
            let rounds = runs.iter().filter(|it| of_run(it)).copied();
            let rounds = rounds.flat_map(|run| &run.series);
            let rounds: Vec<_> = rounds.filter(|it| it.value == *series).collect();
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
