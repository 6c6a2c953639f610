//! What the rounds say: medians of each tool, and ratios within a round.

use serde_json::{Value, json};

use super::Round;
use super::contestant::{Contestant, RATE, Scheduling};
use super::logs::Percentiles;
use crate::bench::figure::Figure;
use crate::bench::quantile::Spread;

/// Ours, and what it is held against.
const PAIRS: [(Contestant, Contestant); 6] = [
    (Contestant::ClosedSpin, Contestant::Sockperf),
    (Contestant::Closed, Contestant::Sockperf),
    (Contestant::ClosedRehearsed, Contestant::Sockperf),
    (Contestant::ClosedBusy, Contestant::SockperfNonblocked),
    (Contestant::Open, Contestant::Irtt),
    (Contestant::OpenRehearsed, Contestant::Irtt),
];

/// A percentile, under its name.
type View = (&'static str, fn(&Percentiles) -> Option<u64>);

const VIEWS: [View; 3] = [
    ("p50", |it| Some(it.p50_ns)),
    ("p99", |it| Some(it.p99_ns)),
    ("p99.9", |it| it.p999_ns),
];

/// Puts the rounds into a figure.
pub fn figure(rounds: &[Round], scheduling: Scheduling, seconds: u32) -> Figure {
    let mut cells = vec![(
        "rounds".to_owned(),
        format!("{} x {seconds} s", rounds.len()),
    )];
    if let Some(steal) = Spread::of(rounds.iter().map(|it| it.steal * 100.0)) {
        let text = format!("{:.1} ({:.1} to {:.1})", steal.median, steal.min, steal.max);
        cells.push(("steal, %".to_owned(), text));
    }
    for contestant in Contestant::ALL {
        let name = format!("{} p50 / p99 / p99.9, us", contestant.name());
        cells.push((name, microseconds(rounds, contestant)));
    }
    let mut ratios = serde_json::Map::new();
    for (ours, theirs) in PAIRS {
        for (view, value) in VIEWS {
            let name = format!("{} / {}, {view}", ours.name(), theirs.name());
            let spread = Spread::of(rounds.iter().filter_map(|round| {
                let (ours, theirs) = (round.of(ours)?, round.of(theirs)?);
                Some(value(&ours)? as f64 / value(&theirs)? as f64)
            }));
            ratios.insert(name.clone(), spread.map_or(Value::Null, Spread::json));
            if view != "p99.9" {
                cells.push((name, spread.map_or_else(|| "-".to_owned(), Spread::cell)));
            }
        }
    }
    Figure {
        groups: Vec::new(),
        method: method(scheduling, seconds),
        result: json!({
            "ratios": ratios,
            "rounds": rounds.iter().map(round).collect::<Vec<_>>(),
        }),
        cells,
    }
}

/// Medians over the rounds.
fn microseconds(rounds: &[Round], contestant: Contestant) -> String {
    let median = |value: fn(&Percentiles) -> Option<u64>| {
        let values = rounds.iter().filter_map(|it| value(&it.of(contestant)?));
        Spread::of(values.map(|ns| ns as f64 / 1e3))
    };
    let values = VIEWS.map(|(_, value)| {
        median(value).map_or_else(|| "-".to_owned(), |it| format!("{:.1}", it.median))
    });
    values.join(" / ")
}

fn round(round: &Round) -> Value {
    let seen = |contestant: &Contestant| {
        let it = round.of(*contestant)?;
        let value = json!({
            "p50_ns": it.p50_ns,
            "p99_ns": it.p99_ns,
            "p99.9_ns": it.p999_ns,
            "count": it.count,
        });
        Some((contestant.name().to_owned(), value))
    };
    let mut all: serde_json::Map<String, Value> = Contestant::ALL.iter().filter_map(seen).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let made = |factor: u64| Round {
            seen: Contestant::ALL
                .iter()
                .map(|contestant| {
                    let ns = match contestant {
                        Contestant::ClosedSpin => 9_000 * factor,
                        Contestant::Irtt => 30_000 * factor,
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
