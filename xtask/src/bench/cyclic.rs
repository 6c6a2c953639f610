//! Lateness of Kadenz's cyclic timer beside cyclictest, interleaved.
//!
//! A shared machine drifts within minutes, so that runs one after the other cannot be compared: every round runs all
//! three timers, every second round in reverse, and ratios are taken within a round. Either all three hold off the
//! CPUs' idle states, as cyclictest does by itself, or none does.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::BenchOptions;
use super::figure::{self, Figure};
use super::quantile::{self, Quantile, Spread};
use crate::cargo;
use crate::files;
use crate::process;
use crate::repository::Repository;
use crate::tools;

/// The measured timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    Cyclictest,
    Nanosleep,
    Spin,
}

const RUNNERS: [Runner; 3] = [Runner::Cyclictest, Runner::Nanosleep, Runner::Spin];

/// The setting of the CPUs' idle states, the same for all timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// PM QoS holds them off.
    HeldOff,
    /// The governor chooses them.
    LeftAlone,
}

impl Idle {
    /// The arguments of cyclictest; it holds them off by itself.
    fn for_cyclictest(self) -> &'static [&'static str] {
        match self {
            Self::HeldOff => &[],
            Self::LeftAlone => &["--default-system"],
        }
    }

    /// The arguments of Kadenz.
    fn for_ours(self) -> &'static [&'static str] {
        match self {
            Self::HeldOff => &["--cpu-dma-latency", "0us"],
            Self::LeftAlone => &[],
        }
    }
}

/// The result of one run.
#[derive(Clone, Copy, Debug)]
struct LatenessQuantiles {
    p50: Quantile,
    p99: Quantile,
}

/// A quantile, in one of the two ways of reading it.
type View = (&'static str, fn(&LatenessQuantiles) -> f64);

const VIEWS: [View; 4] = [
    ("p50 floored", |it| it.p50.floored_ns),
    ("p50 interpolated", |it| it.p50.fine_ns),
    ("p99 floored", |it| it.p99.floored_ns),
    ("p99 interpolated", |it| it.p99.fine_ns),
];

/// A round: the results of [`RUNNERS`], in that order.
type Round = [LatenessQuantiles; 3];

/// Runs the rounds.
pub(crate) fn take(repository: &Repository, options: &BenchOptions, idle: Idle) -> Result<Figure> {
    if tools::on_path(&["cyclictest"]).is_none() {
        bail!("cyclictest is missing: apt-get install rt-tests");
    }
    let program = cargo::release_program(repository)?;
    let folder = repository.target().join("bench/cyclic");
    files::make_folder(&folder)?;
    let seconds = options.seconds.unwrap_or(10);
    let how = (seconds, idle);
    let run = |it| match it {
        Runner::Cyclictest => run_cyclictest(repository, &folder, how),
        Runner::Nanosleep => run_ours(repository, &program, "nanosleep", how),
        Runner::Spin => run_ours(repository, &program, "spin", how),
    };
    let rounds = (0..options.rounds.unwrap_or(7))
        .map(|round| run_round(round, run))
        .collect::<Result<Vec<_>>>()?;
    Ok(figure(&rounds, seconds, idle))
}

/// Runs all three timers, in reverse in every second round.
fn run_round(
    round: u32,
    mut run: impl FnMut(Runner) -> Result<LatenessQuantiles>,
) -> Result<Round> {
    let backwards = round % 2 == 1;
    let order = if backwards { [2, 1, 0] } else { [0, 1, 2] };
    let mut seen = [None; 3];
    for place in order {
        seen[place] = Some(run(RUNNERS[place])?);
    }
    let [Some(cyclictest), Some(nanosleep), Some(spin)] = seen else {
        bail!("a round left a runner out");
    };
    Ok([cyclictest, nanosleep, spin])
}

fn run_cyclictest(
    repository: &Repository,
    folder: &Path,
    (seconds, idle): (u32, Idle),
) -> Result<LatenessQuantiles> {
    let file = folder.join("cyclictest.json");
    let mut command = repository.command("cyclictest");
    command.args(["-q", "-m", "-p", "80", "-i", "1000", "-h", "100000"]);
    command.args(idle.for_cyclictest());
    command.arg(format!("-D{seconds}"));
    command.arg(format!("--json={}", file.display()));
    process::output(&mut command).context("cyclictest needs the right to use SCHED_FIFO")?;
    let report: Value = serde_json::from_slice(&std::fs::read(&file)?)
        .with_context(|| format!("{} is not valid JSON", file.display()))?;
    let (bins, cycles) = quantile::cyclictest_bins(&report)?;
    let at = |q| quantile::of_bins(&bins, cycles, q).context("a quantile lies above 100 ms");
    Ok(LatenessQuantiles {
        p50: at(0.5)?,
        p99: at(0.99)?,
    })
}

fn run_ours(
    repository: &Repository,
    program: &Path,
    sleeper: &str,
    (seconds, idle): (u32, Idle),
) -> Result<LatenessQuantiles> {
    let out = files::absent(&repository.target().join("bench/cyclic").join(sleeper))?;
    let mut command = repository.command(program);
    command.args([
        "timer", "cyclic", "--rate", "1kHz", "--policy", "fifo:80", "--json",
    ]);
    command.args(["--sleeper", sleeper, "--duration", &format!("{seconds}s")]);
    command.args(idle.for_ours()).arg("--out").arg(&out);
    let report: Value = serde_json::from_str(&process::answer(&mut command)?)
        .context("`kadenz timer cyclic --json` printed no JSON")?;
    let run = serde_json::from_slice(&std::fs::read(out.join("run.json"))?)?;
    ensure!(
        holds_as_asked(&run, idle),
        "like would not be compared with like: /dev/cpu_dma_latency was not granted, run as root"
    );
    Ok(LatenessQuantiles {
        p50: quantile::of_ours(&report, "50")?,
        p99: quantile::of_ours(&report, "99")?,
    })
}

/// Whether the run's idle states were set as requested.
fn holds_as_asked(run: &Value, idle: Idle) -> bool {
    let series = run["series"].as_array().into_iter().flatten();
    let tuning = series.flat_map(|it| it["tuning"].as_array().into_iter().flatten());
    let mut held = tuning.filter(|it| it["name"] == "cpu_dma_latency");
    match idle {
        Idle::HeldOff => held.any(|it| it["ok"] == true),
        Idle::LeftAlone => held.next().is_none(),
    }
}

/// Ratios of one of Kadenz's timers to cyclictest within each round.
fn ratios(
    rounds: &[Round],
    ours: usize,
    value: impl Fn(&LatenessQuantiles) -> f64,
) -> Option<Spread> {
    let ratio = |round: &Round| value(&round[ours]) / value(&round[0]);
    Spread::of(rounds.iter().map(ratio))
}

fn figure(rounds: &[Round], seconds: u32, idle: Idle) -> Figure {
    let [ours, cyclictests] = [idle.for_ours(), idle.for_cyclictest()].map(|it| it.join(" "));
    let mut cells = figure::cells([("rounds", format!("{} x {seconds} s", rounds.len()))]);
    let mut result = serde_json::Map::new();
    let absolute =
        |value: fn(&LatenessQuantiles) -> f64| Spread::of(rounds.iter().map(|it| value(&it[0])));
    if let (Some(p50), Some(p99)) = (absolute(|it| it.p50.fine_ns), absolute(|it| it.p99.fine_ns)) {
        let text = format!("{:.1} / {:.1} us", p50.median / 1e3, p99.median / 1e3);
        cells.push(("cyclictest p50 / p99".to_owned(), text));
    }
    for (place, name) in [(1, "nanosleep"), (2, "spin")] {
        for (view, value) in VIEWS {
            let spread = ratios(rounds, place, value);
            result.insert(format!("{name} {view}"), spread.map(Spread::json).into());
            let cell = spread.map_or_else(|| "-".to_owned(), Spread::cell);
            cells.push((format!("{name} / cyclictest, {view}"), cell));
        }
    }
    let seen = |it: &LatenessQuantiles| json!({ "p50": it.p50.json(), "p99": it.p99.json() });
    let rounds: Vec<Value> = rounds
        .iter()
        .map(|[c, n, s]| json!({ "cyclictest": seen(c), "nanosleep": seen(n), "spin": seen(s) }))
        .collect();
    Figure {
        method: format!(
            "kadenz timer cyclic --rate 1kHz --policy fifo:80 {ours} with \
             --sleeper nanosleep and spin, \
             beside cyclictest -m -p 80 -i 1000 -h 100000 {cyclictests}, {seconds} s each, in rounds of \
             alternating direction; ratios within a round, median (smallest to largest)"
        ),
        result: json!({ "ratios": result, "rounds": rounds }),
        cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(p50: f64, p99: f64) -> LatenessQuantiles {
        LatenessQuantiles {
            p50: Quantile::exact(p50),
            p99: Quantile::exact(p99),
        }
    }

    #[test]
    fn every_second_round_runs_backwards_and_places_stay() {
        let mut order = Vec::new();
        for round in 0..2 {
            let result = run_round(round, |runner| {
                order.push(runner);
                Ok(seen(f64::from(runner as u8), 0.0))
            });
            let places = result.expect("all run").map(|it| it.p50.fine_ns);
            assert_eq!(places, [0.0, 1.0, 2.0]);
        }
        use Runner::{Cyclictest, Nanosleep, Spin};
        assert_eq!(
            order,
            [Cyclictest, Nanosleep, Spin, Spin, Nanosleep, Cyclictest]
        );
    }

    #[test]
    fn like_is_compared_with_like() {
        let method = |idle| figure(&[], 10, idle).method;
        let (held, alone) = (method(Idle::HeldOff), method(Idle::LeftAlone));
        assert!(held.contains("--cpu-dma-latency 0us") && !held.contains("--default-system"));
        assert!(alone.contains("--default-system") && !alone.contains("--cpu-dma-latency"));
        let run = |tuning| json!({ "series": [{ "tuning": tuning }] });
        let granted = run(json!([{ "name": "cpu_dma_latency", "ok": true }]));
        let refused = run(json!([{ "name": "cpu_dma_latency", "ok": false }]));
        let nothing = run(json!([{ "name": "policy", "ok": true }]));
        let held = [&granted, &refused, &nothing].map(|it| holds_as_asked(it, Idle::HeldOff));
        assert_eq!(held, [true, false, false]);
        let alone = [&granted, &refused, &nothing].map(|it| holds_as_asked(it, Idle::LeftAlone));
        assert_eq!(alone, [false, false, true]);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let rounds = [
            [
                seen(10_000.0, 20_000.0),
                seen(11_500.0, 20_000.0),
                seen(500.0, 900.0),
            ],
            [
                seen(50_000.0, 99_000.0),
                seen(50_000.0, 99_000.0),
                seen(5_000.0, 900.0),
            ],
        ];
        let result = figure(&rounds, 10, Idle::HeldOff).result;
        let ratio = |name: &str| result["ratios"][name]["median"].as_f64();
        assert_eq!(ratio("nanosleep p50 interpolated"), Some(1.075));
        assert_eq!(ratio("nanosleep p50 floored"), Some(1.05));
        assert_eq!(ratio("spin p50 floored"), Some(0.05));
    }
}
