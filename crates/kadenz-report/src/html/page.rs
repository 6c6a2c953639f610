//! What stands on a page: the runs, their series, and what each is called.

use std::collections::BTreeSet;

use kadenz_record::run::model::Kind;

use super::markup::plain;
use super::signal::{self, Signal};
use crate::summary::{SeriesSummary, Summary};

/// The runs of one page and their series, in the order in which they are shown.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// The runs; one is a report, several are a comparison.
    pub(super) runs: Vec<RunOnPage<'a>>,
    /// The series of all runs.
    pub(super) series: Vec<SeriesOnPage<'a>>,
}

/// A run and what the page calls it.
#[derive(Debug)]
pub(super) struct RunOnPage<'a> {
    /// The name of its folder, made unique on the page.
    pub(super) label: String,
    pub(super) summary: &'a Summary,
}

/// A series and what the page calls it.
#[derive(Debug)]
pub(super) struct SeriesOnPage<'a> {
    /// Its name, after its run's label when there are several runs.
    pub(super) label: String,
    /// Index into [`Page::runs`].
    pub(super) run: usize,
    pub(super) summary: &'a SeriesSummary,
    /// Jitter over time, or the sentence that says why there is none.
    pub(super) jitter: Result<Signal, String>,
}

impl<'a> Page<'a> {
    /// The page of these runs. Reads their samples files for the jitter over time, nothing else.
    pub(super) fn of(summaries: &'a [Summary]) -> Self {
        let labels = labels(summaries);
        let several = summaries.len() > 1;
        let mut series = Vec::new();
        for (run, summary) in summaries.iter().enumerate() {
            for one in summary.by_themselves() {
                let label = match several {
                    true => format!("{} · {}", labels[run], plain(&one.series.name)),
                    false => plain(&one.series.name),
                };
                let jitter = signal::of_series(&summary.folder, one);
                series.push(SeriesOnPage {
                    label,
                    run,
                    summary: one,
                    jitter,
                });
            }
        }
        let runs = labels
            .into_iter()
            .zip(summaries)
            .map(|(label, summary)| RunOnPage { label, summary })
            .collect();
        Self { runs, series }
    }

    /// As [`Page::of`] for a page that shows none of its series by itself: nothing is read.
    pub(super) fn without_signals(summaries: &'a [Summary]) -> Self {
        let labels = labels(summaries).into_iter();
        let runs = labels
            .zip(summaries)
            .map(|(label, summary)| RunOnPage { label, summary });
        Self {
            runs: runs.collect(),
            series: Vec::new(),
        }
    }

    /// Whether the page compares.
    pub(super) fn compares(&self) -> bool {
        self.runs.len() > 1
    }

    /// The series that have a deadline.
    pub(super) fn judged(&self) -> impl Iterator<Item = &SeriesOnPage<'a>> {
        self.series
            .iter()
            .filter(|series| series.summary.verdict.is_some())
    }
}

impl SeriesOnPage<'_> {
    /// Whether values below zero were recorded.
    pub(super) fn has_early(&self) -> bool {
        self.summary.min_ns.is_some_and(|min| min < 0)
    }
}

/// The folder's name of each run; a name that returns gets a number.
fn labels(summaries: &[Summary]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut labels = Vec::new();
    for summary in summaries {
        let name = match summary.shown().file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => summary.run.experiment.clone(),
        };
        let name = plain(&name);
        let mut label = name.clone();
        let mut number = 2;
        while !taken.insert(label.clone()) {
            label = format!("{name} ({number})");
            number += 1;
        }
        labels.push(label);
    }
    labels
}

/// What a kind of series measures, for a reader who meets the word for the first time.
pub(super) fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Lateness => "lateness against the beat",
        Kind::Hiccup => "hiccup beyond the shortest sleep",
        Kind::Jitter => "interval less the expected one",
        Kind::Latency => "time from cause to effect",
        Kind::Floor => "the machine’s floor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_name_are_told_apart() {
        let run = |folder: &str| Summary {
            folder: folder.into(),
            ..Summary::default()
        };
        let runs = [
            run("a/check"),
            run("b/check"),
            run("b/other"),
            run("c/check"),
        ];
        assert_eq!(labels(&runs), ["check", "check (2)", "other", "check (3)"]);
    }
}
