//! The cheapest tuning that keeps the deadline: what the check itself does not show, a small matrix
//! does.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kadenz_lab::check::{CheckPlan, ORDINARY, REALTIME};
use kadenz_lab::stop::Stop;
use kadenz_report::matrix::{Bought, Combination, Load, Matrix, Measure, Standing};
use kadenz_report::numbers;
use kadenz_report::summary::Summary;
use kadenz_report::verdict;
use kadenz_rt::beat::Rate;
use kadenz_rt::host::{Root, idle};
use kadenz_rt::tuning::Policy;
use serde::Serialize;

use crate::commands::child::{self, Notes};
use crate::options::Span;
use crate::output;

/// What is found, for the answer and for scripts.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Cheapest {
    /// The combination, named as by `kadenz tune`; `null` if none that was tried keeps the deadline.
    cell: Option<String>,
    /// In words, with those of `idle`.
    pub(crate) sentence: String,
    /// What holding idle states off (I) bought and costs, or why it is not available here; `null` where
    /// it was not measured.
    idle: Option<String>,
    /// How to use it; `null` where there is nothing to do or nothing to recommend.
    command: Option<String>,
    /// The run folder of the matrix that was measured for it, if one was.
    run: Option<PathBuf>,
}

impl Cheapest {
    /// The sentence, and how to use what it names.
    pub(crate) fn told(&self) -> String {
        let command = self.command.as_deref();
        let run = self.run.as_deref().map(Path::display);
        let command = command.map(|it| format!("\nTo try it: {it}"));
        let run = run.map(|it| format!("\nIts matrix: {it}"));
        let [command, run] = [command, run].map(Option::unwrap_or_default);
        format!("{}{command}{run}", self.sentence)
    }
}

/// Folder of the matrix, in that of the check.
const FOLDER: &str = "tuning";
/// A search of so many combinations or fewer leaves each this part of the check's time.
const SHARE: u32 = 4;
/// The same where nothing is left to look for but what holding idle states off buys.
const SHARE_OF_A_PAIR: u32 = 6;
/// How often each combination has its turn, unless turns get too short or too long.
const TURNS: u32 = 3;
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST_ROUND: Duration = Duration::from_secs(5);

/// How the check went, as far as it decides what is tried next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// An ordinary thread kept the deadline.
    ordinary: bool,
    /// One with priority and locked memory kept it.
    realtime: bool,
    /// Idle states were held off meanwhile, for both.
    held: bool,
    /// There are idle states to hold off.
    idle: bool,
}

impl Seen {
    /// Absent where the check was not measured to its end.
    fn of(summary: &Summary, idle: bool) -> Option<Self> {
        let series = |name| summary.series.iter().find(|it| it.series.name == name);
        let kept = |name| Some(series(name)?.verdict.as_ref()?.misses == 0);
        let mut tuning = series(REALTIME)?.series.tuning.iter();
        Some(Self {
            ordinary: kept(ORDINARY)?,
            realtime: kept(REALTIME)?,
            held: tuning.any(|it| Measure::Idle.is_told_by(&it.name) && it.ok),
            idle,
        })
    }

    /// What is to be measured: cheaper combinations than one that kept the deadline, else dearer ones;
    /// and a pair that differs in I alone. Empty where nothing is left to measure.
    fn cells(self) -> &'static str {
        match self {
            Self { held: true, .. } if self.ordinary => "none,M,P,PM",
            Self { held: true, .. } if self.realtime => "M,P,PM,I,PI",
            Self { held: true, .. } => "PC,PMC,PMCI,PMCS,PMCSI",
            Self { idle: false, .. } if self.ordinary => "",
            Self { idle: false, .. } if self.realtime => "M,P",
            Self { idle: false, .. } => "C,PC,PMC,PMCS",
            _ if self.ordinary => "PM,PMI",
            _ if self.realtime => "M,P,PM,PMI",
            _ => "PMI,PC,PMC,PMCI,PMCS",
        }
    }

    /// What kept the deadline in the check itself, the cheaper of the two.
    fn kept(self) -> Option<Combination> {
        let without_idle = match self {
            Self { ordinary: true, .. } => Combination::NONE,
            Self { realtime: true, .. } => Combination::NONE
                .with(Measure::Priority)
                .with(Measure::Memory),
            _ => return None,
        };
        Some(match self.held {
            true => without_idle.with(Measure::Idle),
            false => without_idle,
        })
    }
}

/// Looks at a check that is done, and measures what it leaves open. Absent where it was stopped, or
/// where nothing can be said.
pub(super) fn find(plan: &CheckPlan, rate: Rate, stop: &Stop) -> anyhow::Result<Option<Cheapest>> {
    let summary = Summary::of_run(&plan.measuring.session.out)?;
    let not_available = idle::nothing_to_hold_off(&Root::system());
    let Some(seen) = Seen::of(&summary, not_available.is_none()) else {
        return Ok(None);
    };
    if stop.requested() || !cfg!(target_os = "linux") {
        return Ok(None);
    }
    let mut found = if seen.cells().is_empty() {
        nothing_needed()
    } else {
        let folder = plan.measuring.session.out.join(FOLDER);
        if let Err(error) = measure(plan, rate, seen, &folder, stop) {
            output::note(&format!("what the cheapest tuning is stays open: {error}"));
            return Ok(None);
        }
        if stop.requested() {
            return Ok(None);
        }
        let summary = Summary::of_run(&folder)?;
        let Some(matrix) = Matrix::of(&summary) else {
            return Ok(None);
        };
        let idle = words_of_idle(&matrix, &summary);
        Cheapest {
            idle,
            ..of_matrix(&matrix, seen, plan, folder)
        }
    };
    let moot = not_available.filter(|_| !seen.held);
    let moot = moot.map(|why| format!("Holding idle states off (I) is not available here: {why}."));
    found.idle = found.idle.or(moot);
    if let Some(idle) = &found.idle {
        found.sentence = format!("{} {idle}", found.sentence);
    }
    Ok(Some(found))
}

/// What holding idle states off bought and costs, by the pairs of cells that differ in it alone, or
/// what kept it from being measured.
fn words_of_idle(matrix: &Matrix, run: &Summary) -> Option<String> {
    let mut bought = matrix.contributions.iter();
    let bought = bought
        .find(|it| it.measure == Measure::Idle && it.figure == Bought::P99 && it.ratio.is_some());
    if let Some(bought) = bought {
        let words = Matrix::words_of(bought);
        let longer = match bought.ratio.and_then(|it| it.interval) {
            Some(_) => "",
            None => "; `kadenz tune --load none --cells PM,PMI` measures it for longer",
        };
        return Some(format!(
            "Holding idle states off (I, --cpu-dma-latency 0us): {}{longer}. It costs power: no idle CPU \
             of the machine then enters a state that takes time to leave.",
            words.trim_start_matches("I: ")
        ));
    }
    let refused = run.run.parameters.get("not_granted")?.as_array()?;
    let mut refused = refused.iter().filter_map(|it| it.as_str());
    let own = refused.find(|it| it.starts_with("I "))?;
    Some(format!("Idle states were not held off: {own}."))
}

/// How long looking for it takes at most: as long as the check, where that is not very short.
pub(super) fn longest(plan: &CheckPlan) -> Duration {
    const MOST_CELLS: u32 = 5;
    plan.duration.max(SHORTEST * MOST_CELLS)
}

fn nothing_needed() -> Cheapest {
    Cheapest {
        cell: Some(Combination::NONE.to_string()),
        sentence:
            "The cheapest tuning that keeps it here is none: an ordinary thread kept it, too."
                .to_owned(),
        ..Cheapest::default()
    }
}

/// Measures these cells, together about as long as the check took.
fn measure(
    plan: &CheckPlan,
    rate: Rate,
    seen: Seen,
    folder: &Path,
    stop: &Stop,
) -> anyhow::Result<()> {
    let cells = seen.cells();
    let count = u32::try_from(cells.split(',').count()).unwrap_or(u32::MAX);
    let (what, share) = match count {
        2 if seen.ordinary => (
            "measuring what holding idle states off buys",
            SHARE_OF_A_PAIR,
        ),
        _ => (
            "looking for the cheapest tuning that keeps the deadline",
            SHARE.max(count),
        ),
    };
    let each = (plan.duration / share).max(SHORTEST);
    output::note(&format!(
        "{what}: {cells}, {} each",
        numbers::span(each.as_nanos() as f64)
    ));
    let mut words: Vec<String> = ["tune", "--load", "none", "--pace", "catch-up"]
        .map(str::to_owned)
        .to_vec();
    let mut with = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    let deadline = plan.measuring.deadline.unwrap_or_default();
    with("rate", rate.to_string().replace(' ', ""));
    with("deadline", Span(deadline).to_string());
    with("cells", cells.to_owned());
    with("duration", Span(each).to_string());
    with(
        "round",
        Span((each / TURNS).clamp(SHORTEST, LONGEST_ROUND)).to_string(),
    );
    with("out", folder.display().to_string());
    if let Policy::Fifo(priority) = plan.measuring.tuning.policy {
        with("priority", priority.to_string());
    }
    let mut running = child::start(&words, Stdio::null(), Notes::Kept)?;
    let status = running.wait(stop)?;
    let said = running.finish()?;
    // Exit code 2 also says that some of the cells cannot be had: the others say something still.
    anyhow::ensure!(
        matches!(status.code(), Some(0..=2)) && folder.join("run.json").exists(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    Ok(())
}

/// The answer, from what was measured and from the check.
fn of_matrix(matrix: &Matrix, seen: Seen, plan: &CheckPlan, folder: PathBuf) -> Cheapest {
    let recommended = matrix.recommendation.combination;
    let found = match matrix.recommendation.standing {
        Standing::Keeps | Standing::SoFar { .. } => recommended,
        Standing::NoneKeeps | Standing::Unknown => None,
    };
    let kept = seen.kept();
    // The check rests on more samples than a cell: what costs as much or more is no news.
    let found = found.filter(|it| kept.is_none_or(|kept| it.cost() < kept.cost()));
    let tried = matrix.of_load(Load::Unloaded).map(|cell| cell.combination);
    let less = tried.filter(|it| kept.is_none_or(|kept| it.cost() < kept.cost()));
    let less: Vec<String> = less.map(|it| it.to_string()).collect();
    let less = less.join(", ");
    let (cell, sentence) = match (found, kept) {
        (Some(combination), _) => {
            let counted = matrix.cell(Load::Unloaded, combination);
            let counted = counted.and_then(|cell| cell.verdict);
            let words =
                counted.map_or_else(String::new, |it| format!(": {}", verdict::describe(&it)));
            let sentence = format!(
                "The cheapest tuning that keeps it here is {combination} ({}){words}.",
                combination.words()
            );
            (Some(combination), sentence)
        }
        (None, Some(Combination::NONE)) => (Some(Combination::NONE), nothing_needed().sentence),
        (None, Some(kept)) => {
            let what = match seen.ordinary {
                true => kept.words(),
                false => format!("what was asked for ({})", plan.measuring.tuning.policy),
            };
            let sentence = format!(
                "The cheapest tuning that keeps it here is {what}: less ({less}) does not."
            );
            (Some(kept), sentence)
        }
        (None, None) => {
            let sentence = format!(
                "Nothing that was tried ({less}) keeps it here; `kadenz doctor` says what costs so \
                 much on this machine."
            );
            (None, sentence)
        }
    };
    let permanent = matrix.recommendation.permanent.as_ref();
    let command = found.and(permanent).map(|it| it.command.clone());
    Cheapest {
        cell: cell.map(|it| it.to_string()),
        sentence,
        command,
        run: Some(folder),
        idle: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ordinary: bool, realtime: bool, held: bool, idle: bool) -> Seen {
        Seen {
            ordinary,
            realtime,
            held,
            idle,
        }
    }

    fn cells(seen: Seen) -> Vec<Combination> {
        let cells = seen.cells().split(',').filter(|it| !it.is_empty());
        cells.map(|it| it.parse().expect("a combination")).collect()
    }

    #[test]
    fn idle_states_are_held_off_in_a_pair_wherever_there_are_any() {
        for (ordinary, realtime) in [(true, true), (false, true), (false, false)] {
            let cells = cells(seen(ordinary, realtime, false, true));
            let idle = cells.iter().filter(|it| it.has(Measure::Idle));
            let mut partners = idle.map(|it| it.without(Measure::Idle));
            assert!(partners.any(|it| cells.contains(&it)), "{cells:?}");
        }
        for (ordinary, realtime) in [(true, true), (false, true), (false, false)] {
            let cells = cells(seen(ordinary, realtime, false, false));
            assert!(!cells.iter().any(|it| it.has(Measure::Idle)), "{cells:?}");
        }
    }

    /// A check under `--cpu-dma-latency 0us` says nothing of a machine without it.
    #[test]
    fn what_kept_it_with_idle_states_held_off_has_an_i() {
        let kept = |seen: Seen| seen.kept().map(|it| it.to_string());
        assert_eq!(kept(seen(true, true, false, true)).as_deref(), Some("none"));
        assert_eq!(kept(seen(true, true, true, true)).as_deref(), Some("I"));
        assert_eq!(kept(seen(false, true, true, true)).as_deref(), Some("PMI"));
        assert_eq!(kept(seen(false, false, true, true)), None);
        for held in [seen(true, true, true, false), seen(false, true, true, true)] {
            let kept = held.kept().expect("something kept it").cost();
            assert!(cells(held).iter().all(|it| it.cost() < kept));
        }
    }
}
