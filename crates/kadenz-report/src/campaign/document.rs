//! A campaign for people.

use super::{CampaignReport, CombinationFigures, Moved};
use crate::document::{Answer, Document, Table};
use crate::numbers;
use crate::statistics::RatioInterval;

impl Answer for CampaignReport {
    fn document(&self) -> Document {
        let document = Document::new().sentence(self.headline());
        let document = match self.combinations.is_empty() {
            true => document,
            false => document
                .heading("What each combination took")
                .table(self.table_of_combinations()),
        };
        if self.moved.is_empty() {
            return document;
        }
        document
            .heading("What moved what")
            .table(table_of_moved(&self.moved))
            .sentence(
                "Ratios of a value to the first one: below 1 is shorter. Each is the geometric mean of pairs of runs of \
                 one round that differ in this option alone, with its 95 % interval.",
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
            "{}: {} of {} runs are done ({combinations} combinations, {} rounds){failed}.",
            facts.name, self.done, facts.planned, facts.rounds
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

fn table_of_moved(all: &[Moved]) -> Table {
    let ratio = |it: Option<RatioInterval>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let row = |it: &Moved| {
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
