//! `kadenz run`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::session::{self, ShieldView};
use kadenz::lab::watch::{self, WatchPlan, WatchSetup, Watching};
use kadenz::record::run::model::TuningMeasure;
use kadenz::report::document::{Document, Table};
use kadenz::report::text::{Style, Text};
use kadenz::rt::launch::{self, Awake, Launch, LaunchError, Program};
use kadenz::rt::shield::Shield;
use kadenz::rt::tuning::{CpuSet, Measure, Policy};
use schemars::JsonSchema;
use serde::Serialize;

use super::outcome;
use crate::options::{POLICIES, Span, complete, session_plan, timer_slack};
use crate::output::{self, Outcome};

/// Start a program under a chosen tuning, and print which measures were granted.
///
/// Combines `chrt`, `taskset`, `cset`, `ulimit` and a hand-written `mlockall` in one step: it sets scheduling policy,
/// CPUs, locked memory, nice value and timer slack before the program's first instruction and reads them back. It
/// prints each refusal of the kernel on standard error with its remedy, and the program starts without that measure,
/// or with `--require` not at all. Threads and processes that the program starts inherit all but the lock and
/// SCHED_DEADLINE.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz run sleep 1                                      words after the program are its arguments
  kadenz run --priority 80 --cpus 1 -- ./controller       chrt -f 80 taskset -c 1 ./controller
  sudo kadenz run --priority 80 --lock --shield 1 --spin -- ./controller
                                                          P, M, C and, from outside, S
  sudo kadenz run --cpu-dma-latency 0us -- ./controller   I: no CPU in a state that takes time to leave
  kadenz run --policy deadline:200us/1ms -- ./controller  a reservation of processor time
  kadenz run --watch --out arm -- ./controller            and how long its threads wait
  kadenz run --require --priority 80 --lock -- ./controller
                                                          all of it, or no start

Exit codes: the program's own; 128 + N when signal N ended it; 127 when it was not found, 126 \
when it cannot be executed; 2 when `kadenz run` could not do its work or `--require` was not met. \
SIGTERM and SIGHUP are passed on to the program, which continues when `kadenz run` is killed.")]
pub(crate) struct Options {
    /// Real-time priority 1 to 99 under SCHED_FIFO: short for --policy fifo:PRIORITY
    #[arg(long, value_name = "PRIORITY", conflicts_with = "policy",
          value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: Option<u8>,

    /// Scheduling policy: other, fifo:1..99, rr:1..99 or deadline:RUNTIME/PERIOD [default: inherited]
    #[arg(long, value_name = "POLICY", value_parser = complete::<Policy>(POLICIES), hide_possible_values = true)]
    policy: Option<Policy>,

    /// Lock all memory of the program, also later mappings, before its first instruction
    #[arg(long)]
    lock: bool,

    /// CPUs the program may run on, for example 0,2-3
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuSet>,

    /// Keep everything else off these CPUs while the program runs, and run it there; restores everything when it ends
    /// (needs root, see docs/shield.md)
    #[arg(long, value_name = "CPUS")]
    shield: Option<CpuSet>,

    /// Keep CPUs out of idle states that take longer than this to leave while the program runs: holds
    /// PM QoS /dev/cpu_dma_latency there (whole machine). Costs power; 0us is what cyclictest holds
    #[arg(long, value_name = "SPAN")]
    cpu_dma_latency: Option<Span>,

    /// Keep CPUs from idling while the program runs: allows no idle state that takes time to leave (whole machine)
    /// and, with --cpus or --shield, spins on those CPUs whenever no other thread runs there. Costs full power; the
    /// program's own sleeps stay unchanged
    #[arg(long)]
    spin: bool,

    /// Nice value, -20 (most of the processor) to 19
    #[arg(long, value_name = "NICE", allow_negative_numbers = true,
          value_parser = clap::value_parser!(i8).range(-20..=19))]
    nice: Option<i8>,

    /// The longest delay that the kernel may add to the program's timers [default: inherited, mostly 50us]
    #[arg(long, value_name = "SPAN", value_parser = timer_slack)]
    timer_slack: Option<Span>,

    /// Do not start the program unless everything is granted: exit code 2
    #[arg(long)]
    require: bool,

    /// Record how long the program's threads wait for a CPU, into a run folder: the mean of a time slice (series
    /// scheduling-delay) and the total (series waiting) of every window
    #[arg(long)]
    watch: bool,

    /// Length of a --watch window
    #[arg(long, value_name = "SPAN", default_value = "10ms", requires = "watch")]
    every: Span,

    /// Run folder of --watch [default: kadenz-run-<TIME> in this folder]
    #[arg(long, value_name = "DIR", requires = "watch", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Write the granted measures, and how the program ended, as JSON to a file
    #[arg(
        long = "granted",
        alias = "report",
        value_name = "FILE",
        help_heading = "Output"
    )]
    report: Option<PathBuf>,

    /// Program to start, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Options {
    /// The program with its arguments for people; bytes that are not UTF-8 are replaced.
    fn shown(&self) -> Vec<String> {
        let words = self.program.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}

/// Shield and idle-state guard of the program, from before its start until after its end.
struct ProgramPlacement {
    cpus: Option<CpuSet>,
    /// The task list of the cgroup that the program, and the spinning threads beside it, enter.
    enter: Option<PathBuf>,
    /// The granted measures of the placement.
    measures: Vec<Measure>,
    /// Keeps CPUs out of idle states, or out of deep ones; it runs in the shield, and so ends before it.
    _awake: Option<Awake>,
    /// Keeps everything else off the program's CPUs.
    _shield: Option<Shield>,
}

fn place(options: &Options) -> ProgramPlacement {
    let (shield_view, shield) = match &options.shield {
        Some(cpus) => session::raise(cpus),
        None => (ShieldView::default(), None),
    };
    let cpus = options.cpus.as_ref().or(options.shield.as_ref());
    let mut place = ProgramPlacement {
        cpus: cpus.cloned(),
        enter: shield_view.entrance.map(|entrance| entrance.procs_path()),
        measures: shield_view.measures,
        _awake: None,
        _shield: shield,
    };
    if options.spin {
        let (awake, measures) = Awake::hold(place.cpus.as_ref(), place.enter.as_deref());
        place.measures.extend(measures);
        place._awake = Some(awake);
    } else if let Some(limit) = options.cpu_dma_latency {
        let limit_us = u32::try_from(limit.0.as_micros()).unwrap_or(u32::MAX);
        let (awake, measure) = Awake::limit(limit_us);
        place.measures.push(measure);
        place._awake = Some(awake);
    }
    place
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    if let Some(file) = &options.report {
        ensure_writable(file)?;
    }
    let prepared = options.watch.then(|| prepare(options)).transpose()?;
    let place = place(options);
    let mut program = match start(options, &place) {
        Ok(program) => program,
        Err(error) => return Ok(not_started(options, error, &place)),
    };
    let measures = [program.measures(), &place.measures].concat();
    note_measures(&measures);
    write_report(options, Some(program.pid()), &measures, None);
    let watching = prepared.and_then(|it| start_watching(it, &program, &measures));
    let status = program.wait();
    if let Some(watching) = watching {
        end_watching(watching);
    }
    let status = status.context("cannot tell how the program ended")?;
    let ended = Some(ProgramExit::of(status));
    write_report(options, Some(program.pid()), &measures, ended);
    Ok(Outcome::Program(as_a_shell_says(status)))
}

fn start(options: &Options, place: &ProgramPlacement) -> Result<Program, LaunchError> {
    if options.require && place.measures.iter().any(|measure| !measure.ok) {
        return Err(LaunchError::NotGranted {
            measures: Vec::new(),
        });
    }
    let mut command = Command::new(&options.program[0]);
    command.args(&options.program[1..]);
    let launch = Launch {
        policy: options.priority.map(Policy::Fifo).or(options.policy),
        lock_memory: options.lock,
        cpus: place.cpus.clone(),
        nice: options.nice,
        timer_slack_ns: options.timer_slack.map(Span::as_ns),
        enter: place.enter.clone(),
        require: options.require,
        with_this_thread: false,
    };
    launch::start(command, &launch)
}

/// Explains why no program was started, with the exit code of a shell.
fn not_started(options: &Options, error: LaunchError, place: &ProgramPlacement) -> Outcome {
    let code = match &error {
        LaunchError::Program { source, .. } if source.kind() == ErrorKind::NotFound => 127,
        LaunchError::Program { .. } => 126,
        _ => 2,
    };
    if let LaunchError::NotGranted { mut measures } = error {
        measures.extend_from_slice(&place.measures);
        note_measures(&measures);
        write_report(options, None, &measures, None);
        output::complain(&format!(
            "kadenz: `{}` was not started: not everything that --require asks for was granted",
            options.program[0].display()
        ));
    } else {
        output::error(&error.into());
    }
    Outcome::Program(code)
}

fn note_measures(measures: &[Measure]) {
    if !output::is_quiet() {
        note_table(&session::measures_of(measures));
    }
}

/// Writes the report file. The program matters more: an error here is printed and stops nothing.
fn write_report(
    options: &Options,
    pid: Option<u32>,
    measures: &[Measure],
    ended: Option<ProgramExit>,
) {
    let Some(file) = &options.report else {
        return;
    };
    let report = RunReport {
        program: &options.shown(),
        pid,
        granted: measures.iter().all(|measure| measure.ok),
        measures: &session::measures_of(measures),
        ended,
    };
    if let Err(error) = report.write(file) {
        output::error(&error);
    }
}

fn prepare(options: &Options) -> anyhow::Result<WatchSetup> {
    anyhow::ensure!(
        options.every.0 >= Duration::from_millis(1),
        "`--every {}` is too short: reading the counters takes a part of that; 1ms at least",
        options.every
    );
    let mut session = session_plan("run", options.out.as_deref());
    session.set("every", options.every.to_string());
    session.set("program", options.shown());
    let every = options.every.0;
    Ok(watch::prepare(WatchPlan { session, every })?)
}

/// Starts the watch. The program runs already: an error here is printed and stops nothing.
fn start_watching(
    prepared: WatchSetup,
    program: &Program,
    measures: &[Measure],
) -> Option<Watching> {
    let watching = prepared.start(program.pid(), measures);
    watching.map_err(|error| output::error(&error.into())).ok()
}

fn end_watching(watching: Watching) {
    let folder = watching.folder().to_owned();
    let noted = match watching.end() {
        Ok(_) if output::is_quiet() => Ok(()),
        Ok(_) => {
            outcome::notes_of_run(&folder).map(|notes| notes.iter().for_each(|it| output::note(it)))
        }
        Err(error) => Err(error.into()),
    };
    if let Err(error) = noted {
        output::error(&error);
    }
}

/// Prints a compact table, and below it each refusal with its remedy. Prints nothing if nothing was requested.
fn note_table(measures: &[TuningMeasure]) {
    if measures.is_empty() {
        return;
    }
    output::note(&table(measures));
    for measure in measures {
        let Some(reason) = &measure.reason else {
            continue;
        };
        output::note(&format!("{}: {reason}", measure.name));
        if let Some(remedy) = &measure.remedy {
            output::note(&format!("  remedy: {remedy}"));
        }
    }
}

fn table(measures: &[TuningMeasure]) -> Text {
    let rows = measures.iter().map(|measure| {
        let ok = if measure.ok { "ok" } else { "REFUSED" };
        [
            measure.name.as_str(),
            &measure.requested,
            &measure.granted,
            ok,
        ]
        .map(str::to_owned)
    });
    let rows = rows.map(Vec::from).collect();
    let table = Table::new(&["measure", "requested", "granted", ""], 4, rows);
    Document::new().table(table).terminal(Style::plain())
}

/// The file of `kadenz run --granted`, written at the start and again at the end.
#[derive(JsonSchema, Serialize)]
pub(super) struct RunReport<'a> {
    /// The program with its arguments.
    program: &'a [String],
    /// Process number; `null` when it was not started.
    pid: Option<u32>,
    /// Whether every requested measure was granted.
    granted: bool,
    /// Requested against granted.
    measures: &'a [TuningMeasure],
    /// End of the program; `null` while it runs.
    ended: Option<ProgramExit>,
}

/// End of a program.
#[derive(Clone, Copy, JsonSchema, Serialize)]
pub(super) struct ProgramExit {
    /// Its exit code; `null` when a signal ended it.
    code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
}

impl RunReport<'_> {
    /// Rewrites the file.
    fn write(&self, file: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(file, text).with_context(|| unwritable(file))
    }
}

/// Checks that the file of `--granted` can be written, and changes nothing. A pipe is not opened: its reader would take
/// its end for that of the report.
///
/// # Errors
/// The file cannot be written.
fn ensure_writable(file: &Path) -> anyhow::Result<()> {
    if fs::metadata(file).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Ok(());
    }
    let is_new = fs::metadata(file).is_err();
    let opened = File::options().append(true).create(true).open(file);
    opened.with_context(|| unwritable(file))?;
    if is_new {
        // A program that is not found has no report.
        let _ = fs::canonicalize(file).and_then(fs::remove_file);
    }
    Ok(())
}

fn unwritable(file: &Path) -> String {
    format!(
        "cannot write the report {}; name a file with `--granted` that you may write to",
        file.display()
    )
}

impl ProgramExit {
    fn of(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: signal(status),
        }
    }
}

/// The exit code that a shell would return for this status.
pub(crate) fn as_a_shell_says(status: ExitStatus) -> u8 {
    let code = status.code().or(signal(status).map(|it| 128 + it));
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
