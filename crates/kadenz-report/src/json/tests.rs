use kadenz_record::run::messages::{Messages, Subscriber};
use kadenz_record::run::model::{Kind, Warning};
use kadenz_record::run::network::{
    Broadcasts, Flow, Interface, LostHere, Network, Places, RESPONSE, RTT, ToldBy, WirePath,
};
use kadenz_record::run::testbed::{Modelled, Testbed, TestbedLink, TestbedSwitch};
use serde_json::Value;

use super::*;
use crate::compare::fail_if::check;
use crate::compare::{CompareOptions, Comparison};
use crate::modes::ModeKind;
use crate::summary::TestbedError;
use crate::testing::{enner2016, mode_of, named, run_of, sampled, searched, series_of};

pub(crate) const SCHEMAS: [(&str, &str); 4] = [
    (
        "urn:kadenz:schema:output:1",
        include_str!("../../../../docs/schema/output.schema.json"),
    ),
    (
        "urn:kadenz:schema:compare:1",
        include_str!("../../../../docs/schema/compare.schema.json"),
    ),
    (
        "urn:kadenz:schema:matrix:1",
        include_str!("../../../../docs/schema/matrix.schema.json"),
    ),
    (
        "urn:kadenz:schema:modes:1",
        include_str!("../../../../docs/schema/modes.schema.json"),
    ),
];

/// The schema's objections to `output`; none if it is valid.
pub(crate) fn complaints_by(schema: &str, output: &Value) -> Option<String> {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    for (name, text) in SCHEMAS {
        compiler
            .add_resource(name, serde_json::from_str(text).unwrap())
            .unwrap();
    }
    let index = compiler.compile(schema, &mut schemas).unwrap();
    schemas
        .validate(output, index)
        .err()
        .map(|error| format!("{error:#}"))
}

fn complaints(output: &Value) -> Option<String> {
    complaints_by(SCHEMAS[0].0, output)
}

fn parsed(runs: &[Summary]) -> Value {
    serde_json::from_str(&Output::new(runs).to_string()).unwrap()
}

fn network() -> Network {
    let flow = Flow {
        device: "foot".into(),
        address: "10.0.0.5:6176".into(),
        sent: 1000,
        answered: 998,
        lost: 2,
        ..Flow::default()
    };
    Network {
        payload_bytes: 200,
        flows: vec![flow],
        interface: Some(Interface {
            name: "eth0".into(),
            ..Interface::default()
        }),
        here: Some(LostHere::default()),
        path: Some(WirePath {
            links_bit_s: vec![100_000_000, 100_000_000],
            told_by: ToldBy::User,
            round_trip_ns: 81_280,
        }),
        testbed: Some(Testbed {
            topology: "arm".into(),
            run: "bed".into(),
            host: "controller".into(),
            hosts: vec!["controller".into()],
            switches: vec![TestbedSwitch::default()],
            links: vec![TestbedLink::default()],
            model: Some(Modelled::default()),
        }),
        foreign: 1,
        broadcasts: None,
        max_loss: None,
    }
}

fn messages() -> Messages {
    Messages {
        url: "memq://".into(),
        message_bytes: 200,
        published: 1000,
        refused: 1,
        subscribers: vec![Subscriber {
            name: "subscriber-1".into(),
            received: 999,
            lost: 1,
            ..Subscriber::default()
        }],
    }
}

/// A run with broadcasts to two devices.
fn asked_by_broadcasts() -> Summary {
    let mut run = full_run();
    let mut network = network();
    let mut hand = network.flows[0].clone();
    hand.places = Some(Places {
        answers: 1000,
        last: 1000,
        lowest: 2,
        highest: 2,
        sum: 2000,
        ..Places::default()
    });
    network.flows.push(hand);
    network.broadcasts = Some(Broadcasts {
        sent: 1000,
        complete: 1000,
        concordance: Some(1.0),
        most_at_once: 2,
        answer_bytes: 266,
    });
    run.run.network = Some(network);
    run
}

#[test]
fn the_order_of_answers_to_broadcasts_is_given() {
    let output = parsed(&[asked_by_broadcasts(), full_run()]);
    assert_eq!(complaints(&output), None);
    let network = &output["runs"][0]["network"];
    let answer = network["broadcasts"]["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("Both devices answered each of 1,000"),
        "{answer}"
    );
    assert_eq!(network["broadcasts"]["concordance"], 1.0);
    assert_eq!(network["flows"][1]["places"]["mean"], 2.0);
    assert!(network["total"]["places"].is_null());
    assert!(output["runs"][1]["network"]["broadcasts"].is_null());
}

fn full_run() -> Summary {
    let mut deadline = named("wakeup", Kind::Lateness);
    deadline.deadline_ns = Some(400_000);
    let values: Vec<i64> = (0..2000)
        .map(|i| {
            if i % 9 == 0 {
                -900_000
            } else {
                100_000 + 173 * (i % 400)
            }
        })
        .collect();
    let jitter = sampled(named("jitter", Kind::Jitter), &values);
    assert!(!jitter.early_clusters.is_empty());
    let mut run = run_of(
        "runs/one",
        vec![
            series_of(
                deadline,
                &[(50_000, 59_688), (-20_000, 100), (500_000, 312)],
            ),
            jitter,
            series_of(named("hiccup", Kind::Hiccup), &[(80_000, 5)]),
            series_of(named("empty", Kind::Floor), &[]),
        ],
    );
    run.series
        .push(series_of(named(RESPONSE, Kind::Latency), &[(90_000, 998)]));
    run.series
        .push(series_of(named(RTT, Kind::Latency), &[(85_000, 998)]));
    run.run.network = Some(network());
    run.run.messages = Some(messages());
    run.testbed_error = Some(TestbedError::default());
    run.warnings.push(Warning::new("x", "y", None));
    run
}

#[test]
fn a_budget_is_given_where_there_are_round_trips_and_a_deadline() {
    let output = parsed(&[full_run(), Summary::default()]);
    let budget = &output["runs"][0]["budget"];
    assert_eq!(budget["limit_ns"], 400_000, "the wake-up's");
    assert_eq!(
        (&budget["packets"], &budget["unanswered"]),
        (&1000.into(), &2.into())
    );
    assert_eq!(budget["whole"]["max_ns"], 90_000);
    let wired = &budget["layers"][0];
    assert_eq!(
        (&wired["series"], &wired["wire_ns"]),
        (&"rtt".into(), &81_280.into())
    );
    assert_eq!(
        output["runs"][0]["network"]["path"]["connection"],
        "2x 100 Mbit/s"
    );
    assert!(budget["left_p99_9_ns"].is_null(), "of 1000 two were lost");
    assert!(output["runs"][1]["budget"].is_null());
}

#[test]
fn the_output_keeps_to_its_schema() {
    for runs in [
        vec![],
        vec![Summary::default()],
        vec![full_run(), full_run()],
        enner2016(),
    ] {
        let output = parsed(&runs);
        if let Some(complaints) = complaints(&output) {
            panic!("{complaints}\n{output:#}");
        }
    }
}

#[test]
fn modes_stand_beside_a_series_that_was_searched_and_keep_to_the_schema() {
    let mode = mode_of(ModeKind::Spike, 5.0, 1);
    let mut run = full_run();
    run.series[1].modes = Some(searched("jitter", Kind::Jitter, vec![mode]));
    let mut output = parsed(&[run]);
    assert_eq!(complaints(&output), None);
    assert!(output["series"][0]["modes"].is_null());
    let found = &output["series"][1]["modes"]["found"][0];
    assert_eq!(found["text"], "every 5.00 s one sample at 210 us");
    output["series"][1]["modes"]["found"][0]["kind"] = "wave".into();
    assert!(complaints(&output).is_some());
}

#[test]
fn the_schema_sees_what_is_missing_or_too_much() {
    let good = parsed(&[full_run()]);
    let paths = [
        "/series/0/deadline/kept",
        "/series/0/percentiles/99.9",
        "/series/0/dropped",
        "/version",
    ];
    for path in paths {
        let mut bad = good.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        bad.pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(key)
            .unwrap();
        assert!(complaints(&bad).is_some(), "{path} may be left out");
    }
    let mut bad = good;
    bad["series"][0]["percentiles"]["75"] = 1.into();
    assert!(
        complaints(&bad).is_some(),
        "a percentile that was not agreed on"
    );
}

#[test]
fn the_four_percentiles_are_always_there_and_null_where_not_carried() {
    let run = run_of(
        "r",
        vec![series_of(named("few", Kind::Lateness), &[(7, 20)])],
    );
    let percentiles = parsed(&[run])["series"][0]["percentiles"].clone();
    assert_eq!(
        serde_json::to_string(&percentiles).unwrap(),
        r#"{"50":7,"90":7,"99":null,"99.9":null}"#
    );
    let output = Output::new(&enner2016()[..1]).to_string();
    assert!(output.contains("\"99.99999\": "), "{output}");
    assert!(!output.contains("\"99.999999\": "), "{output}");
}

#[test]
fn the_issue_s_fields_are_at_their_place() {
    let output = parsed(&[full_run()]);
    let series = &output["series"][0];
    assert_eq!(output["version"], 1);
    assert_eq!(series["name"], "wakeup");
    assert_eq!(series["unit"], "ns");
    assert_eq!(series["count"], 60_100);
    assert_eq!(series["min_ns"], -20_000);
    assert_eq!(series["max_ns"], 500_000);
    assert_eq!(series["dropped"], 0);
    assert_eq!(series["deadline"]["limit_ns"], 400_000);
    assert_eq!(series["deadline"]["misses"], 312);
    assert_eq!(series["deadline"]["longest_run"], 312);
    assert_eq!(series["deadline"]["kept"], false);
    assert_eq!(output["series"][3]["mean_ns"], Value::Null);
    assert_eq!(output["series"][1]["deadline"], Value::Null);
    assert_eq!(output["warnings"][0]["id"], "x");
}

#[test]
fn a_comparison_keeps_to_its_schema() {
    let runs = [full_run(), full_run(), run_of("other", vec![])];
    let comparison = Comparison::new(&runs, &CompareOptions::default());
    let expressions = ["wakeup: misses > 0", "p99.9 > 2x"].map(|text| text.parse().unwrap());
    let outcome = check(&expressions, &runs, &comparison);
    let output = ComparisonOutput::new(&runs, &comparison, &outcome).to_string();
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(complaints_by(SCHEMAS[1].0, &output), None, "{output:#}");
    assert_eq!(
        complaints(&output),
        None,
        "it is an ordinary output as well"
    );
    assert_eq!(output["comparisons"][0]["series"], "wakeup");
    assert_eq!(output["comparisons"][0]["figures"][0]["figure"], "min");
    assert_eq!(output["violations"][0]["run"], comparison.runs[1]);
    assert!(!output["undecided"].as_array().unwrap().is_empty());
    let second = &output["round_trips"][1];
    assert_eq!(second["p90"]["not_on_wire_ns"], 85_000 - 81_280);
    assert_eq!(second["beyond_baseline"]["round_trip_ns"], 0);
    let mut bad = output;
    bad["comparisons"][0]["figures"][0]["ratio"] = "1.2x".into();
    assert!(complaints_by(SCHEMAS[1].0, &bad).is_some());
}

/// The examples of the reader's guide keep to the schemas too.
#[test]
fn the_examples_in_the_book_are_valid() {
    let book = include_str!("../../../../docs/json.md");
    let blocks: Vec<Value> = book
        .split("```json\n")
        .skip(1)
        .map(|rest| serde_json::from_str(rest.split("```").next().unwrap()).unwrap())
        .collect();
    assert_eq!(blocks.len(), 4);
    assert_eq!(complaints(&blocks[0]), None);
    let mut comparison = blocks[0].clone();
    let fields = blocks[1].as_object().unwrap().clone();
    comparison.as_object_mut().unwrap().extend(fields);
    assert_eq!(complaints_by(SCHEMAS[1].0, &comparison), None);
    assert_eq!(complaints_by(SCHEMAS[2].0, &blocks[2]), None);
    assert_eq!(complaints_by("urn:kadenz:schema:modes:1", &blocks[3]), None);
}
