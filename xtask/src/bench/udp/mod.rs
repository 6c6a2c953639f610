//! Round trips over UDP beside sockperf and irtt, interleaved.
//!
//! A shared machine drifts within minutes, so that runs one after the other cannot be compared: every round measures
//! all contestants, each round begins with another one, and ratios are taken within a round. Only equal methods are
//! compared: sockperf's ping-pong spins until the next packet is due, sends, and waits for the answer in the kernel,
//! all on one thread; so does `kadenz udp send --loop closed --receive block --stamps off --sleeper spin`. irtt sends
//! at its beat whether answers come or not, as `kadenz udp send` does by default.

mod contestant;
mod namespaces;
mod table;

use anyhow::{Result, bail, ensure};

use super::figure::Figure;
use super::{BenchOptions, NOTHING_MEASURED};
use crate::cargo;
use crate::files;
use crate::repository::Repository;
use crate::tools;
pub(crate) use contestant::Scheduling;
use contestant::{ALL, RoundTripBench, RoundTripContestant};
use namespaces::Cable;
use table::Percentiles;

/// Length of each measurement, by default.
const SECONDS: u32 = 4;
/// Rounds, by default.
const ROUNDS: u32 = 7;

/// The results of a round.
struct RoundTripRound {
    /// In the order of [`ALL`]; `None` for a contestant that could not measure: on a busy machine those that spin starve.
    seen: Vec<Option<Percentiles>>,
    /// Share of all CPUs' time that the hypervisor took (steal).
    steal: f64,
}

/// Measures all.
pub(crate) fn take(
    repository: &Repository,
    options: &BenchOptions,
    scheduling: Scheduling,
) -> Result<Figure> {
    let is_missing = |tool: &&str| tools::on_path(&[tool]).is_none();
    let missing: Vec<&str> = ["sockperf", "irtt"]
        .into_iter()
        .filter(is_missing)
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(" ");
        bail!("skipped: bench udp: {missing} missing: apt-get install {missing}");
    }
    let program = cargo::release_program(repository)?;
    let folder = repository.target().join("bench/udp");
    files::make_folder(&folder)?;
    let bench = RoundTripBench {
        repository,
        program: &program.to_string_lossy(),
        folder: &folder,
        cable: &Cable::lay(repository)?,
        scheduling,
        seconds: options.seconds.unwrap_or(SECONDS),
    };
    let rounds = options.rounds.unwrap_or(ROUNDS);
    let rounds: Vec<RoundTripRound> = (0..rounds)
        .map(|round| {
            eprintln!("round {} of {rounds}", round + 1);
            measure_round(round, |contestant| contestant.measure(&bench))
        })
        .collect();
    let mut seen = rounds.iter().flat_map(|round| &round.seen);
    ensure!(seen.any(Option::is_some), NOTHING_MEASURED);
    Ok(table::figure(&rounds, scheduling, bench.seconds))
}

/// Measures all contestants, each round beginning with another one.
fn measure_round(
    round: u32,
    mut run: impl FnMut(&RoundTripContestant) -> Result<Percentiles>,
) -> RoundTripRound {
    let before = Times::now();
    let mut seen = vec![None; ALL.len()];
    for turn in 0..ALL.len() {
        let place = (turn + round as usize) % ALL.len();
        match run(&ALL[place]) {
            Ok(percentiles) => seen[place] = Some(percentiles),
            Err(error) => eprintln!("{error:#}"),
        }
    }
    RoundTripRound {
        seen,
        steal: Times::now().stolen_since(before),
    }
}

impl RoundTripRound {
    fn of(&self, name: &str) -> Option<Percentiles> {
        self.seen[ALL.iter().position(|it| it.name == name)?]
    }
}

// Steal time: the eighth number of `/proc/stat`'s first line, proc(5).

/// Ticks since boot, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    all: u64,
    stolen: u64,
}

impl Times {
    /// The present counts; zeroes where the system has none.
    pub(crate) fn now() -> Self {
        Self::read(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        let words = text.lines().next().unwrap_or_default().split_whitespace();
        let ticks: Vec<u64> = words.skip(1).filter_map(|it| it.parse().ok()).collect();
        // The two numbers after it are the guests' time, which the first two already include.
        Self {
            all: ticks.iter().take(8).sum(),
            stolen: ticks.get(7).copied().unwrap_or(0),
        }
    }

    /// The share of the time between that was stolen.
    pub(crate) fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(contestant: &RoundTripContestant) -> Percentiles {
        let place = ALL.iter().position(|it| it.name == contestant.name);
        Percentiles {
            p50_ns: place.expect("one of them") as u64,
            p99_ns: 0,
            p999_ns: None,
            count: 1000,
        }
    }

    #[test]
    fn each_round_begins_with_another_and_places_stay() {
        let mut first = Vec::new();
        for round in 0..3 {
            let mut order = Vec::new();
            let measured = measure_round(round, |contestant| {
                order.push(contestant.name);
                Ok(seen(contestant))
            });
            for contestant in &ALL {
                assert_eq!(measured.of(contestant.name), Some(seen(contestant)));
            }
            assert_eq!(order.len(), ALL.len());
            first.push(order[0]);
        }
        assert_eq!(first, [ALL[0].name, ALL[1].name, ALL[2].name]);
    }

    #[test]
    fn a_failed_contestant_leaves_the_others_their_places() {
        let measured = measure_round(0, |contestant| match contestant.name {
            "irtt" => bail!("no server"),
            _ => Ok(seen(contestant)),
        });
        assert_eq!(measured.of("irtt"), None);
        assert_eq!(measured.of("open"), Some(seen(&ALL[5])));
    }
}

#[cfg(test)]
mod steal_tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_cpus_and_guests_count_once() {
        let before = Times::read("cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1\n");
        let after = Times::read("cpu  150 0 120 820 0 0 0 10 90 0\n");
        assert_eq!(after.stolen_since(before), 0.1);
        assert_eq!(Times::read(""), Times::default());
        assert_eq!(Times::default().stolen_since(Times::default()), 0.0);
    }
}
