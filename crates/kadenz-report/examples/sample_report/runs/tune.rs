//! A matrix whose control periods follow Yoon's figures 7 and 8, and one that was interrupted
//! on a machine that refused much.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use kadenz_record::histogram::Histogram;
use kadenz_record::hlog::writer::IntervalLogWriter;
use kadenz_record::recorder::Counts;
use kadenz_record::run::model::{EndedBy, Kind, Run, Series, SeriesFiles, TuningMeasure};
use kadenz_record::run::tune::Tune;
use kadenz_report::matrix::{Combination, EXPERIMENT, Load, Measure, yoon2009};
use kadenz_report::summary::Summary;
use serde_json::json;

use super::{c_states, finished, parameters};
use crate::tally::{Chance, Tally};

const PERIOD_NS: u64 = 1_000_000;
const DEADLINE_NS: u64 = 400_000;
/// Length of a cell's turn in seconds.
const TURN_S: u64 = 5;
const A_SECOND: u64 = 1000;

/// Which part of the matrix exists.
struct Plan {
    name: &'static str,
    rounds: u64,
    complete: bool,
    /// Whether a cell was reached, and with how many rounds.
    rounds_of: fn(Load, Combination) -> u64,
    /// Measures that this machine refuses.
    refused: &'static [Measure],
}

/// Yoon's matrix, two minutes a cell: below `out`, as a run folder with its logs.
pub(crate) fn tune(out: &Path) -> Result<Summary, Box<dyn Error>> {
    write(
        out,
        &Plan {
            name: "tune-2026-05-09",
            rounds: 24,
            complete: true,
            rounds_of: |_, _| 24,
            refused: &[],
        },
    )
}

/// Interrupted in its second round under heavy load, where no CPU could be shielded.
pub(crate) fn tune_interrupted(out: &Path) -> Result<Summary, Box<dyn Error>> {
    write(
        out,
        &Plan {
            name: "tune-interrupted",
            rounds: 12,
            complete: false,
            rounds_of: |load, combination| match load {
                Load::Unloaded => 3,
                Load::Heavy => u64::from(combination.cost() < 4),
            },
            refused: &[Measure::Cpu],
        },
    )
}

/// The tunings that a check tried afterwards: a round of each combination with priority, without load, in the folder
/// `tuning` of the check.
pub(crate) fn tried(out: &Path) -> Result<Summary, Box<dyn Error>> {
    write(
        out,
        &Plan {
            name: "missed-2026-05-09/tuning",
            rounds: 1,
            complete: true,
            rounds_of: |load, combination| {
                let with_priority = combination.has(Measure::Priority);
                u64::from(load == Load::Unloaded && with_priority)
            },
            refused: &[],
        },
    )
}

fn write(out: &Path, plan: &Plan) -> Result<Summary, Box<dyn Error>> {
    let folder = out.join("runs").join(plan.name);
    fs::create_dir_all(&folder)?;
    let mut series = Vec::new();
    for load in Load::ALL {
        for (column, combination) in Combination::YOON2009.into_iter().enumerate() {
            let rounds = (plan.rounds_of)(load, combination);
            if rounds > 0 {
                series.extend(cell(&folder, plan, load, column, rounds)?);
            }
        }
    }
    let run = run(plan, series);
    fs::write(folder.join("run.json"), serde_json::to_vec_pretty(&run)?)?;
    Ok(Summary::of_run(&folder)?)
}

/// Lateness and jitter of a cell. Sleeps are relative, as Yoon's were, so that both are how much longer than requested
/// a sleep took.
fn cell(
    folder: &Path,
    plan: &Plan,
    load: Load,
    column: usize,
    rounds: u64,
) -> Result<[Series; 2], Box<dyn Error>> {
    let combination = Combination::YOON2009[column];
    let place = column as u64 + 9 * u64::from(load == Load::Heavy);
    let name = format!("{}-{combination}", load.name());
    let names = [name.clone(), format!("{name}-jitter")];
    let mut logs = Vec::new();
    for name in &names {
        let file = File::create(folder.join(format!("{name}.hlog")))?;
        logs.push(IntervalLogWriter::new(BufWriter::new(file), 0.0)?);
    }
    let periods = Periods::of(load, column);
    let mut chance = Chance(place + 1);
    let mut tally = Tally::new(Some(DEADLINE_NS));
    let mut second = Histogram::new();
    for turn in 0..rounds * TURN_S {
        let mood = 1.0 + 0.04 * ((turn / TURN_S + place) as f64).sin();
        second.reset();
        for _ in 0..A_SECOND {
            let excess = periods.excess_us(&mut chance) * mood * 1e3;
            second.record(excess as u64);
            tally.record(excess, 1);
        }
        let start = (turn / TURN_S * 18 + place) * TURN_S + turn % TURN_S;
        for log in &mut logs {
            log.append(None, start as f64, 1.0, &second)?;
        }
    }
    let counts = tally.counts();
    let jitter_counts = Counts {
        misses: 0,
        longest_miss_run: 0,
        ..counts
    };
    Ok([
        Series {
            deadline_ns: Some(DEADLINE_NS),
            ..series(plan, combination, &names[0], Kind::Lateness, counts)
        },
        series(plan, combination, &names[1], Kind::Jitter, jitter_counts),
    ])
}

fn series(plan: &Plan, combination: Combination, name: &str, kind: Kind, counts: Counts) -> Series {
    Series {
        description: format!("with {}", combination.words()),
        expected_interval_ns: Some(PERIOD_NS),
        tuning: combination
            .measures()
            .map(|measure| tuning(measure, plan.refused.contains(&measure)))
            .collect(),
        files: SeriesFiles {
            hlog: Some(format!("{name}.hlog")),
            ..SeriesFiles::default()
        },
        counts,
        ..super::series(name, kind)
    }
}

fn tuning(measure: Measure, refused: bool) -> TuningMeasure {
    let (name, value) = match measure {
        Measure::Priority => ("policy", "SCHED_FIFO 80"),
        Measure::Memory => ("memory_lock", "all pages"),
        Measure::Cpu => ("shield", "CPU 1"),
        Measure::Spin => ("sleeper", "spin 50 us"),
        Measure::Idle => ("cpu_dma_latency", "0 us"),
    };
    if refused {
        return TuningMeasure {
            name: name.into(),
            requested: value.into(),
            granted: "CPUs 0-7".into(),
            ok: false,
            reason: Some("cgroup cpuset: permission denied".into()),
            remedy: Some("sudo kadenz tune --deadline 400us".into()),
        };
    }
    TuningMeasure::granted(name, value)
}

fn run(plan: &Plan, series: Vec<Series>) -> Run {
    Run {
        complete: plan.complete,
        ended_by: plan.complete.then_some(EndedBy::Finished),
        parameters: parameters([
            ("rate", json!("1kHz")),
            ("deadline", json!("400us")),
            ("cells", json!("none,M,C,MC,P,PM,PC,PMC,PMCS")),
            ("loads", json!("unloaded,heavy")),
            ("pace", json!("relative")),
            ("round", json!("5s")),
            ("rounds", json!(plan.rounds)),
            ("confidence", json!("99.99")),
            ("priority", json!(80)),
            ("shield", json!("1")),
            ("spin_margin", json!("50us")),
        ]),
        tune: Some(Tune {
            loads: Load::ALL.to_vec(),
            shield: [1].into(),
            ..Tune::default()
        }),
        series,
        warnings: vec![c_states()],
        ..finished(
            EXPERIMENT,
            "2026-05-09T09:12:41.020Z",
            plan.rounds * 18 * TURN_S * 1_000_000_000,
            "kadenz tune --rate 1kHz --deadline 400us --out robot/tune",
        )
    }
}

/// The control periods of one of Yoon's columns, as a quantile function: a bell or a line
/// below 99 %, lines between Yoon's maxima above.
struct Periods {
    min_us: f64,
    mean_us: f64,
    stddev_us: f64,
    /// Maxima of the lowest 99, 99.9, 99.99, 99.999 and 100 %.
    maxima_us: [f64; 5],
}

impl Periods {
    fn of(load: Load, column: usize) -> Self {
        let table = yoon2009::table(load);
        Self {
            min_us: table.min_us[column],
            mean_us: table.rows[0].mean_us[column],
            stddev_us: table.rows[0].stddev_us[column],
            maxima_us: table.rows.map(|row| row.max_us[column]),
        }
    }

    /// How much longer than 1 ms one of them was, in microseconds.
    fn excess_us(&self, chance: &mut Chance) -> f64 {
        let nines = -chance.even().log10();
        let period = if nines < 2.0 {
            self.usual(chance, nines)
        } else {
            let step = ((nines - 2.0) as usize).min(3);
            let part = (nines - 2.0 - step as f64).min(1.0);
            1e3 + between(self.maxima_us[step], self.maxima_us[step + 1], part)
        };
        period - 1e3
    }

    /// Below 99 %: a bell where the spread is small, else a line in logarithms.
    fn usual(&self, chance: &mut Chance, nines: f64) -> f64 {
        if self.stddev_us > self.mean_us - self.min_us {
            return 1e3 + between(self.min_us, self.maxima_us[0], nines / 2.0);
        }
        let value = chance.bell(self.mean_us, self.stddev_us);
        value.clamp(self.min_us, self.maxima_us[0])
    }
}

/// Part of the way from one excess over 1 ms to another, in logarithms.
fn between(low_us: f64, high_us: f64, part: f64) -> f64 {
    ((low_us - 1e3).ln() * (1.0 - part) + (high_us - 1e3).ln() * part).exp()
}
