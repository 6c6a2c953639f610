//! The result of the rounds: medians of each tool, and ratios within a round.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::RoundTripRound;
use super::contestant::{ALL, RATE, Scheduling};
use crate::bench::figure::{self, Figure};
use crate::bench::quantile::Spread;

/// Kadenz's contestants, and those that each is compared with.
const PAIRS: [(&str, &str); 6] = [
    ("closed like sockperf", "sockperf"),
    ("closed", "sockperf"),
    ("closed rehearsed", "sockperf"),
    ("busy", "sockperf nonblocked"),
    ("open", "irtt"),
    ("open rehearsed", "irtt"),
];

/// A percentile, under its name.
type View = (&'static str, fn(&Percentiles) -> Option<u64>);

const VIEWS: [View; 3] = [
    ("p50", |it| Some(it.p50_ns)),
    ("p99", |it| Some(it.p99_ns)),
    ("p99.9", |it| it.p999_ns),
];

/// Makes a figure of the rounds.
pub(crate) fn figure(rounds: &[RoundTripRound], scheduling: Scheduling, seconds: u32) -> Figure {
    let mut cells = figure::cells([("rounds", format!("{} x {seconds} s", rounds.len()))]);
    if let Some(steal) = Spread::of(rounds.iter().map(|it| it.steal * 100.0)) {
        let text = format!("{:.1} ({:.1} to {:.1})", steal.median, steal.min, steal.max);
        cells.push(("steal, %".to_owned(), text));
    }
    for contestant in &ALL {
        let head = format!("{} p50 / p99 / p99.9, us", contestant.name);
        cells.push((head, microseconds(rounds, contestant.name)));
    }
    let mut ratios = serde_json::Map::new();
    for (ours, theirs) in PAIRS {
        for (view, value) in VIEWS {
            let name = format!("{ours} / {theirs}, {view}");
            let spread = Spread::of(rounds.iter().filter_map(|round| {
                let (ours, theirs) = (round.of(ours)?, round.of(theirs)?);
                Some(value(&ours)? as f64 / value(&theirs)? as f64)
            }));
            ratios.insert(name.clone(), spread.map(Spread::json).into());
            if view != "p99.9" {
                cells.push((name, spread.map_or_else(|| "-".to_owned(), Spread::cell)));
            }
        }
    }
    Figure {
        method: method(scheduling, seconds),
        result: json!({
            "ratios": ratios,
            "rounds": rounds.iter().map(round).collect::<Vec<_>>(),
        }),
        cells,
    }
}

/// Medians over the rounds.
fn microseconds(rounds: &[RoundTripRound], contestant: &str) -> String {
    let median = |value: fn(&Percentiles) -> Option<u64>| {
        let values = rounds.iter().filter_map(|it| value(&it.of(contestant)?));
        Spread::of(values.map(|ns| ns as f64 / 1e3))
    };
    let values = VIEWS.map(|(_, value)| {
        median(value).map_or_else(|| "-".to_owned(), |it| format!("{:.1}", it.median))
    });
    values.join(" / ")
}

fn round(round: &RoundTripRound) -> Value {
    let seen = |name: &str| {
        let it = round.of(name)?;
        let value = json!({
            "p50_ns": it.p50_ns,
            "p99_ns": it.p99_ns,
            "p99.9_ns": it.p999_ns,
            "count": it.count,
        });
        Some((name.to_owned(), value))
    };
    let measured = ALL.iter().filter_map(|it| seen(it.name));
    let mut all: serde_json::Map<String, Value> = measured.collect();
    all.insert("steal".to_owned(), round.steal.into());
    all.into()
}

fn method(scheduling: Scheduling, seconds: u32) -> String {
    let scheduling = match scheduling {
        Scheduling::Ordinary => "ordinary processes",
        Scheduling::Fifo => "SCHED_FIFO, controllers 50 and devices 80",
    };
    format!(
        "200 B at {RATE} Hz through a veth pair between two network namespaces, {seconds} s each, \
         {scheduling}; every round begins with another tool; percentiles by nearest rank of each \
         tool's log of every round trip; ratios within a round, median (smallest to largest)"
    )
}

// All round trips in the tools' logs, in ns: percentiles are then computed in one way for all.

/// `sockperf --full-log --full-rtt`: some words, then lines of packet, times and microseconds.
pub(crate) fn of_sockperf(text: &str) -> Result<Vec<u64>> {
    let (_, rows) = text
        .split_once("rtt(usec)\n")
        .context("sockperf's log has no column rtt(usec)")?;
    let round_trip = |row: &str| {
        let us: f64 = row.rsplit(',').next()?.trim().parse().ok()?;
        (us >= 0.0).then_some((us * 1000.0).round() as u64)
    };
    // A line of dashes ends the table.
    let rows = rows.lines().take_while(|row| !row.starts_with('-'));
    rows.map(|row| round_trip(row).with_context(|| format!("sockperf's log holds `{row}`")))
        .collect()
}

/// `irtt client -o`: the round trips that came back, without the first `warm_up`.
pub(crate) fn of_irtt(text: &str, warm_up: usize) -> Result<Vec<u64>> {
    let report: Value = serde_json::from_str(text).context("irtt wrote no JSON")?;
    let trips = report["round_trips"].as_array();
    let trips = trips.context("irtt's JSON holds no round_trips")?;
    let trips = trips.iter().skip(warm_up);
    let came_back = trips.filter(|trip| trip["lost"] == "false");
    came_back
        .map(|trip| {
            let rtt = trip["delay"]["rtt"].as_u64();
            rtt.context("a round trip of irtt's JSON has no delay.rtt")
        })
        .collect()
}

/// `kadenz export --format csv --series rtt`: sequence, two times and the value.
pub(crate) fn of_ours(text: &str) -> Result<Vec<u64>> {
    let mut rows = text.lines();
    let head = rows.next().unwrap_or_default();
    ensure!(
        head.ends_with(",value_ns"),
        "`kadenz export` wrote `{head}` and not samples"
    );
    let value = |row: &str| row.rsplit(',').next()?.parse().ok();
    rows.map(|row| value(row).with_context(|| format!("`kadenz export` wrote `{row}`")))
        .collect()
}

/// The percentiles that are compared, by nearest rank; one is left out where less than one round trip lies beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Percentiles {
    /// Median, ns.
    pub(crate) p50_ns: u64,
    /// The 99th percentile, ns.
    pub(crate) p99_ns: u64,
    /// ns; `None` with fewer than a thousand round trips.
    pub(crate) p999_ns: Option<u64>,
    /// The number of round trips.
    pub(crate) count: usize,
}

impl Percentiles {
    /// The percentiles of these round trips.
    pub(crate) fn of(mut values: Vec<u64>) -> Result<Self> {
        let count = values.len();
        ensure!(
            count >= 100,
            "{count} round trips are too few for a p99; take more seconds"
        );
        values.sort_unstable();
        let at = |per_mille: usize| values[(count * per_mille).div_ceil(1000) - 1];
        Ok(Self {
            p50_ns: at(500),
            p99_ns: at(990),
            p999_ns: (count >= 1000).then(|| at(999)),
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let made = |factor: u64| RoundTripRound {
            seen: ALL
                .iter()
                .map(|contestant| {
                    let ns = match contestant.name {
                        "closed like sockperf" => 9_000 * factor,
                        "irtt" => 30_000 * factor,
                        _ => 10_000 * factor,
                    };
                    Some(Percentiles {
                        p50_ns: ns,
                        p99_ns: 2 * ns,
                        p999_ns: Some(3 * ns),
                        count: 3000,
                    })
                })
                .collect(),
            steal: 0.5,
        };
        let figure = figure(&[made(1), made(7)], Scheduling::Ordinary, 3);
        let ratio = |name: &str| figure.result["ratios"][name]["max"].as_f64();
        assert_eq!(ratio("closed like sockperf / sockperf, p50"), Some(0.9));
        assert_eq!(ratio("open / irtt, p99"), Some(1.0 / 3.0));
        let cell = |name: &str| figure.cells.iter().find(|it| it.0 == name).map(|it| &*it.1);
        assert_eq!(cell("steal, %"), Some("50.0 (50.0 to 50.0)"));
        let medians = cell("sockperf p50 / p99 / p99.9, us");
        assert_eq!(medians, Some("40.0 / 80.0 / 120.0"));
    }
}

#[cfg(test)]
mod logs_tests {
    use super::*;

    #[test]
    fn sockperfs_words_are_skipped_and_its_microseconds_exact() {
        let log = "sockperf: a, b\npacket, txTime(sec), rxTime(sec), rtt(usec)\n\
                   0, 2.412061496, 2.412076514, 15.018\n1, 2.4, 2.5, 7.000\n-----\n";
        assert_eq!(of_sockperf(log).expect("whole"), [15_018, 7_000]);
        assert!(of_sockperf("sockperf: nothing").is_err());
        assert!(of_sockperf("rtt(usec)\n1, 2, 3, x\n").is_err());
    }

    #[test]
    fn of_irtt_those_that_came_back_count() {
        let trip = |lost: &str, ns: u64| {
            let ns = if lost == "false" {
                serde_json::json!({ "rtt": ns })
            } else {
                serde_json::json!({})
            };
            serde_json::json!({ "lost": lost, "delay": ns })
        };
        let trips = [trip("false", 9), trip("true", 0), trip("false", 7)];
        let report = serde_json::json!({ "round_trips": trips }).to_string();
        assert_eq!(of_irtt(&report, 0).expect("whole"), [9, 7]);
        assert_eq!(of_irtt(&report, 1).expect("whole"), [7]);
        assert!(of_irtt("{}", 0).is_err());
        let broken = r#"{ "round_trips": [{ "lost": "false", "delay": {} }] }"#;
        assert!(of_irtt(broken, 0).is_err());
    }

    #[test]
    fn ours_are_samples_and_no_buckets() {
        let samples = "sequence,intended_ns,actual_ns,value_ns\n5,100,120,20\n6,200,231,31\n";
        assert_eq!(of_ours(samples).expect("whole"), [20, 31]);
        assert!(of_ours("low_ns,high_ns,count\n1,2,3\n").is_err());
        assert!(of_ours("sequence,value_ns\n1,x\n").is_err());
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let values = (1..=1000).rev().collect();
        let expected = Percentiles {
            p50_ns: 500,
            p99_ns: 990,
            p999_ns: Some(999),
            count: 1000,
        };
        assert_eq!(Percentiles::of(values).expect("enough"), expected);
        let few = Percentiles::of(vec![1; 999]).expect("enough for a p99");
        assert_eq!(few.p999_ns, None);
        assert!(Percentiles::of(vec![1; 99]).is_err());
    }
}
