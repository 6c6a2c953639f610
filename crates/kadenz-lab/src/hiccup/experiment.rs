//! Hiccups as an experiment: idle or beside a program, on chosen CPUs.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use kadenz_record::run::folder::{Progress, RunWriter, RunningRun, SeriesRecorder};
use kadenz_record::run::labels::{CPU, VALUE, labels};
use kadenz_record::run::model::{EndedBy, Kind, Run, TuningMeasure, Warning};
use kadenz_record::samples::Sample;
use kadenz_rt::clock;
use kadenz_rt::tuning::CpuSet;

use super::HiccupMeter;
use crate::measuring::{ExperimentError, Measuring, SeriesSketch};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session;
use crate::stop::Stop;

/// What is measured, where and beside what.
#[derive(Debug)]
pub struct HiccupExperiment {
    /// Resolution and duration.
    pub plan: HiccupPlan,
    /// One thread for each of these CPUs; with none, one thread wherever the system puts it.
    pub cpus: Vec<usize>,
    /// Time between the start of the program and the first sleep (jHiccup's `-d`).
    pub start_delay: Duration,
    /// The program to measure beside.
    pub program: Option<Command>,
    /// A second process that measures the same, idle (jHiccup's `-c`): it is given a standard
    /// input and must end when that closes.
    pub control: Option<Command>,
    /// How to measure.
    pub measuring: Measuring,
}

/// What became of the experiment.
#[derive(Debug)]
pub struct HiccupOutcome {
    /// The completed run.
    pub run: Run,
    /// How the program ended, if there was one.
    pub program: Option<ExitStatus>,
}

/// Measures hiccups and returns the completed run.
///
/// With a program, the measurement ends with it, or after the duration if that is shorter; then
/// the program is waited for. A stop ends the measurement; the program, which has had the same
/// Ctrl-C, is waited for too.
///
/// # Errors
/// [`ExperimentError`]; rights that are missing are no error but a warning in the run.
pub fn experiment(
    experiment: HiccupExperiment,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<HiccupOutcome, ExperimentError> {
    let mut run = session::begin(&experiment.measuring.session)?;
    let members = members(&experiment, &mut run)?;
    let control = experiment.control.map(Control::start).transpose()?;
    let mut companion = experiment.program.map(Companion::start).transpose()?;
    wait(experiment.start_delay, stop);
    let ongoing = experiment.measuring.start(run)?;
    let mut ended_by = {
        let mut watch = CompanionWatch {
            watch,
            companion: companion.as_mut(),
            stop,
        };
        measuring_threads::work(&ongoing, members, stop, &mut watch)?
    };
    let program = match companion {
        Some(mut companion) => {
            if companion.ended.is_some() {
                ended_by = EndedBy::ProgramEnded;
            }
            companion.wait(&ongoing.running)
        }
        None => None,
    };
    if let Some(control) = control {
        control.end(&ongoing.running);
    }
    Ok(HiccupOutcome {
        run: ongoing.finish(ended_by)?,
        program,
    })
}

fn members(
    experiment: &HiccupExperiment,
    run: &mut RunWriter,
) -> Result<Vec<Member>, ExperimentError> {
    if experiment.cpus.is_empty() {
        return Ok(vec![member(experiment, None, run)?]);
    }
    experiment
        .cpus
        .iter()
        .map(|&cpu| member(experiment, Some(cpu), run))
        .collect()
}

fn member(
    experiment: &HiccupExperiment,
    cpu: Option<usize>,
    run: &mut RunWriter,
) -> Result<Member, ExperimentError> {
    let measuring = &experiment.measuring;
    let suffix = cpu.map(|cpu| format!("-cpu{cpu}")).unwrap_or_default();
    let on = cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
    let names = ["hiccup", "lateness"].map(|value| format!("{value}{suffix}"));
    let mut series = |name: &str, value: &str, words: &str, kind, deadline| {
        let mut labels = labels([(VALUE, value)]);
        labels.extend(cpu.map(|cpu| (CPU.to_owned(), cpu.to_string())));
        measuring.series(
            run,
            SeriesSketch {
                name,
                labels,
                description: format!("{words}{on}"),
                kind,
                interval: Some(experiment.plan.resolution),
                deadline,
                raw: true,
            },
        )
    };
    let deadline = measuring.deadline;
    let mut recorders = HiccupRecorders {
        hiccup: series(
            &names[0],
            "hiccup",
            "sleep less the shortest one seen",
            Kind::Hiccup,
            deadline,
        )?,
        lateness: series(
            &names[1],
            "lateness",
            "sleep against its intended end",
            Kind::Lateness,
            None,
        )?,
    };
    let plan = experiment.plan;
    let work = Box::new(move |context: &mut measuring_threads::LoopContext<'_>| {
        hiccup(&plan, context, &mut recorders);
    });
    let mut member = measuring.member(&[&names[0], &names[1]], work);
    if let Some(cpu) = cpu {
        member.tuning.cpus = Some(CpuSet::single(cpu));
    }
    Ok(member)
}

/// Sleeps in short steps, so that a stop is heard.
fn wait(delay: Duration, stop: &Stop) {
    const STEP: Duration = Duration::from_millis(50);
    let mut left = delay;
    while !left.is_zero() && !stop.requested() {
        let step = left.min(STEP);
        std::thread::sleep(step);
        left -= step;
    }
}

/// The program that is measured beside.
struct Companion {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Companion {
    fn start(mut command: Command) -> Result<Self, ExperimentError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .spawn()
            .map_err(|error| ExperimentError::Program { program, error })?;
        Ok(Self { child, ended: None })
    }

    /// Whether it has ended; never blocks.
    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    fn wait(&mut self, running: &RunningRun) -> Option<ExitStatus> {
        let status = self.ended.or_else(|| self.child.wait().ok())?;
        if !status.success() {
            running.add_warning(Warning {
                id: "program_failed".to_owned(),
                text: format!("the measured program ended with {status}"),
                remedy: None,
                ..Warning::default()
            });
        }
        Some(status)
    }
}

/// The control process. It ends when its standard input closes, so also when this process dies.
struct Control(Child);

impl Control {
    fn start(mut command: Command) -> Result<Self, ExperimentError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| ExperimentError::Program { program, error })?;
        Ok(Self(child))
    }

    /// Closes its standard input and waits until its run is complete.
    fn end(mut self, running: &RunningRun) {
        drop(self.0.stdin.take());
        let trouble = match self.0.wait() {
            Ok(status) if status.success() => return,
            Ok(status) => format!("the control process ended with {status}"),
            Err(error) => format!("the control process could not be waited for: {error}"),
        };
        running.add_warning(Warning {
            id: "control_failed".to_owned(),
            text: trouble,
            remedy: None,
            ..Warning::default()
        });
    }
}

/// Ends the measurement when the program has ended.
struct CompanionWatch<'a> {
    watch: &'a mut dyn Watch,
    companion: Option<&'a mut Companion>,
    stop: &'a Stop,
}

impl Watch for CompanionWatch<'_> {
    fn tick(&mut self, progress: &Progress) {
        if self
            .companion
            .as_mut()
            .is_some_and(|companion| companion.has_ended())
        {
            self.stop.request();
        }
        self.watch.tick(progress);
    }

    fn tuned(&mut self, series: &[String], measures: &[TuningMeasure]) {
        self.watch.tuned(series, measures);
    }
}

// The loop that sleeps and records.

/// How hiccups are measured.
#[derive(Clone, Copy, Debug)]
pub struct HiccupPlan {
    /// How long each sleep is meant to be (jHiccup's `-r`).
    pub resolution: Duration,
    /// How long to measure; with `None` until stopped.
    pub duration: Option<Duration>,
}

/// Where the two values of a sleep go.
#[derive(Debug)]
pub struct HiccupRecorders {
    /// jHiccup's value.
    pub hiccup: SeriesRecorder,
    /// The value against the intended time.
    pub lateness: SeriesRecorder,
}

/// Measures hiccups from `start` on, until the plan is done or somebody stops it.
///
/// # Real-time safety
/// After the call it allocates nothing and takes no lock; its only system call is the sleeper's.
pub fn hiccup(plan: &HiccupPlan, context: &mut LoopContext<'_>, recorders: &mut HiccupRecorders) {
    context.sleeper.sleep_until(context.start);
    let resolution_ns = i64::try_from(plan.resolution.as_nanos()).unwrap_or(i64::MAX);
    let mut meter = HiccupMeter::new(resolution_ns.unsigned_abs());
    let end = plan.duration.map(|duration| context.start + duration);
    let mut sequence = 0;
    let mut previous = context.clock.now();
    while !context.stop.requested() {
        // Sleepers sleep on CLOCK_MONOTONIC; the context's clock may be another one.
        let armed = clock::now();
        if end.is_some_and(|end| armed >= end) {
            break;
        }
        context.sleeper.sleep_until(armed + plan.resolution);
        let now = context.clock.now();
        let values = meter.woke(now.since(previous));
        let actual_ns = now.since(context.origin);
        for (recorder, value) in [
            (&mut recorders.hiccup, values.hiccup_ns),
            (&mut recorders.lateness, values.lateness_ns),
        ] {
            let sample = |value_ns: i64| Sample {
                sequence,
                intended_ns: actual_ns - value_ns,
                actual_ns,
                value_ns,
            };
            let (last, count) = meter.last_omitted(value);
            recorder.record_left_out(sample(value), sample(last), count);
        }
        sequence += 1;
        previous = now;
    }
}
