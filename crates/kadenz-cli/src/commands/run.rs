//! `kadenz run`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::Context as _;
use clap::Args;
use kadenz_record::run::model::TuningMeasure;
use kadenz_rt::launch::{self, Awake, Launch, LaunchError, Program};
use kadenz_rt::tuning::{Measure, Policy};
use serde::Serialize;

use super::granted;
use crate::options::{CpuList, Span};
use crate::output::{self, Outcome};

/// Start a program under a chosen tuning, and say what it was granted.
///
/// Does in one step what `chrt`, `taskset`, `ulimit` and a hand-written `mlockall` do together:
/// scheduling policy, CPUs, locked memory, nice value and timer slack are set before the program's
/// first instruction and read back. What the kernel refuses is told on standard error with its
/// remedy, and the program starts without it, or with `--require` not at all. Threads and processes
/// that the program starts inherit all but the lock and SCHED_DEADLINE.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz run --priority 80 --cpus 1 -- ./controller --arm left    chrt -f 80 taskset -c 1 ./controller
  kadenz run --priority 80 --lock --cpus 1 --spin -- ./controller  P, M, C and S of the paper
  kadenz run --policy deadline:200us/1ms -- ./controller          a reservation of processor time
  kadenz run --require --priority 80 --lock -- ./controller       all of it, or no start

Exit codes: the program's own; 128 + N when signal N ended it, 127 when it was not found, 126 when it
cannot be executed; 2 when `kadenz run` itself could not do its work, also when `--require` was not met.
SIGTERM and SIGHUP are handed on to the program. A program outlives `kadenz run` when that is killed.")]
pub(crate) struct Options {
    /// Real-time priority 1 to 99 under SCHED_FIFO: short for --policy fifo:PRIORITY
    #[arg(long, value_name = "PRIORITY", conflicts_with = "policy",
          value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: Option<u8>,

    /// Scheduling policy: other, fifo:1..99, rr:1..99 or deadline:RUNTIME/PERIOD [default: inherited]
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,

    /// Lock all memory of the program, also what it maps later, before its first instruction
    #[arg(long)]
    lock: bool,

    /// CPUs the program may run on, for example 0,2-3
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuList>,

    /// Keep CPUs from idling while the program runs: allows no idle state that takes time to leave
    /// (whole machine) and, with --cpus, spins on those CPUs whenever nothing else wants them. Costs
    /// full power; the program's own sleeps stay sleeps
    #[arg(long)]
    spin: bool,

    /// Nice value, -20 (most of the processor) to 19
    #[arg(long, value_name = "NICE", allow_negative_numbers = true,
          value_parser = clap::value_parser!(i8).range(-20..=19))]
    nice: Option<i8>,

    /// By how much the kernel may delay the program's timers [default: inherited, mostly 50us]
    #[arg(long, value_name = "SPAN")]
    timer_slack: Option<Span>,

    /// Do not start the program unless everything is granted: exit code 2
    #[arg(long)]
    require: bool,

    /// Say nothing of what was granted
    #[arg(long, short = 'q', help_heading = "Output")]
    quiet: bool,

    /// Write what was granted, and how the program ended, as JSON to a file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Program to start, with its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// What `--report` writes, at the start and again at the end.
#[derive(Serialize)]
struct Report<'a> {
    /// The program with its arguments.
    program: &'a [String],
    /// Number of its process; `null` when it was not started.
    pid: Option<u32>,
    /// Whether everything asked for was granted.
    granted: bool,
    /// Requested against granted.
    measures: &'a [TuningMeasure],
    /// How it ended; `null` while it runs.
    ended: Option<Ended>,
}

#[derive(Clone, Copy, Serialize)]
struct Ended {
    /// What it returned; `null` when a signal ended it.
    code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let cpus = options.cpus.as_ref().map(CpuList::set);
    let (awake, mut measures) = match options.spin {
        true => Some(Awake::hold(cpus.as_ref(), None)).unzip(),
        false => (None, None),
    };
    let mut measures: Vec<Measure> = measures.take().unwrap_or_default();
    let started = match measures.iter().all(|measure| measure.ok) || !options.require {
        true => launch::start(command(options), &launch(options)),
        false => Err(LaunchError::NotGranted {
            measures: Vec::new(),
        }),
    };
    let mut program = match started {
        Ok(program) => program,
        Err(error) => return refused(options, error, measures),
    };
    measures.splice(0..0, program.measures().iter().cloned());
    let measures = granted::recorded(&measures);
    if !options.quiet {
        granted::tell(&measures);
    }
    let outcome = report(options, Some(program.pid()), &measures, None)
        .and_then(|()| see_through(options, &mut program, &measures));
    drop(awake);
    outcome
}

/// Waits for the program and says how it ended.
fn see_through(
    options: &Options,
    program: &mut Program,
    measures: &[TuningMeasure],
) -> anyhow::Result<Outcome> {
    let status = program
        .wait()
        .context("cannot tell how the program ended")?;
    let ended = Ended {
        code: status.code(),
        signal: signal(status),
    };
    report(options, Some(program.pid()), measures, Some(ended))?;
    Ok(Outcome::Program(as_a_shell_says(ended)))
}

fn launch(options: &Options) -> Launch {
    Launch {
        policy: options.priority.map(Policy::Fifo).or(options.policy),
        lock_memory: options.lock,
        cpus: options.cpus.as_ref().map(CpuList::set),
        nice: options.nice,
        timer_slack_ns: options.timer_slack.map(Span::as_ns),
        enter: None,
        require: options.require,
    }
}

fn command(options: &Options) -> Command {
    let mut command = Command::new(&options.program[0]);
    command.args(&options.program[1..]);
    command
}

/// Says why nothing was started.
fn refused(options: &Options, error: LaunchError, kept: Vec<Measure>) -> anyhow::Result<Outcome> {
    let code = match &error {
        LaunchError::Program { source, .. } if source.kind() == ErrorKind::NotFound => 127,
        LaunchError::Program { .. } => 126,
        _ => 2,
    };
    if let LaunchError::NotGranted { measures } = error {
        let measures: Vec<Measure> = measures.into_iter().chain(kept).collect();
        let measures = granted::recorded(&measures);
        granted::tell(&measures);
        report(options, None, &measures, None)?;
        output::note(&format!(
            "kadenz: `{}` was not started: not everything that --require asks for was granted",
            options.program[0]
        ));
    } else {
        output::error(&error.into());
    }
    Ok(Outcome::Program(code))
}

/// Writes `--report`.
fn report(
    options: &Options,
    pid: Option<u32>,
    measures: &[TuningMeasure],
    ended: Option<Ended>,
) -> anyhow::Result<()> {
    let Some(file) = &options.report else {
        return Ok(());
    };
    let report = Report {
        program: &options.program,
        pid,
        granted: measures.iter().all(|measure| measure.ok),
        measures,
        ended,
    };
    write(file, &report)
}

fn write(file: &Path, report: &Report<'_>) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    std::fs::write(file, text).with_context(|| {
        format!(
            "cannot write the report {}; the program was started",
            file.display()
        )
    })
}

/// The code a shell gives for such an end.
fn as_a_shell_says(ended: Ended) -> u8 {
    let code = ended.code.or(ended.signal.map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}
