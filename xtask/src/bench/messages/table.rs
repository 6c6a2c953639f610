//! What the rounds say: medians of each, and ratios within a round.

use serde_json::{Value, json};

use super::contestant::Seen;
use super::roster::{Contestant, Group};
use super::{Arena, Load, Round, Scheduling};
use crate::bench::figure::{Cells, Figure};
use crate::bench::quantile::Spread;

/// The percentiles, as [`Seen`] holds them.
const VIEWS: [&str; 4] = ["p50", "p90", "p99", "p99.9"];
/// Those that ratios are told of.
const COMPARED: [usize; 2] = [0, 2];

/// Puts the rounds of small messages into a figure, a table for each group.
pub fn figure(
    contestants: &[Contestant],
    rounds: &[Round],
    arena: &Arena<'_>,
    load: Load,
) -> Figure {
    let mut ratios = serde_json::Map::new();
    let mut groups = Vec::new();
    for group in Group::ALL {
        let mut places = (0..contestants.len()).filter(|at| contestants[*at].group == group);
        let mut cells = vec![of_rounds(rounds, arena)];
        cells.extend(places.clone().map(|at| {
            let name = format!("{} p50 / p90 / p99 / p99.9, us", contestants[at].name);
            (name, microseconds(rounds, at))
        }));
        for ours in places.clone() {
            compare(contestants, ours, rounds, &mut cells, &mut ratios);
        }
        if places.next().is_some() {
            groups.push((group.name(), cells));
        }
    }
    Figure {
        method: method(arena, load),
        result: json!({ "ratios": ratios, "rounds": all(contestants, rounds) }),
        groups,
        ..Figure::default()
    }
}

/// Ratios of ours to those beside it.
fn compare(
    contestants: &[Contestant],
    ours: usize,
    rounds: &[Round],
    cells: &mut Cells,
    ratios: &mut serde_json::Map<String, Value>,
) {
    for beside in contestants[ours].beside {
        let Some(theirs) = contestants.iter().position(|it| it.name == *beside) else {
            continue;
        };
        for view in COMPARED {
            let name = format!("{} / {beside}, {}", contestants[ours].name, VIEWS[view]);
            let spread = Spread::of(rounds.iter().filter_map(|round| {
                let of = |place: usize| round.seen[place]?.percentiles_ns[view];
                Some(of(ours)? as f64 / of(theirs)? as f64)
            }));
            ratios.insert(name.clone(), spread.map_or(Value::Null, Spread::json));
            cells.push((name, spread.map_or_else(|| "-".to_owned(), Spread::cell)));
        }
    }
}

/// Puts the rounds of large messages into a figure.
pub fn of_large(
    contestants: &[Contestant],
    loads: &[(Load, Vec<Round>)],
    arena: &Arena<'_>,
) -> Figure {
    let mut cells = Vec::new();
    let mut results = serde_json::Map::new();
    for (load, rounds) in loads {
        if cells.is_empty() {
            cells.push(of_rounds(rounds, arena));
        }
        let what = format!("{} MB at {} Hz", load.bytes / 1_000_000, load.rate);
        for (place, contestant) in contestants.iter().enumerate() {
            let name = format!("{what}, {}: lost, MB/s", contestant.name);
            cells.push((name, losses(rounds, place, *load, arena.seconds)));
        }
        results.insert(what, all(contestants, rounds));
    }
    let loads = loads.first().map_or(Load { bytes: 0, rate: 0 }, |it| it.0);
    Figure {
        method: method(arena, loads),
        result: results.into(),
        cells,
        ..Figure::default()
    }
}

fn of_rounds(rounds: &[Round], arena: &Arena<'_>) -> (String, String) {
    let scheduling = match arena.scheduling {
        Scheduling::Ordinary => "",
        Scheduling::Fifo => ", FIFO 80",
    };
    let text = format!("{} x {} s{scheduling}", rounds.len(), arena.seconds);
    ("rounds".to_owned(), text)
}

/// What was lost of all rounds, and how much came a second.
fn losses(rounds: &[Round], place: usize, load: Load, seconds: u32) -> String {
    let seen: Vec<Seen> = rounds.iter().filter_map(|it| it.seen[place]).collect();
    if seen.is_empty() {
        return "-".to_owned();
    }
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let (count, lost) = (sum(|it| it.count), sum(|it| it.lost));
    let all_seconds = f64::from(seconds) * seen.len() as f64;
    let bandwidth = (count * load.bytes) as f64 / all_seconds / 1e6;
    let share = 100.0 * lost as f64 / (count + lost).max(1) as f64;
    format!("{lost} ({share:.2} %), {bandwidth:.1}")
}

/// Medians over the rounds.
fn microseconds(rounds: &[Round], place: usize) -> String {
    let median = |view: usize| {
        let values = rounds
            .iter()
            .filter_map(|it| it.seen[place]?.percentiles_ns[view]);
        let spread = Spread::of(values.map(|ns| ns as f64 / 1e3));
        spread.map_or_else(|| "-".to_owned(), |it| format!("{:.1}", it.median))
    };
    let values: Vec<String> = (0..VIEWS.len()).map(median).collect();
    let lost: u64 = rounds
        .iter()
        .filter_map(|it| it.seen[place])
        .map(|it| it.lost)
        .sum();
    let lost = match lost {
        0 => String::new(),
        lost => format!(" ({lost} lost)"),
    };
    format!("{}{lost}", values.join(" / "))
}

fn all(contestants: &[Contestant], rounds: &[Round]) -> Value {
    let round = |round: &Round| {
        let seen = contestants
            .iter()
            .zip(&round.seen)
            .filter_map(|(it, seen)| {
                let seen = (*seen)?;
                let mut value =
                    json!({ "count": seen.count, "lost": seen.lost, "max_ns": seen.max_ns });
                for (view, ns) in VIEWS.iter().zip(seen.percentiles_ns) {
                    value[format!("{view}_ns")] = ns.into();
                }
                Some((it.name.to_owned(), value))
            });
        Value::Object(seen.collect())
    };
    rounds.iter().map(round).collect()
}

fn method(arena: &Arena<'_>, load: Load) -> String {
    let scheduling = match arena.scheduling {
        Scheduling::Ordinary => "ordinary processes",
        Scheduling::Fifo => "SCHED_FIFO 80 for all",
    };
    format!(
        "{} B at {} Hz from one process to another of this host, {} s each, {scheduling}; every round \
         begins with another; from the call that publishes until the subscriber holds the message (ours: \
         decoded); ratios within a round, median (smallest to largest)",
        load.bytes, load.rate, arena.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ours_ns: u64, theirs_ns: u64, lost: u64) -> Round {
        let seen = |ns: u64, lost: u64| {
            Some(Seen {
                count: 100 - lost,
                lost,
                percentiles_ns: [Some(ns), Some(ns), Some(2 * ns), None],
                max_ns: Some(9 * ns),
            })
        };
        Round {
            seen: vec![seen(ours_ns, 0), seen(theirs_ns, lost)],
        }
    }

    #[test]
    fn medians_are_told_with_what_was_lost() {
        let rounds = [round(10_000, 20_000, 0), round(30_000, 40_000, 3)];
        assert_eq!(microseconds(&rounds, 0), "20.0 / 20.0 / 40.0 / -");
        assert!(microseconds(&rounds, 1).ends_with("(3 lost)"));
    }

    #[test]
    fn bandwidth_counts_what_came_alone() {
        let load = Load {
            bytes: 1_000_000,
            rate: 100,
        };
        let rounds = [round(1, 1, 50)];
        assert_eq!(losses(&rounds, 1, load, 1), "50 (50.00 %), 50.0");
        assert_eq!(losses(&rounds, 0, load, 1), "0 (0.00 %), 100.0");
    }
}
