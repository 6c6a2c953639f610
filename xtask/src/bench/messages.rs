//! One-way latency of messages beside the clients of other middleware: `kadenz experiment messages`, with every
//! provider built in, and its ratios as a row.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::figure::{Cells, Figure};
use super::{BenchOptions, absent, must};
use crate::process;
use crate::repository::Repository;

/// Length of each measurement, by default.
const SECONDS: u32 = 5;
/// Rounds, by default.
const ROUNDS: u32 = 5;
/// The features that Kadenz's program is built with.
const FEATURES: &str = "shm,zenoh,dds";

/// 200 B at 1 kHz, as ordinary processes.
pub(crate) fn ordinary(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    take(repository, options, &["--policies", "other"])
}

/// 200 B at 1 kHz, all of them at `SCHED_FIFO` 80.
pub(crate) fn fifo(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    take(repository, options, &["--policies", "fifo:80"])
}

/// 1 MB at 100 Hz and 10 MB at 10 Hz, by multicast unless options name others: the lost messages.
pub(crate) fn large(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let usual = ["kadenz-udpm".to_owned(), "lcm".to_owned()];
    let only = match options.only.is_empty() {
        true => &usual[..],
        false => &options.only,
    };
    let mut all: Option<Figure> = None;
    for (size, rate) in [("1MB", "100Hz"), ("10MB", "10Hz")] {
        let load = ["--policies", "other", "--sizes", size, "--rates", rate];
        let mut figure = take_of(repository, options, &load, only)?;
        for (name, _) in &mut figure.cells {
            *name = format!("{size} at {rate}, {name}");
        }
        match &mut all {
            None => all = Some(figure),
            Some(all) => all.cells.extend(figure.cells),
        }
    }
    all.context("nothing was measured")
}

fn take(repository: &Repository, options: &BenchOptions, load: &[&str]) -> Result<Figure> {
    take_of(repository, options, load, &options.only)
}

fn take_of(
    repository: &Repository,
    options: &BenchOptions,
    load: &[&str],
    only: &[String],
) -> Result<Figure> {
    let mut build = repository.command("cargo");
    build.args([
        "build",
        "--release",
        "-p",
        "kadenz-cli",
        "--features",
        FEATURES,
    ]);
    must(&mut build)?;
    let (seconds, rounds) = (
        options.seconds.unwrap_or(SECONDS),
        options.rounds.unwrap_or(ROUNDS),
    );
    let out = absent(&repository.target().join("bench/messages"))?;
    let mut measure = repository.command(&program(repository).to_string_lossy());
    measure.args([
        "experiment",
        "messages",
        "--json",
        "--duration",
        &format!("{seconds}s"),
    ]);
    measure
        .args(["--rounds", &rounds.to_string()])
        .args(load)
        .arg("--out")
        .arg(&out);
    if !only.is_empty() {
        measure.args(["--only", &only.join(",")]);
    }
    let said = process::output(&mut measure)?;
    let said: Value = serde_json::from_str(&said).context("it said no JSON")?;
    let result = said["messages"].clone();
    Ok(Figure {
        method: format!(
            "`kadenz experiment messages`, {rounds} rounds of {seconds} s, {}; ratios within a round, geometric mean with its \
             95 % interval",
            load.join(" ")
        ),
        cells: cells(&result, rounds, seconds)?,
        result,
        ..Figure::default()
    })
}

fn program(repository: &Repository) -> std::path::PathBuf {
    repository.target().join(Path::new("release/kadenz"))
}

/// Of each contestant p50, p99 and the lost messages; of each pair the ratios.
fn cells(result: &Value, rounds: u32, seconds: u32) -> Result<Cells> {
    let mut cells = vec![("rounds".to_owned(), format!("{rounds} x {seconds} s"))];
    for load in array(&result["loads"]) {
        for row in array(&load["rows"]) {
            let us = |name: &str| {
                row[name]
                    .as_f64()
                    .map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns / 1e3))
            };
            let text = format!("{} / {} ({} lost)", us("p50_ns"), us("p99_ns"), row["lost"]);
            cells.push((format!("{}, p50 / p99, us", text_of(&row["name"])), text));
        }
        for pair in array(&load["beside"]) {
            let name = format!("{} / {}", text_of(&pair["ours"]), text_of(&pair["theirs"]));
            for view in ["p50", "p99"] {
                cells.push((format!("{name}, {view}"), ratio(&pair[view])));
            }
        }
    }
    if cells.len() == 1 {
        bail!("nothing was measured; what is missing stands above");
    }
    Ok(cells)
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn ratio(value: &Value) -> String {
    let Some(mean) = value["mean"].as_f64() else {
        return "-".to_owned();
    };
    let end = |at: usize| value["interval"][at].as_f64();
    match end(0).zip(end(1)) {
        Some((low, high)) => format!("{mean:.3} ({low:.3} to {high:.3})"),
        None => format!("{mean:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_has_each_contestant_and_each_pair() {
        let result = json!({ "loads": [{
            "rows": [{ "name": "lcm", "p50_ns": 29_000, "p99_ns": null, "lost": 2 }],
            "beside": [{ "ours": "kadenz-udpm", "theirs": "lcm",
                         "p50": { "mean": 0.5, "interval": [0.4, 0.6] }, "p99": null }],
        }]});
        let cells = cells(&result, 5, 3).expect("something was measured");
        let of = |name: &str| cells.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
        assert_eq!(of("lcm, p50 / p99, us"), Some("29.0 / - (2 lost)"));
        assert_eq!(of("kadenz-udpm / lcm, p50"), Some("0.500 (0.400 to 0.600)"));
        assert_eq!(of("kadenz-udpm / lcm, p99"), Some("-"));
    }
}
