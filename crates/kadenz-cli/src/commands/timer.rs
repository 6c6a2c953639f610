//! `kadenz timer oneshot` and `kadenz timer cyclic`.

use std::time::Duration;

use clap::Args;
use kadenz_lab::measuring::ExperimentError;
use kadenz_lab::measuring_threads::GRACE;
use kadenz_lab::timer::{CyclicPlan, OneShotPlan, SuitePlan, cyclic_suite, oneshot_suite};
use kadenz_record::run::model::Run;
use kadenz_rt::beat::{Overrun, Rate};
use kadenz_rt::clock::ClockKind;
use kadenz_rt::sleep::SleeperKind;

use super::outcome::{self, Telling};
use crate::options::{ClockOption, Defaults, MeasureOptions, Progress, Span, beats, pace};
use crate::output::Outcome;

commands! {
    /// Measure how well a timer keeps a timeout, or a rate
    enum Timer {
        Oneshot(OneShot) = oneshot;
        Cyclic(Cyclic) = cyclic;
    }
}

/// Measure how far a single timeout is missed, and whether the timer knows it
///
/// Sets a timer again and again and records how late it fires as the caller sees it (series
/// `measured`), as the timer itself reports it (`reported`), and the `difference`. Source: the
/// one-shot suite of Sticha 2014 (docs/bibliography.md), section 4.1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz timer oneshot --timeout 1ms --count 1000 --policy rr:95         the suite of Sticha
  kadenz timer oneshot --timeout 800us                                   below a millisecond, too
  kadenz timer oneshot --sleeper all --load busy                         every sleeper, busy CPUs")]
pub(crate) struct OneShot {
    /// The timeout that is set each time, 1us to 1h
    #[arg(long, value_name = "SPAN", default_value = "1ms")]
    timeout: Span,

    /// How often
    #[arg(long = "count", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: u64,

    #[command(flatten)]
    clock: ClockOption,

    #[command(flatten)]
    suite: SuiteOptions,
}

/// Is every wake-up on the beat, and is the rate kept?
///
/// Keeps a beat and records every wake-up against its intended time (series `lateness`) and
/// against the wake-up before (`jitter`). Source: the cyclic suite of Sticha 2014
/// (docs/bibliography.md), section 4.2.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz timer cyclic --rate 1kHz --count 1000 --policy rr:95           the suite of Sticha
  kadenz timer cyclic --rate 1kHz --duration 10s --policy fifo:80 --sleeper spin
  kadenz timer cyclic --rate 4kHz --deadline 50us --sleeper all --duration 30s --json")]
pub(crate) struct Cyclic {
    /// Rate of the beat
    #[arg(long, value_name = "RATE", default_value = "1kHz")]
    rate: Rate,

    /// How long to keep it [default: 10s]
    #[arg(long, value_name = "SPAN", conflicts_with = "repetitions")]
    duration: Option<Span>,

    /// How many beats, instead of a duration
    #[arg(long = "count", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: Option<u64>,

    /// What the loop does after a late wake-up: catch-up (serve every missed beat at once), skip
    /// (leave them out; they are recorded as late all the same) or relative (count each period from
    /// the last wake-up, and drift)
    #[arg(long, value_name = "PACE", default_value = "catch-up", value_parser = pace())]
    pace: Overrun,

    /// How long the beat is kept before the first wake-up is recorded
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    warm_up: Span,

    #[command(flatten)]
    suite: SuiteOptions,
}

/// What both suites take.
#[derive(Debug, Args)]
struct SuiteOptions {
    /// Keep every CPU busy at ordinary priority meanwhile, or leave the machine idle
    #[arg(long, value_name = "LOAD", default_value = "idle")]
    load: Load,

    #[command(flatten)]
    measure: MeasureOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Load {
    /// Nothing but the timer
    Idle,
    /// One busy thread a CPU
    Busy,
}

fn oneshot(options: &OneShot) -> anyhow::Result<Outcome> {
    let timeout = options.timeout.0;
    anyhow::ensure!(
        (Duration::from_micros(1)..=Duration::from_secs(3600)).contains(&timeout),
        "`--timeout {}` is outside 1us to 1h",
        options.timeout
    );
    let mut suite = options.suite.plan("timer-oneshot", options.clock.clock)?;
    let session = &mut suite.measuring.session;
    session.set("timeout", options.timeout.to_string());
    session.set("repetitions", options.repetitions);
    let plan = OneShotPlan {
        timeout,
        repetitions: options.repetitions,
    };
    let total = suite.total(timeout, options.repetitions);
    let stop = options.suite.measure.stop()?;
    let result = {
        let mut progress = Progress::new("setting timers", Some(total));
        oneshot_suite(&suite, &plan, &stop, &mut progress)
    };
    options.suite.tell(&suite, result)
}

fn cyclic(options: &Cyclic) -> anyhow::Result<Outcome> {
    let interval = options.rate.interval();
    let duration = options
        .duration
        .map_or(Duration::from_secs(10), |span| span.0);
    let cycles = beats(options.rate, options.repetitions, duration)?;
    let period = interval.as_duration().as_nanos().max(1);
    let warm_up = u64::try_from(options.warm_up.0.as_nanos() / period)?;
    let mut suite = options.suite.plan("timer-cyclic", ClockKind::Monotonic)?;
    let session = &mut suite.measuring.session;
    session.set("rate", format!("{:#}", options.rate));
    session.set("repetitions", cycles);
    session.set("pace", options.pace.to_string());
    session.set("warm_up", options.warm_up.to_string());
    let plan = CyclicPlan {
        interval,
        pace: options.pace,
        warm_up,
        cycles: Some(cycles),
        phase: Duration::ZERO,
        grace: GRACE.max(suite.measuring.deadline.unwrap_or_default()),
    };
    let total = suite.total(interval.as_duration(), warm_up.saturating_add(cycles));
    let stop = options.suite.measure.stop()?;
    let result = {
        let mut progress = Progress::new("keeping the beat", Some(total));
        cyclic_suite(&suite, &plan, &stop, &mut progress)
    };
    options.suite.tell(&suite, result)
}

impl SuiteOptions {
    fn plan(&self, experiment: &'static str, clock: ClockKind) -> anyhow::Result<SuitePlan> {
        let mut measuring = self.measure.measuring(&Defaults {
            clock,
            ..Defaults::of(experiment)
        })?;
        let sleepers = if self.measure.every_sleeper() {
            SleeperKind::available()
        } else {
            vec![measuring.sleeper]
        };
        let names: Vec<String> = sleepers.iter().map(ToString::to_string).collect();
        let busy = self.load == Load::Busy;
        let session = &mut measuring.session;
        session.set("sleeper", names.join(","));
        session.set("load", if busy { "busy" } else { "idle" });
        Ok(SuitePlan {
            sleepers,
            busy,
            measuring,
        })
    }

    fn tell(
        &self,
        suite: &SuitePlan,
        result: Result<Run, ExperimentError>,
    ) -> anyhow::Result<Outcome> {
        let folder = &suite.measuring.session.out;
        outcome::finished(result, folder)?;
        outcome::tell(&Telling::of(folder, &self.measure))
    }
}
