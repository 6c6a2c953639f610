//! `kadenz ethercat run`.

mod drive;
mod live;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kadenz::ethercat::control::cyclic::{LoopMode, LoopSettings, Overrun};
use kadenz::ethercat::{CycleSeries, Missing, NetworkBuilder, Readers, motion};
use kadenz::lab::load::LoadKind;
use kadenz::lab::measuring::Measuring;
use kadenz::report::document::Document;
use kadenz::report::matrix::{self, Combination, Load, Measure, Periods};
use kadenz::report::summary::Summary;
use kadenz::rt::beat::{Interval, Rate};
use kadenz::rt::sleep::SleeperKind;
use kadenz::rt::tuning::Policy;

use super::esi::{EsiOption, ModesOption};
use super::segment::SegmentOptions;
use crate::commands::outcome::{self, FieldbusReport, OutcomeOptions};
use crate::options::{Defaults, MeasureOptions, Span, complete, word};
use crate::output::{Outcome, Reply};

/// The experiment's name in `run.json`.
const EXPERIMENT: &str = "ethercat";

/// Run a real-time loop over the segment and record its timing
///
/// The loop of the robot of [Yoon2009] (docs/bibliography.md): every cycle a real-time thread receives the previous
/// cycle's answers, computes, and sends; a supervisor beside it brings all devices to OP, and back to it after a fault,
/// and reports each event at once. The run records the control period (less the cycle), the wake-up against the beat,
/// the thread's time on the bus, and the controller's time; at the end they stand beside figure 7 or 8 of [Yoon2009].
///
/// Drives move as the motion file says (docs/ethercat-motion.md); all of them stop when too many frames are lost or a
/// drive fails. Without a file the drives of a virtual segment (`--sim`) move back and forth, and those at an interface
/// stay switched off, unless `--demo` is given.
///
/// Exit codes: 0 the axes moved to the end and wake-ups kept the `--deadline`, if there is one; 1 one of the two
/// failed, or all axes stood at the end since something had stopped them; 2 the run failed.
///
/// With `--sim` a second thread of this program simulates the segment, over a cable in memory: in real time, and
/// without rights; the time on the wire is this computer's time to compute it. For frames through the kernel, run
/// `kadenz ethercat sim` at the other end of a cable.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat run --sim 59 --duration 10s                   try it, without any rights
  kadenz ethercat run motion.toml --interface eth1 --rate 1kHz --priority 80 --shield 1 --spin 50us
  kadenz ethercat run --interface veth1 --priority 80 --load heavy --duration 10min --out figure8
  kadenz ethercat run --sim 59 --rate 4kHz --mode synchronous --duration 10s --json
  kadenz ethercat run motion.toml --interface eth1 --expect robot.toml --start-without-missing --bring-up-timeout 3s
  kadenz ethercat run --sim 59 --beat reference --duration 10s  on the segment's own time
  kadenz ethercat run --sim 59 --beat reference --sync0=250us --duration 10s  and devices generate SYNC0")]
pub(crate) struct Options {
    /// Motion of the drives, a TOML file
    #[arg(value_name = "MOTION.toml")]
    motion: Option<PathBuf>,

    #[command(flatten)]
    segment: SegmentOptions,

    #[command(flatten)]
    esi: EsiOption,

    #[command(flatten)]
    modes: ModesOption,

    #[command(flatten)]
    bring_up: BringUpOptions,

    /// Move every drive at an interface back and forth by 0.2 rad: only where the motion can hit nothing
    #[arg(long, conflicts_with = "motion")]
    demo: bool,

    /// Cycles per second [default: as the motion file says, or 1kHz]
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,

    /// Time from beat to beat: the older form of `--rate`
    #[arg(long, value_name = "SPAN", hide = true, conflicts_with = "rate")]
    cycle: Option<Span>,

    /// How long [default: until Ctrl-C, which keeps the measured data]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// How long the loop runs before the first cycle is recorded; `--duration` counts from there
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    warm_up: Span,

    /// When the loop receives answers [default: as the motion file says, or pipelined]
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeOption>,

    /// What the loop does after missed beats: skip (leave them out), catch-up (serve them late, one after the other),
    /// relative (count each period from the last wake-up, as in [Yoon2009]) or stop (end the loop) [default: as the
    /// motion file says, or skip]
    #[arg(long, value_name = "POLICY", value_parser = complete::<Overrun>(Overrun::ALL))]
    overrun: Option<Overrun>,

    /// Clock of the beat
    #[arg(long, value_name = "CLOCK", default_value = "own")]
    beat: BeatOption,

    /// Let devices generate the sync signals SYNC0 (and SYNC1), as the SII of each device with a clock requests, this
    /// much later than each whole cycle of the reference clock [with no span: 0s]; drives that need them for OP
    /// require this option
    #[arg(long, value_name = "SHIFT", num_args = 0..=1, require_equals = true, default_missing_value = "0s")]
    sync0: Option<Span>,

    /// Load of the machine during the run: cpu, disk, processes, network, files, memory, timer, or heavy, figure 5 of
    /// [Yoon2009]
    #[arg(long, value_name = "KIND", value_parser = complete::<LoadKind>(LoadKind::ALL))]
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

    /// Name by which `kadenz ethercat stats`, `inputs` and other commands reach the running loop (Linux) [default:
    /// run-PID]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// How other programs read the process image of each cycle
    #[arg(long, value_name = "HOW", default_value = "sequence")]
    readers: ReadersOption,

    #[command(flatten)]
    measure: MeasureOptions,
}

/// The retry time of the bring-up, and the devices that it expects.
#[derive(Debug, Args)]
struct BringUpOptions {
    /// How long to retry bring-up while devices do not answer
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "10s",
        help_heading = "Segment"
    )]
    bring_up_timeout: Span,

    /// All devices that the segment must have, as a segment file (docs/ethercat.md); bring-up waits for them
    /// [default: the most devices that any attempt found]
    #[arg(long, value_name = "FILE", help_heading = "Segment")]
    expect: Option<PathBuf>,

    /// Start with the present devices when `--bring-up-timeout` has passed; the file configures the others, which
    /// reach OP when they appear
    #[arg(long, requires = "expect", help_heading = "Segment")]
    start_without_missing: bool,
}

impl BringUpOptions {
    /// Refuses options that contradict each other.
    fn check(&self, beat: BeatOption) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.start_without_missing || beat == BeatOption::Own,
            "--start-without-missing: the delay to a device that is away cannot be measured, so its clock could not \
             follow; leave out --beat reference, or wait for all devices"
        );
        Ok(())
    }

    /// Applies these options to a network's builder.
    fn apply<'a>(&self, net: NetworkBuilder<'a>) -> anyhow::Result<NetworkBuilder<'a>> {
        let net = net.bring_up_timeout(self.bring_up_timeout.0);
        let Some(path) = &self.expect else {
            return Ok(net);
        };
        let missing = match self.start_without_missing {
            true => Missing::JoinLater,
            false => Missing::Refused,
        };
        net.expected(path, missing).context("--expect")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeOption {
    /// In the next cycle, as in [Yoon2009]: the loop does not wait for the wire
    Pipelined,
    /// In the same cycle: the loop waits for the answers, up to three quarters of the cycle
    Synchronous,
}

/// How other programs read the images of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReadersOption {
    /// From shared memory, checked by a sequence number: the loop waits for no reader (Linux)
    Sequence,
    /// Behind a mutex with priority inheritance, as in [Yoon2009]: the loop waits for at most one reader; other
    /// programs read through the control socket
    PiMutex,
}

impl From<ReadersOption> for Readers {
    fn from(option: ReadersOption) -> Self {
        match option {
            ReadersOption::Sequence => Self::Seqlock,
            ReadersOption::PiMutex => Self::PiMutex,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BeatOption {
    /// This computer's clock
    Own,
    /// The segment's reference clock: bring-up sets and aligns all distributed clocks first, and the run records
    /// offset and drift as series
    Reference,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let file = options
        .motion
        .as_deref()
        .map(motion::file::read)
        .transpose()?;
    let settings = settings(options, file.as_ref())?;
    let measuring = measuring(options, &settings)?;
    let folder = measuring.session.out.clone();
    let asked = combination(&measuring);
    let stop = options.measure.stop()?;
    let report = drive::drive(options, file, &measuring, &settings, &stop)?;
    let load = match options.load {
        None => Some(Load::Unloaded),
        Some(LoadKind::Heavy) => Some(Load::Heavy),
        Some(_) => None,
    };
    let reply = outcome::report_run(OutcomeOptions {
        fieldbus: Some(FieldbusReport {
            devices: report.devices,
            frames_per_cycle: report.frames,
            timing: report.timing,
            axes: report.axes.clone(),
            periods: periods(&Summary::of_run(&folder)?, asked, load),
            words: report.to_string(),
        }),
        ..OutcomeOptions::of(&folder, &options.measure)
    })?;
    Ok(match &report.axes.stopped {
        None => reply,
        Some(why) => reply
            .complain(format!("the axes stood at the end: {why}"))
            .map_outcome(|it| Outcome::Missed.or_incomplete(it == Outcome::Incomplete)),
    })
}

/// The requested tuning, as `kadenz tune` names it: `PMCS`, `none`.
fn combination(measuring: &Measuring) -> Combination {
    let tuning = &measuring.tuning;
    let asked = [
        (tuning.policy != Policy::Other, Measure::Priority),
        (tuning.lock_memory, Measure::Memory),
        (measuring.shield.is_some(), Measure::Cpu),
        (measuring.sleeper == SleeperKind::Spin, Measure::Spin),
        (tuning.cpu_dma_latency_us == Some(0), Measure::Idle),
    ];
    let asked = asked.into_iter().filter(|(is, _)| *is);
    asked.fold(Combination::NONE, |all, (_, it)| all.with(it))
}

/// The control periods beside those of [Yoon2009] under the granted part of the requested combination.
fn periods(run: &Summary, asked: Combination, load: Option<Load>) -> Option<Document> {
    let periods = Periods::of(run.named(CycleSeries::PERIOD)?)?;
    let tuning = &run.named(CycleSeries::WAKE_UP)?.series.tuning;
    Some(periods.beside_yoon2009(matrix::granted(asked, tuning), load))
}

/// The settings of the measurement, with this command's short options resolved.
fn measuring(options: &Options, settings: &LoopSettings) -> anyhow::Result<Measuring> {
    let mut measuring = options.measure.measuring(&Defaults {
        policy: options.priority.map_or(Policy::Other, Policy::Fifo),
        samples: false,
        ..Defaults::of(EXPERIMENT)
    })?;
    if let Some(spin) = options.spin {
        measuring.sleeper = SleeperKind::Spin;
        measuring.sleeper_options.spin_margin = spin.0;
    }
    let words = [
        ("sleeper", measuring.sleeper.to_string()),
        ("cycle", Span(settings.interval.as_duration()).to_string()),
        ("mode", mode_word(settings.mode).to_owned()),
        ("overrun", settings.overrun.to_string()),
        ("beat", word(&options.beat)),
        ("readers", word(&options.readers)),
        (
            "load",
            options
                .load
                .map_or_else(|| "none".to_owned(), |it| it.name().to_owned()),
        ),
    ];
    let session = &mut measuring.session;
    for (name, value) in words {
        session.set(name, value);
    }
    if let Some(spin) = options.spin {
        session.set("spin_margin", spin.to_string());
    }
    if let Some(shift) = options.sync0 {
        session.set("sync0", shift.to_string());
    }
    if let Some(duration) = options.duration {
        session.set("duration", duration.to_string());
    }
    Ok(measuring)
}

pub(super) const fn mode_word(mode: LoopMode) -> &'static str {
    match mode {
        LoopMode::Pipelined => "pipelined",
        LoopMode::Synchronous { .. } => "synchronous",
    }
}

/// Refuses an interval that is not a cycle of a fieldbus.
pub(crate) fn check_cycle(cycle: Duration) -> anyhow::Result<()> {
    const MIN: Duration = Duration::from_micros(20);
    anyhow::ensure!(
        (MIN..=Duration::from_secs(1)).contains(&cycle),
        "{} is not a valid cycle of a fieldbus; write 20us to 1s",
        Span(cycle)
    );
    Ok(())
}

/// Time from beat to beat: from the options, or else from the file.
fn interval(options: &Options, file: Option<&motion::Plan>) -> anyhow::Result<Interval> {
    if let Some(rate) = options.rate {
        return Ok(rate.interval());
    }
    let of_file = file.map_or(Duration::from_millis(1), |it| it.cycle);
    let cycle = options.cycle.map_or(of_file, |it| it.0);
    check_cycle(cycle)?;
    Ok(LoopSettings::every(cycle)?.interval)
}

/// The settings from the options, or else from the file.
fn settings(options: &Options, file: Option<&motion::Plan>) -> anyhow::Result<LoopSettings> {
    let interval = interval(options, file)?;
    let cycle = interval.as_duration();
    check_cycle(cycle)?;
    anyhow::ensure!(
        options.duration.is_none_or(|it| it.0 >= cycle),
        "`--duration` is shorter than one cycle of {}",
        Span(cycle)
    );
    options.bring_up.check(options.beat)?;
    anyhow::ensure!(
        options.sync0.is_none() || options.beat == BeatOption::Reference,
        "--sync0: SYNC0 needs the reference clock as the beat of the loop; add --beat reference"
    );
    anyhow::ensure!(
        options.sync0.is_none_or(|it| it.0 < cycle),
        "--sync0 is later than one cycle of {}; take less",
        Span(cycle)
    );
    let mode = match options.mode {
        Some(ModeOption::Pipelined) => LoopMode::Pipelined,
        Some(ModeOption::Synchronous) => LoopMode::Synchronous {
            wait: cycle * 3 / 4,
        },
        None => file.map_or(LoopMode::Pipelined, |it| it.mode),
    };
    let overrun = options.overrun.or(file.map(|it| it.overrun));
    Ok(LoopSettings {
        mode,
        overrun: overrun.unwrap_or_default(),
        interval,
        ..LoopSettings::every(cycle)?
    })
}
