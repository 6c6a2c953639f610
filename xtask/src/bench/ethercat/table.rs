//! The result of the rounds: medians of each contestant, and ratios within a round.

use serde_json::{Value, json};

use super::{BusContestant, CycleCounts, MS, SegmentBench};
use crate::bench::figure::{self, Figure};
use crate::bench::quantile::Spread;

type Round = Vec<Option<CycleCounts>>;
/// A value of a round by its name.
type View = (&'static str, fn(&CycleCounts) -> u64);

const VIEWS: [View; 3] = [
    ("p50", |it| it.p50_ns),
    ("p99", |it| it.p99_ns),
    ("CPU", |it| it.cpu_ns),
];
/// Kadenz's MainDevices, and the peers that each is compared with.
const PAIRS: [(&str, &str); 5] = [
    ("pipelined", "soem"),
    ("spinning", "soem"),
    ("blocking", "soem"),
    ("blocking", "ethercrab-std"),
    ("blocking", "ethercrab-io-uring"),
];

pub(crate) fn figure(
    bench: &SegmentBench<'_>,
    chosen: &[BusContestant],
    rounds: &[Round],
) -> Figure {
    let fifo = if bench.is_fifo { ", FIFO 80" } else { "" };
    let count = format!("{} x {} s{fifo}", rounds.len(), bench.seconds);
    let mut cells = figure::cells([("rounds", count)]);
    for (place, it) in chosen.iter().enumerate() {
        let head = format!("{}: p50 / p99 / CPU, us", it.name);
        cells.push((head, medians(rounds, place)));
        if it.interval_ns < MS {
            let head = format!("{}: late, lost of all cycles", it.name);
            cells.push((head, misses(rounds, place)));
        }
    }
    let ratios = ratios(chosen, rounds);
    cells.extend(ratios.iter().map(|(name, it)| (name.clone(), it.cell())));
    let ratios = ratios.into_iter().map(|(name, it)| (name, it.json()));
    Figure {
        method: method(bench),
        result: json!({
            "ratios": ratios.collect::<serde_json::Map<_, _>>(),
            "rounds": rounds.iter().map(|it| round_json(chosen, it)).collect::<Value>(),
        }),
        cells,
    }
}

fn medians(rounds: &[Round], place: usize) -> String {
    let median = |(_, of): View| {
        let spread = Spread::over(rounds, place, |it| of(it) as f64 / 1e3);
        spread.map_or_else(|| "-".to_owned(), |it| format!("{:.1}", it.median))
    };
    VIEWS.map(median).join(" / ")
}

fn misses(rounds: &[Round], place: usize) -> String {
    let seen: Vec<&CycleCounts> = rounds.iter().filter_map(|it| it[place].as_ref()).collect();
    let sum = |of: fn(&CycleCounts) -> u64| seen.iter().map(|it| of(it)).sum::<u64>();
    let (late, lost, cycles) = (sum(|it| it.late), sum(|it| it.lost), sum(|it| it.cycles));
    let share = 100.0 * late as f64 / cycles.max(1) as f64;
    format!("{late} ({share:.3} %), {lost} of {cycles}")
}

fn ratios(chosen: &[BusContestant], rounds: &[Round]) -> Vec<(String, Spread)> {
    let place = |name| chosen.iter().position(|it| it.name == name);
    let mut all = Vec::new();
    for (ours, theirs) in PAIRS {
        let Some(places) = place(ours).zip(place(theirs)) else {
            continue;
        };
        for (view, of) in VIEWS {
            let spread = Spread::of_ratios(rounds, places, |it| of(it) as f64);
            all.extend(spread.map(|it| (format!("{ours} / {theirs}, {view}"), it)));
        }
    }
    all
}

fn round_json(chosen: &[BusContestant], round: &Round) -> Value {
    let one = |(it, seen): (&BusContestant, &Option<CycleCounts>)| {
        let seen = (*seen)?;
        let value = json!({
            "cycles": seen.cycles, "lost": seen.lost, "late": seen.late, "p50_ns": seen.p50_ns,
            "p99_ns": seen.p99_ns, "max_ns": seen.max_ns, "cpu_ns": seen.cpu_ns,
        });
        Some((it.name.to_owned(), value))
    };
    Value::Object(chosen.iter().zip(round).filter_map(one).collect())
}

fn method(bench: &SegmentBench<'_>) -> String {
    let scheduling = match bench.is_fifo {
        false => "ordinary processes",
        true => "SCHED_FIFO 80 for MainDevices and segments",
    };
    format!(
        "process data of 59 devices in SAFEOP once a ms ({} s each; *-250us four times as often), what it \
         takes of the loop's thread: from the call that sends until the inputs are there and their working \
         counter is checked, for pipelined from fetching those of the beat before until the next are sent \
         (lost: not back within a beat), for floor nothing at all; over a veth pair in a network namespace, {scheduling}; CPU is what all threads of the MainDevice's \
         process took a cycle; besides, ours reads all states by one datagram, ethercrab by one of each \
         device, SOEM none; every round begins with another; ratios within a round, median (smallest to \
         largest)",
        bench.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ns: u64) -> Option<CycleCounts> {
        Some(CycleCounts {
            cycles: 100,
            late: 1,
            p50_ns: ns,
            p99_ns: 2 * ns,
            cpu_ns: ns,
            ..CycleCounts::default()
        })
    }

    #[test]
    fn ratios_are_taken_within_a_round_and_a_missing_one_has_none() {
        let chosen = super::super::chosen(&["spinning".into(), "soem".into()]).expect("both are");
        let rounds = [
            vec![seen(10), seen(20)],
            vec![seen(30), seen(30)],
            vec![seen(1), None],
        ];
        let all = ratios(&chosen, &rounds);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].0, "spinning / soem, p50");
        assert_eq!((all[0].1.min, all[0].1.max), (0.5, 1.0));
    }

    #[test]
    fn what_was_missed_is_summed_over_all_rounds() {
        let rounds = [vec![seen(10)], vec![seen(20)], vec![None]];
        assert_eq!(misses(&rounds, 0), "2 (1.000 %), 0 of 200");
        assert_eq!(medians(&rounds, 0), "0.0 / 0.0 / 0.0");
    }
}
