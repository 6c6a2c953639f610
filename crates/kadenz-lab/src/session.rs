//! Beginning and end of every experiment: the run folder, the host, the clock and their warnings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kadenz_record::run::folder::{
    CreateRunError, FinishRunError, RunWriter, RunningRun, StartRunError,
};
use kadenz_record::run::model::{self, EndedBy, FORMAT_VERSION, Run, TuningMeasure, Warning};
use kadenz_rt::clock::{self, Clock, ClockKind, MonotonicTime};
use kadenz_rt::doctor::{self, Severity};
use kadenz_rt::host::cpu_time::CpuTime;
use kadenz_rt::host::{self, Root};
use kadenz_rt::shield::{self, Inside, Shield, ShieldEntrance};
use kadenz_rt::tuning::{self, AppliedTuning, CpuSet, Tuning};
use serde_json::Value;

/// The common options of an experiment.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// The run folder; must not exist yet or be empty.
    pub out: PathBuf,
    /// `check`, `hiccup`, `timer-cyclic`, ...
    pub experiment: &'static str,
    /// The command line that repeats the run.
    pub command: Vec<String>,
    /// The user's options by their names, defaults included.
    pub request: BTreeMap<String, Value>,
    /// The parameters in force, defaults included.
    pub parameters: BTreeMap<String, Value>,
    /// Length of an interval of the interval log.
    pub interval: Duration,
    /// Whether raw samples are kept.
    pub raw: bool,
    /// The clock that is read.
    pub clock: ClockKind,
    /// Whether the doctor examines the machine first. The part of a larger run leaves that to the larger run.
    pub examine: bool,
}

impl SessionPlan {
    /// The usual options of an experiment: a line of the interval log each second, raw samples, the monotonic clock,
    /// and an examination by the doctor.
    #[must_use]
    pub fn new(experiment: &'static str, out: impl Into<PathBuf>) -> Self {
        Self {
            out: out.into(),
            experiment,
            command: Vec::new(),
            request: BTreeMap::new(),
            parameters: BTreeMap::new(),
            interval: Duration::from_secs(1),
            raw: true,
            clock: ClockKind::Monotonic,
            examine: true,
        }
    }

    /// Notes a parameter that is in force.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.parameters.insert(name.to_owned(), value.into());
    }
}

/// Why a session could not begin.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The run folder could not be made.
    #[error(transparent)]
    Folder(#[from] CreateRunError),
    /// The clock is not available on this machine.
    #[error("cannot use the clock {0}: {1}; take `--clock monotonic`")]
    Clock(ClockKind, String),
}

/// Makes the run folder and notes host, clock and the findings about the machine.
///
/// # Errors
/// [`SessionError`]; nothing has been measured then.
pub fn begin(plan: &SessionPlan) -> Result<RunWriter, SessionError> {
    Ok(RunWriter::create(&plan.out, describe(plan)?)?)
}

/// Describes the run before the measurement: host, clock and the findings about the machine.
///
/// # Errors
/// The clock is not available.
pub fn describe(plan: &SessionPlan) -> Result<Run, SessionError> {
    let clock = clock::open(plan.clock)
        .map_err(|error| SessionError::Clock(plan.clock, error.to_string()))?;
    Ok(Run {
        version: FORMAT_VERSION,
        kadenz: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: plan.experiment.to_owned(),
        command: plan.command.clone(),
        request: plan.request.clone(),
        parameters: plan.parameters.clone(),
        host: host_of_this_machine(),
        clock: clock_facts(clock.as_ref()),
        warnings: if plan.examine {
            warnings_of_this_machine()
        } else {
            Vec::new()
        },
        ..Run::default()
    })
}

/// A run that is being measured.
pub struct Ongoing {
    /// The run in kadenz-record.
    pub running: RunningRun,
    /// Start of the run on `CLOCK_MONOTONIC`; sample times count from here.
    pub origin: MonotonicTime,
    /// The part of the shield that its threads share; empty where none was requested.
    pub shield_view: ShieldView,
    /// Dropped with the run, whatever ends it.
    shield: Option<Shield>,
    meanwhile: CpuUsage,
}

/// CPU time since a measurement began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuUsage {
    /// At the start, where the system reports it.
    start: Option<CpuTime>,
}

impl CpuUsage {
    /// Begins the period now.
    pub(crate) fn begin() -> Self {
        Self { start: cpu_time() }
    }

    /// The warning that the hypervisor took time since, if it was enough to matter.
    pub(crate) fn stolen(self) -> Option<Warning> {
        let (start, end) = self.start.zip(cpu_time())?;
        stolen(end.since(start))
    }
}

/// The shield as its threads see it.
#[derive(Clone, Debug, Default)]
pub struct ShieldView {
    /// The measures of the shield; noted with each thread's own tuning.
    pub measures: Vec<tuning::Measure>,
    /// The way into the shield; absent where it was refused.
    pub entrance: Option<ShieldEntrance>,
}

/// More stolen CPU time than this, in percent, is worth a warning.
const STOLEN_PERCENT: f64 = 0.1;

/// Starts the run's time and its writer thread, after raising a shield where one is requested.
///
/// # Errors
/// The folder cannot be written or the thread cannot be started.
pub fn start(
    mut run: RunWriter,
    interval: Duration,
    shielded: Option<&CpuSet>,
) -> Result<Ongoing, StartRunError> {
    let (shield_view, shield) = shielded.map(raise).unwrap_or_default();
    let origin = clock::now();
    run.restart_time(origin.as_ns());
    Ok(Ongoing {
        running: run.start(interval)?,
        origin,
        meanwhile: CpuUsage::begin(),
        shield_view,
        shield,
    })
}

/// Raises a shield. A refusal is not an error: the threads then run on these CPUs without protection, and the measure
/// says that they are not alone there.
pub fn raise(cpus: &CpuSet) -> (ShieldView, Option<Shield>) {
    match shield::raise(cpus) {
        Ok(shield) => {
            let shield_view = ShieldView {
                measures: shield.measures.clone(),
                entrance: Some(shield.entrance()),
            };
            (shield_view, Some(shield))
        }
        Err(error) => {
            let refused = tuning::Measure {
                name: "shield",
                requested: format!("CPUs {cpus} for the measurement alone"),
                granted: "no shield, affinity only".to_owned(),
                ok: false,
                remedy: error.remedy(),
                reason: Some(error.to_string()),
            };
            let shield_view = ShieldView {
                measures: vec![refused],
                entrance: None,
            };
            (shield_view, None)
        }
    }
}

/// Tries what the machine grants of a tuning and a shield, on a thread of its own, and undoes it.
///
/// # Panics
/// The system refuses a thread.
pub fn try_tuning(tuning: &Tuning, shielded: Option<&CpuSet>) -> Vec<TuningMeasure> {
    // The shield, where there is one, stays until the thread has left it.
    let (shield_view, _shield) = shielded.map(raise).unwrap_or_default();
    let tried = std::thread::scope(|scope| {
        let thread = scope.spawn(|| shield_view.tune_thread(tuning).measures);
        thread.join()
    });
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A thread that is tuned until this is dropped, on that thread.
pub(crate) struct TunedThread {
    /// What was requested of the shield and for the thread, and what was granted.
    pub(crate) measures: Vec<TuningMeasure>,
    // In this order: the tuning is undone before the thread leaves the shield.
    _applied: AppliedTuning,
    _inside: Option<Inside>,
}

impl ShieldView {
    /// Lets the calling thread into the shield, where there is one, and tunes it.
    pub(crate) fn tune_thread(&self, tuning: &Tuning) -> TunedThread {
        // It enters before it is pinned to CPUs, because the shield offers no others.
        let inside = self.entrance.as_ref().map(ShieldEntrance::enter);
        let applied = tuning::apply(tuning);
        let of_thread = inside.iter().map(|inside| &inside.measure);
        let all = self.measures.iter().chain(of_thread);
        TunedThread {
            measures: all.chain(&applied.measures).map(measure_of).collect(),
            _applied: applied,
            _inside: inside,
        }
    }
}

impl Ongoing {
    /// Notes with these series what a thread requested of the machine, and warns of each refusal.
    pub(crate) fn note_tuning<N: AsRef<str>>(
        &self,
        series: impl IntoIterator<Item = N>,
        measures: &[TuningMeasure],
    ) {
        self.running
            .add_warnings(measures.iter().filter_map(TuningMeasure::refusal));
        for name in series {
            let measures = measures.to_vec();
            self.running.add_series_tuning(name.as_ref(), measures);
        }
    }

    /// Ends the run and completes its folder.
    ///
    /// # Errors
    /// Something could not be written; the error holds the counts.
    pub fn finish(mut self, ended_by: EndedBy) -> Result<Run, FinishRunError> {
        let restored = self.shield.take().map(Shield::lower).unwrap_or_default();
        if !restored.is_complete() {
            let left: Vec<String> = restored.failed.iter().map(ToString::to_string).collect();
            self.running.add_warning(Warning::new(
                "shield_left",
                left.join("; "),
                Some("sudo kadenz doctor --restore"),
            ));
        }
        self.running.add_warnings(self.meanwhile.stolen());
        self.running.finish(ended_by)
    }
}

fn cpu_time() -> Option<CpuTime> {
    CpuTime::read(&Root::system()).ok()
}

/// The time that the hypervisor took while this run was measured; the doctor only knows the sum since boot.
fn stolen(meanwhile: CpuTime) -> Option<Warning> {
    let percent = meanwhile.stolen_percent();
    let text = format!(
        "while this was measured, the hypervisor took {percent:.2} % of the CPU time from this machine: the values \
         include that delay"
    );
    let remedy = Some("measure again when the host is quiet, or on bare metal");
    (percent >= STOLEN_PERCENT).then(|| Warning::new("stolen_meanwhile", text, remedy))
}

fn clock_facts(clock: &dyn Clock) -> model::Clock {
    let facts = clock::measure(clock);
    model::Clock {
        name: clock.name().to_owned(),
        resolution_ns: facts.resolution_ns,
        read_cost_ns: facts.read_cost_ns,
        record_cost_ns: Some(kadenz_record::recorder::cost_ns()),
    }
}

fn host_of_this_machine() -> model::Host {
    let facts = host::facts();
    model::Host {
        os: facts.os,
        os_release: facts.os_release,
        kernel: facts.kernel,
        preemption: facts.preemption,
        cpu: facts.cpu,
        cpus: facts.cpus,
        memory_bytes: facts.memory_bytes,
        clock_source: facts.clock_source,
        governor: facts.governor,
        cgroup: facts.cgroup,
        virtualisation: facts.virtualisation,
    }
}

/// The doctor's findings: each finding that prevents real time is a warning by itself, and the minor ones share one
/// warning, so that a reader sees the worst first.
fn warnings_of_this_machine() -> Vec<Warning> {
    let findings = doctor::examine();
    let of = |severity| {
        findings
            .iter()
            .filter(move |finding| finding.severity == severity)
    };
    let mut warnings: Vec<Warning> = of(Severity::Spoils)
        .map(|finding| Warning::new(finding.id, finding.sentence(), finding.remedy.as_deref()))
        .collect();
    let costs: Vec<&str> = of(Severity::Costs)
        .map(|finding| finding.title.as_str())
        .collect();
    if !costs.is_empty() {
        warnings.push(Warning::new(
            "doctor_costs",
            format!(
                "the doctor finds what costs real time here: {}",
                costs.join("; ")
            ),
            Some("kadenz doctor states the cost and the fix of each"),
        ));
    }
    warnings
}

/// Converts measures of kadenz-rt to the form of run.json.
#[must_use]
pub fn measures_of(measures: &[tuning::Measure]) -> Vec<TuningMeasure> {
    measures.iter().map(measure_of).collect()
}

fn measure_of(measure: &tuning::Measure) -> TuningMeasure {
    TuningMeasure {
        name: measure.name.to_string(),
        requested: measure.requested.clone(),
        granted: measure.granted.clone(),
        ok: measure.ok,
        reason: measure.reason.clone(),
        remedy: measure.remedy.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_hypervisor_took_meanwhile_is_warned_of() {
        let all = 120_000;
        let of = |taken| stolen(CpuTime { stolen: taken, all });
        assert_eq!(of(0), None);
        assert_eq!(of(119), None);
        let warning = of(2400).expect("a fiftieth was taken");
        assert!(warning.text.contains("2.00 %"), "{}", warning.text);
    }
}
