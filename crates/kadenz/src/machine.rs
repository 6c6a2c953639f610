//! The description of the machine in a run.

use kadenz_record::recorder;
use kadenz_record::run::folder::RunningRun;
use kadenz_record::run::model::{self, Run, TuningMeasure, Warning};
use kadenz_rt::clock::{self, ClockKind, OpenClockError};
use kadenz_rt::doctor::{self, Severity};
use kadenz_rt::{host, tuning};

/// A run of this program before anything is recorded: host, clock, and the conditions of this machine that spoil real
/// time.
pub(crate) fn run() -> Result<Run, OpenClockError> {
    let command: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Ok(Run {
        kadenz: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: program(&command),
        command,
        host: host(),
        clock: clock()?,
        warnings: warnings(),
        ..Run::default()
    })
}

/// The program's name, without folder and ending.
fn program(command: &[String]) -> String {
    let path = command.first().map(std::path::Path::new);
    let name = path.and_then(|it| it.file_stem());
    name.map_or_else(
        || "program".to_owned(),
        |it| it.to_string_lossy().into_owned(),
    )
}

fn host() -> model::Host {
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

fn clock() -> Result<model::Clock, OpenClockError> {
    let clock = clock::open(ClockKind::Monotonic)?;
    let facts = clock::measure(clock.as_ref());
    Ok(model::Clock {
        name: clock.name().to_owned(),
        resolution_ns: facts.resolution_ns,
        read_cost_ns: facts.read_cost_ns,
        record_cost_ns: Some(recorder::cost_ns()),
    })
}

fn warnings() -> Vec<Warning> {
    let findings = doctor::examine();
    let spoiling = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Spoils);
    let warnings = spoiling
        .map(|finding| Warning::new(finding.id, finding.sentence(), finding.remedy.as_deref()));
    warnings.collect()
}

/// Writes into a run the tuning that a thread requested, what the system granted, and a warning for each refusal.
pub(crate) fn note_tuning<'a>(
    run: &RunningRun,
    series: &[&str],
    measures: impl Iterator<Item = &'a tuning::Measure>,
) {
    let measures: Vec<_> = measures.map(measure).collect();
    run.add_warnings(measures.iter().filter_map(|it| it.refusal()));
    for name in series {
        run.add_series_tuning(name, measures.clone());
    }
}

/// One requested setting and its result, as a run keeps it.
fn measure(it: &tuning::Measure) -> TuningMeasure {
    TuningMeasure {
        name: it.name.to_owned(),
        requested: it.requested.clone(),
        granted: it.granted.clone(),
        ok: it.ok,
        reason: it.reason.clone(),
        remedy: it.remedy.clone(),
    }
}
