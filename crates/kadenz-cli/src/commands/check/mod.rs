//! `kadenz check`.

pub(super) mod cheapest;

use std::time::Duration;

use clap::Args;
use kadenz_lab::check::{CheckPlan, REALTIME, check};
use kadenz_lab::floor::FloorPlan;
use kadenz_rt::beat::Rate;
use kadenz_rt::clock::ClockKind;
use kadenz_rt::tuning::Policy;

use super::outcome::{self, Telling};
use crate::options::{Defaults, MeasureOptions, Progress, Span};
use crate::output::Outcome;

/// Can this machine keep a rate and a deadline?
///
/// Keeps the beat on two threads at once, half a period apart: one with the real-time tuning that
/// is asked for (SCHED_FIFO 80 and locked memory by default), one as an ordinary thread. Before
/// that it probes what the machine takes from a thread that never sleeps. Where the ordinary thread
/// misses the deadline, it then tries which is the cheapest tuning that keeps it, for about as long
/// again (`kadenz tune` does that in full, also under load). Writes a run folder with report.html.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz check                                     1 kHz, 400 us, one minute
  kadenz check --rate 500Hz --deadline 1ms
  kadenz check --policy fifo:90 --cpus 1 --sleeper spin --duration 10min
  kadenz check --json --out run | jq .answer

Exit codes: 0 the deadline was kept (under the tuning that was granted), 1 it was missed,
2 the check could not be done.")]
pub(crate) struct Options {
    /// Rate of the beat
    #[arg(long, value_name = "RATE", default_value = "1kHz")]
    rate: Rate,

    /// How long the beat is kept
    #[arg(long, value_name = "SPAN", default_value = "60s")]
    duration: Span,

    /// Do not look for the cheapest tuning afterwards
    #[arg(long)]
    no_tuning: bool,

    #[command(flatten)]
    measure: MeasureOptions,
}

/// The deadline of the PREEMPT_RT developers' test farm, which the thesis took too.
const DEADLINE: Duration = Duration::from_micros(400);

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut measuring = options.measure.measuring(&Defaults {
        experiment: "check",
        policy: Policy::Fifo(80),
        samples: true,
        deadline: Some(DEADLINE),
        clock: ClockKind::Monotonic,
    })?;
    let parameters = &mut measuring.session.parameters;
    parameters.insert(
        "rate".to_owned(),
        options.rate.to_string().replace(' ', "").into(),
    );
    parameters.insert("duration".to_owned(), options.duration.to_string().into());
    let plan = CheckPlan {
        interval: options.rate.interval(),
        duration: options.duration.0,
        floor: FloorPlan::default(),
        measuring,
    };
    anyhow::ensure!(
        plan.duration >= plan.interval.as_duration(),
        "`--duration {}` is shorter than one beat of {}",
        options.duration,
        options.rate
    );
    let stop = options.measure.stop()?;
    {
        let mut progress = Progress::new(
            "keeping the beat",
            Some(plan.floor.duration + plan.duration),
        );
        let result = check(&plan, &stop, &mut progress);
        outcome::finished(result, &plan.measuring.session.out)?;
    }
    let cheapest = if options.no_tuning {
        None
    } else {
        cheapest::find(&plan, options.rate, &stop)?
    };
    outcome::tell(&Telling {
        folder: &plan.measuring.session.out,
        json: options.measure.json,
        report: true,
        also: &[],
        deciding: Some(REALTIME),
        cheapest: cheapest.as_ref(),
    })
}
