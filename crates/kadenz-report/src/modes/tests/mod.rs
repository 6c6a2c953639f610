//! Known modes in known noise, and noise that has none.

mod joint;

use std::path::Path;

use kadenz_record::hlog::reader::IntervalLog;
use kadenz_record::run::model::Kind;
use serde_json::Value;

use super::sim::{Disturbance, Noise, Planted, Recipe};
use super::{Finder, FoundModes, Mode, ModeKind, ModesOutput, SeriesModes};
use crate::json::tests::complaints_by;
use crate::testing::searched;

fn search(recipe: &Recipe) -> FoundModes {
    let mut finder = Finder::new(Some(recipe.interval_ns.cast_unsigned()));
    recipe.points().for_each(|point| finder.take(point));
    finder.finish()
}

fn near(found: f64, wanted: f64, share: f64) -> bool {
    (found / wanted - 1.0).abs() <= share
}

/// The error in the found modes; none if they are exactly the planted ones.
fn complaint(found: &[Mode], planted: &[Planted], level_ns: f64) -> Option<String> {
    if found.len() != planted.len() {
        return Some(format!(
            "{} modes for {}: {found:#?}",
            found.len(),
            planted.len()
        ));
    }
    for wanted in planted {
        let alike = |it: &&Mode| it.kind == wanted.kind && near(it.period_s, wanted.period_s, 0.01);
        let Some(mode) = found.iter().find(alike) else {
            return Some(format!("nothing like {wanted:?} in {found:#?}"));
        };
        let tolerance = if wanted.kind == ModeKind::Ramp {
            0.2
        } else {
            0.1
        };
        let fits = near(mode.duration_s, wanted.duration_s, tolerance)
            && near(mode.height_ns as f64, wanted.height_ns, tolerance)
            && near(mode.peak_ns as f64, level_ns + wanted.height_ns, tolerance);
        if !fits {
            return Some(format!("{mode:#?} is not {wanted:?}"));
        }
    }
    None
}

#[track_caller]
fn finds(recipe: &Recipe) -> Vec<Mode> {
    let found = search(recipe).modes;
    if let Some(complaint) = complaint(&found, &recipe.modes, recipe.level_ns as f64) {
        panic!("{complaint}");
    }
    found
}

fn planted(kind: ModeKind, period_s: f64, duration_s: f64, height_ns: f64) -> Planted {
    Planted {
        kind,
        period_s,
        first_s: 0.3 * period_s,
        duration_s,
        height_ns,
        stray: 0.0,
        absent: 0.0,
    }
}

#[test]
fn the_three_modes_of_enner2016b_are_found_and_nothing_else() {
    let found = finds(&Recipe::enner2016b());
    let count = |kind| {
        found
            .iter()
            .find(|it| it.kind == kind)
            .map(|it| it.occurrences)
    };
    // The last of 269 is cut off by the end of the record.
    assert!(count(ModeKind::Phase).is_some_and(|it| it >= 268));
    let phase = found.iter().find(|it| it.kind == ModeKind::Phase).unwrap();
    assert!(near(phase.duration_s, 15.01, 0.01), "{phase:?}");
    assert!(count(ModeKind::Ramp).is_some_and(|it| it >= 22));
    assert!(count(ModeKind::Spike).is_some_and(|it| it > 16_000));
    let expected = found.iter().map(|it| it.expected).max();
    assert_eq!(expected, Some(17_280));
}

/// Hours of every kind of noise without a period.
fn noises() -> Vec<Recipe> {
    let quiet = Noise::Even { width_ns: 900.0 };
    let pareto = |shape| Noise::Pareto {
        scale_ns: 2_000.0,
        shape,
    };
    let lognormal = |sigma| Noise::Lognormal {
        median_ns: 1_500.0,
        sigma,
    };
    let bursts = |per_hour, samples| Disturbance::Bursts {
        per_hour,
        samples,
        height_ns: 30_000.0,
    };
    let wander = Disturbance::Wander { height_ns: 400.0 };
    let drift = Disturbance::Drift {
        height_ns: 30_000.0,
    };
    let ar1 = |correlation| Disturbance::Autoregressive {
        deviation_ns: 900.0,
        correlation,
    };
    let all = [
        (pareto(1.2), vec![]),
        (pareto(2.0), vec![drift]),
        (lognormal(0.5), vec![]),
        (lognormal(1.5), vec![wander]),
        (quiet.clone(), vec![bursts(60.0, 3.0)]),
        (quiet.clone(), vec![bursts(8.0, 400.0)]),
        (quiet.clone(), vec![bursts(2.0, 1.0), drift]),
        (quiet.clone(), vec![wander]),
        (pareto(1.5), vec![bursts(600.0, 10.0), wander]),
        (quiet.clone(), vec![drift, wander, bursts(3000.0, 2.0)]),
        (quiet.clone(), vec![ar1(0.9)]),
        (quiet.clone(), vec![ar1(0.99), bursts(60.0, 100.0)]),
        (quiet, vec![ar1(0.999)]),
    ];
    let recipe = |(seed, (noise, disturbances)): (usize, (Noise, Vec<Disturbance>))| Recipe {
        samples: 400_000,
        noise,
        disturbances,
        modes: Vec::new(),
        seed: seed as u64,
        ..Recipe::enner2016b()
    };
    all.into_iter().enumerate().map(recipe).collect()
}

#[test]
fn nothing_is_found_where_nothing_recurs() {
    for recipe in noises() {
        let found = search(&recipe).modes;
        assert!(
            found.is_empty(),
            "{:?} {:?}: {found:#?}",
            recipe.noise,
            recipe.disturbances
        );
    }
}

#[test]
fn a_mode_that_strays_by_a_hundredth_is_found() {
    let mut recipe = Recipe {
        samples: 1_000_000,
        modes: vec![planted(ModeKind::Spike, 20.0, 0.01, 9_000.0)],
        ..Recipe::enner2016b()
    };
    recipe.modes[0].stray = 0.01;
    let found = finds(&recipe);
    assert!(found[0].stray_s > 0.02, "{found:?}");
}

#[test]
fn three_occurrences_are_enough_and_less_certain() {
    let mut recipe = Recipe {
        samples: 1_000_000,
        modes: vec![planted(ModeKind::Spike, 3_200.0, 0.01, 40_000.0)],
        ..Recipe::enner2016b()
    };
    let few = finds(&recipe);
    assert_eq!(few[0].occurrences, 3);
    recipe.modes[0] = planted(ModeKind::Spike, 320.0, 0.01, 40_000.0);
    let many = finds(&recipe);
    assert!(few[0].confidence < many[0].confidence, "{few:?} {many:?}");
}

#[test]
fn lost_samples_and_gaps_hide_no_mode() {
    finds(&Recipe {
        samples: 700_000,
        lost: 0.03,
        gaps: vec![(2_000.0, 3_000.0), (5_000.0, 5_100.0)],
        modes: Recipe::enner2016b().modes[..2].to_vec(),
        ..Recipe::enner2016b()
    });
}

#[test]
fn a_mode_of_a_few_samples_is_found() {
    finds(&Recipe {
        samples: 300_000,
        modes: vec![planted(ModeKind::Spike, 0.05, 0.01, 9_000.0)],
        ..Recipe::enner2016b()
    });
}

#[test]
fn a_record_at_a_kilohertz_is_no_other() {
    finds(&Recipe {
        interval_ns: 1_000_000,
        samples: 1_200_000,
        modes: vec![
            planted(ModeKind::Phase, 61.0, 4.0, 4_000.0),
            planted(ModeKind::Spike, 1.0, 0.001, 16_000.0),
            planted(ModeKind::Ramp, 100.0, 0.01, 150_000.0),
        ],
        ..Recipe::enner2016b()
    });
}

#[test]
fn a_record_of_nothing_has_no_mode() {
    assert_eq!(Finder::new(None).finish(), FoundModes::default());
    let recipe = Recipe {
        samples: 3,
        ..Recipe::enner2016b()
    };
    assert!(search(&recipe).modes.is_empty());
}

#[test]
fn the_output_keeps_to_its_schema() {
    let recipe = Recipe {
        samples: 100_000,
        modes: vec![planted(ModeKind::Spike, 7.0, 0.01, 30_000.0)],
        ..Recipe::enner2016b()
    };
    let FoundModes {
        count,
        span_s,
        modes,
        ..
    } = search(&recipe);
    assert_eq!(modes.len(), 1);
    let series = SeriesModes {
        count,
        span_s,
        notes: vec!["x".into()],
        ..searched("rtt", Kind::Latency, modes)
    };
    let output = ModesOutput::new(Path::new("night"), &[series]);
    let mut value: Value = serde_json::from_str(&output.to_string()).unwrap();
    const SCHEMA: &str = "urn:kadenz:schema:modes:1";
    assert_eq!(complaints_by(SCHEMA, &value), None);
    value["modes"][0]["confidence"] = 1.5.into();
    assert!(complaints_by(SCHEMA, &value).is_some());
}

/// The values of a recorded log, scaled to Enner's network: a share of it below 0.9 us, and the tail as heavy as
/// before.
fn recorded(log: &str, share: f64) -> Noise {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/hlog")
        .join(log);
    let mut values = Vec::new();
    for interval in IntervalLog::open(path).unwrap() {
        let histogram = interval.unwrap().histogram.decode().unwrap();
        for bucket in histogram.buckets() {
            values.extend(std::iter::repeat_n(bucket.high, bucket.count as usize));
        }
    }
    values.sort_unstable();
    let limit = values[(values.len() as f64 * share) as usize] as f64;
    Noise::Recorded(
        values
            .iter()
            .map(|it| (*it as f64 * 900.0 / limit) as i64)
            .collect(),
    )
}

/// The modes of Enner, in two hours instead of 24: the ramp every ten minutes.
fn two_hours() -> Recipe {
    let mut recipe = Recipe::enner2016b();
    recipe.samples = 800_000;
    recipe.modes[2].period_s = 600.0;
    recipe
}

#[test]
fn the_three_modes_are_found_in_heavy_tails() {
    let noises = [
        recorded("jHiccup-2.0.7S.logV2.hlog", 0.99),
        Noise::Pareto {
            scale_ns: 500.0,
            shape: 1.5,
        },
        Noise::Pareto {
            scale_ns: 2_000.0,
            shape: 2.0,
        },
        Noise::Lognormal {
            median_ns: 300.0,
            sigma: 1.5,
        },
    ];
    for noise in noises {
        finds(&Recipe {
            noise,
            ..two_hours()
        });
    }
}

/// One sample in ten is late by up to 4 ms: of ten samples that rise, most lose one to it.
#[test]
fn spikes_and_phases_are_found_where_noise_tears_ramps_apart() {
    let recipe = Recipe {
        noise: recorded("jHiccup-2.0.7S.logV2.hlog", 0.9),
        ..two_hours()
    };
    let found = search(&recipe).modes;
    assert_eq!(complaint(&found, &recipe.modes[..2], 193_000.0), None);
}

#[test]
fn the_three_modes_are_found_on_a_level_that_wanders() {
    let bursts = Disturbance::Bursts {
        per_hour: 60.0,
        samples: 3.0,
        height_ns: 30_000.0,
    };
    finds(&Recipe {
        disturbances: vec![Disturbance::Wander { height_ns: 300.0 }, bursts],
        ..two_hours()
    });
}

#[test]
fn modes_that_all_stray_are_distinguished() {
    let mut recipe = two_hours();
    recipe.modes.iter_mut().for_each(|mode| mode.stray = 0.01);
    finds(&recipe);
}

#[test]
fn a_mode_is_not_reported_again_as_its_multiple() {
    finds(&Recipe {
        samples: 1_000_000,
        modes: vec![
            planted(ModeKind::Spike, 5.0, 0.01, 9_000.0),
            planted(ModeKind::Spike, 7.0, 0.01, 9_500.0),
            planted(ModeKind::Spike, 10.0, 0.01, 20_000.0),
        ],
        ..Recipe::enner2016b()
    });
}

#[test]
fn a_phase_of_a_quarter_of_its_period_is_one_mode() {
    finds(&Recipe {
        samples: 800_000,
        modes: vec![planted(ModeKind::Phase, 1_200.0, 300.0, 5_000.0)],
        ..Recipe::enner2016b()
    });
}

#[test]
fn it_is_known_where_each_occurrence_of_a_mode_that_strays_began() {
    let mut recipe = Recipe {
        samples: 1_000_000,
        modes: vec![planted(ModeKind::Ramp, 20.0, 0.1, 90_000.0)],
        ..Recipe::enner2016b()
    };
    recipe.modes[0].stray = 0.02;
    let found = search(&recipe);
    let starts = &found.starts_s[0];
    assert_eq!(starts.len() as u64, found.modes[0].occurrences);
    let values: Vec<i64> = recipe.points().map(|it| it.value_ns - 193_000).collect();
    for start in starts {
        let first = (start / 0.01).round() as usize;
        let ramp = &values[first..first + 10];
        // The first sample is 9 us high, the last 90 us.
        assert!(ramp[0] > 8_000 && ramp[9] > 89_000, "{start}: {ramp:?}");
    }
}

#[test]
fn of_many_occurrences_a_thousand_starts_are_given_on_the_grid_of_the_mode() {
    let found = search(&Recipe {
        samples: 1_000_000,
        modes: vec![planted(ModeKind::Spike, 2.0, 0.01, 30_000.0)],
        ..Recipe::enner2016b()
    });
    let starts = &found.starts_s[0];
    assert!((900..=1024).contains(&starts.len()), "{}", starts.len());
    let off = |it: &f64| ((it - 0.6) / 2.0 - ((it - 0.6) / 2.0).round()).abs();
    assert!(starts.iter().all(|it| off(it) < 0.005));
    assert!(starts.last() > Some(&9_900.0));
}
