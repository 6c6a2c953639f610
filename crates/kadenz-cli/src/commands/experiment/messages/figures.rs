//! Figures of each load: percentiles, and ratios with their intervals.

use kadenz::record::run::messages::{ONE_WAY, ONE_WAY_FROM_SEND};
use kadenz::record::run::model::EndedBy;
use kadenz::report::document::{Document, Table};
use kadenz::report::statistics::{Percent, RatioInterval};
use kadenz::report::summary::{SeriesSummary, Summary};
use kadenz::report::verdict::messages;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::StepRun;
use super::MessageLoad;
use super::contestants::Contestant;

/// A planned run: the name of its step, its contestant, load and round.
pub(super) struct MessageRun {
    /// The name of its step.
    pub(super) name: String,
    pub(super) contestant: &'static str,
    /// Index of its load.
    pub(super) load: usize,
    pub(super) round: usize,
}

/// The planned measurements.
pub(super) struct Contestants {
    pub(super) contestants: Vec<Contestant>,
    /// Baseline of the ratios.
    pub(super) floor: String,
    pub(super) loads: Vec<MessageLoad>,
    /// Contestants that cannot be measured.
    pub(super) absent: Vec<MissingContestant>,
    pub(super) measured: Vec<MessageRun>,
}

/// Latencies of the middlewares.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct MessageFigures {
    /// A table for each load.
    loads: Vec<LoadFigures>,
    /// Contestants that could not be measured.
    not_measured: Vec<MissingContestant>,
}

/// A contestant that could not be measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct MissingContestant {
    pub(super) name: &'static str,
    /// Missing part, and how to get it.
    pub(super) why: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct LoadFigures {
    #[serde(flatten)]
    load: MessageLoad,
    /// Baseline of the ratios.
    floor: String,
    rows: Vec<ContestantFigures>,
    /// Kadenz's providers beside the clients of other libraries with the same task.
    beside: Vec<ContestantPair>,
}

/// Figures of a contestant under a load: of several subscribers the slowest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ContestantFigures {
    name: &'static str,
    what: &'static str,
    /// Number of measured rounds.
    rounds: usize,
    /// Median of the rounds, for each percentile that a round supports.
    p50_ns: Option<i64>,
    p90_ns: Option<i64>,
    p99_ns: Option<i64>,
    p99_9_ns: Option<i64>,
    /// Maximum of all rounds.
    max_ns: Option<i64>,
    /// As `p99_ns`, but from the beat on: it includes the delay of a publisher that waits for its middleware.
    p99_from_beat_ns: Option<i64>,
    /// Lost messages of all rounds.
    lost: u64,
    /// The policy in force, where the system refused the requested one.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// Ratios to the floor, unless this is the floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_floor: Option<Ratios>,
    /// p50/p90/p99/p99.9/max in us, from another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ContestantPair {
    ours: &'static str,
    theirs: &'static str,
    #[serde(flatten)]
    ratios: Ratios,
}

/// Ratios within a round: geometric means, with 95 % intervals where there are enough rounds.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Ratios {
    p50: Option<RatioInterval>,
    p99: Option<RatioInterval>,
}

/// The percentiles of a run, in the order of a row.
const VIEWS: [Percent; 4] = [Percent::P50, Percent::P90, Percent::P99, Percent::P99_9];
const P50: usize = 0;
const P99: usize = 2;

/// One run of a contestant.
struct ContestantRun {
    round: usize,
    percentiles: [Option<i64>; 4],
    max_ns: Option<i64>,
    p99_from_beat_ns: Option<i64>,
    lost: u64,
    refused: Option<String>,
}

impl Contestants {
    pub(super) fn figures(&self, runs: &[StepRun<'_>]) -> MessageFigures {
        let loads = self.loads.iter().enumerate();
        MessageFigures {
            loads: loads
                .filter_map(|(at, load)| self.of_load(runs, at, load))
                .collect(),
            not_measured: self.absent.clone(),
        }
    }

    fn of_load(&self, runs: &[StepRun<'_>], at: usize, load: &MessageLoad) -> Option<LoadFigures> {
        let seen: Vec<Vec<ContestantRun>> = self
            .contestants
            .iter()
            .map(|it| self.seen(runs, it, at))
            .collect();
        let floor = self.place(&self.floor);
        let row = |(at, contestant): (usize, &Contestant)| {
            let to_floor = floor
                .filter(|floor| *floor != at)
                .map(|floor| Ratios::of(&seen[at], &seen[floor]));
            (!seen[at].is_empty()).then(|| row(contestant, load, &seen[at], to_floor))
        };
        let rows: Vec<ContestantFigures> = self
            .contestants
            .iter()
            .enumerate()
            .filter_map(row)
            .collect();
        let beside = |(ours, contestant): (usize, &Contestant)| {
            let theirs = contestant
                .beside
                .iter()
                .filter_map(|name| Some((*name, self.place(name)?)));
            let ratios = theirs.map(|(name, place)| ContestantPair {
                ours: contestant.name,
                theirs: name,
                ratios: Ratios::of(&seen[ours], &seen[place]),
            });
            ratios.collect::<Vec<_>>()
        };
        (!rows.is_empty()).then(|| LoadFigures {
            load: load.clone(),
            floor: self.floor.clone(),
            rows,
            beside: self
                .contestants
                .iter()
                .enumerate()
                .flat_map(beside)
                .collect(),
        })
    }

    fn seen(
        &self,
        runs: &[StepRun<'_>],
        contestant: &Contestant,
        load: usize,
    ) -> Vec<ContestantRun> {
        let meant = |it: &&MessageRun| it.contestant == contestant.name && it.load == load;
        let of = |it: &MessageRun| {
            let found = runs.iter().find(|run| run.name == it.name)?;
            ContestantRun::of(found.run, it.round)
        };
        self.measured.iter().filter(meant).filter_map(of).collect()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.contestants.iter().position(|it| it.name == name)
    }
}

fn row(
    contestant: &Contestant,
    load: &MessageLoad,
    seen: &[ContestantRun],
    to_floor: Option<Ratios>,
) -> ContestantFigures {
    let of = |view: usize| median(seen.iter().filter_map(|it| it.percentiles[view]));
    let [p50_ns, p90_ns, p99_ns, p99_9_ns] = [0, 1, 2, 3].map(of);
    ContestantFigures {
        name: contestant.name,
        what: contestant.what,
        rounds: seen.len(),
        p50_ns,
        p90_ns,
        p99_ns,
        p99_9_ns,
        max_ns: seen.iter().filter_map(|it| it.max_ns).max(),
        p99_from_beat_ns: median(seen.iter().filter_map(|it| it.p99_from_beat_ns)),
        lost: seen.iter().map(|it| it.lost).sum(),
        refused: seen.iter().find_map(|it| it.refused.clone()),
        to_floor,
        elsewhere: load
            .published()
            .and_then(|at| Some(contestant.published?[at])),
    }
}

impl MessageLoad {
    /// The published column for this load.
    fn published(&self) -> Option<usize> {
        let is_theirs =
            self.size.0 == 200 && self.subscribers == 1 && format!("{:#}", self.rate) == "1kHz";
        match self.policy.as_str() {
            "other" if is_theirs => Some(0),
            "fifo:80" if is_theirs => Some(1),
            _ => None,
        }
    }

    fn title(&self) -> String {
        let subscribers = match self.subscribers {
            1 => "1 subscriber".to_owned(),
            n => format!("{n} subscribers"),
        };
        let policy = match self.policy.as_str() {
            "other" => "ordinary processes",
            policy => policy,
        };
        format!("{} at {} to {subscribers}, {policy}", self.size, self.rate)
    }
}

impl ContestantRun {
    /// Reads a run; `None` for a run in which a side failed.
    fn of(run: &Summary, round: usize) -> Option<Self> {
        if run.run.ended_by == Some(EndedBy::Failed) {
            return None;
        }
        let of = |value: &str| {
            let all = run.series.iter();
            all.filter(|it| it.series.value() == value)
                .collect::<Vec<_>>()
        };
        let series = of(ONE_WAY_FROM_SEND);
        let tuning = &series.first()?.series.tuning;
        let refused = tuning.iter().find(|it| it.name == "policy" && !it.ok);
        Some(Self {
            round,
            percentiles: VIEWS.map(|view| slowest(&series, view)),
            max_ns: series.iter().filter_map(|it| it.max_ns).max(),
            p99_from_beat_ns: slowest(&of(ONE_WAY), Percent::P99),
            lost: run.run.messages.as_ref().map_or(0, messages::lost),
            refused: refused.map(|it| it.granted.clone()),
        })
    }
}

/// The slowest of several subscribers; `None` where one of them received too few messages.
fn slowest(series: &[&SeriesSummary], view: Percent) -> Option<i64> {
    let each: Option<Vec<i64>> = series.iter().map(|it| it.percentile(view)).collect();
    each?.into_iter().max()
}

impl Ratios {
    /// Computes the ratios over the rounds that measured both.
    fn of(ours: &[ContestantRun], theirs: &[ContestantRun]) -> Self {
        let ratio = |view: usize| {
            let of_round = |it: &ContestantRun| {
                let other = theirs.iter().find(|other| other.round == it.round)?;
                Some(it.percentiles[view]? as f64 / other.percentiles[view]? as f64)
            };
            RatioInterval::of(&ours.iter().filter_map(of_round).collect::<Vec<f64>>())
        };
        Self {
            p50: ratio(P50),
            p99: ratio(P99),
        }
    }

    fn cells(self) -> [String; 2] {
        [self.p50, self.p99].map(|it| it.map_or_else(dash, |it| it.to_string()))
    }
}

impl MessageFigures {
    pub(super) fn document(&self) -> Document {
        let mut document = Document::new();
        for it in &self.loads {
            document = document.heading(it.load.title()).table(it.table());
            if !it.beside.is_empty() {
                document = document.table(it.beside());
            }
        }
        for MissingContestant { name, why } in &self.not_measured {
            document = document.sentence(format!("Not measured: {name}: {why}."));
        }
        document.sentence(
            "Times in microseconds, from the call that publishes until the slowest subscriber holds the message, decoded: \
             of the rounds the medians, of the longest the longest. Ratios are taken within a round: their geometric mean, and \
             its 95 % interval by Student's t. `p99 from the beat` counts from when the message was due: it has the time that a \
             publisher waits for its middleware.",
        )
    }
}

impl LoadFigures {
    fn table(&self) -> Table {
        let [p50, p99] = ["p50", "p99"].map(|it| format!("{it} / {}", self.floor));
        let mut head = vec!["", "p50", "p90", "p99", "p99.9", "max", "p99 from the beat"];
        head.extend(["lost", &p50, &p99]);
        let is_published = self.load.published().is_some();
        if is_published {
            head.push("on another machine");
        }
        let cells = |row: &ContestantFigures| {
            let mut cells = vec![row.title()];
            let percentiles = [row.p50_ns, row.p90_ns, row.p99_ns, row.p99_9_ns];
            cells.extend(percentiles.map(microseconds));
            cells.extend([row.max_ns, row.p99_from_beat_ns].map(microseconds));
            cells.push(row.lost.to_string());
            cells.extend(row.to_floor.map_or([dash(), dash()], Ratios::cells));
            if is_published {
                cells.push(row.elsewhere.map_or_else(dash, str::to_owned));
            }
            cells
        };
        Table::new(&head, 1, self.rows.iter().map(cells).collect())
    }

    fn beside(&self) -> Table {
        let cells = |it: &ContestantPair| {
            let mut cells = vec![format!("{} / {}", it.ours, it.theirs)];
            cells.extend(it.ratios.cells());
            cells
        };
        let head = ["ours beside the client of others", "p50", "p99"];
        Table::new(&head, 1, self.beside.iter().map(cells).collect())
    }
}

impl ContestantFigures {
    /// The name, with a note where the policy was refused.
    fn title(&self) -> String {
        let name = format!("{} ({})", self.name, self.what);
        match &self.refused {
            Some(granted) => format!("{name}, refused: {granted}"),
            None => name,
        }
    }
}

fn median(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

fn dash() -> String {
    "-".to_owned()
}

/// Whole microseconds from 100 on, with one decimal digit below.
fn microseconds(ns: Option<i64>) -> String {
    match ns.map(|ns| ns as f64 / 1e3) {
        None => dash(),
        Some(us) if us < 100.0 => format!("{us:.1}"),
        Some(us) => format!("{us:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_the_digits_that_they_carry() {
        assert_eq!(microseconds(Some(700)), "0.7");
        assert_eq!(microseconds(Some(1_822_400)), "1822");
        assert_eq!(microseconds(None), "-");
        assert_eq!(median([3, 1, 2].into_iter()), Some(2));
        assert_eq!(median(std::iter::empty()), None);
    }

    fn seen(round: usize, p50: i64) -> ContestantRun {
        ContestantRun {
            round,
            percentiles: [Some(p50), None, None, None],
            max_ns: None,
            p99_from_beat_ns: None,
            lost: 0,
            refused: None,
        }
    }

    #[test]
    fn a_ratio_is_of_rounds_that_both_were_measured_in() {
        let ours = [seen(0, 10), seen(1, 20), seen(2, 30), seen(3, 90)];
        let theirs = [seen(1, 40), seen(0, 20), seen(2, 60), seen(5, 1)];
        let ratios = Ratios::of(&ours, &theirs);
        assert_eq!(ratios.cells(), ["0.50 (0.50 to 0.50)", "-"]);
        assert!(Ratios::of(&ours, &[]).p50.is_none());
    }
}
