//! Contributions with a known truth.

use super::*;
use crate::compare::interval::Cells;
use crate::statistics::SignedBucket;
use crate::statistics::random::Random;

/// Steps of the logarithm of a lateness, so that a cell has few buckets.
const STEP: f64 = 0.05;
/// The factor by which a priority divides every lateness, a whole number of steps.
const TRUTH: f64 = 28.0 * STEP;

/// A log of 120 intervals whose tail is exponential in the logarithm, and the same in all.
fn log(random: &mut Random, lower: f64) -> Cells {
    let mut interval = || {
        let mut steps: Vec<i32> = (0..120)
            .map(|_| {
                let even = (random.below(1 << 24) as f64 + 0.5) / f64::from(1 << 24);
                (-0.3 * even.ln() / STEP) as i32
            })
            .collect();
        steps.sort_unstable();
        let bucket = |run: &[i32]| {
            let value = (100_000.0 * (f64::from(run[0]) * STEP - lower).exp()) as i64;
            SignedBucket {
                low_ns: value,
                high_ns: value,
                count: run.len() as u64,
            }
        };
        steps.chunk_by(|a, b| a == b).map(bucket).collect()
    };
    (0..120).map(|_| interval()).collect()
}

/// Four cells under heavy load: priority divides, locked memory does nothing.
fn measured(seed: u64) -> Matrix {
    let mut random = Random::new(seed, 7);
    let logs: Vec<(&str, Cells)> = [("none", 0.0), ("M", 0.0), ("P", TRUTH), ("PM", TRUTH)]
        .map(|(name, lower)| (name, log(&mut random, lower)))
        .into();
    let cells = logs.iter().map(|(name, log)| {
        let values: Vec<(i64, u64)> = log.iter().flatten().map(|b| (b.high_ns, b.count)).collect();
        cell(Load::Heavy, name, &values)
    });
    let summary = run(cells.collect::<Vec<_>>());
    Matrix::with(&summary, |summary, places| {
        let figures = |&place: &usize| {
            let series = &summary.series[place];
            let own = |(name, _): &&(&str, Cells)| series.series.name == format!("heavy-{name}");
            let nothing = Cells::new();
            let log = logs.iter().find(own).map_or(&nothing, |(_, log)| log);
            Figures::new(series, log, place as u64)
        };
        places.iter().map(figures).collect()
    })
}

fn effect(matrix: &Matrix, measure: Measure, figure: EffectFigure) -> Ratio {
    let mut all = matrix.contributions.iter();
    let found = all.find(|c| c.measure == measure && c.figure == figure);
    found.unwrap().ratio.unwrap()
}

/// In 40 matrices, how often the 95 % interval holds the truth.
#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    let (mut priority, mut memory) = (0, 0);
    for seed in 0..40 {
        let matrix = measured(seed);
        let holds = |measure, truth: f64| {
            let ratio = effect(&matrix, measure, EffectFigure::P99_9);
            let (low, high) = ratio.interval.unwrap();
            // A margin of a thousandth, because figures have three digits.
            u32::from(low * 0.999 <= truth && truth <= high * 1.001)
        };
        priority += holds(Measure::Priority, (-TRUTH).exp());
        memory += holds(Measure::Memory, 1.0);
    }
    assert!(priority >= 34, "{priority} of 40");
    assert!(memory >= 34, "{memory} of 40");
}

#[test]
fn effects_are_said_in_words() {
    let matrix = measured(1);
    let words = |measure, figure| {
        let mut all = matrix.contributions.iter();
        let one = all.find(|c| c.measure == measure && c.figure == figure);
        one.unwrap().sentence.clone()
    };
    let priority = words(Measure::Priority, EffectFigure::P99_9);
    assert!(priority.starts_with("P: p99.9 lateness "), "{priority}");
    assert!(
        priority.contains(" times lower under heavy load (95 %: "),
        "{priority}"
    );
    let memory = words(Measure::Memory, EffectFigure::P99);
    assert!(
        memory.starts_with(
            "M: no difference in p99 lateness that this sample can show under heavy load ("
        ),
        "{memory}"
    );
    assert!(words(Measure::Priority, EffectFigure::Max).ends_with("(no confidence can be given)"));
    let ratio = effect(&matrix, Measure::Priority, EffectFigure::P99_9);
    assert!((ratio.ratio / (-TRUTH).exp()).ln().abs() < 0.3, "{ratio:?}");
    assert_eq!(ratio.significant(), Some(true));
}

#[test]
fn the_published_order_is_judged_where_its_pairs_were_measured() {
    let matrix = measured(2);
    let pairs = matrix.rankings[0].published.iter();
    let pairs: Vec<&str> = pairs.map(|it| it.sentence.as_str()).collect();
    assert_eq!(pairs.len(), 2, "{pairs:?}");
    assert!(
        pairs[0].starts_with("M equal to none: as in Yoon, "),
        "{pairs:?}"
    );
    assert!(
        pairs[1].starts_with("PM equal to P: as in Yoon, "),
        "{pairs:?}"
    );
    let words = matrix.ranking_words();
    assert!(
        words[1].ends_with("is reproduced in all 2 pairs of it."),
        "{words:?}"
    );
}
