//! Modes beside each other, modes that are often absent, and levels that wander: how many are found.

use super::super::sim::{Disturbance, Noise, Planted, Recipe};
use super::super::{Mode, ModeKind};
use super::{planted, search};

/// The surroundings of a ramp and a phase.
const SURROUNDINGS: [&str; 5] = ["quiet", "drift", "gaps", "Pareto 1.5", "all of these"];

/// A ramp of 150 us every ten minutes that begins `offset_s` after every tenth of the phases of 4 us, one a
/// minute: 67 minutes at 50 Hz.
fn ramp_beside_phase(surroundings: usize, offset_s: f64) -> Recipe {
    let is = |number: usize| surroundings == number || surroundings == SURROUNDINGS.len() - 1;
    let mut recipe = Recipe {
        interval_ns: 20_000_000,
        samples: 200_000,
        modes: vec![
            planted(ModeKind::Phase, 60.0, 6.0, 4_000.0),
            planted(ModeKind::Ramp, 600.0, 0.2, 150_000.0),
        ],
        seed: (1_000.0 * (offset_s + 10.0)) as u64,
        ..Recipe::enner2016b()
    };
    recipe.modes[1].first_s = recipe.modes[0].first_s + 120.0 + offset_s;
    if is(1) {
        recipe.disturbances = vec![Disturbance::Drift {
            height_ns: 30_000.0,
        }];
    }
    if is(2) {
        recipe.gaps = vec![(1_000.0, 1_100.0), (3_000.0, 3_037.0)];
    }
    if is(3) {
        recipe.noise = Noise::Pareto {
            scale_ns: 500.0,
            shape: 1.5,
        };
    }
    recipe
}

/// Offsets of every half second through the period of the phase, and of every fifth of one within 3 s of its start.
fn offsets() -> Vec<f64> {
    let all = (0..120).map(|it| 0.5 * f64::from(it));
    let dense = (-15..=15).map(|it| 0.2 * f64::from(it) + 0.07);
    all.chain(dense).collect()
}

/// Sixty occurrences or more, of which some are absent.
fn often_absent(kind: ModeKind, period_s: f64, absent: f64, seed: u64) -> Recipe {
    let (duration_s, height_ns) = match kind {
        ModeKind::Spike => (0.01, 16_500.0),
        ModeKind::Phase => (6.0, 4_000.0),
        ModeKind::Ramp => (0.1, 150_000.0),
    };
    let mode = planted(kind, period_s, duration_s, height_ns);
    Recipe {
        samples: ((60.0 * period_s * 100.0) as u64).max(60_000),
        modes: vec![Planted { absent, ..mode }],
        seed,
        ..Recipe::enner2016b()
    }
}

/// A phase of 4 us for 15 s, once a minute, on a level that wanders: 100 minutes.
fn phase_on_ar1(deviation_ns: f64, correlation: f64, seed: u64) -> Recipe {
    Recipe {
        samples: 600_000,
        disturbances: vec![Disturbance::Autoregressive {
            deviation_ns,
            correlation,
        }],
        modes: vec![planted(ModeKind::Phase, 60.0, 15.0, 4_000.0)],
        seed,
        ..Recipe::enner2016b()
    }
}

/// The found modes, where they are exactly the planted ones.
fn found_alone(recipe: &Recipe) -> Result<Vec<Mode>, Vec<Mode>> {
    let found = search(recipe).modes;
    let alike = |planted: &Planted, mode: &Mode| {
        mode.kind == planted.kind && (mode.period_s / planted.period_s - 1.0).abs() <= 0.01
    };
    let is_found = |planted: &Planted| found.iter().any(|it| alike(planted, it));
    if found.len() == recipe.modes.len() && recipe.modes.iter().all(is_found) {
        Ok(found)
    } else {
        Err(found)
    }
}

#[test]
fn a_ramp_is_found_wherever_it_begins_beside_a_phase() {
    let offsets: Vec<_> = offsets().into_iter().step_by(2).enumerate().collect();
    let find = |&(index, offset_s): &(usize, f64)| {
        // Each in one of the surroundings: the table takes each in all of them.
        let surroundings = index % SURROUNDINGS.len();
        if let Err(found) = found_alone(&ramp_beside_phase(surroundings, offset_s)) {
            panic!(
                "{} s after it, {}: {found:#?}",
                offset_s, SURROUNDINGS[surroundings]
            );
        }
    };
    // The longest test of this crate: on one CPU it would finish last.
    std::thread::scope(|scope| {
        for part in offsets.chunks(offsets.len().div_ceil(4)) {
            scope.spawn(move || part.iter().for_each(find));
        }
    });
}

#[test]
fn a_mode_of_which_half_is_absent_is_found_once_and_relied_on_less() {
    let kinds = [
        (ModeKind::Spike, 5.0),
        (ModeKind::Spike, 20.0),
        (ModeKind::Spike, 60.0),
        (ModeKind::Ramp, 5.0),
        (ModeKind::Ramp, 60.0),
        (ModeKind::Phase, 60.0),
    ];
    for (kind, period_s) in kinds {
        let confidence = |absent: f64| {
            let recipe = often_absent(kind, period_s, absent, 3);
            let found = found_alone(&recipe);
            found.unwrap_or_else(|it| panic!("{:?}: {it:#?}", recipe.modes))[0].confidence
        };
        let all = [0.0, 0.3, 0.4, 0.5].map(confidence);
        assert!(
            all.is_sorted_by(|a, b| a > b),
            "{kind:?} {period_s}: {all:?}"
        );
        // Of sixty occurrences a seventh more or less may be present.
        assert!(all[0] > 0.95 && all[1] < 0.85 && all[3] < 0.65, "{all:?}");
    }
}

#[test]
fn a_phase_of_4_us_is_found_on_a_level_that_wanders_by_a_third_of_it() {
    for correlation in [0.9, 0.99, 0.997] {
        for deviation_ns in [600.0, 900.0, 1_200.0] {
            if let Err(found) = found_alone(&phase_on_ar1(deviation_ns, correlation, 1)) {
                panic!("{deviation_ns} ns, {correlation}: {found:#?}");
            }
        }
    }
}

/// Prints the table of docs/modes.md: for each condition, in how many of the tried records exactly the planted modes
/// are found.
#[test]
#[ignore = "takes minutes: for the table in docs/modes.md"]
#[allow(clippy::print_stdout, reason = "the table")]
fn table_of_what_is_found() {
    let row = |name: &str, recipes: &[Recipe]| {
        let found = recipes.iter().filter(|it| found_alone(it).is_ok());
        println!("| {name} | {} of {} |", found.count(), recipes.len());
    };
    for (index, name) in SURROUNDINGS.into_iter().enumerate() {
        let recipes = offsets().into_iter().step_by(3);
        let recipes = recipes.map(|it| ramp_beside_phase(index, it));
        let name = format!("ramp at any time beside a phase, {name}");
        row(&name, &recipes.collect::<Vec<_>>());
    }
    for (kind, period_s) in [
        (ModeKind::Spike, 5.0),
        (ModeKind::Ramp, 20.0),
        (ModeKind::Phase, 60.0),
    ] {
        for absent in [0.3, 0.4, 0.5] {
            let recipes = (1..=10).map(|seed| often_absent(kind, period_s, absent, seed));
            let name = format!("{kind:?} every {period_s} s, {absent} absent");
            row(&name, &recipes.collect::<Vec<_>>());
        }
    }
    for correlation in [0.99, 0.997] {
        for deviation_ns in [600.0, 900.0, 1_200.0, 1_500.0, 2_000.0] {
            let recipes = (1..=3).map(|seed| phase_on_ar1(deviation_ns, correlation, seed));
            let name = format!("phase of 4 us, AR(1) of {deviation_ns} ns, {correlation}");
            row(&name, &recipes.collect::<Vec<_>>());
        }
    }
}
