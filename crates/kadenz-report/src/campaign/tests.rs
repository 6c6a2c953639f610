use super::*;
use crate::text::Style;

fn varied() -> Vec<Varied> {
    let varied = |option: &str, values: [&str; 2]| Varied {
        option: option.to_owned(),
        values: values.map(str::to_owned).to_vec(),
    };
    vec![
        varied("policy", ["other", "fifo:80"]),
        varied("load", ["idle", "busy"]),
    ]
}

/// Real-time priority halves everything, load adds a half; a round is slower than the one before.
fn runs() -> Vec<CampaignRun> {
    let run = |round: u32, combination: usize| {
        let policy = [1000, 500][combination / 2];
        let load = [2, 3][combination % 2];
        let p50 = policy * load * i64::from(round);
        CampaignRun {
            number: 0,
            round,
            combination,
            series: vec![CampaignSeries {
                value: "lateness".to_owned(),
                count: 100,
                p50_ns: Some(p50),
                p99_ns: (round > 1).then_some(p50 * 2),
                max_ns: Some(p50 * 10),
                misses: Some(1),
                ..CampaignSeries::default()
            }],
        }
    };
    (1..=3)
        .flat_map(|round| (0..4).map(move |it| run(round, it)))
        .collect()
}

fn facts() -> CampaignFacts {
    CampaignFacts {
        name: "timers".to_owned(),
        rounds: 3,
        planned: 12,
        varied: varied(),
        ..CampaignFacts::default()
    }
}

#[test]
fn a_combination_has_the_median_of_its_rounds_and_the_longest_of_all() {
    let report = CampaignReport::of(facts(), &runs());
    assert_eq!(report.combinations.len(), 4);
    let busy = &report.combinations[1];
    assert_eq!(busy.values["policy"], "other");
    assert_eq!(busy.values["load"], "busy");
    assert_eq!((busy.rounds, busy.count), (3, 300));
    assert_eq!(busy.p50_ns, Some(6000.0));
    // Of the two rounds that can carry it.
    assert_eq!(busy.p99_ns, Some(15_000.0));
    assert_eq!((busy.p99_9_ns, busy.max_ns), (None, Some(90_000)));
    assert_eq!(busy.misses, Some(3));
}

#[test]
fn what_an_option_moves_is_found_in_spite_of_the_others_and_of_drift() {
    let report = CampaignReport::of(facts(), &runs());
    let [policy, load] = report.moved.as_slice() else {
        panic!("{:?}", report.moved)
    };
    assert_eq!((policy.option.as_str(), policy.pairs), ("policy", 6));
    assert_eq!(
        (policy.value.as_str(), policy.against.as_str()),
        ("fifo:80", "other")
    );
    let p50 = policy.p50.unwrap();
    assert!((p50.mean - 0.5).abs() < 1e-9, "{p50}");
    let (low, high) = p50.interval.unwrap();
    assert!((low - 0.5).abs() < 1e-6 && (high - 0.5).abs() < 1e-6);
    assert_eq!(load.p99.unwrap().to_string(), "1.50 (1.50 to 1.50)");
}

#[test]
fn without_its_partner_a_run_is_in_no_ratio() {
    let alone: Vec<CampaignRun> = runs()
        .into_iter()
        .filter(|it| it.combination >= 2)
        .collect();
    let report = CampaignReport::of(facts(), &alone);
    let options: Vec<&str> = report.moved.iter().map(|it| it.option.as_str()).collect();
    assert_eq!(options, ["load"]);
    assert!(CampaignReport::of(facts(), &[]).moved.is_empty());
}

#[test]
fn early_wake_ups_have_no_ratio_and_are_no_error() {
    let mut early = runs();
    for run in &mut early {
        run.series[0].p50_ns = Some(-5);
    }
    let report = CampaignReport::of(facts(), &early);
    assert_eq!(report.moved[0].p50, None);
    assert!(report.moved[0].p99.is_some());
}

#[test]
fn people_get_both_tables() {
    let shown = CampaignReport::of(facts(), &runs())
        .document()
        .terminal(Style::plain());
    let shown = shown.plain();
    assert!(shown.contains("12 of 12 runs"), "{shown}");
    assert!(shown.contains("0.50 (0.50 to 0.50)"), "{shown}");
    let none = CampaignReport::of(facts(), &[])
        .document()
        .terminal(Style::plain());
    assert!(none.plain().contains("0 of 12 runs"));
}

#[test]
fn a_measure_that_was_refused_is_named_with_its_combination() {
    let mut runs = runs();
    for run in runs.iter_mut().filter(|it| it.combination == 3) {
        run.series[0].refused = vec!["policy: SCHED_FIFO 80 was refused".to_owned()];
    }
    let shown = CampaignReport::of(facts(), &runs).document();
    let shown = shown.terminal(Style::plain()).plain().to_string();
    let values = values(&varied(), 3).join(", ");
    let line = format!("{values} (3 runs): policy: SCHED_FIFO 80 was refused");
    assert!(shown.contains(&line), "{shown}");
}
