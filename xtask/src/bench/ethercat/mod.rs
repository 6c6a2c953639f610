//! The exchange of process data with Yoon's 59 devices, Kadenz beside ethercrab's own drivers and SOEM.
//!
//! Each measurement has a segment of its own, in a network namespace of its own, at the other end of a veth pair, and
//! the same code for the beat and the times. A shared machine drifts within minutes, so every round measures all
//! contestants, each round begins with another one, and ratios are taken within a round.

mod peers;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::figure::Figure;
use super::{BenchOptions, NOTHING_MEASURED};
use crate::process;
use crate::repository::Repository;

/// Devices of Yoon's humanoid.
const DEVICES: &str = "59";
/// Length of each measurement, and rounds, by default.
const SECONDS: u32 = 3;
const ROUNDS: u32 = 3;

/// A MainDevice in the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BusContestant {
    name: &'static str,
    peer: &'static str,
    mode: &'static str,
    interval_ns: u32,
}

impl std::fmt::Display for BusContestant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const MS: u32 = 1_000_000;

const fn contestant(name: &'static str, peer: &'static str, mode: &'static str) -> BusContestant {
    BusContestant {
        name,
        peer,
        mode,
        interval_ns: MS,
    }
}

const fn quicker(it: BusContestant) -> BusContestant {
    BusContestant {
        interval_ns: MS / 4,
        ..it
    }
}

const ALL: [BusContestant; 9] = [
    contestant("pipelined", peers::OURS, "pipelined"),
    contestant("blocking", peers::OURS, "blocking"),
    contestant("spinning", peers::OURS, "spinning"),
    contestant("ethercrab-std", peers::ETHERCRAB, "std"),
    contestant("ethercrab-io-uring", peers::ETHERCRAB, "io-uring"),
    contestant("soem", peers::SOEM, ""),
    quicker(contestant("pipelined-250us", peers::OURS, "pipelined")),
    quicker(contestant("spinning-250us", peers::OURS, "spinning")),
    quicker(contestant("floor-250us", peers::OURS, "floor")),
];

/// A contestant's results of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CycleCounts {
    cycles: u64,
    /// Cycles in which not every device took part.
    lost: u64,
    /// Cycles that ended after the next one's beat.
    late: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    /// CPU time of all threads of the MainDevice, for each cycle.
    cpu_ns: u64,
}

/// The common setting of the measurements.
struct SegmentBench<'a> {
    repository: &'a Repository,
    peers: peers::Peers,
    is_fifo: bool,
    seconds: u32,
}

/// Measures all, with their segments, as ordinary processes or at `SCHED_FIFO`.
pub(crate) fn take(
    repository: &Repository,
    options: &BenchOptions,
    is_fifo: bool,
) -> Result<Figure> {
    let chosen = chosen(&options.only)?;
    let bench = SegmentBench {
        repository,
        peers: peers::Peers::build(repository, &chosen)?,
        is_fifo,
        seconds: options.seconds.unwrap_or(SECONDS),
    };
    let rounds = super::rounds(options.rounds.unwrap_or(ROUNDS), &chosen, |it| {
        measure(&bench, *it)
    });
    ensure!(
        rounds.iter().flatten().any(Option::is_some),
        NOTHING_MEASURED
    );
    Ok(table::figure(&bench, &chosen, &rounds))
}

/// The contestants that `--only` names, or all.
fn chosen(only: &[String]) -> Result<Vec<BusContestant>> {
    let names = super::chosen(only, &ALL.map(|it| it.name))?;
    let is_chosen = |it: &BusContestant| names.contains(&it.name);
    Ok(ALL.into_iter().filter(is_chosen).collect())
}

fn measure(bench: &SegmentBench<'_>, contestant: BusContestant) -> Result<CycleCounts> {
    let program: PathBuf = bench.peers.program(contestant.peer)?;
    let beside = bench.peers.program(peers::BESIDE)?;
    let count = u64::from(bench.seconds) * 1_000_000_000 / u64::from(contestant.interval_ns);
    let mut command = bench.repository.command("chrt");
    command.args(match bench.is_fifo {
        true => ["--fifo", "80"],
        false => ["--other", "0"],
    });
    command.arg(beside).arg(DEVICES);
    command.arg(program).arg("ec0");
    command.args([count.to_string(), contestant.interval_ns.to_string()]);
    command.arg(contestant.mode);
    let said = process::output(&mut command).context("root may do it")?;
    read(&serde_json::from_str(&said).context("it said no JSON")?)
}

fn read(said: &Value) -> Result<CycleCounts> {
    let number = |name: &str| {
        let value = said[name].as_u64();
        value.with_context(|| format!("it did not tell {name}"))
    };
    Ok(CycleCounts {
        cycles: number("count")?,
        lost: number("lost")?,
        late: number("late")?,
        p50_ns: number("p50_ns")?,
        p99_ns: number("p99_ns")?,
        max_ns: number("max_ns")?,
        cpu_ns: number("cpu_ns")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = chosen(&["igh".to_owned()]).expect_err("no such name");
        assert!(
            error.to_string().contains("spinning, ethercrab-std"),
            "{error}"
        );
        assert_eq!(chosen(&["soem".to_owned()]).expect("it is one").len(), 1);
    }

    #[test]
    fn a_missing_value_is_an_error() {
        let mut said = json!({ "count": 9, "lost": 0, "late": 1, "p50_ns": 5, "p99_ns": 6,
            "max_ns": 7, "cpu_ns": 8 });
        assert_eq!(read(&said).expect("whole").late, 1);
        said["cpu_ns"] = Value::Null;
        assert!(read(&said).is_err());
    }
}
