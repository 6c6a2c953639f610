//! `kadenz campaign`.

mod check;
mod runs;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
#[cfg(all(test, target_os = "linux"))]
use kadenz::lab::campaign::Record;
use kadenz::lab::campaign::{Campaign, Plan, limits};
use kadenz::report::document::{Answer, Document, Version};
#[cfg(all(test, target_os = "linux"))]
use kadenz::report::schema::SchemaFile;
use kadenz::report::text::shell_path;
use kadenz::rt::regular_file;
use schemars::JsonSchema;
use serde::Serialize;

use super::child;
use super::interrupt::stop_on_interrupt;
use crate::options::{folder, folder_or_now};
use crate::output::{Outcome, Reply};

/// Measure many runs of a command with varying options, and show which option affects which figure
///
/// The plan names a command that writes a run folder, the options that vary and how often to measure each
/// combination. After an interruption or a kill, the campaign continues when the same folder is named again. The
/// folder gets a run folder for each run, `campaign.json`, `table.md` and `campaign.html` (docs/campaign.md).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz campaign plan.toml --dry-run          prints the commands, and how long they measure
  kadenz campaign plan.toml --out timers       begin, or continue a campaign
  kadenz campaign --resume timers              continue; the plan is in the folder

A plan:
  name = \"timers\"
  command = \"timer cyclic --rate 1kHz --count 1000\"
  rounds = 3
  [vary]
  policy = [\"other\", \"fifo:80\"]
  load = [\"idle\", \"busy\"]

Exit codes: 0 every run is done, whether or not it kept a deadline; 2 a run failed, the plan is \
wrong, or the campaign was ended early.")]
pub(crate) struct Options {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    plan: Option<PathBuf>,

    /// Continue the campaign in this folder, by the plan that the folder holds
    #[arg(long, value_name = "DIR", value_parser = folder(), conflicts_with_all = ["plan", "out", "dry_run"])]
    resume: Option<PathBuf>,

    /// List the commands and run none
    #[arg(long)]
    dry_run: bool,

    /// End at the first run that fails
    #[arg(long)]
    stop_on_failure: bool,

    /// Folder to write, or to continue in [default: kadenz-campaign-<NAME>-<TIME> in this folder]
    #[arg(long, value_name = "DIR", value_parser = folder(), help_heading = "Output")]
    out: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut campaign = match (&options.resume, &options.plan) {
        (Some(folder), _) => {
            let campaign = Campaign::resume(folder)?;
            let wrong = || format!("the plan in {} is wrong", folder.display());
            check::words(campaign.plan()).with_context(wrong)?;
            campaign
        }
        (None, Some(path)) => {
            let text = read(path)?;
            let wrong = || format!("the plan {} is wrong", path.display());
            let plan = Plan::parse(&text).with_context(wrong)?;
            check::words(&plan).with_context(wrong)?;
            if options.dry_run {
                return Ok(Planned::of(&plan).into());
            }
            let name = format!("campaign-{}", plan.folder_name());
            Campaign::begin(&folder_or_now(options.out.as_deref(), &name), &text)?
        }
        (None, None) => anyhow::bail!("name a plan, or a folder with `--resume`"),
    };
    let stop = stop_on_interrupt()?;
    let ended = runs::measure(&mut campaign, options.stop_on_failure, &stop);
    let (reply, left) = runs::report_runs(&campaign)?;
    Ok(match (ended, campaign.failures(), left) {
        (Err(error), ..) => reply.and_error(error),
        (Ok(()), 0, 0) => reply,
        (Ok(()), failed, _) => reply
            .complain(unfinished(&campaign, failed, left))
            .with(Outcome::Incomplete),
    })
}

/// Says how many runs are missing, and how to continue.
fn unfinished(campaign: &Campaign, failed: usize, left: usize) -> String {
    let runs = |count: usize, one, more| match count {
        1 => format!("1 run {one}"),
        n => format!("{n} runs {more}"),
    };
    let left = runs(left, "is left", "are left");
    let why = match runs(failed, "was not measured", "were not measured") {
        _ if failed == 0 => format!("ended early: {left}"),
        failed => format!("{failed}, {left}; campaign.json names the reason of each"),
    };
    let folder = shell_path(campaign.folder());
    format!("{why}; go on with `kadenz campaign --resume {folder}`")
}

/// Schema of the file in the campaign's folder.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn schemas() -> [SchemaFile; 1] {
    let title = "campaign.json of the folder of a campaign";
    [SchemaFile::root::<Record<'_>>("campaign-folder", 1).titled(title)]
}

fn read(path: &Path) -> anyhow::Result<String> {
    regular_file::text(path, limits::FILE as u64).map_err(|error| {
        let remedy = regular_file::remedy(&error);
        anyhow::anyhow!("cannot read the plan {}: {error}; {remedy}", path.display())
    })
}

/// Runs that a campaign would make.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Planned {
    version: Version<1>,
    /// The campaign's name.
    name: String,
    /// Number of combinations of values.
    combinations: usize,
    /// Runs of each combination.
    rounds: u32,
    /// How long the runs measure by their options, in nanoseconds; `null` where these do not state it.
    measuring_ns: Option<u64>,
    /// In the order of measurement.
    runs: Vec<PlannedCommand>,
    #[serde(skip)]
    headline: String,
}

/// A run that would be measured.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlannedCommand {
    /// Its number in the order of measuring, from 1.
    number: usize,
    /// The round that it belongs to, from 1.
    round: u32,
    /// The words of the command, without the program and its `--out`.
    command: Vec<String>,
}

impl Planned {
    fn of(plan: &Plan) -> Self {
        let time = plan.measuring_time();
        let runs = plan.runs().map(|run| PlannedCommand {
            number: run.number,
            round: run.round,
            command: plan.words(run.combination),
        });
        Self {
            version: Version,
            name: plan.name.clone(),
            combinations: plan.combinations(),
            rounds: plan.rounds,
            measuring_ns: time.and_then(|it| u64::try_from(it.as_nanos()).ok()),
            runs: runs.collect(),
            headline: runs::beginning(plan, plan.count()),
        }
    }
}

impl Answer for Planned {
    fn document(&self) -> Document {
        let commands = self.runs.iter().map(|it| child::as_typed(&it.command));
        let commands: Vec<String> = commands.collect();
        Document::new()
            .listing(commands.join("\n"))
            .sentence(self.headline.clone())
    }
}
