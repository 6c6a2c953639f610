use std::path::Path;
use std::time::Duration;

use kadenz_record::histogram::Histogram;
use kadenz_record::hlog::writer::IntervalLogWriter;
use kadenz_record::recorder::Counts;
use kadenz_record::run::model::{EndedBy, Kind, Run, Series, SeriesFiles};

use super::*;
use crate::statistics::Percent;
use crate::statistics::random::Random;
use crate::testing::{named, run_of, series_of};

/// Writes a run of `intervals` seconds at 1 kHz whose lateness spreads around `centre` ns, with a
/// tail of 3 % at three times that; `spell` lets every fifth ten seconds be worse.
fn write_run(folder: &Path, name: &str, intervals: u64, centre: f64, spell: f64) -> Summary {
    std::fs::create_dir_all(folder).unwrap();
    let file = format!("{name}.hlog");
    let mut random = Random::new(centre as u64, intervals);
    let mut writer = IntervalLogWriter::create(&folder.join(&file), 0.0).unwrap();
    let mut counts = Counts::default();
    for second in 0..intervals {
        let mut histogram = Histogram::new();
        let bad = if second / 10 % 5 == 0 { spell } else { 1.0 };
        for _ in 0..1000 {
            let noise = 0.9 + random.below(1000) as f64 / 5000.0;
            let tail = if random.below(100) < 3 { 3.0 } else { 1.0 };
            let value = centre * noise * tail * bad;
            histogram.record(value as u64);
            counts.max_ns = counts.max_ns.max(Some(value as i64));
        }
        counts.recorded += 1000;
        writer.append(None, second as f64, 1.0, &histogram).unwrap();
    }
    counts.min_ns = Some((0.9 * centre) as i64);
    let series = Series {
        files: SeriesFiles {
            hlog: Some(file),
            ..SeriesFiles::default()
        },
        counts,
        unit: "ns".into(),
        ..named(name, Kind::Lateness)
    };
    let run = Run {
        version: 1,
        complete: true,
        ended_by: Some(EndedBy::Finished),
        duration_ns: Duration::from_secs(intervals).as_nanos() as u64,
        series: vec![series],
        ..Run::default()
    };
    std::fs::write(
        folder.join("run.json"),
        serde_json::to_string(&run).unwrap(),
    )
    .unwrap();
    Summary::of_run(folder).unwrap()
}

fn figure(comparison: &Comparison, metric: Metric) -> FigureComparison {
    let candidate = &comparison.series[0].candidates[0];
    *candidate.figure(metric).unwrap()
}

#[test]
fn a_slower_run_is_found_slower_with_confidence() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [
        write_run(&folder.path().join("before"), "wakeup", 120, 50_000.0, 1.0),
        write_run(&folder.path().join("after"), "wakeup", 120, 66_000.0, 1.0),
    ];
    let comparison = Comparison::new(&runs, &CompareOptions::default());
    assert_eq!(comparison.runs, ["before", "after"]);
    for metric in [
        Metric::Mean,
        Metric::Percentile(Percent::P50),
        Metric::Percentile(Percent::P99),
    ] {
        let figure = figure(&comparison, metric);
        assert!((figure.ratio.unwrap() - 1.32).abs() < 0.02, "{figure}");
        let (low, high) = figure.interval.unwrap();
        assert!(low <= 1.32 && 1.30 < low && high < 1.34, "{figure}");
        assert_eq!(figure.significant, Some(true));
        assert!(figure.to_string().contains("x (95 %: 1.3"), "{figure}");
    }
    // 12 samples lie beyond p99.99; the maximum has no interval at all.
    assert!(
        figure(&comparison, Metric::Percentile("99.99".parse().unwrap()))
            .interval
            .is_ok()
    );
    assert_eq!(
        figure(&comparison, Metric::Max).interval,
        Err(NoInterval::Figure)
    );
}

#[test]
fn runs_of_the_same_machine_do_not_differ_significantly() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [
        write_run(&folder.path().join("a"), "wakeup", 100, 50_000.0, 1.0),
        write_run(&folder.path().join("b"), "wakeup", 101, 50_000.0, 1.0),
    ];
    let comparison = Comparison::new(&runs, &CompareOptions::default());
    for metric in [Metric::Mean, Metric::Percentile(Percent::P99)] {
        let figure = figure(&comparison, metric);
        assert_eq!(figure.significant, Some(false), "{figure}");
    }
}

#[test]
fn spells_widen_the_interval() {
    let folder = tempfile::tempdir().unwrap();
    let width = |name: &str, spell: f64| {
        let run = write_run(&folder.path().join(name), "wakeup", 100, 50_000.0, spell);
        let options = CompareOptions::default();
        let (low, high) = figure(
            &Comparison::new(&[run.clone(), run], &options),
            Metric::Mean,
        )
        .interval
        .unwrap();
        high - low
    };
    assert!(width("spells", 2.0) > 10.0 * width("steady", 1.0));
}

/// The bound of a percentile lies beyond the sample where the values beyond it come together.
#[test]
fn a_ratio_whose_bound_is_beyond_the_sample_has_no_interval_and_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Of the baseline alone: it had a slow stretch, the candidate is slow throughout.
    let runs = [("before", 50_000.0, 20.0), ("after", 12_000_000.0, 1.0)];
    let runs = runs.map(|(name, centre, spell)| {
        write_run(&folder.path().join(name), "wakeup", 52, centre, spell)
    });
    let comparison = Comparison::new(&runs, &CompareOptions::default());
    for figure in &comparison.series[0].candidates[0].figures {
        let bounded = figure
            .interval
            .map_or(true, |(low, high)| low > 0.0 && high.is_finite());
        assert!(bounded, "{figure}");
    }
    let p90 = figure(&comparison, Metric::Percentile("90".parse().unwrap()));
    assert_eq!(p90.interval, Err(NoInterval::FewBeyond), "{p90}");
    assert_eq!(p90.significant, None);
    let expression = ["p90 > 1.2x significantly".parse().unwrap()];
    assert_eq!(
        fail_if::check(&expression, &runs, &comparison).exit_code(),
        2
    );
}

#[test]
fn significance_decides_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [
        write_run(&folder.path().join("before"), "wakeup", 100, 50_000.0, 2.0),
        write_run(&folder.path().join("after"), "wakeup", 100, 54_000.0, 2.0),
    ];
    let comparison = Comparison::new(&runs, &CompareOptions::default());
    let code =
        |text: &str| fail_if::check(&[text.parse().unwrap()], &runs, &comparison).exit_code();
    assert_eq!(code("mean > 1.05x"), 1);
    assert_eq!(
        code("mean > 1.05x significantly"),
        0,
        "{}",
        figure(&comparison, Metric::Mean)
    );
    assert_eq!(code("mean < 2x significantly"), 1);
}

#[test]
fn series_are_matched_by_name_or_by_being_the_only_one() {
    let series = |name: &str| series_of(named(name, Kind::Lateness), &[(100, 1000)]);
    let options = CompareOptions::default();
    let only = [
        run_of("a", vec![series("x")]),
        run_of("b", vec![series("y")]),
    ];
    let comparison = Comparison::new(&only, &options);
    assert_eq!(comparison.series[0].name, "x");
    assert!(comparison.alone.is_empty());

    let several = [
        run_of("a", vec![series("x"), series("z")]),
        run_of("b", vec![series("z"), series("y")]),
        run_of("c", vec![series("x"), series("z")]),
    ];
    let comparison = Comparison::new(&several, &options);
    let matched: Vec<(&str, Vec<(usize, usize)>)> = comparison
        .series
        .iter()
        .map(|s| {
            (
                s.name.as_str(),
                s.candidates.iter().map(|c| (c.run, c.series)).collect(),
            )
        })
        .collect();
    assert_eq!(matched, [("x", vec![(2, 0)]), ("z", vec![(1, 0), (2, 1)])]);
    assert_eq!(comparison.alone, ["y is only in b"]);
}

#[test]
fn a_percentile_besides_the_reported_ones_is_compared_when_asked_for() {
    let series = || series_of(named("x", Kind::Lateness), &[(100, 900), (300, 100)]);
    let runs = [run_of("a", vec![series()]), run_of("b", vec![series()])];
    let p95: Percent = "95".parse().unwrap();
    let options = CompareOptions {
        percentiles: vec![p95, Percent::P50],
        ..Default::default()
    };
    let comparison = Comparison::new(&runs, &options);
    assert!((figure(&comparison, Metric::Percentile(p95)).candidate - 300.0).abs() < 1e-9);
    let names: Vec<String> = comparison.series[0].candidates[0]
        .figures
        .iter()
        .map(|figure| figure.metric.to_string())
        .collect();
    assert_eq!(
        names,
        [
            "min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99.9", "max"
        ]
    );
}

#[test]
fn a_run_alone_compares_with_nothing() {
    let run = run_of(
        "a",
        vec![series_of(named("x", Kind::Lateness), &[(100, 900)])],
    );
    let comparison = Comparison::new(&[run], &CompareOptions::default());
    assert!(comparison.series.is_empty() && comparison.alone.is_empty());
    assert!(
        Comparison::new(&[], &CompareOptions::default())
            .runs
            .is_empty()
    );
}
