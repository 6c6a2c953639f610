//! Enner "Analyzing the viability of Ethernet and UDP for robot control" (Software for Robots,
//! 2017), on the testbed.

mod parts;
mod tables;

use clap::{Args, ValueEnum};

use self::parts::NetworkMeasurement;
use super::steps::Step;
use super::{ExperimentPlan, Output, play};
use crate::options::Span;
use crate::output::Outcome;

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
pub(super) enum ExperimentPart {
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

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
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
        let measurements = parts::measurements(*part);
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
    let name = parts::name(part, measurement);
    let folder = format!("{name}-{round}");
    let testbed = parts::testbed_folder(&folder);
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
