//! `run.json`: the types, the schema in `docs/schema` and the files of runs agree.

mod common;
mod networks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{INTERVAL, numbered, run, spec};
use kadenz_record::recorder::Counts;
use kadenz_record::run::camera::Camera;
use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::messages::{Messages, Subscriber};
use kadenz_record::run::model::{
    Clock, EndedBy, FORMAT_VERSION, Host, Kind, Run, Series, SeriesFiles, TuningMeasure, Warning,
};
use networks::{TUNE, network, networks};
use proptest::option::of;
use proptest::prelude::*;
use serde_json::Value;

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/run.schema.json");
    let file = std::fs::File::open(path).expect("the schema is in docs");
    serde_json::from_reader(file).expect("the schema is JSON")
}

fn assert_valid(json: &Value) {
    VALIDATOR.with(|(schemas, index)| {
        if let Err(error) = schemas.validate(json, *index) {
            panic!("{error:#}\nin {json:#}");
        }
    });
}

thread_local! {
    static VALIDATOR: (boon::Schemas, boon::SchemaIndex) = {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("mem:run", schema()).expect("a resource");
        let index = compiler.compile("mem:run", &mut schemas).expect("a schema of draft 2020-12");
        (schemas, index)
    };
}

/// A camera with every field.
fn camera() -> Camera {
    Camera {
        url: "rtsp://10.0.0.20/stream1".to_owned(),
        description: "H.264 1920x1080 by RTSP over TCP".to_owned(),
        decoder: Some("openh264".to_owned()),
        layout: "rgb".to_owned(),
        received: 300,
        missed: 2,
        sync_with: vec!["rtsp://10.0.0.21/stream1".to_owned()],
        ..Camera::default()
    }
}

fn messages() -> Messages {
    Messages {
        url: "udpm://239.255.76.67:7667".to_owned(),
        message_bytes: u64::MAX,
        published: u64::MAX,
        refused: 1,
        subscribers: vec![Subscriber {
            name: "subscriber-1".to_owned(),
            received: u64::MAX,
            ..Subscriber::default()
        }],
    }
}

fn host() -> Host {
    let text = || "x".to_owned();
    Host {
        os: text(),
        os_release: Some(text()),
        kernel: Some(text()),
        preemption: Some(text()),
        cpu: Some(text()),
        cpus: 1,
        memory_bytes: Some(u64::MAX),
        clock_source: Some(text()),
        governor: Some(text()),
        cgroup: Some(text()),
        virtualisation: Some(text()),
    }
}

/// A run with every field.
fn full() -> Run {
    let text = || "x".to_owned();
    let tuning = TuningMeasure {
        name: text(),
        requested: text(),
        granted: text(),
        ok: false,
        reason: Some(text()),
        remedy: Some(text()),
    };
    let series = Series {
        name: "a.b_c-1".to_owned(),
        labels: BTreeMap::from([(text(), text())]),
        description: text(),
        kind: Kind::Floor,
        unit: "ns".to_owned(),
        expected_interval_ns: Some(1),
        deadline_ns: Some(u64::MAX),
        tuning: vec![tuning],
        files: SeriesFiles {
            hlog: Some(text()),
            hlog_bytes: Some(1),
            hlog_parts: Some(1),
            samples: Some(text()),
        },
        counts: Counts {
            recorded: u64::MAX,
            min_ns: Some(i64::MIN),
            max_ns: Some(i64::MAX),
            ..Counts::default()
        },
    };
    Run {
        version: FORMAT_VERSION,
        kadenz: text(),
        experiment: text(),
        started_at: "2025-01-02T03:04:05.678Z".to_owned(),
        start_monotonic_ns: u64::MAX,
        duration_ns: 1,
        complete: true,
        ended_by: Some(EndedBy::ProgramEnded),
        command: vec![text()],
        request: BTreeMap::from([(text(), Value::from(true))]),
        parameters: BTreeMap::from([(text(), Value::from(1))]),
        found: BTreeSet::from([text()]),
        host: host(),
        clock: Clock {
            name: text(),
            resolution_ns: 1.0,
            read_cost_ns: 0.1,
            record_cost_ns: Some(0.3),
        },
        series: vec![series],
        network: Some(network()),
        messages: Some(messages()),
        camera: Some(camera()),
        tune: serde_json::from_str(TUNE).expect("a request"),
        warnings: vec![Warning {
            id: text(),
            text: text(),
            remedy: Some(text()),
            tuning: Some(text()),
        }],
    }
}

/// Objects whose fields the format does not define.
const OPEN: [&str; 3] = ["/parameters", "/request", "/series/labels"];

/// The field names of an object, and of every object below it, by their place.
fn fields(place: &str, value: &Value, all: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Object(object) if !OPEN.contains(&place) => {
            all.insert(place.to_owned(), object.keys().cloned().collect());
            for (name, value) in object {
                fields(&format!("{place}/{name}"), value, all);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(place, item, all)),
        _ => {}
    }
}

/// The same of a schema; references are followed.
fn described(
    place: &str,
    schema: &Value,
    root: &Value,
    all: &mut BTreeMap<String, BTreeSet<String>>,
) {
    if let Some(name) = schema["$ref"].as_str() {
        let target = root
            .pointer(name.trim_start_matches('#'))
            .expect("a definition");
        return described(place, target, root, all);
    }
    if let Some(items) = schema.get("items") {
        return described(place, items, root, all);
    }
    if let Some(properties) = schema["properties"].as_object() {
        all.insert(place.to_owned(), properties.keys().cloned().collect());
        for (name, property) in properties {
            assert!(
                property["description"].is_string() || property["$ref"].is_string(),
                "{place}/{name} is not described"
            );
            described(&format!("{place}/{name}"), property, root, all);
        }
    }
}

#[test]
fn schema_and_types_name_the_same_fields() {
    let json = serde_json::to_value(full()).expect("JSON");
    let (mut typed, mut schemed) = (BTreeMap::new(), BTreeMap::new());
    fields("", &json, &mut typed);
    let schema = schema();
    described("", &schema, &schema, &mut schemed);
    assert_eq!(typed, schemed);
    assert_valid(&json);
}

#[test]
fn schema_requires_no_more_than_the_types_do() {
    // The fields that the types require are those that the schema requires.
    let least = serde_json::json!({
        "version": 1, "kadenz": "", "experiment": "", "started_at": "", "start_monotonic_ns": 0,
        "complete": false, "command": [], "host": {"os": ""},
        "clock": {"name": "", "resolution_ns": 0.0, "read_cost_ns": 0.0},
        "series": [{"name": "a", "kind": "lateness", "unit": "ns"}],
    });
    assert_valid(&least);
    let read: Run = serde_json::from_value(least.clone()).expect("the types read it");
    assert_eq!(read.series[0].counts, Counts::default());
    for place in ["", "/host", "/clock", "/series/0"] {
        let names: Vec<String> = match least.pointer(place) {
            Some(Value::Object(object)) => object.keys().cloned().collect(),
            other => panic!("{other:?}"),
        };
        for name in names.iter().filter(|name| *name != "series") {
            let mut less = least.clone();
            let object = less
                .pointer_mut(place)
                .and_then(Value::as_object_mut)
                .expect("an object");
            object.remove(name);
            let read = serde_json::from_value::<Run>(less);
            assert!(
                read.is_err(),
                "{place}/{name} is required by the schema alone"
            );
        }
    }
}

const KINDS: [Kind; 5] = [
    Kind::Lateness,
    Kind::Hiccup,
    Kind::Jitter,
    Kind::Latency,
    Kind::Floor,
];

#[test]
fn every_kind_and_ending_has_its_word_in_the_schema() {
    for kind in KINDS {
        let mut run = full();
        run.series[0].kind = kind;
        assert_valid(&serde_json::to_value(run).expect("JSON"));
    }
    for ended_by in [
        EndedBy::Finished,
        EndedBy::Interrupted,
        EndedBy::ProgramEnded,
        EndedBy::Failed,
    ] {
        let run = Run {
            ended_by: Some(ended_by),
            ..full()
        };
        assert_valid(&serde_json::to_value(run).expect("JSON"));
    }
}

#[test]
fn what_a_run_writes_is_valid_from_first_to_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = || {
        let text = std::fs::read_to_string(folder.path().join("run.json")).expect("is there");
        serde_json::from_str::<Value>(&text).expect("is JSON")
    };
    let mut writer = RunWriter::create(folder.path(), run()).expect("creates");
    assert_valid(&written());
    let mut recorder = writer.series(spec("wakeup", true)).expect("a series");
    let running = writer.start(INTERVAL).expect("starts");
    assert_valid(&written());
    assert_eq!(written()["complete"], false);
    (0..500).for_each(|n| recorder.record(numbered(n)));
    running.finish(EndedBy::Finished).expect("finishes");
    assert_valid(&written());
    assert_eq!(written()["complete"], true);
}

#[test]
fn numbers_that_json_lacks_are_left_out() {
    let mut run = full();
    run.clock.resolution_ns = f64::INFINITY;
    run.clock.read_cost_ns = f64::NAN;
    run.clock.record_cost_ns = Some(f64::NAN);
    let text = serde_json::to_string(&run).expect("JSON");
    let again: Run = serde_json::from_str(&text).expect("reads");
    assert_eq!(
        (again.clock.resolution_ns, again.clock.read_cost_ns),
        (0.0, 0.0)
    );
    assert_eq!(again.clock.record_cost_ns, None);
}

fn text() -> impl Strategy<Value = String> + Clone {
    "\\PC{0,12}"
}

fn number() -> impl Strategy<Value = f64> {
    prop::num::f64::POSITIVE | prop::num::f64::NORMAL | prop::num::f64::ZERO
}

fn hosts() -> impl Strategy<Value = Host> {
    let words = prop::collection::vec(of(text()), 8);
    (text(), words, any::<u32>(), of(any::<u64>())).prop_map(|(os, mut words, cpus, memory)| Host {
        os,
        os_release: words.remove(0),
        kernel: words.remove(0),
        preemption: words.remove(0),
        cpu: words.remove(0),
        cpus,
        memory_bytes: memory,
        clock_source: words.remove(0),
        governor: words.remove(0),
        cgroup: words.remove(0),
        virtualisation: words.remove(0),
    })
}

fn tunings() -> impl Strategy<Value = TuningMeasure> {
    (
        text(),
        text(),
        text(),
        any::<bool>(),
        of(text()),
        of(text()),
    )
        .prop_map(
            |(name, requested, granted, ok, reason, remedy)| TuningMeasure {
                name,
                requested,
                granted,
                ok,
                reason,
                remedy,
            },
        )
}

fn counts() -> impl Strategy<Value = Counts> {
    (any::<[u64; 6]>(), of(any::<i64>()), of(any::<i64>())).prop_map(|(n, min_ns, max_ns)| Counts {
        recorded: n[0],
        dropped: n[1],
        early: n[2],
        saturated: n[3],
        misses: n[4],
        longest_miss_run: n[5],
        min_ns,
        max_ns,
    })
}

fn all_series() -> impl Strategy<Value = Series> {
    let kinds = prop::sample::select(&KINDS);
    let log = (of("[a-z]{1,9}"), of(any::<u64>()), of(any::<u32>()));
    let files = (log, of("[a-z]{1,9}"));
    let limits = (of(any::<u64>()), of(any::<u64>()));
    let tuning = prop::collection::vec(tunings(), 0..3);
    (
        "[a-z0-9_][a-z0-9._-]{0,9}",
        (prop::collection::btree_map(text(), text(), 0..3), text()),
        kinds,
        limits,
        tuning,
        files,
        counts(),
    )
        .prop_map(
            |(name, (labels, description), kind, limits, tuning, files, counts)| {
                let ((hlog, hlog_bytes, hlog_parts), samples) = files;
                Series {
                    name,
                    labels,
                    description,
                    kind,
                    unit: "ns".to_owned(),
                    expected_interval_ns: limits.0,
                    deadline_ns: limits.1,
                    tuning,
                    files: SeriesFiles {
                        hlog,
                        hlog_bytes,
                        hlog_parts,
                        samples,
                    },
                    counts,
                }
            },
        )
}

fn clocks() -> impl Strategy<Value = Clock> {
    (text(), number(), number(), of(number())).prop_map(
        |(name, resolution_ns, read_cost_ns, record_cost_ns)| Clock {
            name,
            resolution_ns,
            read_cost_ns,
            record_cost_ns,
        },
    )
}

fn all_messages() -> impl Strategy<Value = Messages> {
    let subscriber = (text(), any::<[u64; 10]>()).prop_map(|(name, counts)| Subscriber {
        name,
        received: counts[0],
        lost: counts[1],
        duplicates: counts[2],
        reordered: counts[3],
        longest_loss: counts[4],
        dropped: counts[5],
        overrun: counts[6],
        incomplete: counts[7],
        damaged: counts[8],
        foreign: counts[9],
    });
    let subscribers = prop::collection::vec(subscriber, 0..3);
    (text(), any::<[u64; 3]>(), subscribers).prop_map(|(url, counts, subscribers)| Messages {
        url,
        message_bytes: counts[0],
        published: counts[1],
        refused: counts[2],
        subscribers,
    })
}

fn runs() -> impl Strategy<Value = Run> {
    let parameter = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let warning = (text(), text(), of(text()), of(text()));
    let warning = warning.prop_map(|(id, text, remedy, tuning)| Warning {
        id,
        text,
        remedy,
        tuning,
    });
    let ended_by = prop::sample::select(vec![EndedBy::Finished, EndedBy::Failed]);
    let end = (any::<u64>(), any::<u64>(), any::<bool>(), of(ended_by));
    let lists = (
        prop::collection::vec(text(), 0..4),
        prop::collection::btree_map(text(), parameter, 0..4),
        prop::collection::vec(all_series(), 0..3),
        prop::collection::vec(warning, 0..3),
    );
    let machine = (hosts(), clocks(), of(networks()), of(all_messages()));
    (text(), text(), end, machine, lists).prop_map(
        |(kadenz, experiment, end, machine, (command, parameters, series, warnings))| Run {
            version: FORMAT_VERSION,
            kadenz,
            experiment,
            started_at: "2025-01-02T03:04:05Z".to_owned(),
            start_monotonic_ns: end.0,
            duration_ns: end.1,
            complete: end.2,
            ended_by: end.3,
            command,
            request: parameters.clone(),
            parameters,
            host: machine.0,
            clock: machine.1,
            network: machine.2,
            messages: machine.3,
            series,
            warnings,
            ..Run::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_run_comes_back_and_is_valid(run in runs()) {
        let text = serde_json::to_string_pretty(&run).expect("JSON");
        prop_assert_eq!(&run, &serde_json::from_str::<Run>(&text).expect("reads"));
        assert_valid(&serde_json::from_str(&text).expect("JSON"));
    }
}
