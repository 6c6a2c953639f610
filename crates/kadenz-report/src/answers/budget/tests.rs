use super::*;
use crate::testing::{named, run_of, series_of};
use kadenz_record::run::model::Kind;
use kadenz_record::run::network::{Flow, Interface, WirePath};

/// A run of `answered` round trips of 71 us except for the slowest 10 of 300 us.
fn run(answered: u64, stamped: bool) -> Summary {
    let mut response = named(RESPONSE, Kind::Latency);
    response.deadline_ns = Some(400_000);
    let all = |name: &str, ns: i64| series_of(named(name, Kind::Latency), &[(ns, answered)]);
    let mut series = vec![
        all(LATENESS, 20_000),
        series_of(response, &[(71_000, answered - 10), (300_000, 10)]),
        all(RTT, 51_000),
    ];
    if stamped {
        series.extend(STAMPED.map(|(_, name)| all(name, 17_000)));
    }
    run_of("runs/budget", series)
}

fn sent_to(run: &mut Summary, lost: u64, late: u64) {
    let flow = Flow {
        device: "foot".into(),
        lost,
        late,
        ..Flow::default()
    };
    run.run.network = Some(Network {
        flows: vec![flow],
        ..Network::default()
    });
}

fn names(budget: &Budget) -> Vec<&str> {
    budget.layers.iter().map(|layer| layer.name).collect()
}

#[test]
fn the_whole_is_as_measured_and_the_layers_beside_it() {
    let budget = Budget::of(&run(10_000, true)).unwrap();
    assert_eq!(
        names(&budget),
        ["wake-up", "send stack", "wire and device", "receive stack"]
    );
    assert_eq!(budget.whole.max_ns, Some(300_000));
    let p99_9 = budget.whole.p99_9_ns.unwrap();
    assert!((71_000..71_100).contains(&p99_9), "{p99_9}");
    assert_eq!(budget.left_p99_9_ns(), Some(400_000 - p99_9));
    assert_eq!(budget.left_max_ns(), Some(100_000));
    let text = budget.to_string();
    assert!(
        text.ends_with("The longest of 10,000 took 300 us."),
        "{text}"
    );
}

#[test]
fn without_stamps_the_round_trip_is_one_layer() {
    let budget = Budget::of(&run(10_000, false)).unwrap();
    assert_eq!(names(&budget), ["wake-up", "round trip"]);
    let mut half = run(10_000, true);
    half.series.pop();
    let budget = Budget::of(&half).unwrap();
    assert_eq!(
        names(&budget),
        ["wake-up", "round trip"],
        "a part is missing"
    );
}

#[test]
fn a_packet_without_an_answer_is_longer_than_any_with_one() {
    let mut lossy = run(10_000, true);
    sent_to(&mut lossy, 5, 0);
    let budget = Budget::of(&lossy).unwrap();
    let p99_9 = budget.whole.p99_9_ns.unwrap();
    assert!(
        p99_9 >= 299_000,
        "5 lost and 10 slow ones are above 99.9 %: {p99_9}"
    );
    assert_eq!((budget.unanswered, budget.left_max_ns()), (5, None));
    assert!(
        budget.to_string().ends_with("5 of 10,005 got no answer."),
        "{budget}"
    );

    sent_to(&mut lossy, 20, 0);
    let budget = Budget::of(&lossy).unwrap();
    assert_eq!(
        (budget.whole.p99_9_ns, budget.left_p99_9_ns()),
        (None, None)
    );
    assert!(budget.to_string().contains("20 got no answer"), "{budget}");

    sent_to(&mut lossy, 20, 20);
    let budget = Budget::of(&lossy).unwrap();
    assert_eq!(
        budget.unanswered, 0,
        "an answer after the timeout was recorded"
    );
}

#[test]
fn what_too_few_round_trips_say_is_their_longest() {
    let budget = Budget::of(&run(100, true)).unwrap();
    assert_eq!(
        (budget.whole.p99_9_ns, budget.left_max_ns()),
        (None, Some(100_000))
    );
    let text = budget.to_string();
    assert!(
        text.starts_with("Of the 400 us, the longest of 100 round trips took 300 us (wake-up 20"),
        "{text}"
    );
}

#[test]
fn a_deadline_that_is_overrun_leaves_nothing() {
    let mut slow = run(10_000, true);
    slow.series[1].series.deadline_ns = Some(51_000);
    let text = Budget::of(&slow).unwrap().to_string();
    assert!(text.contains("us too long, and nothing is left"), "{text}");
}

#[test]
fn the_deadline_of_the_beat_serves_where_round_trips_have_none() {
    let mut check = run(10_000, true);
    check.series[1].series.deadline_ns = None;
    assert_eq!(Budget::of(&check), None);
    let mut beat = named("realtime", Kind::Lateness);
    beat.deadline_ns = Some(250_000);
    check.series.push(series_of(beat, &[(3_000, 100)]));
    assert_eq!(Budget::of(&check).unwrap().limit_ns, 250_000);
}

#[test]
fn the_path_is_named_as_far_as_it_is_known() {
    let mut run = run(10_000, true);
    let path = |run: &Summary| Budget::of(run).unwrap().path;
    assert_eq!(path(&run), "");
    sent_to(&mut run, 0, 0);
    assert_eq!(path(&run), "to foot");
    if let Some(network) = &mut run.run.network {
        network.flows.push(Flow::default());
    }
    assert_eq!(path(&run), "to 2 devices");
    if let Some(network) = &mut run.run.network {
        network.interface = Some(Interface {
            kind: Some("loopback".into()),
            ..Interface::default()
        });
    }
    assert_eq!(path(&run), "over the loopback");
}

#[test]
fn the_layer_with_the_wire_says_how_much_is_wire() {
    for (stamped, name) in [(true, "wire and device"), (false, "round trip")] {
        let mut wired = run(10_000, stamped);
        sent_to(&mut wired, 0, 0);
        let path = |told_by, round_trip_ns| {
            Some(WirePath {
                told_by,
                round_trip_ns,
                ..WirePath::default()
            })
        };
        let network = wired.run.network.as_mut().unwrap();
        network.path = path(ToldBy::User, 8_128);
        let budget = Budget::of(&wired).unwrap();
        let with_wire = budget.layers.iter().filter(|it| it.wire_ns.is_some());
        let on_wire: Vec<(&str, Option<i64>)> = with_wire.map(|it| (it.name, it.wire_ns)).collect();
        assert_eq!(on_wire, [(name, Some(8_128))]);
        let text = budget.to_string();
        assert!(text.contains(", of it 8.13 us on the wire"), "{text}");
        wired.run.network.as_mut().unwrap().path = path(ToldBy::Loopback, 0);
        let over_loopback = Budget::of(&wired).unwrap();
        assert!(over_loopback.layers.iter().all(|it| it.wire_ns.is_none()));
    }
}

#[test]
fn a_run_without_an_answer_has_no_budget() {
    let mut silent = run(10_000, true);
    silent.series[1] = series_of(named(RESPONSE, Kind::Latency), &[]);
    assert_eq!(Budget::of(&silent), None);
}
