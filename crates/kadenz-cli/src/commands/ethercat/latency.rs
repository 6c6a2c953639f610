//! `kadenz ethercat latency`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use kadenz::ethercat::control::cyclic::LoopMode;
use kadenz::ethercat::control::latency::{
    Experiment, Latencies, Sends, Summary, measure, measure_on, yoon2009,
};
use kadenz::report::document::{Answer, Document, Table, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::run::mode_word;
use super::segment::Virtual;
use crate::options::Steps;

/// Measure how many cycles lie between a sensor, the controller and an actuator
///
/// Sets the result beside the figures of [Yoon2009] (docs/bibliography.md): 1.5 to 2.5 cycles from an event to the
/// controller (sensor), 1.5 from the controller until the actuator acts (command), 3 to 4 from an event until the robot
/// reacts. A virtual device stamps the time of each event and the time from which it acts on the answer; a loop of 1 ms
/// answers it, in virtual time, so that the result is the same on every machine and makes no statement about this one.
///
/// [Yoon2009] does not state when in a cycle its devices act; the work of the virtual device (0.34 ms) was chosen so
/// that, as the last of 59, it acts in the middle of the cycle, where those figures result. So the row shows that
/// this order of work can lead to these figures; it does not measure a robot.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat latency                               the loop of [Yoon2009], and other loops
  kadenz ethercat latency --mode synchronous --sim 12 --cycles 5000
  kadenz ethercat latency --sim robot.toml              one of its devices has model = \"stamp\"
  kadenz ethercat latency --mode yoon --json | jq '.loops[].reaction'")]
pub(crate) struct Options {
    /// The virtual segment: this many devices of the humanoid, the last of which stamps, or a segment's TOML file
    /// with a device that stamps
    #[arg(
        long,
        value_name = "N|FILE",
        default_value = "59",
        help_heading = "Segment"
    )]
    sim: Virtual,

    /// Kind of loop [default: each, also with devices that SYNC0 wakes]
    #[arg(long, value_name = "MODE")]
    mode: Option<LoopVariant>,

    /// Cycles of each loop; an event occurs about every ten cycles
    #[arg(long, value_name = "N", default_value_t = Experiment::yoon2009().cycles,
          value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    cycles: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LoopVariant {
    /// Receives the previous cycle, computes, and sends at once
    Pipelined,
    /// Sends, waits for the answers, and computes
    Synchronous,
    /// Pipelined, but sends its result a cycle later, as in [Yoon2009]
    #[value(alias = "paper")]
    Yoon,
}

/// A loop, with the devices that it drives.
struct LoopExperiment {
    name: &'static str,
    mode: Option<LoopVariant>,
    experiment: Experiment,
}

/// Latencies of loops on a virtual segment.
#[derive(JsonSchema, Serialize)]
pub(super) struct LatencyReport {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    cycle_ns: u64,
    /// Cycles of each loop.
    cycles: u64,
    /// The figures of [Yoon2009], in cycles.
    #[serde(rename = "paper")]
    published: PublishedLatencies,
    loops: Vec<LoopLatency>,
}

/// Published latencies in cycles.
#[derive(JsonSchema, Serialize)]
struct PublishedLatencies {
    sensor: CycleRange,
    command: CycleRange,
    reaction: CycleRange,
}

/// A range in cycles.
#[derive(JsonSchema, Serialize)]
struct CycleRange {
    min: f64,
    max: f64,
}

/// Latencies of a loop in cycles; null where no event occurred.
#[derive(JsonSchema, Serialize)]
struct LoopLatency {
    name: &'static str,
    /// `pipelined` or `synchronous`.
    #[schemars(extend("enum" = ["pipelined", "synchronous"]))]
    mode: &'static str,
    /// When it sends its result: `at-once` or `next-cycle`.
    #[schemars(extend("enum" = ["at-once", "next-cycle"]))]
    sends: &'static str,
    /// How long the device works from its wake-up until it acts and samples.
    work_ns: u64,
    /// How far behind the beat SYNC0 wakes the device; null where its outputs wake it.
    sync0_ns: Option<u64>,
    /// Events followed by another one before the controller read the sensor.
    missed: u64,
    /// From an event to the controller.
    sensor: Option<Summary>,
    /// From the controller until the device acts.
    command: Option<Summary>,
    /// From an event until the device acts.
    reaction: Option<Summary>,
    /// Events in the sensor's latency.
    #[serde(skip)]
    events: usize,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<LatencyReport> {
    let wanted = |row: &LoopExperiment| options.mode.is_none() || row.mode == options.mode;
    let rows: Vec<LoopExperiment> = rows(options.cycles).into_iter().filter(wanted).collect();
    let progress = Steps::new("simulating loops", rows.len());
    let mut loops = Vec::new();
    for row in rows {
        let latencies = match options.sim {
            Virtual::Humanoid(devices) => measure(&Experiment {
                devices: u16::try_from(devices)?,
                ..row.experiment
            })?,
            Virtual::File(_) => measure_on(&row.experiment, options.sim.plan()?)?,
        };
        loops.push(LoopLatency::of(&row, &latencies));
        progress.done(loops.len());
    }
    drop(progress);
    let range = |(min, max)| CycleRange { min, max };
    Ok(LatencyReport {
        version: Version,
        segment: options.sim.to_string(),
        cycle_ns: nanoseconds(Experiment::yoon2009().interval),
        cycles: options.cycles,
        published: PublishedLatencies {
            sensor: range(yoon2009::SENSOR),
            command: range(yoon2009::COMMAND),
            reaction: range(yoon2009::REACTION),
        },
        loops,
    })
}

/// The loops.
fn rows(cycles: u64) -> [LoopExperiment; 5] {
    let yoon2009 = Experiment {
        cycles,
        ..Experiment::yoon2009()
    };
    let at_once = Experiment {
        sends: Sends::AtOnce,
        ..yoon2009
    };
    let synchronous = Experiment {
        mode: LoopMode::Synchronous {
            wait: Duration::from_micros(900),
        },
        ..at_once
    };
    let woken = |experiment: Experiment, microseconds| Experiment {
        work: Duration::ZERO,
        sync0: Some(Duration::from_micros(microseconds)),
        ..experiment
    };
    let row = |name, mode, experiment| LoopExperiment {
        name,
        mode,
        experiment,
    };
    [
        row(
            "pipelined, sends a cycle later ([Yoon2009])",
            Some(LoopVariant::Yoon),
            yoon2009,
        ),
        row(
            "pipelined, sends at once",
            Some(LoopVariant::Pipelined),
            at_once,
        ),
        row("synchronous", Some(LoopVariant::Synchronous), synchronous),
        row(
            "pipelined, at once, SYNC0 at 0.25 cycles",
            None,
            woken(at_once, 250),
        ),
        row(
            "synchronous, SYNC0 at 0.9 cycles",
            None,
            woken(synchronous, 900),
        ),
    ]
}

impl Answer for LatencyReport {
    fn document(&self) -> Document {
        let published = [
            &self.published.sensor,
            &self.published.command,
            &self.published.reaction,
        ];
        let mut first = vec!["[Yoon2009]".to_owned()];
        first.extend(published.map(CycleRange::to_string));
        first.push(String::new());
        let rows = self.loops.iter().map(|it| {
            vec![
                it.name.to_owned(),
                range(it.sensor),
                range(it.command),
                range(it.reaction),
                it.events.to_string(),
            ]
        });
        let head = [
            "cycles, least to most",
            "sensor",
            "command",
            "reaction",
            "events",
        ];
        let rows = std::iter::once(first).chain(rows).collect();
        Document::new().table(Table::new(&head, 1, rows))
    }
}

impl std::fmt::Display for CycleRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.min == self.max {
            true => write!(f, "{}", self.min),
            false => write!(f, "{} to {}", self.min, self.max),
        }
    }
}

fn range(latency: Option<Summary>) -> String {
    latency.map_or_else(
        || "-".to_owned(),
        |it| format!("{:.2} to {:.2}", it.min, it.max),
    )
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl LoopLatency {
    fn of(row: &LoopExperiment, all: &Latencies) -> Self {
        let experiment = &row.experiment;
        Self {
            name: row.name,
            mode: mode_word(experiment.mode),
            sends: match experiment.sends {
                Sends::AtOnce => "at-once",
                Sends::NextCycle => "next-cycle",
            },
            work_ns: nanoseconds(experiment.work),
            sync0_ns: experiment.sync0.map(nanoseconds),
            missed: all.missed,
            sensor: all.sensor.summary(),
            command: all.command.summary(),
            reaction: all.reaction.summary(),
            events: all.sensor.values().len(),
        }
    }
}
