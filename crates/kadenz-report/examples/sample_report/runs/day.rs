//! Four systems idling for a day, after the figures of [Enner2016]: about 80 million samples each in 86,400 intervals of
//! one second.

use kadenz_record::run::model::{Kind, Series, Warning};
use kadenz_report::summary::{SeriesSummary, Summary};

use super::finished;
use crate::tally::{Chance, Tally};

const DAY_S: u32 = 86_400;
const DRAWS: u64 = 12;
const TIMES: u64 = 77;

/// One value of a second's bulk, and with what probability something rare happens in that second.
struct System {
    name: &'static str,
    bulk: fn(&mut Chance) -> f64,
    rare: fn(&mut Chance, u32) -> Option<f64>,
}

const SYSTEMS: [System; 4] = [
    System {
        name: "windows-10",
        bulk: |chance| match chance.happens(0.06) {
            true => 1_000_000.0 + chance.bell(500_000.0, 240_000.0).abs(),
            false => 90_000.0 + 910_000.0 * chance.even(),
        },
        rare: |chance, _| {
            let step = 2.0 + (chance.even() * 14.0).floor();
            chance
                .happens(0.3)
                .then(|| chance.bell(step * 1e6 + 170_000.0, 40_000.0))
        },
    },
    System {
        name: "osx-10.9.5",
        bulk: |chance| chance.bell(320_000.0, 26_000.0).max(150_000.0),
        rare: |chance, second| {
            let busy = (25_200..29_400).contains(&second);
            let share = if busy { 0.7 } else { 0.08 };
            chance
                .happens(share)
                .then(|| (400_000.0 + chance.tail(1_250_000.0)).min(12_650_000.0))
        },
    },
    System {
        name: "ubuntu-16.04",
        bulk: |chance| chance.bell(102_000.0, 7_000.0).max(40_000.0),
        rare: |chance, _| {
            chance
                .happens(0.04)
                .then(|| (150_000.0 + chance.tail(330_000.0)).min(3_030_000.0))
        },
    },
    System {
        name: "scientific-linux-6.6-rt",
        bulk: |chance| chance.bell(80_000.0, 7_000.0).clamp(30_000.0, 132_000.0),
        rare: |chance, _| {
            chance
                .happens(0.01)
                .then(|| (105_000.0 + chance.tail(7_000.0)).min(150_000.0))
        },
    },
];

/// A run with one series per system.
pub(crate) fn day() -> Summary {
    let series: Vec<SeriesSummary> = SYSTEMS
        .iter()
        .zip(100..)
        .map(|(system, seed)| series(system, &mut Chance(seed)))
        .collect();
    let run = finished(
        "hiccup",
        "2026-05-09T18:00:00.000Z",
        u64::from(DAY_S) * 1_000_000_000,
        "kadenz hiccup --resolution 1ms --interval 1s --duration 24h --deadline 5ms",
    );
    let warnings = vec![Warning::new(
        "invented",
        "These figures are invented after Enner’s table to show what a day looks like.",
        None,
    )];
    Summary {
        folder: "idle-24h".into(),
        run,
        series,
        warnings,
        ..Summary::default()
    }
}

fn series(system: &System, chance: &mut Chance) -> SeriesSummary {
    let mut tally = Tally::new(Some(5_000_000));
    for second in 0..DAY_S {
        tally.interval(f64::from(second), 1.0);
        for _ in 0..DRAWS {
            tally.record((system.bulk)(chance), TIMES);
        }
        if let Some(value) = (system.rare)(chance, second) {
            tally.record(value, 1);
        }
    }
    let series = Series {
        description: "hiccups of an idle machine".into(),
        ..super::series(system.name, Kind::Hiccup)
    };
    tally.summary(series, u64::from(DAY_S) * 1_000_000_000)
}
