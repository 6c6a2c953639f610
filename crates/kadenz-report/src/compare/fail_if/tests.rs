use kadenz_record::run::model::{Kind, Series, Warning};
use kadenz_record::run::network::{Flow, MaxLoss, Network, RESPONSE};
use proptest::prelude::*;

use super::*;
use crate::compare::{CompareOptions, Comparison};
use crate::import::LOST;
use crate::summary::Summary;
use crate::testing::{named, run_of, series_of};

fn parsed(text: &str) -> FailIf {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn run(folder: &str, values: &[(i64, u64)]) -> Summary {
    let judged = Series {
        deadline_ns: Some(400_000),
        ..named("wakeup", Kind::Lateness)
    };
    let plain = named("floor", Kind::Floor);
    run_of(
        folder,
        vec![series_of(judged, values), series_of(plain, &[(500, 1000)])],
    )
}

fn outcome(text: &str, runs: &[Summary]) -> Outcome {
    let comparison = Comparison::new(runs, &CompareOptions::default());
    check(&[parsed(text)], runs, &comparison)
}

fn code(text: &str, runs: &[Summary]) -> u8 {
    outcome(text, runs).exit_code()
}

#[test]
fn expressions_are_read_as_they_are_written() {
    for (text, shown) in [
        ("p99.9 > 1.2x", "p99.9 > 1.2x"),
        ("max>2ms", "max > 2ms"),
        (" misses > 0 ", "misses > 0"),
        ("mean > 10%", "mean > 10%"),
        ("mean < -10 %", "mean < -10%"),
        ("median >= 400 us", "p50 >= 400us"),
        ("max <= 1.5s", "max <= 1.5s"),
        ("min < 5µs", "min < 5us"),
        ("miss-rate > 0.1%", "miss-rate > 0.1%"),
        (
            "fifo-80: p99 > 1.5x significantly",
            "fifo-80: p99 > 1.5x significantly",
        ),
        ("count < 60_000", "count < 60000"),
        ("sd > 0", "stddev > 0ns"),
    ] {
        assert_eq!(parsed(text).to_string(), shown);
        assert_eq!(parsed(&parsed(text).to_string()), parsed(text));
    }
}

#[test]
fn wrong_expressions_say_what_is_wrong_and_what_to_write() {
    for (text, part) in [
        ("", "has no operator"),
        (
            "p99.9",
            "`p99.9` has no operator; write it as `p99.9 > 1.2x`",
        ),
        ("p99.9 = 2ms", "has no operator"),
        (
            "latency > 2ms",
            "`latency` is not a valid figure; there are p50",
        ),
        ("p > 2ms", "`p` is not a valid figure"),
        (
            "p100 > 2ms",
            "100 % is not a valid percentile; it lies above 0 and below 100",
        ),
        (
            "p99.9 > fast",
            "`fast` is not a valid limit; write a ratio (1.2x)",
        ),
        ("p99.9 >", "`` is not a valid limit"),
        (
            "p99.9 > 2",
            "`p99.9 > 2` lacks a unit; write a unit, such as 2ms, or a ratio, 2x",
        ),
        ("p99.9 > 2min", "`2min` is not a valid limit"),
        ("p99.9 > 1e3us", "is not a valid limit"),
        ("p99.9 > infx", "is not a valid limit"),
        (
            "misses > 2ms",
            "`misses` is not a valid duration; write a plain number",
        ),
        (
            "mean < -1x",
            "must be above 0; for a decrease write `< 0.9x`",
        ),
        ("max > 2ms significantly", "needs a ratio"),
        ("max > 2x significantly", "`max` has no confidence interval"),
        ("p99.9 >> 2ms", "is not a valid limit"),
    ] {
        let error = text.parse::<FailIf>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_single_run_is_tested_on_absolute_limits() {
    let good = [run("a", &[(100_000, 60_000)])];
    let bad = [run("a", &[(100_000, 60_000), (900_000, 3)])];
    for (text, of_good, of_bad) in [
        ("max > 800us", 0, 1),
        ("misses > 0", 0, 1),
        ("wakeup: misses > 5", 0, 0),
        ("p99 > 200us", 0, 0),
        ("wakeup: p99.99 > 200us", 0, 0),
        ("longest-run >= 3", 0, 1),
        ("miss-rate > 0.001%", 0, 1),
        ("floor: max > 1us", 0, 0),
        // The noise floor's 1,000 samples do not support it, and 60,000 not the next.
        ("p99.99 > 200us", 2, 2),
        ("wakeup: p99.999 > 2ms", 2, 2),
        ("floor: misses > 0", 2, 2),
        ("nosuch: max > 0", 2, 2),
        ("max > 2x", 2, 2),
    ] {
        assert_eq!(code(text, &good), of_good, "{text} on the good run");
        assert_eq!(code(text, &bad), of_bad, "{text} on the bad run");
    }
}

#[test]
fn candidates_are_tested_against_the_first_run() {
    let runs = [
        run("before", &[(100_000, 60_000)]),
        run("after", &[(100_000, 59_000), (130_000, 1_000)]),
    ];
    for (text, expected) in [
        ("p99 > 1.2x", 1),
        ("p99 > 1.4x", 0),
        ("p99 > 20%", 1),
        ("p50 > 1.01x", 0),
        ("mean > 10%", 0),
        ("mean > 0.4%", 1),
        ("p50 < 0.9x", 0),
        ("max > 125us", 1),
        ("misses > 2x", 0),
        ("floor: p50 > 1.0x", 0),
        // There are no intervals to draw from.
        ("p99 > 1.2x significantly", 2),
    ] {
        assert_eq!(code(text, &runs), expected, "{text}");
    }
    let violation = &outcome("wakeup: p99 > 1.2x", &runs).violations[0];
    assert_eq!(
        violation.to_string(),
        "wakeup: p99 > 1.2x: wakeup of after: p99 is 130.0 us, 1.30x of the baseline's 100.0 us"
    );
}

#[test]
fn misses_where_there_were_none_are_beyond_every_ratio() {
    let runs = [
        run("before", &[(100_000, 1000)]),
        run("after", &[(500_000, 1000)]),
    ];
    assert_eq!(code("misses > 100x", &runs), 1);
    assert_eq!(
        code("misses > 100x", &[runs[0].clone(), runs[0].clone()]),
        0
    );
}

#[test]
fn misses_without_a_deadline_ask_for_one() {
    let mut run = run("before", &[(100_000, 1000)]);
    run.series
        .iter_mut()
        .for_each(|series| series.verdict = None);
    for text in ["misses > 0", "misses > 2x"] {
        let reason = outcome(text, &[run.clone(), run.clone()]).undecided[0].to_string();
        assert!(
            reason.ends_with("no deadline was stated; state one with --deadline"),
            "{reason}"
        );
    }
}

#[test]
fn of_a_run_that_cannot_be_read_no_misses_are_decided() {
    let runs = [run("before", &[(100_000, 1000)]), run("after", &[])];
    for text in [
        "misses > 0",
        "miss-rate > 1%",
        "misses > 2x",
        "longest-run > 3",
    ] {
        let outcome = outcome(text, &runs);
        assert_eq!(outcome.exit_code(), 2, "{text}");
        let reason = outcome.undecided[0].to_string();
        assert!(reason.ends_with("nothing could be read"), "{reason}");
    }
}

#[test]
fn misses_of_a_run_that_lost_values_are_not_decided_unless_enough_are_certain() {
    let mut lossy = run("after", &[(100_000, 1000), (500_000, 1)]);
    lossy.warnings = vec![Warning::new(LOST, "300 of 1301 were lost", None)];
    let whole = run("before", &[(100_000, 1000), (500_000, 1)]);
    for (text, expected) in [
        ("misses > 0", 1),
        ("misses > 1", 2),
        ("miss-rate > 1%", 2),
        ("misses > 2x", 2),
        ("p99 > 2x", 0),
        ("max > 1ms", 0),
    ] {
        let runs = [whole.clone(), lossy.clone()];
        assert_eq!(code(text, &runs), expected, "{text}");
    }
    assert_eq!(code("misses > 2x", &[lossy.clone(), whole]), 2);
    // The baseline may have missed as much.
    let worse = run("worse", &[(100_000, 1000), (500_000, 5)]);
    assert_eq!(code("misses > 2x", &[lossy.clone(), worse.clone()]), 2);
    assert_eq!(code("misses > 2x", &[worse, lossy.clone()]), 2);
    assert_eq!(code("misses < 5", &[lossy]), 2);
}

#[test]
fn round_trips_whose_packets_were_lost_are_not_decided_beyond_what_the_run_allows() {
    let judged = |name: &str, kind| Series {
        deadline_ns: Some(400_000),
        ..named(name, kind)
    };
    let answered = &[(100_000, 997)];
    let all = vec![
        series_of(judged(RESPONSE, Kind::Latency), answered),
        series_of(judged("rtt", Kind::Latency), answered),
        series_of(judged("lateness", Kind::Lateness), &[(100_000, 1000)]),
    ];
    let mut summary = run_of("udp", all);
    let mut of = |text: &str, lost, max_loss| {
        let flow = Flow {
            sent: 1000,
            lost,
            ..Flow::default()
        };
        summary.run.network = Some(Network {
            flows: vec![flow],
            max_loss,
            ..Network::default()
        });
        outcome(text, &[summary.clone()])
    };
    for text in ["misses > 0", "rtt: misses > 0", "response: misses > 0"] {
        let lost = of(text, 3, None);
        assert_eq!(lost.exit_code(), 2, "{text}");
        let reason = lost.undecided[0].to_string();
        assert!(reason.contains("3 lost packets"), "{reason}");
        assert_eq!(of(text, 3, Some(MaxLoss::Packets(3))).exit_code(), 0);
        assert_eq!(of(text, 4, Some(MaxLoss::Packets(3))).exit_code(), 2);
        assert_eq!(of(text, 0, None).exit_code(), 0, "{text}");
    }
    // Every packet has its lateness, the lost ones too.
    let lateness = of("lateness: misses > 0", 4, Some(MaxLoss::Packets(3)));
    assert_eq!(lateness.exit_code(), 0);
}

#[test]
fn a_candidate_that_lacks_a_series_passes_no_expression_about_it() {
    let whole = |folder: &str| run(folder, &[(100_000, 60_000)]);
    let mut lacking = whole("c2");
    lacking.series.remove(0);
    let runs = [whole("base"), whole("c1"), lacking.clone()];
    for (text, expected) in [
        (
            "wakeup: p99 > 1.1x",
            "wakeup of c2: there is no such series; the baseline has it",
        ),
        (
            "p99 > 1.1x",
            "wakeup of c2: there is no such series; the baseline has it",
        ),
        (
            "wakeup: p99 > 1ms",
            "c2: no series `wakeup` was compared; there are floor",
        ),
        (
            "misses > 0",
            "c2: no deadline was stated; state one with --deadline",
        ),
    ] {
        let outcome = outcome(text, &runs);
        assert_eq!(outcome.exit_code(), 2, "{text}");
        assert_eq!(outcome.undecided[0].reason, expected, "{text}");
    }
    assert_eq!(code("floor: p50 > 1.1x", &runs), 0);
    // A series that the baseline lacks has nothing to be compared with.
    assert_eq!(code("p50 > 1.1x", &[lacking, whole("c1")]), 0);
}

#[test]
fn series_that_were_not_compared_are_named_once_or_ask_for_a_deadline() {
    let runs = [run("a", &[(100_000, 1000)]), run("b", &[(100_000, 1000)])];
    for (text, expected) in [
        (
            "nosuch: p99 > 1ms",
            "no series `nosuch` was compared; there are floor, wakeup",
        ),
        (
            "floor: misses > 0",
            "floor of b: no deadline was stated; state one with --deadline",
        ),
    ] {
        let reason = outcome(text, &runs).undecided[0].to_string();
        assert!(reason.ends_with(expected), "{reason}");
    }
}

#[test]
fn of_negative_figures_there_is_no_ratio() {
    let runs = [run("before", &[(-5, 1000)]), run("after", &[(-9, 1000)])];
    let outcome = outcome("wakeup: min > 2x", &runs);
    assert_eq!(outcome.exit_code(), 2);
    let reason = outcome.undecided[0].to_string();
    assert!(
        reason.contains("the baseline is -5 ns, of which there is no ratio"),
        "{reason}"
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-z0-9.:<>=% xµ_+-]{0,20}") {
        if let Ok(expression) = text.parse::<FailIf>() {
            prop_assert!(expression.to_string().parse::<FailIf>().is_ok(), "{expression}");
        }
    }
}
