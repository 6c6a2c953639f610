//! The content of a page: the runs, their series, and their names.

use std::collections::BTreeSet;
use std::path::Path;

use kadenz_record::run::messages::{
    DECODE, KERNEL_TO_INLET, ONE_WAY, ONE_WAY_FROM_SEND, PUBLISH, PUBLISH_LATENESS, QUEUE,
};
use kadenz_record::run::model::{Kind, Run, Series};
use kadenz_record::run::network;

use super::markup::plain;
use super::signal::{self, Signal};
use super::tried::{self, TriedTunings};
use crate::summary::{SeriesSummary, Summary};

/// The runs of one page and their series, in the order in which they are shown.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// The summaries of the runs.
    pub(super) summaries: &'a [Summary],
    /// The runs; one is a report, several are a comparison.
    pub(super) runs: Vec<RunOnPage<'a>>,
    /// The series of all runs.
    pub(super) series: Vec<SeriesOnPage<'a>>,
    /// The folder in which the page will lie, if it is known.
    pub(super) beside: Option<&'a Path>,
}

/// A run and its name on the page.
#[derive(Debug)]
pub(super) struct RunOnPage<'a> {
    /// The name of its folder, made unique on the page.
    pub(super) label: String,
    pub(super) summary: &'a Summary,
    /// The tunings that a check tried.
    pub(super) tried: Option<TriedTunings>,
}

/// A series and its name on the page.
#[derive(Debug)]
pub(super) struct SeriesOnPage<'a> {
    /// Its name, after its run's label when there are several runs.
    pub(super) label: String,
    /// Index into [`Page::runs`].
    pub(super) run: usize,
    pub(super) summary: &'a SeriesSummary,
    /// Whether its values are of beats, packets or messages.
    pub(super) group: SeriesGroup,
    /// Whether charts draw it before the reader chooses.
    pub(super) drawn: bool,
    /// Jitter over time, or the reason why there is none, as a sentence.
    pub(super) jitter: Result<Signal, String>,
}

impl<'a> Page<'a> {
    /// The page of these runs. Reads their samples files for the jitter over time, nothing else.
    pub(super) fn of(summaries: &'a [Summary]) -> Self {
        let mut page = Self::without_signals(summaries);
        let compares = page.compares();
        for (index, run) in page.runs.iter_mut().enumerate() {
            run.tried = tried::read(run.summary);
            for summary in run.summary.by_themselves() {
                let name = plain(&summary.series.name);
                page.series.push(SeriesOnPage {
                    label: match compares {
                        true => format!("{} · {name}", run.label),
                        false => name,
                    },
                    run: index,
                    summary,
                    group: SeriesGroup::of(&run.summary.run, &summary.series),
                    drawn: false,
                    jitter: signal::of_series(&run.summary.folder, summary),
                });
            }
        }
        draw_some(&mut page.series);
        page
    }

    /// As [`Page::of`] for a page that shows none of its series by itself: nothing is read.
    pub(super) fn without_signals(summaries: &'a [Summary]) -> Self {
        let labels = labels(summaries).into_iter();
        let runs = labels.zip(summaries).map(|(label, summary)| RunOnPage {
            label,
            summary,
            tried: None,
        });
        Self {
            summaries,
            runs: runs.collect(),
            series: Vec::new(),
            beside: None,
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

/// The groups of series in tables and legends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SeriesGroup {
    /// The beat and the machine.
    Beat,
    /// Packets and their answers.
    Network,
    /// Messages over a bus.
    Messages,
}

impl SeriesGroup {
    /// All groups, in the order in which they are shown.
    pub(super) const ALL: [Self; 3] = [Self::Beat, Self::Network, Self::Messages];

    /// Its heading on the page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Beat => "Beat",
            Self::Network => "Network",
            Self::Messages => "Messages",
        }
    }

    /// The group of a series of a run, by what it measures.
    fn of(run: &Run, series: &Series) -> Self {
        const OF_PACKETS: [&str; 10] = [
            network::LATENESS,
            network::RESPONSE,
            network::RTT,
            network::SEND_STACK,
            network::WIRE_AND_DEVICE,
            network::RECEIVE_STACK,
            network::FIRST_REPLY,
            network::LAST_REPLY,
            network::REPLY_SPREAD,
            network::DENSEST_HALF,
        ];
        const OF_MESSAGES: [&str; 7] = [
            ONE_WAY,
            ONE_WAY_FROM_SEND,
            PUBLISH_LATENESS,
            PUBLISH,
            KERNEL_TO_INLET,
            QUEUE,
            DECODE,
        ];
        match () {
            () if run.network.is_some() && OF_PACKETS.contains(&series.value()) => Self::Network,
            () if run.messages.is_some() && OF_MESSAGES.contains(&series.value()) => Self::Messages,
            () => Self::Beat,
        }
    }
}

/// Up to this many series are all drawn from the start; of more, two.
const FEW: usize = 4;

/// Chooses what charts draw from the start: of the series with a deadline, or else of all but the
/// machine's floor, two or, where there are few, all; of a comparison the first in every run.
fn draw_some(series: &mut [SeriesOnPage<'_>]) {
    let judged = series.iter().any(|it| it.summary.verdict.is_some());
    let wanted = |it: &SeriesOnPage<'_>| match judged {
        true => it.summary.verdict.is_some(),
        false => it.summary.series.kind != Kind::Floor,
    };
    let all: Vec<usize> = (0..series.len())
        .filter(|&it| wanted(&series[it]))
        .collect();
    let compares = series.iter().any(|it| it.run > 0);
    let first = all
        .first()
        .map(|&it| series[it].summary.series.name.clone());
    let chosen: Vec<usize> = match all.len() {
        _ if compares => {
            let same = |&it: &usize| Some(&series[it].summary.series.name) == first.as_ref();
            let same: Vec<usize> = all.iter().copied().filter(same).collect();
            if same.len() > 1 { same } else { all }
        }
        0..=FEW => all,
        _ => all[..2].to_vec(),
    };
    for place in chosen {
        series[place].drawn = true;
    }
}

impl SeriesOnPage<'_> {
    /// Whether values below zero were recorded.
    pub(super) fn has_early(&self) -> bool {
        self.summary.min_ns.is_some_and(|min| min < 0)
    }
}

/// The folder's name of each run; a repeated name gets a number.
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

/// Equal things, each once with the names of all.
pub(super) fn grouped<'t, T: PartialEq + ?Sized>(
    all: impl IntoIterator<Item = (&'t T, String)>,
) -> Vec<(&'t T, Vec<String>)> {
    let mut groups: Vec<(&T, Vec<String>)> = Vec::new();
    for (one, name) in all {
        match groups.iter_mut().find(|(known, _)| *known == one) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((one, vec![name])),
        }
    }
    groups
}

/// The measured quantity of a kind of series, for a reader who meets the word for the first time.
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
    fn runs_of_one_name_are_numbered() {
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
