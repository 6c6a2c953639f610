//! One-way latency of messages beside the clients of other middleware: `kadenz experiment messages`, with every
//! provider built in, and its ratios as a row.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::BenchOptions;
use super::figure::{Cells, Figure};
use crate::files;
use crate::process::{self, must};
use crate::repository::Repository;

/// Length of each measurement, by default.
const SECONDS: u32 = 5;
/// Rounds, by default.
const ROUNDS: u32 = 5;

/// 1 MB at 100 Hz and 10 MB at 10 Hz, by multicast unless options name others: the lost messages.
pub(crate) fn large(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let usual = ["kadenz-udpm", "lcm"].map(str::to_owned);
    let only = match options.only.is_empty() {
        true => &usual[..],
        false => &options.only,
    };
    let take = |size: &str, rate: &str| -> Result<Figure> {
        let load = format!("--policies other --sizes {size} --rates {rate}");
        let mut figure = take_of(repository, options, &load, only)?;
        for (name, _) in &mut figure.cells {
            *name = format!("{size} at {rate}, {name}");
        }
        Ok(figure)
    };
    let mut figure = take("1MB", "100Hz")?;
    figure.cells.extend(take("10MB", "10Hz")?.cells);
    Ok(figure)
}

/// 200 B at 1 kHz, with these options of the command.
pub(crate) fn take(repository: &Repository, options: &BenchOptions, load: &str) -> Result<Figure> {
    take_of(repository, options, load, &options.only)
}

fn take_of(
    repository: &Repository,
    options: &BenchOptions,
    load: &str,
    only: &[String],
) -> Result<Figure> {
    must(&mut repository.cargo("build --release -p kadenz-cli --features shm,zenoh,dds"))?;
    let seconds = options.seconds.unwrap_or(SECONDS);
    let rounds = options.rounds.unwrap_or(ROUNDS);
    let out = files::absent(&repository.target().join("bench/messages"))?;
    let mut measure = repository.command(repository.target().join("release/kadenz"));
    measure.args(["experiment", "messages", "--json"]);
    measure.args(["--duration", &format!("{seconds}s")]);
    measure.args(["--rounds", &rounds.to_string()]);
    measure.args(load.split(' ')).arg("--out").arg(out);
    if !only.is_empty() {
        measure.args(["--only", &only.join(",")]);
    }
    let said = process::output(&mut measure)?;
    let said: Value = serde_json::from_str(&said).context("it said no JSON")?;
    let result = said["messages"].clone();
    Ok(Figure {
        method: format!(
            "`kadenz experiment messages`, {rounds} rounds of {seconds} s, {load}; ratios within a round, geometric mean with its \
             95 % interval"
        ),
        cells: cells(&result, rounds, seconds)?,
        result,
    })
}

/// Of each contestant p50, p99 and the lost messages; of each pair the ratios.
fn cells(result: &Value, rounds: u32, seconds: u32) -> Result<Cells> {
    let mut cells = vec![("rounds".to_owned(), format!("{rounds} x {seconds} s"))];
    for load in array(&result["loads"]) {
        for row in array(&load["rows"]) {
            let us = |name: &str| match row[name].as_f64() {
                Some(ns) => format!("{:.1}", ns / 1e3),
                None => "-".to_owned(),
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
    ensure!(
        cells.len() > 1,
        "nothing was measured; what is missing stands above"
    );
    Ok(cells)
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn ratio(value: &Value) -> String {
    let number = |it: &Value| it.as_f64();
    let [low, high] = [0, 1].map(|at| number(&value["interval"][at]));
    match (number(&value["mean"]), low, high) {
        (Some(mean), Some(low), Some(high)) => format!("{mean:.3} ({low:.3} to {high:.3})"),
        (Some(mean), ..) => format!("{mean:.3}"),
        _ => "-".to_owned(),
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
