//! `kadenz ethercat run`.

mod bus;
mod figure;
mod live;
mod load;
mod recording;

use std::time::Duration;

use clap::{Args, ValueEnum};
use kadenz_ethercat::control::cyclic::{Mode, Overrun, Settings};
use kadenz_lab::load::LoadKind;
use kadenz_lab::measuring::Measuring;
use kadenz_report::matrix::Load;
use kadenz_report::summary::Summary;
use kadenz_rt::clock::ClockKind;
use kadenz_rt::sleep::SleeperKind;
use kadenz_rt::tuning::Policy;

use super::segment::SegmentOptions;
use crate::commands::outcome::{self, Telling};
use crate::options::{Defaults, MeasureOptions, Span};
use crate::output::{self, Outcome};

/// The experiment's name in `run.json`.
const EXPERIMENT: &str = "ethercat";

/// Drive the segment by a loop on the beat, and measure how well it is kept.
///
/// The paper's robot: every cycle a real-time thread takes in what came of the cycle before, computes, and
/// sends; a steward beside it brings all devices to OP and back there when something happened to them,
/// which is told as it happens. Recorded are the control period (less the cycle), the wake-up against the
/// beat, what the thread spends on the bus, and what the controller takes; at the end they stand beside
/// the paper's figure 7 or 8. Outputs stay 0: drives are not switched on.
///
/// With `--sim` a second thread of this program is the segment, over a cable in memory: in real time, and
/// without rights; what the wire takes is what this computer takes to compute it. For frames through the
/// kernel, run `kadenz ethercat sim` at the other end of a cable.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat run --sim 59 --for 10s                        try it, without any rights
  kadenz ethercat run --interface eth1 --cycle 1ms --priority 80 --shield 1 --spin 50us
  kadenz ethercat run --interface veth1 --priority 80 --load heavy --for 10min --out figure8
  kadenz ethercat run --sim 59 --cycle 250us --mode synchronous --for 10s --json")]
pub(crate) struct Options {
    #[command(flatten)]
    segment: SegmentOptions,

    /// Time from beat to beat
    #[arg(long, value_name = "SPAN", default_value = "1ms")]
    cycle: Span,

    /// How long [default: until Ctrl-C, which keeps what was measured]
    #[arg(long = "for", value_name = "SPAN")]
    duration: Option<Span>,

    /// When answers are taken in
    #[arg(long, value_name = "MODE", default_value = "pipelined")]
    mode: ModeOption,

    /// What becomes of beats that were missed
    #[arg(long, value_name = "POLICY", default_value = "skip")]
    overrun: OverrunOption,

    /// What else the machine has to do meanwhile: cpu, disk, processes, network, files, memory, timer, or
    /// heavy, the paper's figure 5
    #[arg(long, value_name = "KIND")]
    load: Option<LoadKind>,

    /// Real-time priority, 1 to 99: short for --policy fifo:N, which locks memory too
    #[arg(long, value_name = "N", conflicts_with = "policy", help_heading = "Tuning",
          value_parser = clap::value_parser!(u8).range(1..=99))]
    priority: Option<u8>,

    /// Spin for that long before each beat: short for --sleeper spin --spin-margin SPAN
    #[arg(
        long,
        value_name = "SPAN",
        conflicts_with = "sleeper",
        help_heading = "Tuning"
    )]
    spin: Option<Span>,

    /// Say nothing while it runs
    #[arg(long, help_heading = "Output")]
    quiet: bool,

    #[command(flatten)]
    measure: MeasureOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeOption {
    /// In the next cycle, as in the paper: nobody waits for the wire
    Pipelined,
    /// In the same cycle: the loop waits for them, up to three quarters of it
    Synchronous,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OverrunOption {
    /// They are left out
    Skip,
    /// They are served late, one after the other
    CatchUp,
    /// The loop ends
    Stop,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let measuring = measuring(options)?;
    let settings = settings(options)?;
    let folder = measuring.session.out.clone();
    let letters = figure::letters(&measuring);
    let stop = options.measure.stop()?;
    let ended = bus::drive(options, &measuring, &settings, &stop)?;
    if !options.measure.json {
        let load = match options.load {
            None => Some(Load::Unloaded),
            Some(LoadKind::Heavy) => Some(Load::Heavy),
            Some(_) => None,
        };
        let table = figure::beside_the_paper(&Summary::of_run(&folder)?, &letters, load);
        output::say(&table.unwrap_or_default());
        output::say(&ended.words());
    }
    outcome::tell(&Telling {
        folder: &folder,
        json: options.measure.json,
        report: false,
        also: &[],
        deciding: Some(&[recording::WAKE_UP]),
        cheapest: None,
    })
}

/// How it is measured, with this command's short words understood.
fn measuring(options: &Options) -> anyhow::Result<Measuring> {
    let mut measuring = options.measure.measuring(&Defaults {
        experiment: EXPERIMENT,
        policy: options.priority.map_or(Policy::Other, Policy::Fifo),
        samples: false,
        deadline: None,
        clock: ClockKind::Monotonic,
    })?;
    if let Some(spin) = options.spin {
        measuring.sleeper = SleeperKind::Spin;
        measuring.sleeper_options.spin_margin = spin.0;
    }
    let words = [
        ("sleeper", measuring.sleeper.to_string()),
        ("cycle", options.cycle.to_string()),
        ("mode", word(&options.mode)),
        ("overrun", word(&options.overrun)),
        (
            "load",
            options
                .load
                .map_or_else(|| "none".to_owned(), |it| it.name().to_owned()),
        ),
    ];
    let parameters = &mut measuring.session.parameters;
    for (name, value) in words {
        parameters.insert(name.to_owned(), value.into());
    }
    if let Some(spin) = options.spin {
        parameters.insert("spin_margin".to_owned(), spin.to_string().into());
    }
    if let Some(duration) = options.duration {
        parameters.insert("duration".to_owned(), duration.to_string().into());
    }
    Ok(measuring)
}

/// A value of an option, as one types it.
fn word(value: &impl ValueEnum) -> String {
    let typed = value.to_possible_value();
    typed.map(|it| it.get_name().to_owned()).unwrap_or_default()
}

fn settings(options: &Options) -> anyhow::Result<Settings> {
    const SHORTEST: Duration = Duration::from_micros(20);
    let cycle = options.cycle.0;
    anyhow::ensure!(
        (SHORTEST..=Duration::from_secs(1)).contains(&cycle),
        "`--cycle {}` is no cycle of a field bus; write 20us to 1s",
        options.cycle
    );
    let cycles = |span: Span| u64::try_from(span.0.as_nanos() / cycle.as_nanos());
    let cycles = options.duration.map(cycles).transpose()?;
    anyhow::ensure!(
        cycles != Some(0),
        "`--for` is shorter than one cycle of {}",
        options.cycle
    );
    Ok(Settings {
        mode: match options.mode {
            ModeOption::Pipelined => Mode::Pipelined,
            ModeOption::Synchronous => Mode::Synchronous {
                wait: cycle * 3 / 4,
            },
        },
        overrun: match options.overrun {
            OverrunOption::Skip => Overrun::Skip,
            OverrunOption::CatchUp => Overrun::CatchUp,
            OverrunOption::Stop => Overrun::Stop,
        },
        cycles,
        ..Settings::every(cycle)?
    })
}
