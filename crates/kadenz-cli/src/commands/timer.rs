//! `kadenz timer oneshot` and `kadenz timer cyclic`.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use kadenz::lab::measuring_threads::GRACE;
use kadenz::lab::probes::Measures;
use kadenz::lab::timer::{
    CyclicPlan, OneShotPlan, SuitePlan, TimerProbe, cyclic_probe, cyclic_suite, oneshot_probe,
    oneshot_suite,
};
use kadenz::record::run::model::{EndedBy, Run};
use kadenz::rt::beat::{Overrun, Rate};
use kadenz::rt::clock::ClockKind;
use kadenz::rt::sleep::SleeperKind;

use super::outcome::{self, OutcomeOptions};
use super::probe::{self, ProbeEndpoint};
use crate::options::{
    ClockOption, CommandWords, Defaults, MeasureOptions, Progress, Span, beats, complete, pace,
    word,
};
use crate::output::Reply;

commands! {
    /// Measure how well a timer keeps a timeout, or a rate
    enum Timer {
        Oneshot(OneShot) = oneshot;
        Cyclic(Cyclic) = cyclic;
    }
}

/// Measure how far a single timeout is missed, and whether the timer reports it
///
/// Sets a timer repeatedly and records how late it fires as the caller sees it (series `measured`), as the timer
/// itself reports it (`reported`), and the `difference`. Source: the one-shot suite of [Sticha2014]
/// (docs/bibliography.md), section 4.1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz timer oneshot --timeout 1ms --count 1000 --policy rr:95         the suite of [Sticha2014]
  kadenz timer oneshot --timeout 800us                                   below a millisecond, too
  kadenz timer oneshot --sleeper all --load busy                         every sleeper, busy CPUs
  kadenz timer oneshot --with roscpp_timers --policy rr:95               the timer of ROS itself")]
pub(crate) struct OneShot {
    /// The timeout of each timer, 1us to 1h
    #[arg(long, value_name = "SPAN", default_value = "1ms")]
    timeout: Span,

    /// Number of timeouts
    #[arg(long = "count", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: u64,

    #[command(flatten)]
    clock: ClockOption,

    #[command(flatten)]
    suite: SuiteOptions,
}

/// Measure whether every wake-up is on the beat, and whether the rate is kept
///
/// Keeps a beat and records every wake-up against its intended time (series `lateness`) and
/// against the wake-up before (`jitter`). Source: the cyclic suite of [Sticha2014]
/// (docs/bibliography.md), section 4.2.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz timer cyclic --rate 1kHz --count 1000 --policy rr:95           the suite of [Sticha2014]
  kadenz timer cyclic --rate 1kHz --duration 10s --policy fifo:80 --sleeper spin
  kadenz timer cyclic --rate 4kHz --deadline 50us --sleeper all --duration 30s --json
  kadenz timer cyclic --with roscpp_timers --policy rr:95               the timer of ROS itself")]
pub(crate) struct Cyclic {
    /// Rate of the beat
    #[arg(long, value_name = "RATE", default_value = "1kHz")]
    rate: Rate,

    /// How long to keep the beat [default: 10s]
    #[arg(long, value_name = "SPAN", conflicts_with = "repetitions")]
    duration: Option<Span>,

    /// How many beats, instead of a duration
    #[arg(long = "count", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: Option<u64>,

    /// What the loop does after a late wake-up: catch-up (serve every missed beat at once), skip (leave missed beats
    /// out; they are still recorded as late) or relative (count each period from the last wake-up, and drift)
    #[arg(long, value_name = "PACE", default_value = "catch-up", value_parser = pace())]
    pace: Overrun,

    /// How long to keep the beat before the first recorded wake-up
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    warm_up: Span,

    #[command(flatten)]
    suite: SuiteOptions,
}

/// Options of both suites.
#[derive(Debug, Args)]
struct SuiteOptions {
    /// Load during the measurement: keep every CPU busy at ordinary priority, or leave the machine idle
    #[arg(long, value_name = "LOAD", default_value = "idle")]
    load: BackgroundLoad,

    /// Measure the timers of this program instead: a probe of `kadenz msg probes`, or the user's own
    /// (docs/messages-probes.md)
    #[arg(long, value_name = "COMMAND", help_heading = "Probes", hide_possible_values = true,
          value_parser = complete::<CommandWords>(probe::names(Measures::Timers)))]
    with: Option<CommandWords>,

    /// Argument that the program needs, such as a URL, in its own form [default: that of the probe, or nothing]
    #[arg(long, value_name = "URL", requires = "with", help_heading = "Probes")]
    url: Option<String>,

    #[command(flatten)]
    measure: MeasureOptions,
}

/// Load of the machine during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum BackgroundLoad {
    /// Nothing besides the measurement
    Idle,
    /// One busy thread per CPU
    Busy,
}

fn oneshot(options: &OneShot) -> anyhow::Result<Reply> {
    let timeout = options.timeout.0;
    anyhow::ensure!(
        (Duration::from_micros(1)..=Duration::from_secs(3600)).contains(&timeout),
        "`--timeout {}` is outside 1us to 1h",
        options.timeout
    );
    options.suite.ensure_ours(
        "clock",
        options.clock.clock != ClockKind::Monotonic,
        "the times of a program are of CLOCK_MONOTONIC",
    )?;
    let mut suite = options.suite.plan("timer-oneshot", options.clock.clock)?;
    let session = &mut suite.measuring.session;
    session.set("timeout", options.timeout.to_string());
    session.set("repetitions", options.repetitions);
    let plan = OneShotPlan {
        timeout,
        repetitions: options.repetitions,
    };
    let total = suite.total(timeout, options.repetitions);
    let probe = options.suite.probe(&mut suite)?;
    let stop = options.suite.measure.stop()?;
    let measure = |progress: &mut Progress| match &probe {
        Some((probe, _)) => oneshot_probe(&suite, &plan, probe, &stop, progress),
        None => oneshot_suite(&suite, &plan, &stop, progress),
    };
    let folder = &suite.measuring.session.out;
    let measured = outcome::measured("setting timers", Some(total), folder, measure)?;
    options.suite.report(folder, &measured)
}

fn cyclic(options: &Cyclic) -> anyhow::Result<Reply> {
    options.suite.ensure_ours(
        "pace",
        options.pace != Overrun::CatchUp,
        "a timer of a program does after a late wake-up as its library does",
    )?;
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
    let probe = options.suite.probe(&mut suite)?;
    let stop = options.suite.measure.stop()?;
    let measure = |progress: &mut Progress| match &probe {
        Some((probe, _)) => cyclic_probe(&suite, &plan, probe, &stop, progress),
        None => cyclic_suite(&suite, &plan, &stop, progress),
    };
    let folder = &suite.measuring.session.out;
    let measured = outcome::measured("keeping the beat", Some(total), folder, measure)?;
    options.suite.report(folder, &measured)
}

impl SuiteOptions {
    fn plan(&self, experiment: &'static str, clock: ClockKind) -> anyhow::Result<SuitePlan> {
        let mut measuring = self.measure.measuring(&Defaults {
            clock,
            every_sleeper: true,
            ..Defaults::of(experiment)
        })?;
        let sleepers = if self.measure.every_sleeper() {
            SleeperKind::available()
        } else {
            vec![measuring.sleeper]
        };
        let names: Vec<String> = sleepers.iter().map(ToString::to_string).collect();
        let session = &mut measuring.session;
        session.set("sleeper", names.join(","));
        session.set("load", word(&self.load));
        Ok(SuitePlan {
            sleepers,
            busy: self.load == BackgroundLoad::Busy,
            measuring,
        })
    }

    /// The probe whose timers are measured, with its URL, kept as long as it measures.
    fn probe(&self, suite: &mut SuitePlan) -> anyhow::Result<Option<(TimerProbe, ProbeEndpoint)>> {
        let Some(with) = &self.with else {
            return Ok(None);
        };
        anyhow::ensure!(
            !self.measure.names_a_sleeper() && !self.measure.has_shield(),
            "`--sleeper` and `--shield` hold for timers of this program, not for those of `{with}`"
        );
        let named = probe::named(with);
        if let Some(named) = named {
            anyhow::ensure!(
                named.measures == Measures::Timers,
                "the probe `{}` sets no timers: kadenz msg latency --with {}",
                named.name,
                named.name
            );
        }
        let words = probe::program(with)?;
        let url = self
            .url
            .as_deref()
            .or(named.map(|it| it.url))
            .unwrap_or_default();
        let server = named
            .filter(|_| self.url.is_none())
            .and_then(|it| it.server);
        let place = ProbeEndpoint::of(url, server, self.measure.policy())?;
        probe::ensure_no_blank("url", &place.url)?;
        suite.measuring.session.set("with", words.join(" "));
        let probe = TimerProbe {
            command: probe::command(&words, &suite.measuring),
            url: Some(place.url.clone()).filter(|it| !it.is_empty()),
        };
        Ok(Some((probe, place)))
    }

    /// Refuses an option that another program's timers ignore.
    fn ensure_ours(&self, option: &str, is_asked_for: bool, why: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.with.is_none() || !is_asked_for,
            "`--{option}` holds for timers of this program: {why}; leave it out with `--with`"
        );
        Ok(())
    }

    fn report(&self, folder: &Path, run: &Run) -> anyhow::Result<Reply> {
        let reply = outcome::report_run(OutcomeOptions::of(folder, &self.measure))?;
        // A warning of the run names the reason.
        Ok(reply.map_outcome(|it| it.or_incomplete(run.ended_by == Some(EndedBy::Failed))))
    }
}
