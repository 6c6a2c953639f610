//! Runs a campaign's commands one after another, each as this program in a process of its own.

use std::process::Stdio;
use std::time::Instant;

use anyhow::Context as _;
use kadenz::lab::campaign::{Campaign, Pace, Plan, PlannedRun};
use kadenz::lab::stop::Stop;
use kadenz::report::campaign::{CampaignFacts, CampaignReport, CampaignRun, Varied};
use kadenz::report::document::Answer as _;
use kadenz::report::summary::{Summary, SummaryOptions};
use kadenz::report::{html, numbers};

use crate::commands::child::{self, Notes};
use crate::options::{Steps, waiting};
use crate::output::{self, Reply};

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
    output::note(&beginning(campaign.plan(), left.len()));
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
    campaign.discard(&working)?;
    if stop.requested() {
        return Ok(RunOutcome::Stopped);
    }
    Ok(RunOutcome::Failed(match is_result {
        true => format!("`{typed}` ended without a run that lasted to its end"),
        false => child::failed(&typed, &said).to_string(),
    }))
}

/// Says how many runs there are, and how long they measure where their options state it.
pub(super) fn beginning(plan: &Plan, left: usize) -> String {
    if left == 0 {
        return format!("{}: every run is done", plan.name);
    }
    let all = plan.count();
    let what = match left == all {
        true => numbers::counted(all as u64, "run"),
        false => {
            let are = if left == 1 { "is" } else { "are" };
            let all = numbers::counted(all as u64, "run");
            format!("{left} of {all} {are} left")
        }
    };
    let combinations = numbers::counted(plan.combinations() as u64, "combination");
    let rounds = numbers::counted(plan.rounds.into(), "round");
    let time = match plan.measuring_time() {
        Some(time) => {
            let share = left as f64 / all.max(1) as f64;
            let span = numbers::span(time.as_nanos() as f64 * share);
            format!("they measure for {span}, and take longer to begin and to end")
        }
        None => "the estimate follows after the first run".to_owned(),
    };
    format!("{}: {what} ({combinations}, {rounds}); {time}", plan.name)
}

/// The reply on all finished runs, and how many runs are missing.
pub(super) fn report_runs(campaign: &Campaign) -> anyhow::Result<(Reply, usize)> {
    let runs = waiting("reading the measurement", || read(campaign))?;
    let plan = campaign.plan();
    let left = plan.count() - runs.len();
    let folder = campaign.folder();
    let (table, page) = (folder.join("table.md"), folder.join("campaign.html"));
    let varied = plan.parameters.iter().map(|it| Varied {
        option: it.key.clone(),
        values: it.values.iter().map(ToString::to_string).collect(),
    });
    let report = CampaignReport::of(
        CampaignFacts {
            name: plan.name.clone(),
            command: plan.command.clone(),
            rounds: plan.rounds,
            varied: varied.collect(),
            planned: plan.count(),
            failed: campaign.failures(),
            folder: folder.to_owned(),
            table: table.clone(),
            page: page.clone(),
        },
        &runs,
    );
    std::fs::write(&table, report.document().markdown())
        .with_context(|| format!("cannot write {}", table.display()))?;
    html::write_campaign(&report, &runs, &page)?;
    let places = format!("runs, table.md and campaign.html: {}", folder.display());
    Ok((Reply::from(report).note(places), left))
}

fn read(campaign: &Campaign) -> anyhow::Result<Vec<CampaignRun>> {
    // Figures need no raw samples.
    let options = SummaryOptions {
        samples: false,
        ..SummaryOptions::default()
    };
    let all = campaign.plan().runs();
    let done = all.filter(|it| campaign.is_done(it));
    done.map(|run| {
        let summary = Summary::of_run_with(campaign.run_folder(&run), options)?;
        Ok(CampaignRun::of(
            run.number,
            run.round,
            run.combination,
            &summary,
        ))
    })
    .collect()
}
