//! The cheapest tuning that keeps the deadline: what the check itself does not show, a small matrix
//! does.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use kadenz_lab::check::{CheckPlan, ORDINARY, REALTIME};
use kadenz_lab::stop::Stop;
use kadenz_report::matrix::{Combination, Load, Matrix, Standing};
use kadenz_report::numbers;
use kadenz_report::summary::Summary;
use kadenz_report::verdict;
use kadenz_rt::beat::Rate;
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
    /// In words.
    pub(crate) sentence: String,
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
/// How many combinations may take the time of the check once more.
const SHARE: u32 = 4;
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST_ROUND: Duration = Duration::from_secs(5);

/// Looks at a check that is done, and measures what it leaves open. Absent where it was stopped, or
/// where nothing can be said.
pub(super) fn find(plan: &CheckPlan, rate: Rate, stop: &Stop) -> anyhow::Result<Option<Cheapest>> {
    let summary = Summary::of_run(&plan.measuring.session.out)?;
    let misses = |name: &str| {
        let series = summary.series.iter().find(|it| it.series.name == name)?;
        series.verdict.as_ref().map(|verdict| verdict.misses)
    };
    let (Some(ordinary), Some(realtime)) = (misses(ORDINARY), misses(REALTIME)) else {
        return Ok(None);
    };
    if stop.requested() || !cfg!(target_os = "linux") {
        return Ok(None);
    }
    if ordinary == 0 {
        return Ok(Some(nothing_needed()));
    }
    let cells = if realtime == 0 {
        "M,P"
    } else {
        "C,PC,PMC,PMCS"
    };
    let folder = plan.measuring.session.out.join(FOLDER);
    if let Err(error) = measure(plan, rate, cells, &folder, stop) {
        output::note(&format!("what the cheapest tuning is stays open: {error}"));
        return Ok(None);
    }
    if stop.requested() {
        return Ok(None);
    }
    let matrix = Summary::of_run(&folder)?;
    let matrix = Matrix::of(&matrix);
    Ok(matrix.map(|matrix| of_matrix(&matrix, realtime == 0, plan, folder)))
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
    cells: &str,
    folder: &Path,
    stop: &Stop,
) -> anyhow::Result<()> {
    let each = (plan.duration / SHARE).max(SHORTEST);
    output::note(&format!(
        "looking for the cheapest tuning that keeps the deadline: {cells}, {} each",
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
        Span(each.clamp(SHORTEST, LONGEST_ROUND)).to_string(),
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

/// The answer, from what was measured and from the check, where `realtime` (P and M) kept it.
fn of_matrix(matrix: &Matrix, realtime: bool, plan: &CheckPlan, folder: PathBuf) -> Cheapest {
    let found = match matrix.recommendation.standing {
        Standing::Keeps | Standing::SoFar { .. } => matrix.recommendation.combination,
        Standing::NoneKeeps | Standing::Unknown => None,
    };
    let tried: Vec<String> = matrix
        .of_load(Load::Unloaded)
        .map(|cell| cell.combination.to_string())
        .collect();
    let tried = tried.join(", ");
    let (cell, sentence) = match found {
        Some(combination) => {
            let counted = matrix.cell(Load::Unloaded, combination);
            let counted = counted.and_then(|cell| cell.verdict);
            let words =
                counted.map_or_else(String::new, |it| format!(": {}", verdict::describe(&it)));
            let sentence = format!(
                "The cheapest tuning that keeps it here is {combination} ({}){words}.",
                combination.words()
            );
            (Some(combination.to_string()), sentence)
        }
        None if realtime => {
            let both = "PM".to_owned();
            let sentence = format!(
                "The cheapest tuning that keeps it here is what was asked for ({}): less ({tried}) \
                 does not.",
                plan.measuring.tuning.policy
            );
            (Some(both), sentence)
        }
        None => {
            let sentence = format!(
                "Nothing that was tried ({tried}) keeps it here; `kadenz doctor` says what costs so \
                 much on this machine."
            );
            (None, sentence)
        }
    };
    let permanent = matrix.recommendation.permanent.as_ref();
    let command = found.and(permanent).map(|it| it.command.clone());
    Cheapest {
        cell,
        sentence,
        command,
        run: Some(folder),
    }
}
