//! Runs a campaign's commands one after another, each as this program in a process of its own.

use std::process::Stdio;
use std::time::Instant;

use anyhow::Context as _;
use kadenz::lab::campaign::{Campaign, Pace, PlannedRun};
use kadenz::lab::stop::Stop;

use super::texts;
use crate::commands::child::{self, Notes};
use crate::options::Steps;
use crate::output;

/// Outcome of a run.
enum RunOutcome {
    Done,
    /// A stop of the campaign was requested during the run.
    Stopped,
    Failed(String),
}

/// Measures every run that is not done yet, until a stop is requested.
///
/// # Errors
/// A folder cannot be written, or a run failed in a campaign that ends at failures.
pub(super) fn measure(
    campaign: &mut Campaign,
    stop_on_failure: bool,
    stop: &Stop,
) -> anyhow::Result<()> {
    let all: Vec<PlannedRun> = campaign.plan().runs().collect();
    let left: Vec<PlannedRun> = all
        .iter()
        .filter(|it| !campaign.is_done(it))
        .copied()
        .collect();
    output::note(&texts::beginning(campaign.plan(), left.len()));
    let before = all.len() - left.len();
    let mut steps = Steps::timed("runs", all.len(), before);
    let mut pace = Pace::default();
    for (place, run) in left.iter().enumerate() {
        if stop.requested() {
            break;
        }
        let begun = Instant::now();
        match visit(campaign, run, stop)? {
            RunOutcome::Done => {
                pace.ran(begun.elapsed());
                let words = campaign.plan().options(run.combination).join(" ");
                let done = before + place + 1 - campaign.failures();
                steps.done_and_left(done, pace.left(left.len() - place - 1), &words);
            }
            RunOutcome::Stopped => break,
            RunOutcome::Failed(reason) => {
                steps.suspend(|| output::complain(&format!("run {}: {reason}", run.number)));
                campaign.note_failure(run, reason)?;
                anyhow::ensure!(
                    !stop_on_failure,
                    "run {} could not be measured, and `--stop-on-failure` was given",
                    run.number
                );
            }
        }
    }
    Ok(())
}

fn visit(campaign: &mut Campaign, run: &PlannedRun, stop: &Stop) -> anyhow::Result<RunOutcome> {
    let working = campaign.working_folder(run)?;
    let mut words = campaign.plan().words(run.combination);
    words.extend(["--out".to_owned(), working.display().to_string()]);
    let mut child = child::start(&words, Stdio::null(), Notes::Kept)?;
    let status = child
        .wait(stop)
        .with_context(|| format!("cannot wait for run {}", run.number))?;
    let typed = child::as_typed(&campaign.plan().words(run.combination));
    let said = child.finish()?.stderr;
    // A missed deadline is a result.
    let is_result = matches!(status.code(), Some(0 | 1));
    if is_result && campaign.take_over(run, &working)? {
        return Ok(RunOutcome::Done);
    }
    if stop.requested() {
        campaign.discard(&working)?;
        return Ok(RunOutcome::Stopped);
    }
    campaign.discard(&working)?;
    Ok(RunOutcome::Failed(match is_result {
        true => format!("`{typed}` ended without a run that lasted to its end"),
        false => child::failed(&typed, &said).to_string(),
    }))
}
