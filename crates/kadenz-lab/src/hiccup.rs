//! jHiccup's measurement, for any operating system and any program.
//!
//! A thread sleeps for a resolution, again and again, and records how much longer each sleep took
//! than the shortest one seen: the *hiccup* that any other program on the machine would have felt
//! too. Beside it stands the value against the intended time, which does not depend on the
//! shortest sleep.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use kadenz_record::run::folder::{Progress, RunWriter, RunningRun, SeriesRecorder};
use kadenz_record::run::labels::{CPU, VALUE, labels};
use kadenz_record::run::model::{EndedBy, Kind, Run, TuningMeasure, Warning};
use kadenz_record::samples::Sample;
use kadenz_rt::clock;
use kadenz_rt::launch::SignalRelay;
use kadenz_rt::tuning::CpuSet;

use crate::measuring::{ExperimentError, Measuring, SeriesSketch};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session;
use crate::stop::Stop;

// What to record for one sleep. Sans-IO.

/// jHiccup's algorithm, and lateness against the intended time.
///
/// For each sleep of the resolution *R* that took *d*: the hiccup is *h* = *d* - shortest *d* seen
/// so far, the lateness is *d* - *R*. Both are followed by their value less *R*, less 2*R*, ...
/// while that is at least *R*: what the sleepers that would have come during the stall would have
/// felt (correction for coordinated omission).
/// Source: jHiccup 2.0, `HiccupRecorder`.
///
/// The first hiccups are too small while the shortest sleep still falls; the lateness is not.
///
/// ```
/// use kadenz_lab::hiccup::HiccupMeter;
/// let mut meter = HiccupMeter::new(1_000_000);
/// assert_eq!(meter.woke(1_060_000).hiccup_ns, 0);
/// let third = meter.woke(3_070_000);
/// assert_eq!(third.hiccup_ns, 2_010_000);
/// assert_eq!(third.lateness_ns, 2_070_000);
/// ```
#[derive(Clone, Debug)]
pub struct HiccupMeter {
    resolution_ns: i64,
    shortest_ns: i64,
}

/// What one sleep gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hiccup {
    /// Duration less the shortest duration seen.
    pub hiccup_ns: i64,
    /// Duration less the resolution; negative when the sleep returned early.
    pub lateness_ns: i64,
}

impl HiccupMeter {
    /// A meter for sleeps of `resolution_ns`.
    pub fn new(resolution_ns: u64) -> Self {
        Self {
            resolution_ns: i64::try_from(resolution_ns).unwrap_or(i64::MAX).max(1),
            shortest_ns: i64::MAX,
        }
    }

    /// Takes one sleep that took `duration_ns`.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    pub fn woke(&mut self, duration_ns: i64) -> Hiccup {
        self.shortest_ns = self.shortest_ns.min(duration_ns);
        Hiccup {
            hiccup_ns: duration_ns - self.shortest_ns,
            lateness_ns: duration_ns - self.resolution_ns,
        }
    }

    /// The smallest of the values for the omitted sleepers, and the number of values including `value_ns` itself, the
    /// first: one per resolution.
    ///
    /// # Real-time safety
    /// No allocation, lock or system call.
    #[must_use]
    pub(crate) fn last_omitted(&self, value_ns: i64) -> (i64, u64) {
        let omitted = (value_ns / self.resolution_ns - 1).max(0);
        let last_ns = value_ns - omitted * self.resolution_ns;
        (last_ns, omitted.unsigned_abs() + 1)
    }
}

/// Plan of an experiment: what to measure, on which CPUs, and beside which program.
#[derive(Debug)]
pub struct HiccupExperiment {
    /// The resolution and the duration of the measurement.
    pub plan: HiccupPlan,
    /// One thread for each of these CPUs; with none, one thread wherever the system puts it.
    pub cpus: Vec<usize>,
    /// Time between the start of the program and the first sleep (jHiccup's `-d`).
    pub start_delay: Duration,
    /// The program to measure beside.
    pub program: Option<Command>,
    /// A second process that measures the same, idle (jHiccup's `-c`). It gets a standard input and must end when that
    /// closes.
    pub control: Option<Command>,
    /// The clock, sleeper and tuning of the measuring threads.
    pub measuring: Measuring,
}

/// Result of the experiment.
#[derive(Debug)]
pub struct HiccupOutcome {
    /// The completed run, as `run.json` holds it.
    pub run: Run,
    /// How the program ended, if there was one.
    pub program: Option<ExitStatus>,
}

/// Measures hiccups and returns the completed run.
///
/// With a program, the measurement ends with it, or after the duration if that is shorter; then this function waits for
/// the program. A stop ends the measurement; this function then waits for the program, too. A terminal sends its Ctrl-C
/// to the program itself; SIGINT, SIGTERM and SIGHUP that a process sent to this one alone are passed on (Linux).
///
/// # Errors
/// [`ExperimentError`]; missing rights are not an error but a warning in the run.
pub fn experiment(
    experiment: HiccupExperiment,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<HiccupOutcome, ExperimentError> {
    // A signal may come before the program has started.
    let relay = SignalRelay::install();
    let mut run = session::begin(&experiment.measuring.session)?;
    let members = members(&experiment, &mut run)?;
    let control = experiment.control.map(Control::start).transpose()?;
    let mut program = match experiment.program {
        Some(command) => MeasuredProgram::start(command, relay, stop)?,
        None => None,
    };
    stop.wait(experiment.start_delay);
    let ongoing = experiment.measuring.start(run)?;
    let mut ended_by = {
        let mut watch = MeasuredProgramWatch {
            watch,
            program: program.as_mut(),
            stop,
        };
        measuring_threads::work(&ongoing, members, stop, &mut watch)?
    };
    let program = match program {
        Some(mut program) => {
            if program.ended.is_some() {
                ended_by = EndedBy::ProgramEnded;
            }
            program.wait(&ongoing.running)
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
        let sketch = SeriesSketch {
            labels,
            interval: Some(experiment.plan.resolution),
            deadline,
            ..SeriesSketch::new(kind, name, format!("{words}{on}"))
        };
        measuring.series(run, sketch)
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
    let work = move |context: &mut LoopContext<'_>| {
        hiccup(&plan, context, &mut recorders);
    };
    let mut member = measuring.member(&[&names[0], &names[1]], work);
    if let Some(cpu) = cpu {
        member.tuning.cpus = Some(CpuSet::single(cpu));
    }
    Ok(member)
}

/// The program that runs beside the measurement.
struct MeasuredProgram {
    child: Child,
    relay: SignalRelay,
    ended: Option<ExitStatus>,
}

impl MeasuredProgram {
    /// Starts it, unless the stop was requested before.
    fn start(
        mut command: Command,
        relay: SignalRelay,
        stop: &Stop,
    ) -> Result<Option<Self>, ExperimentError> {
        let program = command.get_program().to_string_lossy().into_owned();
        if stop.requested() {
            return Ok(None);
        }
        let child = command
            .spawn()
            .map_err(|error| ExperimentError::Program { program, error })?;
        Ok(Some(Self {
            child,
            relay,
            ended: None,
        }))
    }

    /// Whether it has ended; never blocks.
    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    /// Waits until it has ended; a signal that a process sent to this one alone is passed on.
    fn wait(&mut self, running: &RunningRun) -> Option<ExitStatus> {
        let status = self.ended;
        let status = status.or_else(|| self.relay.wait(&mut self.child).ok())?;
        if !status.success() {
            running.add_warning(Warning::new(
                "program_failed",
                format!("the measured program ended with {status}"),
                None,
            ));
        }
        Some(status)
    }
}

impl Drop for MeasuredProgram {
    fn drop(&mut self) {
        // It still runs where the measurement could not start.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
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
        running.add_warning(Warning::new("control_failed", trouble, None));
    }
}

/// Ends the measurement when the program has ended.
struct MeasuredProgramWatch<'a> {
    watch: &'a mut dyn Watch,
    program: Option<&'a mut MeasuredProgram>,
    stop: &'a Stop,
}

impl Watch for MeasuredProgramWatch<'_> {
    fn tick(&mut self, progress: &Progress) {
        if self
            .program
            .as_mut()
            .is_some_and(|program| program.has_ended())
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

/// Resolution and duration of a measurement.
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
    /// How much longer the sleep took than the shortest one seen.
    pub hiccup: SeriesRecorder,
    /// The value against the intended time.
    pub lateness: SeriesRecorder,
}

/// Measures hiccups from `start` on, until the plan is done or a stop is requested.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_is_not_waited_for_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let program = MeasuredProgram::start(command, SignalRelay::install(), &Stop::default());
        let program = program.unwrap().unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}", program.child.id()));
        assert!(process.exists());
        drop(program);
        assert!(!process.exists());
    }

    #[test]
    fn no_program_starts_after_the_stop() {
        let stop = Stop::default();
        stop.request();
        let command = Command::new("sleep");
        let started = MeasuredProgram::start(command, SignalRelay::install(), &stop);
        assert!(started.unwrap().is_none());
    }

    #[test]
    fn a_stall_of_three_seconds_is_felt_three_thousand_times() {
        let meter = HiccupMeter::new(1_000_000);
        assert_eq!(meter.last_omitted(3_000_000_000), (1_000_000, 3000));
    }

    #[test]
    fn below_two_resolutions_nothing_was_omitted() {
        let meter = HiccupMeter::new(1_000_000);
        assert_eq!(meter.last_omitted(1_999_999), (1_999_999, 1));
        assert_eq!(meter.last_omitted(2_000_000), (1_000_000, 2));
        assert_eq!(meter.last_omitted(-5), (-5, 1));
    }

    #[test]
    fn an_early_sleep_is_negative_lateness_and_no_hiccup() {
        let mut meter = HiccupMeter::new(1_000_000);
        let hiccup = meter.woke(990_000);
        assert_eq!(hiccup.lateness_ns, -10_000);
        assert_eq!(hiccup.hiccup_ns, 0);
    }

    proptest! {
        #[test]
        fn hiccups_are_never_negative(durations in prop::collection::vec(0i64..10_000_000, 1..200)) {
            let mut meter = HiccupMeter::new(1_000_000);
            for duration in durations {
                prop_assert!(meter.woke(duration).hiccup_ns >= 0);
            }
        }
    }
}
