//! Messages of 200 bytes between two Python processes, beside lcm, pyzmq, zenoh and cyclonedds as pip installs them.
//!
//! Every round measures all contestants, each round begins with another one, and ratios are taken within a round.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::figure::{Cells, Figure};
use super::quantile::Spread;
use super::{BenchOptions, NOTHING_MEASURED};
use crate::process;
use crate::repository::Repository;
use crate::tools;
use crate::wheel::{self, Profile};

const ROUNDS: u32 = 5;
const SECONDS: u32 = 4;
const RATE_HZ: &str = "1000";
const PEERS: [&str; 6] = [
    "lcm",
    "pyzmq",
    "eclipse-zenoh",
    "cyclonedds",
    "numpy",
    "pillow",
];
/// The contestants. Each of Kadenz's is compared with those of the same protocol, shared memory with all of them.
const CONTESTANTS: [&str; 7] = [
    "kadenz-shm",
    "kadenz-udpm",
    "kadenz-zmq",
    "lcm",
    "pyzmq",
    "zenoh",
    "cyclonedds",
];
const PAIRS: [(&str, &str); 6] = [
    ("kadenz-udpm", "lcm"),
    ("kadenz-zmq", "pyzmq"),
    ("kadenz-shm", "lcm"),
    ("kadenz-shm", "pyzmq"),
    ("kadenz-shm", "zenoh"),
    ("kadenz-shm", "cyclonedds"),
];

#[derive(Clone, Copy)]
struct Latency {
    p50_us: f64,
    p99_us: f64,
    lost: u64,
}

pub(crate) fn take(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let names = super::chosen(&options.only, &CONTESTANTS)?;
    let python = environment(repository)?;
    let seconds = options.seconds.unwrap_or(SECONDS);
    let all = super::rounds(options.rounds.unwrap_or(ROUNDS), &names, |name| {
        measure(repository, &python, name, seconds)
    });
    figure(&names, &all, seconds)
}

/// A Python environment with the package as for users, and with the others.
pub(super) fn environment(repository: &Repository) -> Result<PathBuf> {
    let home = repository.target().join("bench/python");
    let builds = tools::python_that("import maturin").context("no maturin: pip install maturin")?;
    let wheel = wheel::build(repository, &builds, Profile::Release, &home.join("wheels"))?;
    let python = home.join("environment/bin/python");
    if !python.is_file() {
        let mut create = repository.command(&builds);
        process::output(create.args(["-m", "venv"]).arg(home.join("environment")))?;
    }
    let pip = || {
        let mut pip = repository.command(&python);
        pip.args(["-m", "pip", "install", "--quiet"]);
        pip
    };
    process::output(pip().args(PEERS))?;
    process::output(pip().args(["--force-reinstall", "--no-deps"]).arg(wheel))?;
    Ok(python)
}

fn measure(repository: &Repository, python: &Path, name: &str, seconds: u32) -> Result<Latency> {
    let mut command = repository.command(python);
    command.arg(repository.path("xtask/peers/python/messages.py"));
    let said = process::output(command.args([name, RATE_HZ, &seconds.to_string()]))?;
    let said: Value = serde_json::from_str(said.lines().next_back().unwrap_or_default())?;
    let of = |field: &str| said[field].as_f64().with_context(|| format!("no {field}"));
    Ok(Latency {
        p50_us: of("p50_ns")? / 1e3,
        p99_us: of("p99_ns")? / 1e3,
        lost: said["lost"].as_u64().unwrap_or_default(),
    })
}

fn figure(names: &[&str], rounds: &[Vec<Option<Latency>>], seconds: u32) -> Result<Figure> {
    let (mut cells, mut result) = (Cells::new(), Vec::new());
    for (at, name) in names.iter().enumerate() {
        let of = |of: fn(&Latency) -> f64| Spread::over(rounds, at, of);
        let (Some(p50), Some(p99)) = (of(|it| it.p50_us), of(|it| it.p99_us)) else {
            continue;
        };
        let measured = rounds.iter().filter_map(|round| round[at]);
        let lost: u64 = measured.map(|it| it.lost).sum();
        cells.push((format!("{name} p50, us"), format!("{:.1}", p50.median)));
        cells.push((format!("{name} p99, us"), format!("{:.1}", p99.median)));
        result.push(
            json!({ "name": name, "p50_us": p50.json(), "p99_us": p99.json(), "lost": lost }),
        );
    }
    ensure!(!result.is_empty(), NOTHING_MEASURED);
    for (ours, peer) in PAIRS {
        let place = |name: &str| names.iter().position(|it| *it == name);
        if let Some(places) = place(ours).zip(place(peer))
            && let Some(ratio) = Spread::of_ratios(rounds, places, |it| it.p50_us)
        {
            cells.push((format!("{ours} / {peer}"), ratio.cell()));
            result.push(json!({ "ours": ours, "peer": peer, "ratio": ratio.json() }));
        }
    }
    Ok(Figure {
        method: format!(
            "200 B at {RATE_HZ} Hz from one Python process to another, {seconds} s of each in a round; from time.monotonic_ns before \
             the call that sends to the bytes in the receiver's hands; median of the rounds; ratios of medians within a round"
        ),
        result: Value::Array(result),
        cells,
    })
}
