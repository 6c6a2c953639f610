//! `kadenz hiccup`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use kadenz::lab::hiccup::{HiccupExperiment, HiccupPlan, experiment};
use kadenz::lab::measuring::Measuring;

use super::outcome::{self, OutcomeOptions};
use crate::options::{ClockOption, Defaults, MeasureOptions, Span};
use crate::output::{self, Reply};

/// Measure how long this machine holds a sleeping thread back
///
/// jHiccup's measurement: a thread sleeps for the resolution, repeatedly, and records how much longer the sleep took
/// than the shortest one (series `hiccup`) and than intended (series `lateness`); both are corrected for coordinated
/// omission. The machine may be idle, or busy with a program that this command starts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz hiccup --resolution 1ms --interval 1s --duration 48h     the two days of [Enner2016]
  kadenz hiccup --policy fifo:98 --duration 10min                 the same at real-time priority
  kadenz hiccup -- ./my_controller --robot arm                    beside a program, while it runs
  kadenz hiccup --control -- ./my_controller                      and an idle process beside both
  kadenz hiccup --cpus 0-3 --duration 1min                        a thread on each CPU

The interval logs (*.hlog in the run folder) open in jHiccup's viewers.")]
pub(crate) struct Options {
    /// Intended length of each sleep (jHiccup -r)
    #[arg(long, value_name = "SPAN", default_value = "1ms")]
    resolution: Span,

    /// How long to measure [default: 1min, or until the program ends]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// Wait before measuring, so that a program can start up (jHiccup -d)
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    start_delay: Span,

    /// Measure a second time in a process of its own, into the run folder `<DIR>-control`: hiccups in both are the
    /// machine's, hiccups in one only are the program's (jHiccup -c)
    #[arg(long, short = 'c')]
    control: bool,

    /// Program to start and to measure beside, with its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,

    #[command(flatten)]
    clock: ClockOption,

    #[command(flatten)]
    measure: MeasureOptions,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let mut measuring = options.measure.measuring(&Defaults {
        samples: false,
        clock: options.clock.clock,
        ..Defaults::of("hiccup")
    })?;
    anyhow::ensure!(
        options.resolution.as_ns() > 0,
        "`--resolution 0s` would not sleep at all; jHiccup's own is 1ms"
    );
    let plan = plan(options, &mut measuring);
    let stop = options.measure.stop()?;
    let folder = measuring.session.out.clone();
    let control_folder = options.control.then(|| control_folder(&folder));
    let cpus = options.measure.cpus.as_ref();
    let experiment_plan = HiccupExperiment {
        plan,
        cpus: cpus.map(|it| it.iter().collect()).unwrap_or_default(),
        start_delay: options.start_delay.0,
        program: program(options),
        control: control_folder
            .as_deref()
            .map(|folder| control(folder, options, &measuring)),
        measuring,
    };
    let outcome = outcome::measured("measuring hiccups", plan.duration, &folder, |progress| {
        experiment(experiment_plan, &stop, progress)
    })?;
    let reply = outcome::report_run(OutcomeOptions {
        also: control_folder.as_slice(),
        ..OutcomeOptions::of(&folder, &options.measure)
    })?;
    Ok(match outcome.program.filter(|status| !status.success()) {
        None => reply,
        Some(status) => reply.and_error(anyhow::anyhow!(
            "the measured program ended with {status}; what was measured until then is kept"
        )),
    })
}

fn plan(options: &Options, measuring: &mut Measuring) -> HiccupPlan {
    let minute = std::time::Duration::from_secs(60);
    let endless = options.measure.ends.until_stdin_closes || !options.program.is_empty();
    let duration = options
        .duration
        .map(|span| span.0)
        .or((!endless).then_some(minute));
    let session = &mut measuring.session;
    session.set("resolution", options.resolution.to_string());
    if let Some(duration) = duration {
        session.set("duration", Span(duration).to_string());
    }
    if !options.program.is_empty() {
        session.set("program", options.program.clone());
    }
    HiccupPlan {
        resolution: options.resolution.0,
        duration,
    }
}

fn program(options: &Options) -> Option<Command> {
    let (program, arguments) = options.program.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    if !output::is_for_people() {
        // Standard output is for the result only.
        command.stdout(output::of_notes());
    }
    Some(command)
}

/// The control process: the same measurement with the same tuning, idle, in a process of its own.
fn control(folder: &Path, options: &Options, measuring: &Measuring) -> Command {
    let mut idle = measuring.clone();
    if options.measure.has_shield() {
        // Only the members of a shield can run on its CPUs.
        idle.tuning.cpus = None;
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "kadenz".into());
    let mut command = Command::new(program);
    command
        .args(["hiccup", "--until-stdin-closes", "--json"])
        .args(["--resolution", &options.resolution.to_string()])
        .args(["--start-delay", &options.start_delay.to_string()])
        .args(MeasureOptions::tuning_words(&idle))
        .arg(format!("--clock={}", measuring.session.clock))
        .arg("--out")
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(duration) = options.duration {
        command.args(["--duration", &duration.to_string()]);
    }
    command
}

/// `night-control` beside `night`.
fn control_folder(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push("-control");
    folder.with_file_name(name)
}
