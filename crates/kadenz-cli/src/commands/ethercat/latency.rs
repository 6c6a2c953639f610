//! `kadenz ethercat latency`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use kadenz_ethercat::control::cyclic::Mode;
use kadenz_ethercat::control::latency::{
    Experiment, Latencies, Latency, Sends, measure, measure_on, paper,
};
use serde::Serialize;

use super::segment::Virtual;
use crate::commands::msg::table::table;
use crate::options::Steps;
use crate::output::{self, Outcome};

/// How many cycles lie between a sensor, the controller and an actuator?
///
/// Beside the figures of Yoon et al. 2009: 1.5 to 2.5 cycles from an event to the controller (sensor), 1.5 from the controller
/// until the actuator acts (command), 3 to 4 from an event until the robot reacts. A virtual device stamps
/// when events happened and since when it acts on an answer; a loop of 1 ms answers it, in virtual time, so
/// that the result is the same on every machine and says nothing of this one.
///
/// Yoon et al. do not tell when in a cycle their devices act; the virtual device's work (0.34 ms) was chosen so
/// that, as the last of 59, it acts in the middle, where their figures come out. So their row shows
/// that their order of work can lead to them, and is no measurement of a robot.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat latency                               the loop of Yoon et al., and other loops
  kadenz ethercat latency --mode synchronous --sim 12 --cycles 5000
  kadenz ethercat latency --sim robot.toml              one of its devices has model = \"stamp\"
  kadenz ethercat latency --mode paper --json | jq '.loops[].reaction'")]
pub(crate) struct Options {
    /// The virtual segment: so many devices of the humanoid, the last of which stamps, or a segment's TOML
    /// file with a device that does
    #[arg(
        long,
        value_name = "N|FILE",
        default_value = "59",
        help_heading = "Segment"
    )]
    sim: Virtual,

    /// Which loop [default: each, also with devices that are woken by SYNC0]
    #[arg(long, value_name = "MODE")]
    mode: Option<Which>,

    /// Cycles of each loop; an event comes about every ten
    #[arg(long, value_name = "N", default_value_t = Experiment::paper().cycles,
          value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    cycles: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Takes in the cycle before, computes, and sends at once
    Pipelined,
    /// Sends, waits for the answers, and computes
    Synchronous,
    /// Pipelined, and sends what it computed a cycle later, as Yoon et al.
    Paper,
}

/// A row: a loop, and devices.
struct Row {
    name: &'static str,
    mode: Option<Which>,
    experiment: Experiment,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    segment: String,
    cycle_ns: u64,
    cycles: u64,
    paper: ToldPaper,
    loops: Vec<ToldLoop>,
}

#[derive(Serialize)]
struct ToldPaper {
    sensor: ToldSpan,
    command: ToldSpan,
    reaction: ToldSpan,
}

#[derive(Serialize)]
struct ToldSpan {
    min: f64,
    max: f64,
}

#[derive(Serialize)]
struct ToldLoop {
    name: &'static str,
    mode: &'static str,
    sends: &'static str,
    work_ns: u64,
    sync0_ns: Option<u64>,
    missed: u64,
    sensor: Option<ToldLatency>,
    command: Option<ToldLatency>,
    reaction: Option<ToldLatency>,
}

#[derive(Serialize)]
struct ToldLatency {
    count: usize,
    min: f64,
    p50: f64,
    p99: Option<f64>,
    max: f64,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let wanted = |row: &Row| options.mode.is_none() || row.mode == options.mode;
    let mut measured = Vec::new();
    let rows: Vec<Row> = rows(options.cycles).into_iter().filter(wanted).collect();
    let progress = Steps::new("simulating loops", rows.len());
    for row in rows {
        let latencies = match options.sim {
            Virtual::Humanoid(devices) => measure(&Experiment {
                devices: u16::try_from(devices)?,
                ..row.experiment
            })?,
            Virtual::File(_) => measure_on(&row.experiment, options.sim.plan()?)?,
        };
        measured.push((row, latencies));
        progress.done(measured.len());
    }
    drop(progress);
    if output::is_json() {
        output::json(&told(options, &measured))?;
    } else {
        output::say(&shown(&measured));
    }
    Ok(Outcome::Kept)
}

/// All that is measured.
fn rows(cycles: u64) -> [Row; 5] {
    let papers = Experiment {
        cycles,
        ..Experiment::paper()
    };
    let at_once = Experiment {
        sends: Sends::AtOnce,
        ..papers
    };
    let synchronous = Experiment {
        mode: Mode::Synchronous {
            wait: Duration::from_micros(900),
        },
        ..at_once
    };
    let woken = |experiment: Experiment, microseconds| Experiment {
        work: Duration::ZERO,
        sync0: Some(Duration::from_micros(microseconds)),
        ..experiment
    };
    let row = |name, mode, experiment| Row {
        name,
        mode,
        experiment,
    };
    [
        row(
            "pipelined, sends a cycle later (Yoon's)",
            Some(Which::Paper),
            papers,
        ),
        row("pipelined, sends at once", Some(Which::Pipelined), at_once),
        row("synchronous", Some(Which::Synchronous), synchronous),
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

fn shown(measured: &[(Row, Latencies)]) -> String {
    let mut rows = vec![vec![
        "Yoon says".to_owned(),
        paper_shown(paper::SENSOR),
        paper_shown(paper::COMMAND),
        paper_shown(paper::REACTION),
        String::new(),
    ]];
    rows.extend(measured.iter().map(|(row, all)| {
        vec![
            row.name.to_owned(),
            span(&all.sensor),
            span(&all.command),
            span(&all.reaction),
            all.sensor.values().len().to_string(),
        ]
    }));
    let head = [
        "cycles, least to most",
        "sensor",
        "command",
        "reaction",
        "events",
    ];
    table(&head, 1, rows)
}

fn paper_shown((from, to): (f64, f64)) -> String {
    if from == to {
        return from.to_string();
    }
    format!("{from} to {to}")
}

fn span(latency: &Latency) -> String {
    let summary = latency.summary();
    summary.map_or_else(
        || "-".to_owned(),
        |it| format!("{:.2} to {:.2}", it.min, it.max),
    )
}

fn told(options: &Options, measured: &[(Row, Latencies)]) -> Told {
    let span = |(min, max)| ToldSpan { min, max };
    Told {
        version: 1,
        segment: options.sim.to_string(),
        cycle_ns: nanoseconds(Experiment::paper().interval),
        cycles: options.cycles,
        paper: ToldPaper {
            sensor: span(paper::SENSOR),
            command: span(paper::COMMAND),
            reaction: span(paper::REACTION),
        },
        loops: measured
            .iter()
            .map(|(row, all)| ToldLoop::of(row, all))
            .collect(),
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl ToldLoop {
    fn of(row: &Row, all: &Latencies) -> Self {
        let experiment = &row.experiment;
        Self {
            name: row.name,
            mode: match experiment.mode {
                Mode::Pipelined => "pipelined",
                Mode::Synchronous { .. } => "synchronous",
            },
            sends: match experiment.sends {
                Sends::AtOnce => "at-once",
                Sends::NextCycle => "next-cycle",
            },
            work_ns: nanoseconds(experiment.work),
            sync0_ns: experiment.sync0.map(nanoseconds),
            missed: all.missed,
            sensor: ToldLatency::of(&all.sensor),
            command: ToldLatency::of(&all.command),
            reaction: ToldLatency::of(&all.reaction),
        }
    }
}

impl ToldLatency {
    fn of(latency: &Latency) -> Option<Self> {
        latency.summary().map(|it| Self {
            count: it.count,
            min: it.min,
            p50: it.p50,
            p99: it.p99,
            max: it.max,
        })
    }
}
