//! The ranking of the combinations, and whether it is Yoon's order.

use super::contribution::Drawn;
use super::ratio::{Ratio, ratio};
use super::words;
use crate::statistics::Percent;
use kadenz_record::run::matrix::{Combination, Load};
use schemars::JsonSchema;
use serde::Serialize;

/// Yoon's classes under heavy load, worst first: within one, Yoon sees no difference.
const CLASSES: [&[&str]; 5] = [
    &["none", "M"],
    &["C", "MC"],
    &["P", "PM"],
    &["PC", "PMC"],
    &["PMCS"],
];

/// Two cells are equal where the one's figure is no more than this times the other's.
const EQUAL_WITHIN: f64 = 1.25;

/// The cells of a load in their order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// The load under which the cells were measured.
    pub load: Load,
    /// By p99.9 lateness.
    pub best_first: Vec<Ranked>,
    /// The published order under heavy load, pair by pair; pairs that were not measured are left out.
    #[serde(rename = "paper")]
    pub published: Vec<PublishedPair>,
    /// The order in words.
    pub sentence: Option<String>,
    /// The published order in words.
    #[serde(rename = "paper_sentence")]
    pub published_sentence: Option<String>,
}

/// A cell with its figure in the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ranked {
    /// The combination of measures of the cell.
    #[serde(rename = "cell")]
    pub combination: Combination,
    /// Its 99.9th percentile.
    pub p99_9_ns: i64,
    /// Whether every measure of it was in force.
    pub granted: bool,
}

/// A pair of the published order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PublishedPair {
    /// The combination that is worse, or equal, in Yoon.
    pub worse: Combination,
    /// The combination that is better, or equal, in Yoon.
    pub better: Combination,
    /// Whether they are equal in Yoon.
    pub equal: bool,
    /// The ratio of p99.9 of `better` to that of `worse`, here.
    pub ratio: Ratio,
    /// Whether that reproduces Yoon.
    #[serde(rename = "reproduced")]
    pub outcome: Reproduced,
    /// The pair and its result in words.
    pub sentence: String,
}

/// Whether a pair is in the same order as in Yoon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "Option<bool>")]
#[schemars(inline, from = "Option<bool>")]
pub enum Reproduced {
    /// The pair is in the order of Yoon.
    Yes,
    /// The pair is in another order than in Yoon.
    No,
    /// This sample cannot show it.
    Open,
}

impl From<Reproduced> for Option<bool> {
    fn from(outcome: Reproduced) -> Self {
        match outcome {
            Reproduced::Yes => Some(true),
            Reproduced::No => Some(false),
            Reproduced::Open => None,
        }
    }
}

impl Ranking {
    pub(super) fn new(load: Load, cells: &[Drawn<'_>], floor_ns: f64) -> Self {
        let here = || cells.iter().filter(|drawn| drawn.cell.load == load);
        let mut best_first: Vec<Ranked> = here()
            .filter_map(|drawn| {
                Some(Ranked {
                    combination: drawn.cell.combination,
                    p99_9_ns: drawn.cell.percentile(Percent::P99_9)?,
                    granted: drawn.cell.granted,
                })
            })
            .collect();
        best_first.sort_by_key(|ranked| ranked.p99_9_ns);
        let find = |combination| {
            let mut granted = here().filter(|drawn| drawn.cell.granted);
            granted.find(|drawn| drawn.cell.combination == combination)
        };
        let judge = |(worse, better, equal)| {
            let (a, b) = (find(worse)?, find(better)?);
            let figures = (a.figures.p99_9.as_ref()?, b.figures.p99_9.as_ref()?);
            let ratio = ratio(&[figures], floor_ns)?;
            let outcome = outcome(&ratio, equal);
            Some(PublishedPair {
                worse,
                better,
                equal,
                ratio,
                outcome,
                sentence: words::published_pair((worse, better, equal), &ratio, outcome),
            })
        };
        let published: Vec<PublishedPair> = match load {
            // Yoon's own order without load is not clear.
            Load::Unloaded => Vec::new(),
            Load::Heavy => published_pairs().into_iter().filter_map(judge).collect(),
        };
        Self {
            load,
            sentence: words::ranking(load, &best_first),
            published_sentence: words::published_order(&published),
            best_first,
            published,
        }
    }
}

/// The pairs of Yoon's order: those within a class, and from each class to the next those
/// that differ least.
fn published_pairs() -> Vec<(Combination, Combination, bool)> {
    let class = |names: &&[&str]| -> Vec<Combination> {
        names.iter().filter_map(|name| name.parse().ok()).collect()
    };
    let classes: Vec<Vec<Combination>> = CLASSES.iter().map(class).collect();
    let mut pairs = Vec::new();
    for (place, class) in classes.iter().enumerate() {
        pairs.extend(class.windows(2).map(|two| (two[0], two[1], true)));
        let Some(next) = classes.get(place + 1) else {
            continue;
        };
        let steps = if next.len() == 1 {
            class.last().map(|&last| vec![(last, next[0], false)])
        } else {
            Some(
                class
                    .iter()
                    .zip(next)
                    .map(|(&a, &b)| (a, b, false))
                    .collect(),
            )
        };
        pairs.extend(steps.unwrap_or_default());
    }
    pairs
}

fn outcome(ratio: &Ratio, equal: bool) -> Reproduced {
    let within = (1.0 / EQUAL_WITHIN..=EQUAL_WITHIN).contains(&ratio.ratio);
    match (equal, ratio.significant()) {
        (_, None) => Reproduced::Open,
        (true, _) if within => Reproduced::Yes,
        (true, Some(false)) | (false, Some(false)) => Reproduced::Open,
        (true, Some(true)) => Reproduced::No,
        (false, Some(true)) if ratio.ratio < 1.0 => Reproduced::Yes,
        (false, Some(true)) => Reproduced::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_order_is_eleven_pairs() {
        let pairs: Vec<String> = published_pairs()
            .iter()
            .map(|(a, b, equal)| format!("{a}{}{b}", if *equal { "~" } else { ">" }))
            .collect();
        assert_eq!(
            pairs,
            [
                "none~M", "none>C", "M>MC", "C~MC", "C>P", "MC>PM", "P~PM", "P>PC", "PM>PMC",
                "PC~PMC", "PMC>PMCS"
            ]
        );
    }

    #[test]
    fn a_pair_is_judged_by_its_interval() {
        let judged = |ratio: f64, interval, equal| {
            let ratio = Ratio {
                ratio,
                interval,
                at_resolution: false,
            };
            outcome(&ratio, equal)
        };
        assert_eq!(judged(0.1, Some((0.08, 0.2)), false), Reproduced::Yes);
        assert_eq!(judged(2.0, Some((1.5, 3.0)), false), Reproduced::No);
        assert_eq!(judged(0.9, Some((0.5, 1.2)), false), Reproduced::Open);
        assert_eq!(judged(0.1, None, false), Reproduced::Open);
        assert_eq!(judged(1.05, Some((1.02, 1.08)), true), Reproduced::Yes);
        assert_eq!(judged(1.6, Some((0.7, 3.0)), true), Reproduced::Open);
        assert_eq!(judged(1.6, Some((1.4, 1.9)), true), Reproduced::No);
    }
}
