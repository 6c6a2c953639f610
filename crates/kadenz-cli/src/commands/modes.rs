//! `kadenz modes`.

use std::path::PathBuf;

use clap::Args;
use kadenz::report::modes::ModesOutput;
use kadenz::report::summary::recurring;

use crate::options::waiting;
use crate::output::{self, Outcome, Reply};

/// Find periodic patterns in a run: spikes, phases and ramps, with their period and its confidence.
///
/// A latency that recurs every five seconds or once an hour has a cause that can be found. Patterns that chance alone
/// explains are not printed: a search without a result says so. It searches the raw samples; where the run kept none,
/// the maxima of the intervals of the log.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz modes night
  kadenz modes night --series lateness
  kadenz modes night --json | jq '.modes[] | {text, confidence}'

docs/modes.md explains the search, its confidence, and its limits.")]
pub(crate) struct Options {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// One series only [default: all]
    #[arg(long, value_name = "NAME")]
    series: Option<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let found = waiting("searching for periodic patterns", || {
        recurring::of_run(&options.run, options.series.as_deref())
    })?;
    let answer = ModesOutput::new(&options.run, &found);
    if output::is_quiet() && !output::is_json() {
        output::say(&answer.headline());
        return Ok(Outcome::Kept.into());
    }
    let nothing = found.is_empty() && !output::is_json();
    let nothing = nothing.then(|| "the run has no series: there is nothing to search".to_owned());
    Ok(Reply::from(answer).notes(nothing))
}
