//! Texts of a campaign: what it will do, and its result.

use kadenz::lab::campaign::{Campaign, Plan};
use kadenz::report::campaign::{CampaignFacts, CampaignReport, CampaignRun, Varied};
use kadenz::report::document::Answer as _;
use kadenz::report::summary::{Summary, SummaryOptions};
use kadenz::report::{html, numbers};

use anyhow::Context as _;

use crate::options::waiting;
use crate::output;

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

/// Reports all finished runs; returns how many are missing.
pub(super) fn report_runs(campaign: &Campaign) -> anyhow::Result<usize> {
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
    output::answer(&report)?;
    output::note(&format!(
        "runs, table.md and campaign.html: {}",
        folder.display()
    ));
    Ok(left)
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
