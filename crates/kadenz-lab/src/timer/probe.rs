//! The same suites, of the timers of a probe: those of ROS, above all.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::labels::{Labels, VALUE, labels};
use kadenz_record::run::model::{EndedBy, Run, Warning};
use kadenz_rt::beat::Beat;
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::tuning::Tuning;

use super::suite::{SuitePlan, VALUES, cyclic_series, oneshot_series};
use super::{CyclicMeter, CyclicPlan, OneShotMeter, OneShotPlan};
use crate::measuring::ExperimentError;
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::probes::program::{END, Event, ProbeProgram, noted};
use crate::probes::protocol::{Line, Order, Role, Settings};
use crate::probes::{ProbeCommand, ProbeFailed};
use crate::session::{self, Ongoing};
use crate::stop::Stop;

/// How long a wait lasts until it is looked whether somebody stops it.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A probe whose timers fire says so in this time and an interval more.
const SILENCE: Duration = Duration::from_secs(30);

impl From<ProbeFailed> for ExperimentError {
    fn from(error: ProbeFailed) -> Self {
        Self::Timer(Box::new(error))
    }
}

/// A probe that sets timers.
#[derive(Clone, Debug)]
pub struct TimerProbe {
    /// What starts it.
    pub command: ProbeCommand,
    /// What it needs to find, in its own words: a master of ROS.
    pub url: Option<String>,
}

impl TimerProbe {
    fn settings(&self, role: Role) -> Settings {
        let settings = Settings::new(role);
        match &self.url {
            Some(url) => settings.with("url", url),
            None => settings,
        }
    }
}

/// Runs the one-shot suite with the timer of a probe (Sticha 2014, section 4.1).
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
        .settings(Role::OneShot)
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
        let Line::Timer {
            start_ns,
            end_ns,
            reported_ns,
        } = *line
        else {
            return;
        };
        let meter = meter.get_or_insert_with(|| OneShotMeter::new(origin, timeout));
        let samples = meter.fired(time(start_ns), time(end_ns), reported_ns);
        recorders.measured.record(samples.measured);
        recorders.reported.record(samples.reported);
        recorders.difference.record(samples.difference);
    };
    let prepared = Prepared {
        run,
        program,
        series: names.to_vec(),
        interval: timeout,
    };
    measure(suite, prepared, take, stop, watch)
}

/// Runs the cyclic suite with the timer of a probe (Sticha 2014, section 4.2).
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
    let cycles = plan.cycles.unwrap_or(u64::MAX);
    let settings = probe
        .settings(Role::Cyclic)
        .with("interval_ns", plan.interval.as_duration().as_nanos())
        .with("count", cycles);
    let program = ProbeProgram::start(&probe.command, &settings)?;
    let mut run = session::begin(&suite.measuring.session)?;
    let names = ["lateness", "jitter"].map(str::to_owned);
    let labels = ["lateness", "jitter"].map(of_value);
    let by = format!("timer of {}", program.middleware);
    let [mut lateness, mut jitter] =
        cyclic_series(&suite.measuring, plan, &names, labels, &by, &mut run)?;
    let interval = plan.interval;
    let mut begun = None;
    let take = move |line: &Line, origin: MonotonicTime| match *line {
        Line::Started(at_ns) => {
            let meter = CyclicMeter::new(origin, interval.as_duration());
            begun = Some((Beat::at(time(at_ns), interval), meter));
        }
        Line::Woke(at_ns) => {
            // A timer that did not say when it began has no beat.
            let Some((beat, meter)) = &mut begun else {
                return;
            };
            let samples = meter.woke(beat.next(), time(at_ns));
            lateness.record(samples.lateness);
            if let Some(sample) = samples.jitter {
                jitter.record(sample);
            }
        }
        _ => {}
    };
    let prepared = Prepared {
        run,
        program,
        series: names.to_vec(),
        interval: interval.as_duration(),
    };
    measure(suite, prepared, take, stop, watch)
}

fn of_value(value: &str) -> Labels {
    labels([(VALUE, value)])
}

/// A time that the probe's lines were held against its clock for.
fn time(ns: i64) -> MonotonicTime {
    MonotonicTime::from_ns(ns.unsigned_abs())
}

/// What became of a probe, and how many of its timers never fired.
#[derive(Default)]
struct Ended {
    failed: Option<ProbeFailed>,
    ignored: u64,
    notes: Vec<String>,
}

/// A probe that is ready, and the run that its values go to.
struct Prepared {
    run: RunWriter,
    program: ProbeProgram,
    series: Vec<String>,
    interval: Duration,
}

/// Lets the probe set its timers, and takes what it tells.
fn measure(
    suite: &SuitePlan,
    prepared: Prepared,
    take: impl FnMut(&Line, MonotonicTime) + Send + 'static,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let Prepared {
        run,
        program,
        series,
        interval,
    } = prepared;
    let _load = suite.load()?;
    let ongoing = suite.measuring.start(run)?;
    for name in &series {
        ongoing
            .running
            .add_series_tuning(name, program.measures.clone());
    }
    for warning in measuring_threads::refusals(&program.measures) {
        ongoing.running.add_warning(warning);
    }
    let middleware = program.middleware.clone();
    ongoing.running.update(|run| {
        run.parameters.insert("timer".to_owned(), middleware.into());
    });
    let (ended_to, ended) = mpsc::sync_channel(1);
    let (origin, stopped) = (ongoing.origin, stop.clone());
    let work = move |_: &mut LoopContext<'_>| {
        // Gone only if the main thread has failed.
        let _ = ended_to.send(receive(program, take, origin, interval, &stopped));
    };
    // The probe is tuned, and not the thread that reads what it tells.
    let member = Member {
        tuning: Tuning::default(),
        shielded: false,
        ..suite.measuring.member(&[], Box::new(work))
    };
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
    mut take: impl FnMut(&Line, MonotonicTime),
    origin: MonotonicTime,
    interval: Duration,
    stop: &Stop,
) -> Ended {
    let mut ended = Ended::default();
    let (mut until, mut silence, mut said_at) = (None, SILENCE + interval, Instant::now());
    program.tell(Order::Begin);
    loop {
        if until.is_none() && stop.requested() {
            program.end();
            until = Some(Instant::now() + END);
            silence = END;
        }
        match program.next(POLL_INTERVAL) {
            Some(Event::Line(Line::Ignored)) => ended.ignored += 1,
            Some(Event::Line(Line::Note(text))) => ended.notes.push(text),
            Some(Event::Line(line)) => take(&line, origin),
            Some(Event::Ended(why)) => {
                ended.failed = why.map(|why| program.failed(why));
                return ended;
            }
            None => {
                if said_at.elapsed() > silence {
                    let seconds = silence.as_secs();
                    ended.failed = Some(program.failed(format!("says nothing for {seconds} s")));
                    return ended;
                }
                continue;
            }
        }
        said_at = Instant::now();
        if until.is_some_and(|until| Instant::now() > until) {
            ended.failed = Some(program.failed("does not end".to_owned()));
            return ended;
        }
    }
}

fn note(ongoing: &Ongoing, ended: Ended) {
    if ended.ignored > 0 {
        ongoing.running.add_warning(Warning {
            id: "timers_ignored".to_owned(),
            text: format!("{} timers were set and never fired", ended.ignored),
            remedy: None,
            ..Warning::default()
        });
    }
    for warning in noted("timer", &ended.notes) {
        ongoing.running.add_warning(warning);
    }
    if let Some(failed) = ended.failed {
        ongoing.running.add_warning(Warning {
            id: "timer_failed".to_owned(),
            text: format!("{failed}: what it set until then was measured"),
            remedy: None,
            ..Warning::default()
        });
    }
}
