//! The cheapest tuning that keeps the deadline: a small matrix measures what the check itself leaves open.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kadenz::lab::check::CheckPlan;
use kadenz::lab::measuring_threads::BEATS_NOT_RUN;
use kadenz::lab::stop::Stop;
use kadenz::record::run::check::TUNING;
use kadenz::report::document::Document;
use kadenz::report::matrix::{self, Combination, DeadlinesKept, Matrix, NOTHING_NEEDED};
use kadenz::report::numbers;
use kadenz::report::summary::Summary;
use kadenz::rt::beat::Rate;
use kadenz::rt::host::{Root, idle};
use kadenz::rt::tuning::Policy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::child::{self, Notes};
use crate::options::Span;
use crate::output;

/// Result of the search, for the answer and for scripts.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Cheapest {
    /// The combination, named as by `kadenz tune`; `null` if no tried one keeps the deadline.
    cell: Option<String>,
    /// The result in words, with that of `idle`.
    pub(crate) sentence: String,
    /// What holding idle states off (I) gains and costs, or why it is not available here; `null` where it was not
    /// measured.
    idle: Option<String>,
    /// Command that uses it; `null` where there is nothing to do or nothing to recommend.
    command: Option<String>,
    /// Run folder of the matrix that the search measured, if it measured one.
    run: Option<PathBuf>,
}

impl Cheapest {
    /// The command that uses it.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// The sentence, the command that uses the tuning, and the folder of the matrix.
    pub(crate) fn document(&self) -> Document {
        let command = self.command.as_deref();
        let run = self.run.as_deref().map(Path::display);
        let command = command.map(|it| format!("To try it: {it}"));
        let run = run.map(|it| format!("Its matrix: {it}"));
        let lines = [Some(self.sentence.clone()), command, run];
        Document::new().sentences(lines.into_iter().flatten())
    }
}

/// With this many combinations or fewer, each gets this part of the check's time.
const SHARE: u32 = 4;
/// The same where only the gain of holding idle states off is open.
const SHARE_OF_A_PAIR: u32 = 6;
/// Rounds of each combination, unless rounds get too short or too long.
const TURNS: u32 = 3;
const MIN: Duration = Duration::from_millis(100);
const MAX_ROUND: Duration = Duration::from_secs(5);

/// Result of the check, as far as it decides what to try next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CheckResult {
    kept: DeadlinesKept,
    /// Whether there are idle states to hold off.
    idle: bool,
}

impl CheckResult {
    /// Reads the result; `None` where the check ended early.
    fn of(summary: &Summary, idle: bool) -> Option<Self> {
        let kept = DeadlinesKept::of(summary)?;
        Some(Self { kept, idle })
    }

    /// Cells to measure: cheaper combinations than one that kept the deadline, else dearer ones; and a pair that
    /// differs in I alone. Empty where nothing is open.
    fn cells(self) -> &'static str {
        let DeadlinesKept {
            ordinary,
            realtime,
            held,
        } = self.kept;
        match (held, self.idle) {
            (true, _) if ordinary => "none,M,P,PM",
            (true, _) if realtime => "M,P,PM,I,PI",
            (true, _) => "PC,PMC,PMCI,PMCS,PMCSI",
            (false, false) if ordinary => "",
            (false, false) if realtime => "M,P",
            (false, false) => "C,PC,PMC,PMCS",
            (false, true) if ordinary => "PM,PMI",
            (false, true) if realtime => "M,P,PM,PMI",
            (false, true) => "PMI,PC,PMC,PMCI,PMCS",
        }
    }
}

/// Evaluates a finished check, and measures what it leaves open. `None` where it was stopped, or where no statement
/// is possible.
pub(super) fn find(plan: &CheckPlan, rate: Rate, stop: &Stop) -> anyhow::Result<Option<Cheapest>> {
    let summary = Summary::of_run(&plan.measuring.session.out)?;
    let not_available = idle::nothing_to_hold_off(&Root::system());
    let Some(seen) = CheckResult::of(&summary, not_available.is_none()) else {
        return Ok(None);
    };
    if stop.requested() || !cfg!(target_os = "linux") {
        return Ok(None);
    }
    if summary.warnings.iter().any(|it| it.id == BEATS_NOT_RUN) {
        output::note("no tuning was tried: at this rate the loop does not serve its beats in time");
        return Ok(None);
    }
    let mut found = if seen.cells().is_empty() {
        nothing_needed()
    } else {
        let folder = plan.measuring.session.out.join(TUNING);
        let Some(out) = folder.to_str() else {
            output::note(
                "the cheapest tuning stays unknown: the commands that look for it need a folder with a name in UTF-8; \
                 choose another `--out`",
            );
            return Ok(None);
        };
        if let Err(error) = measure(plan, rate, seen, out, stop) {
            output::note(&format!("the cheapest tuning stays unknown: {error}"));
            return Ok(None);
        }
        if stop.requested() {
            return Ok(None);
        }
        let tried = Summary::of_run(&folder)?;
        let found = Matrix::of(&tried).and_then(|it| matrix::Cheapest::of(&summary, &tried, &it));
        let Some(found) = found else {
            return Ok(None);
        };
        Cheapest {
            cell: found.combination.map(|it| it.to_string()),
            sentence: found.sentence,
            command: found.command,
            run: Some(folder),
            idle: found.idle,
        }
    };
    let moot = not_available.filter(|_| !seen.kept.held);
    let moot = moot.map(|why| format!("Holding idle states off (I) is not available here: {why}."));
    found.idle = found.idle.or(moot);
    if let Some(idle) = &found.idle {
        found.sentence = format!("{} {idle}", found.sentence);
    }
    Ok(Some(found))
}

/// The longest duration of the search: that of the check, unless the check is very short.
pub(super) fn longest(plan: &CheckPlan) -> Duration {
    const MAX_CELLS: u32 = 5;
    plan.duration.max(MIN * MAX_CELLS)
}

fn nothing_needed() -> Cheapest {
    Cheapest {
        cell: Some(Combination::NONE.to_string()),
        sentence: NOTHING_NEEDED.to_owned(),
        ..Cheapest::default()
    }
}

/// Measures these cells, together about as long as the check took.
fn measure(
    plan: &CheckPlan,
    rate: Rate,
    seen: CheckResult,
    folder: &str,
    stop: &Stop,
) -> anyhow::Result<()> {
    let cells = seen.cells();
    let count = u32::try_from(cells.split(',').count()).unwrap_or(u32::MAX);
    let (what, share) = match count {
        2 if seen.kept.ordinary => (
            "measuring what holding idle states off gains",
            SHARE_OF_A_PAIR,
        ),
        _ => (
            "looking for the cheapest tuning that keeps the deadline",
            SHARE.max(count),
        ),
    };
    let each = (plan.duration / share).max(MIN);
    output::note(&format!(
        "{what}: {cells}, {} each",
        numbers::span(each.as_nanos() as f64)
    ));
    let mut words: Vec<String> = ["tune", "--load", "none", "--pace", "catch-up"]
        .map(str::to_owned)
        .to_vec();
    let mut with = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    let deadline = plan.measuring.deadline.unwrap_or_default();
    with("rate", format!("{rate:#}"));
    with("deadline", Span(deadline).to_string());
    with("cells", cells.to_owned());
    with("duration", Span(each).to_string());
    with(
        "round",
        Span((each / TURNS).clamp(MIN, MAX_ROUND)).to_string(),
    );
    with("out", folder.to_owned());
    if let Policy::Fifo(priority) = plan.measuring.tuning.policy {
        with("priority", priority.to_string());
    }
    let mut running = child::start(&words, Stdio::null(), Notes::Kept)?;
    let status = running.wait(stop)?;
    let said = running.finish()?;
    // Exit code 2 may also mean that some of the cells are unavailable: the others still give a result.
    anyhow::ensure!(
        matches!(status.code(), Some(0..=2)) && Path::new(folder).join("run.json").exists(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use kadenz::report::matrix::Measure;

    use super::*;

    fn seen(ordinary: bool, realtime: bool, held: bool, idle: bool) -> CheckResult {
        let kept = DeadlinesKept {
            ordinary,
            realtime,
            held,
        };
        CheckResult { kept, idle }
    }

    fn cells(seen: CheckResult) -> Vec<Combination> {
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

    #[test]
    fn what_is_tried_is_cheaper_than_what_kept_it() {
        for held in [seen(true, true, true, false), seen(false, true, true, true)] {
            let kept = held.kept.combination().expect("something kept it").cost();
            assert!(cells(held).iter().all(|it| it.cost() < kept));
        }
    }
}
