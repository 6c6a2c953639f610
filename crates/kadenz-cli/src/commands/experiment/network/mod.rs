//! Enner "Analyzing the viability of Ethernet and UDP for robot control" (Software for Robots,
//! 2017), on the testbed.

mod tables;

use clap::{Args, ValueEnum};

use super::steps::Step;
use super::{ExperimentPlan, Output, play};
use crate::options::Span;
use crate::output::Reply;

/// Measure whether plain Ethernet and UDP are good enough for this robot
///
/// The experiments of [Enner2016b] (docs/bibliography.md) on the testbed: network namespaces of this machine, joined
/// by software switches. The result stands beside the model's and beside that of [Enner2016b] on real networks.
/// Needs Linux and root.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo kadenz experiment network                                   all parts, ten seconds each
  sudo kadenz experiment network --parts baseline --duration 24h   the day of [Enner2016b]
  sudo kadenz experiment network --parts devices --duration 9min   40 devices, 20 million packets
  sudo kadenz experiment network --parts speeds,switches --rounds 5

Parts: baseline, switches (three of them added), speeds (100 Mbit/s against 1 Gbit/s), devices (40, at \
100 Hz and at 1 kHz), senders (priority, spinning, busy polling), traffic (video on the same wire), \
cut (a cable pulled and put back, with a second way and without).")]
pub(crate) struct Options {
    /// Which parts, separated by commas [default: all]
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    parts: Vec<ExperimentPart>,

    /// How long each measurement lasts, over all rounds
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    duration: Span,

    /// Rounds in which the compared measurements alternate, so that drift of the machine affects all of them
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

/// A part of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExperimentPart {
    /// One device on one switch
    Baseline,
    /// Three switches added in turn
    Switches,
    /// The baseline at 100 Mbit/s and at 1 Gbit/s
    Speeds,
    /// 40 devices that answer one broadcast
    Devices,
    /// The same with other senders
    Senders,
    /// Video on the same wire
    Traffic,
    /// A cable pulled and put back
    Cut,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Reply> {
    play(&plan(options), &options.output)
}

fn plan(options: &Options) -> ExperimentPlan {
    let all = ExperimentPart::value_variants();
    let wanted = match options.parts.is_empty() {
        true => all,
        false => options.parts.as_slice(),
    };
    let mut groups = Vec::new();
    for part in all.iter().filter(|part| wanted.contains(part)) {
        let measurements = measurements(*part);
        let rounds = if measurements.len() > 1 {
            options.rounds
        } else {
            1
        };
        let lasting = Span(options.duration.0 / rounds);
        for round in 1..=rounds {
            let steps = measurements
                .iter()
                .map(|measurement| vec![step(*part, measurement, round, lasting)]);
            groups.extend(steps);
        }
    }
    ExperimentPlan {
        name: "network",
        groups,
        tables: Box::new(|runs| tables::tables(runs).into()),
    }
}

/// One measurement in a testbed of its own.
fn step(part: ExperimentPart, measurement: &NetworkMeasurement, round: u32, lasting: Span) -> Step {
    let name = name(part, measurement);
    let folder = format!("{name}-{round}");
    let testbed = testbed_folder(&folder);
    let NetworkMeasurement {
        topology,
        command,
        options,
        ..
    } = measurement;
    // A cut comes after five seconds and lasts two.
    let lasting = match part {
        ExperimentPart::Cut => Span(lasting.0.max(std::time::Duration::from_secs(10))),
        _ => lasting,
    };
    let line = format!(
        "testbed run {topology} --out {{out}}/{testbed} -- kadenz {command} {options} --duration {lasting}"
    );
    Step::new(folder, &line).named(name)
}

/// One measurement.
struct NetworkMeasurement {
    /// Its name within the part, and in the names of its folders.
    name: &'static str,
    /// The testbed of the measurement.
    topology: &'static str,
    /// The command, without duration and folder.
    command: &'static str,
    /// Further options of it.
    options: &'static str,
}

const fn measurement(
    name: &'static str,
    topology: &'static str,
    command: &'static str,
) -> NetworkMeasurement {
    NetworkMeasurement {
        name,
        topology,
        command,
        options: "",
    }
}

impl NetworkMeasurement {
    const fn with(self, options: &'static str) -> Self {
        Self { options, ..self }
    }
}

/// The controller of Enner: a packet of 200 B a hundred times a second, at real-time priority. The timeout of an
/// answer is long: a host that does not run for a second loses nothing.
const POST: &str = "udp send --to {device} --rate 100Hz --size 200B --policy fifo:80 --timeout 5s";

const BASELINE: &[NetworkMeasurement] = &[measurement("one-switch", "baseline", POST)];

const SWITCHES: &[NetworkMeasurement] = &[
    measurement("none", "baseline", POST),
    measurement("ksz8863", "extra-ksz8863", POST),
    measurement("gs105", "extra-gs105", POST),
    measurement("rb750", "extra-rb750", POST),
];

const SPEEDS: &[NetworkMeasurement] = &[
    measurement("100M", "baseline", POST),
    measurement("1G", "baseline-gigabit", POST),
];

/// The timeout of an answer is ten seconds: a host that stands still for one loses nothing.
const BURST: &str = "udp burst --to {broadcast} --devices 40 --size 200B --policy fifo:80 --timeout 10s --no-samples";

const DEVICES: &[NetworkMeasurement] = &[
    measurement("100Hz", "forty-devices", BURST).with("--rate 100Hz"),
    measurement("1kHz", "forty-devices", BURST).with("--rate 1kHz"),
];

const SEND: &str = "udp send --to {device} --rate 1kHz --size 200B";

const SENDERS: &[NetworkMeasurement] = &[
    measurement("ordinary", "baseline", SEND),
    measurement("fifo", "baseline", SEND).with("--policy fifo:80 --sleeper nanosleep"),
    measurement("fifo-block", "baseline", SEND)
        .with("--policy fifo:80 --sleeper nanosleep --receive block"),
    measurement("fifo-spin", "baseline", SEND).with("--policy fifo:80 --sleeper spin"),
    measurement("fifo-spin-closed", "baseline", SEND)
        .with("--policy fifo:80 --sleeper spin --loop closed"),
    measurement("fifo-busy-poll-closed", "baseline", SEND)
        .with("--policy fifo:80 --sleeper spin --loop closed --busy-poll"),
];

const TRAFFIC: &[NetworkMeasurement] = &[
    measurement("without", "two-switches", POST),
    measurement("with", "cross-traffic", POST),
];

const CUT: &[NetworkMeasurement] = &[
    measurement("one-way", "cut-cable", POST),
    measurement("two-ways", "redundant-path", POST),
];

/// The measurements of a part, which alternate.
fn measurements(part: ExperimentPart) -> &'static [NetworkMeasurement] {
    match part {
        ExperimentPart::Baseline => BASELINE,
        ExperimentPart::Switches => SWITCHES,
        ExperimentPart::Speeds => SPEEDS,
        ExperimentPart::Devices => DEVICES,
        ExperimentPart::Senders => SENDERS,
        ExperimentPart::Traffic => TRAFFIC,
        ExperimentPart::Cut => CUT,
    }
}

/// The folder of the testbed's own run, beside that of a measurement.
fn testbed_folder(folder: &str) -> String {
    format!("{folder}-testbed")
}

/// What all rounds of a measurement measure.
fn name(part: ExperimentPart, measurement: &NetworkMeasurement) -> String {
    format!(
        "{}-{}",
        format!("{part:?}").to_lowercase(),
        measurement.name
    )
}
