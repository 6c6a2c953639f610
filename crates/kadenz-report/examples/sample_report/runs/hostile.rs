//! Runs that no correct program writes, and one that recorded almost nothing.

use kadenz_record::run::model::{Kind, Run, Series, TuningMeasure, Warning};
use kadenz_report::summary::{SeriesSummary, Summary};
use serde_json::json;

use crate::tally::{Chance, Tally};

/// Names that try to break out of the surrounding text.
const NAMES: [&str; 10] = [
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror=\"window.pwned = 1\">",
    "\" onmouseover=\"window.pwned = 1",
    "'></option></select><b>bold</b>",
    "{a|rich} {b} {c}",
    "<!-- comment",
    "\u{202e}detrevni\u{202c}",
    "line\nbreak\tand\0nul",
    "a-name-without-a-single-space-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on",
    "",
];

/// An incomplete run with early values, jitter, gaps and all these names.
pub(crate) fn hostile() -> Summary {
    let series = NAMES
        .iter()
        .zip(7..)
        .map(|(name, seed)| series(name, seed))
        .collect();
    let evil = NAMES[0];
    let run = Run {
        version: 1,
        kadenz: evil.into(),
        experiment: NAMES[1].into(),
        started_at: NAMES[2].into(),
        command: ["kadenz", "run", evil, "it's $(reboot)", ""]
            .map(String::from)
            .into(),
        parameters: [
            (evil.to_owned(), json!(NAMES[1])),
            ("list".into(), json!(["</script>", 1])),
        ]
        .into(),
        ..Run::default()
    };
    let warnings = vec![
        Warning::new(
            "incomplete",
            "the run was not ended: it was killed, or is still being measured.",
            None,
        ),
        Warning::new("evil", evil, Some(NAMES[1])),
        Warning::new(
            "step",
            "A step in words.",
            Some("Take the second disk out and put it in again."),
        ),
    ];
    Summary {
        folder: format!("runs/{}", NAMES[1]).into(),
        run,
        series,
        warnings,
        ..Summary::default()
    }
}

fn series(name: &str, seed: u64) -> SeriesSummary {
    let mut chance = Chance(seed);
    let mut tally = Tally::new(Some(2_000_000));
    for second in (0..200_u32).filter(|second| !(60..75).contains(second)) {
        tally.interval(f64::from(second) + 0.2 * chance.even(), 1.0);
        for _ in 0..100 {
            let early = chance.happens(0.12);
            let centre = if early { -900_000.0 } else { 20_000.0 };
            tally.record(chance.bell(centre, 20_000.0) + chance.tail(60_000.0), 1);
        }
    }
    let series = Series {
        name: name.into(),
        description: name.into(),
        kind: if seed.is_multiple_of(2) {
            Kind::Jitter
        } else {
            Kind::Lateness
        },
        unit: "ns".into(),
        expected_interval_ns: Some(1_000_000),
        tuning: vec![TuningMeasure {
            name: name.into(),
            requested: name.into(),
            granted: name.into(),
            ok: false,
            reason: Some(name.into()),
            remedy: Some(name.into()),
        }],
        ..Series::default()
    };
    tally.summary(series, 0)
}

/// A run that was killed at its start: one series without a value, one with a single value, one
/// whose values are all zero.
pub(crate) fn sparse() -> Summary {
    let series = |name: &str, deadline_ns, values: &[f64]| {
        let mut tally = Tally::new(Some(deadline_ns));
        if !values.is_empty() {
            tally.interval(0.0, 1.0);
        }
        values.iter().for_each(|value| tally.record(*value, 1));
        let series = Series {
            name: name.into(),
            unit: "ns".into(),
            ..Series::default()
        };
        tally.summary(series, 0)
    };
    Summary {
        folder: "sparse".into(),
        series: vec![
            series("nothing", 400_000, &[]),
            series("single", 1_000_000_000, &[52_340.0]),
            series("zeros", 1_000_000_000, &[0.0; 100]),
        ],
        ..Summary::default()
    }
}
