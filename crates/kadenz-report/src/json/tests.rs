use kadenz_record::run::model::{Kind, Warning};
use serde_json::Value;

use super::*;
use crate::testing::{blog, named, run_of, sampled, series_of};

const SCHEMA: &str = include_str!("../../../../docs/schema/output.schema.json");

/// What the schema has against `output`; nothing if it is valid.
fn complaints(output: &Value) -> Option<String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("urn:kadenz:schema:output:1", schema)
        .unwrap();
    let index = compiler
        .compile("urn:kadenz:schema:output:1", &mut schemas)
        .unwrap();
    schemas
        .validate(output, index)
        .err()
        .map(|error| format!("{error:#}"))
}

fn parsed(runs: &[Summary]) -> Value {
    serde_json::from_str(&Output::new(runs).to_string()).unwrap()
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
    run.warnings.push(Warning {
        id: "x".into(),
        text: "y".into(),
        remedy: None,
    });
    run
}

#[test]
fn the_output_keeps_to_its_schema() {
    for runs in [
        vec![],
        vec![Summary::default()],
        vec![full_run(), full_run()],
        blog(),
    ] {
        let output = parsed(&runs);
        if let Some(complaints) = complaints(&output) {
            panic!("{complaints}\n{output:#}");
        }
    }
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
    let output = Output::new(&blog()[..1]).to_string();
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
