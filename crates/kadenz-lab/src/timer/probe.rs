//! The same suites with the timers of a probe, above all those of ROS.

use std::sync::mpsc;
use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::labels::{Labels, VALUE, labels};
use kadenz_record::run::model::{EndedBy, Run, Warning};
use kadenz_rt::beat::Beat;
use kadenz_rt::clock::MonotonicTime;

use super::{CyclicMeter, CyclicPlan, OneShotMeter, OneShotPlan};
use super::{SuitePlan, VALUES, cyclic_series, oneshot_series};
use crate::measuring::ExperimentError;
use crate::measuring_threads::{self, LoopContext, Watch};
use crate::probes::program::{ProbeProgram, Wanted, noted};
use crate::probes::protocol::{Line, Order, ProbeRole, Settings};
use crate::probes::{ProbeCommand, ProbeFailed};
use crate::session::{self, Ongoing};
use crate::stop::Stop;

/// A probe must report a firing timer within this time and one interval.
const SILENCE: Duration = Duration::from_secs(30);

impl From<ProbeFailed> for ExperimentError {
    fn from(error: ProbeFailed) -> Self {
        Self::Timer(Box::new(error))
    }
}

/// A probe that sets timers.
#[derive(Clone, Debug)]
pub struct TimerProbe {
    /// The command that starts the probe.
    pub command: ProbeCommand,
    /// The address that it needs, in its own format: a master of ROS.
    pub url: Option<String>,
}

impl TimerProbe {
    fn settings(&self, role: ProbeRole) -> Settings {
        let settings = Settings::new(role);
        match &self.url {
            Some(url) => settings.with("url", url),
            None => settings,
        }
    }
}

/// Runs the one-shot suite with the timer of a probe (\[Sticha2014\], section 4.1).
///
/// # Errors
/// [`ExperimentError`] where the probe cannot be started; a probe that fails in the middle ends the run as failed.
pub fn oneshot_probe(
    suite: &SuitePlan,
    plan: &OneShotPlan,
    probe: &TimerProbe,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let settings = probe
        .settings(ProbeRole::OneShot)
        .with("interval_ns", plan.timeout.as_nanos())
        .with("count", plan.repetitions);
    let program = ProbeProgram::start(&probe.command, &settings)?;
    let mut run = session::begin(&suite.measuring.session)?;
    let names = VALUES.map(str::to_owned);
    let by = format!("timer of {}", program.middleware);
    let mut recorders = oneshot_series(
        &suite.measuring,
        plan,
        &names,
        VALUES.map(of_value),
        &by,
        &mut run,
    )?;
    let timeout = plan.timeout;
    let mut meter = None;
    let take = move |line: &Line, origin: MonotonicTime| {
        let meter = meter.get_or_insert_with(|| OneShotMeter::new(origin, timeout));
        match *line {
            Line::Timer {
                start_ns,
                end_ns,
                reported_ns,
            } => {
                recorders.record(&meter.fired(time(start_ns), time(end_ns), reported_ns));
                1
            }
            // It was at least this late, and reported nothing.
            Line::Ignored { start_ns, end_ns } => {
                let samples = meter.fired(time(start_ns), time(end_ns), 0);
                recorders.measured.record(samples.measured);
                1
            }
            _ => 0,
        }
    };
    let prepared = TimerProbeSetup {
        run,
        program,
        series: names.to_vec(),
        interval: timeout,
        count: plan.repetitions,
    };
    measure(suite, prepared, take, stop, watch)
}

/// Runs the cyclic suite with the timer of a probe (\[Sticha2014\], section 4.2).
///
/// # Errors
/// As [`oneshot_probe`].
pub fn cyclic_probe(
    suite: &SuitePlan,
    plan: &CyclicPlan,
    probe: &TimerProbe,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let wakes = plan.cycles.unwrap_or(u64::MAX);
    let wakes = wakes.saturating_add(plan.warm_up);
    let settings = probe
        .settings(ProbeRole::Cyclic)
        .with("interval_ns", plan.interval.as_duration().as_nanos())
        .with("count", wakes);
    let program = ProbeProgram::start(&probe.command, &settings)?;
    let mut run = session::begin(&suite.measuring.session)?;
    let names = ["lateness", "jitter"].map(str::to_owned);
    let labels = ["lateness", "jitter"].map(of_value);
    let by = format!("timer of {}", program.middleware);
    let [mut lateness, mut jitter] =
        cyclic_series(&suite.measuring, plan, &names, labels, &by, &mut run)?;
    let (interval, warm_up) = (plan.interval, plan.warm_up);
    let mut begun = None;
    let take = move |line: &Line, origin: MonotonicTime| match *line {
        Line::Started(at_ns) => {
            let meter = CyclicMeter::new(origin, interval.as_duration());
            begun = Some((Beat::at(time(at_ns), interval), meter));
            0
        }
        Line::Woke(at_ns) => {
            // A timer without a reported start has no beat.
            let Some((beat, meter)) = &mut begun else {
                return 0;
            };
            let intended = beat.next();
            if beat.index() > warm_up {
                let samples = meter.woke(intended, time(at_ns));
                lateness.record(samples.lateness);
                if let Some(sample) = samples.jitter {
                    jitter.record(sample);
                }
            }
            1
        }
        _ => 0,
    };
    let prepared = TimerProbeSetup {
        run,
        program,
        series: names.to_vec(),
        interval: interval.as_duration(),
        count: wakes,
    };
    measure(suite, prepared, take, stop, watch)
}

fn of_value(value: &str) -> Labels {
    labels([(VALUE, value)])
}

/// A time that was already checked against the probe's clock.
fn time(ns: i64) -> MonotonicTime {
    MonotonicTime::from_ns(ns.unsigned_abs())
}

/// Result of a probe: how many timers it reported, and how many of these never fired.
#[derive(Default)]
struct ProbeOutcome {
    failed: Option<ProbeFailed>,
    values: u64,
    ignored: u64,
    notes: Vec<String>,
}

/// A probe that is ready, and the run that its values go to.
struct TimerProbeSetup {
    run: RunWriter,
    program: ProbeProgram,
    series: Vec<String>,
    interval: Duration,
    /// Number of timers to report.
    count: u64,
}

/// Lets the probe set its timers, and takes its reports.
fn measure(
    suite: &SuitePlan,
    prepared: TimerProbeSetup,
    take: impl FnMut(&Line, MonotonicTime) -> u64 + Send + 'static,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let TimerProbeSetup {
        run,
        program,
        series,
        interval,
        count,
    } = prepared;
    let _load = suite.load()?;
    let ongoing = suite.measuring.start(run)?;
    ongoing.note_tuning(&series, &program.measures);
    let middleware = program.middleware.clone();
    ongoing.running.update(|run| {
        run.parameters.insert("timer".to_owned(), middleware.into());
    });
    let (ended_to, ended) = mpsc::sync_channel(1);
    let (origin, stopped) = (ongoing.origin, stop.clone());
    let work = move |_: &mut LoopContext<'_>| {
        // The receiver is gone only if the main thread has failed.
        let _ = ended_to.send(receive(program, take, (interval, count), origin, &stopped));
    };
    let member = suite.measuring.attending(work);
    let ended_by = measuring_threads::work(&ongoing, vec![member], stop, watch)?;
    let ended = ended.recv().unwrap_or_default();
    let has_failed = ended.failed.is_some();
    note(&ongoing, ended);
    Ok(ongoing.finish(match has_failed {
        true => EndedBy::Failed,
        false => ended_by,
    })?)
}

fn receive(
    mut program: ProbeProgram,
    mut take: impl FnMut(&Line, MonotonicTime) -> u64,
    (interval, count): (Duration, u64),
    origin: MonotonicTime,
    stop: &Stop,
) -> ProbeOutcome {
    let mut ended = ProbeOutcome::default();
    program.send(Order::Begin);
    let end = program.read_to_end(Some(SILENCE + interval), |line| {
        if let Some(Line::Note(text)) = line {
            ended.notes.push(text);
        } else if let Some(line) = line {
            ended.ignored += u64::from(matches!(line, Line::Ignored { .. }));
            ended.values += take(&line, origin);
        }
        match stop.requested() {
            true => Wanted::Nothing,
            false => Wanted::More,
        }
    });
    let values = ended.values;
    let is_early = values < count && !end.was_ordered_to_end;
    let early = || program.failed(format!("ended early, after {values} of {count} timers"));
    ended.failed = end.failed.or_else(|| is_early.then(early));
    ended
}

fn note(ongoing: &Ongoing, ended: ProbeOutcome) {
    if ended.ignored > 0 {
        let text = format!(
            "{} timers were set and never fired: each counts in `measured` as late as it was when it was given up",
            ended.ignored
        );
        let warning = Warning::new("timers_ignored", text, None);
        ongoing.running.add_warning(warning);
    }
    ongoing.running.add_warnings(noted("timer", &ended.notes));
    if let Some(failed) = ended.failed {
        ongoing.running.add_warning(Warning::new(
            "timer_failed",
            format!("{failed}: what it set until then was measured"),
            None,
        ));
    }
}
