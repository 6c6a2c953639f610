//! Many runs of one command with varying options: the figures of each combination, and the effect of each option.

mod effects;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Answer, Document, Table, Version};
use crate::numbers;
use crate::statistics::RatioInterval;

pub use effects::{CombinationFigures, OptionEffect};
pub(crate) use run::bin_edge_ns;
pub use run::{CampaignRun, CampaignSeries};

/// An option that varies, with its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Varied {
    /// Its name, without the dashes.
    pub option: String,
    /// Its values as they were written, in the order of the plan.
    pub values: Vec<String>,
}

/// The plan and the folder of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CampaignFacts {
    /// The campaign's name.
    pub name: String,
    /// The words of its command.
    pub command: Vec<String>,
    /// How often each combination is measured.
    pub rounds: u32,
    /// The varied options. In the order of combinations, the last option changes first.
    pub varied: Vec<Varied>,
    /// Number of planned runs.
    pub planned: usize,
    /// Number of runs that could not be measured at the last attempt.
    pub failed: usize,
    /// The campaign's folder.
    pub folder: PathBuf,
    /// The figures as Markdown.
    pub table: PathBuf,
    /// The figures as a page.
    pub page: PathBuf,
}

/// The report of a campaign, as far as it was measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CampaignReport {
    version: Version<1>,
    #[serde(flatten)]
    facts: CampaignFacts,
    /// How many runs are done.
    done: usize,
    /// The figures of each combination, by series.
    combinations: Vec<CombinationFigures>,
    /// The effect of each option's values on the percentiles.
    moved: Vec<OptionEffect>,
    /// The measures that were not granted, in words, with the combination and the number of its runs.
    refused: Vec<String>,
}

impl CampaignReport {
    /// The report of the runs that are done.
    #[must_use]
    pub fn of(facts: CampaignFacts, runs: &[CampaignRun]) -> Self {
        Self {
            version: Version,
            combinations: effects::over_rounds(&facts.varied, runs),
            moved: effects::all(&facts.varied, runs),
            refused: refused(&facts.varied, runs),
            done: runs.len(),
            facts,
        }
    }

    /// The plan and the folder.
    #[must_use]
    pub fn facts(&self) -> &CampaignFacts {
        &self.facts
    }
}

/// The values of a combination, by their places: the last option changes first.
pub(crate) fn places(varied: &[Varied], combination: usize) -> Vec<usize> {
    let mut rest = combination;
    let mut places: Vec<usize> = varied
        .iter()
        .rev()
        .map(|it| {
            let count = it.values.len().max(1);
            let place = rest % count;
            rest /= count;
            place
        })
        .collect();
    places.reverse();
    places
}

/// The values of a combination as they were written.
pub(crate) fn values(varied: &[Varied], combination: usize) -> Vec<String> {
    let places = places(varied, combination).into_iter();
    let values = varied.iter().zip(places);
    values
        .map(|(it, place)| it.values.get(place).cloned().unwrap_or_default())
        .collect()
}

/// Each measure that runs of a combination did not get, once, after the values of the combination.
fn refused(varied: &[Varied], runs: &[CampaignRun]) -> Vec<String> {
    let mut all: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for run in runs {
        let measures: BTreeSet<&String> = run.series.iter().flat_map(|it| &it.refused).collect();
        for measure in measures {
            *all.entry((run.combination, measure)).or_default() += 1;
        }
    }
    let words = all.into_iter().map(|((combination, measure), count)| {
        let values = values(varied, combination);
        let values = match values.is_empty() {
            true => "all".to_owned(),
            false => values.join(", "),
        };
        let runs = numbers::counted(count as u64, "run");
        format!("{values} ({runs}): {measure}")
    });
    words.collect()
}

/// The series of the runs, in the order of their first appearance.
pub(crate) fn series_of(runs: &[CampaignRun]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for series in runs.iter().flat_map(|it| &it.series) {
        if !all.contains(&series.value.as_str()) {
            all.push(&series.value);
        }
    }
    all
}

impl Answer for CampaignReport {
    fn document(&self) -> Document {
        let document = Document::new().sentence(self.headline());
        let document = match self.combinations.is_empty() {
            true => document,
            false => document
                .heading("What each combination took")
                .table(self.table_of_combinations())
                .sentence(
                    "Percentiles are medians of the rounds; values, max and misses are those of all rounds.",
                ),
        };
        let document = match self.refused.is_empty() {
            true => document,
            false => document
                .sentence("Not granted in these combinations:")
                .list(self.refused.clone()),
        };
        if self.moved.is_empty() {
            return document;
        }
        document
            .heading("What moved what")
            .table(table_of_effects(&self.moved))
            .sentence(
                "Ratios of a value to the first one: below 1 is shorter. Each is the geometric mean of pairs of runs of \
                 one round that differ in this option alone, with its 95 % interval where pairs differ.",
            )
    }
}

impl CampaignReport {
    fn headline(&self) -> String {
        let facts = &self.facts;
        let combinations: usize = facts.varied.iter().map(|it| it.values.len()).product();
        let failed = match facts.failed {
            0 => String::new(),
            failed => format!("; {failed} could not be measured"),
        };
        format!(
            "{}: {} of {} runs are done ({}, {}){failed}.",
            facts.name,
            self.done,
            facts.planned,
            numbers::counted(combinations as u64, "combination"),
            numbers::counted(facts.rounds.into(), "round")
        )
    }

    fn table_of_combinations(&self) -> Table {
        let options = self.facts.varied.iter().map(|it| it.option.as_str());
        let mut head: Vec<&str> = options.clone().collect();
        head.push("series");
        let words = head.len();
        head.extend(["rounds", "values", "p50", "p99", "p99.9", "max", "misses"]);
        let row = |it: &CombinationFigures| {
            let values = options.clone().map(|option| it.values.get(option));
            let values = values.map(|it| it.cloned().unwrap_or_default());
            values.chain(cells(it)).collect()
        };
        Table::new(&head, words, self.combinations.iter().map(row).collect())
    }
}

fn cells(it: &CombinationFigures) -> [String; 8] {
    let span = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), numbers::value);
    [
        it.series.clone(),
        it.rounds.to_string(),
        numbers::thousands(it.count),
        span(it.p50_ns),
        span(it.p99_ns),
        span(it.p99_9_ns),
        span(it.max_ns.map(|ns| ns as f64)),
        it.misses.map_or_else(|| "-".to_owned(), numbers::thousands),
    ]
}

fn table_of_effects(all: &[OptionEffect]) -> Table {
    let ratio = |it: Option<RatioInterval>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let row = |it: &OptionEffect| {
        vec![
            it.option.clone(),
            it.value.clone(),
            it.against.clone(),
            it.series.clone(),
            it.pairs.to_string(),
            ratio(it.p50),
            ratio(it.p99),
        ]
    };
    let head = [
        "option", "value", "against", "series", "pairs", "p50", "p99",
    ];
    Table::new(&head, 4, all.iter().map(row).collect())
}

#[cfg(test)]
mod tests;
