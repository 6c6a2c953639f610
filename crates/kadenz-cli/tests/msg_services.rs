//! `kadenz msg call`, `param` and `nodes`, against a program on the same bus.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::time::Duration;

use common::{Said, assert_described, folder, run, text};
use kadenz::msg::bus::Bus;
use kadenz::msg::service::messages::ClockQuery;
use kadenz::msg::service::parameters::Parameters;
use kadenz::rt::tuning::Tuning;

/// A group and port of the test's own, on which no other program sends.
fn url(test: u16) -> String {
    let process = std::process::id();
    let group = format!("239.253.{}.{}", process >> 8 & 0xff, process & 0xff);
    format!("udpm://{group}:{}?iface=lo", 17_100 + test)
}

fn said(url: &str, arguments: &[&str]) -> Said {
    let mut all = vec!["msg"];
    all.extend(arguments);
    all.extend(["--url", url, "--json"]);
    run(&all)
}

const TYPES: &str = "package kadenz; struct clock_query { int64_t sent_ns; }";

#[test]
fn a_service_is_called_and_its_answer_decoded_by_what_its_server_describes() {
    let folder = folder();
    let file = folder.path().join("types.lcm");
    std::fs::write(&file, TYPES).unwrap();
    let url = url(1);
    let bus = Bus::open(&url).unwrap();
    let call = |json: &str, timeout: &str| {
        let types = text(&file);
        let words = ["call", "NEXT", "kadenz.clock_query", json];
        let options = ["--types", types, "--timeout", timeout];
        said(&url, &[&words[..], &options[..]].concat())
    };
    let unanswered = call("{\"sent_ns\": 41}", "50ms");
    assert_eq!(unanswered.code, 2);
    assert!(
        unanswered.err.contains("did not answer within 50ms"),
        "{}",
        unanswered.err
    );
    let server = bus.serve(
        "NEXT",
        Tuning::default(),
        |query: &ClockQuery| match query.sent_ns {
            0 => Err("nothing is before the first".to_owned()),
            sent_ns => Ok(kadenz::msg::service::messages::TypeQuery {
                fingerprint: sent_ns + 1,
            }),
        },
    );
    let _server = server.unwrap();
    let _responder = bus.serve_types(Tuning::default()).unwrap();
    let answered = call("{\"sent_ns\": 41}", "10s");
    assert_eq!(answered.code, 0, "{}", answered.err);
    let json = answered.json();
    assert_described("msg", "call", &json);
    assert_eq!(json["answer"]["fingerprint"], 42);
    assert_eq!(json["type"], "kadenz.type_query");
    let refused = call("{\"sent_ns\": 0}", "10s");
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("nothing is before the first"),
        "{}",
        refused.err
    );
}

#[test]
fn parameters_are_listed_read_and_set_and_a_wrong_value_is_refused() {
    let url = url(2);
    let bus = Bus::open(&url).unwrap();
    let mut parameters = Parameters::new();
    let gain = parameters.number("gain", 0.5, -1.0..=1.0, "1/s").unwrap();
    parameters.truth("enabled", false, "").unwrap();
    let _served = parameters.serve(&bus, "arm", Tuning::default()).unwrap();
    let param = |words: &[&str]| said(&url, &[&["param"], words, &["--timeout", "10s"]].concat());
    let list = param(&["list", "arm"]);
    assert_eq!(list.code, 0, "{}", list.err);
    let list = list.json();
    assert_described("msg", "param", &list);
    assert_eq!(list["parameters"][1]["name"], "gain");
    assert_eq!(list["parameters"][1]["most"], 1.0);
    assert_eq!(
        param(&["get", "arm", "gain"]).json()["parameters"][0]["value"],
        0.5
    );
    let set = param(&["set", "arm", "gain", "0.75"]);
    assert_eq!(set.json()["parameters"][0]["value"], 0.75);
    assert_eq!(gain.get(), 0.75);
    let refused = param(&["set", "arm", "gain", "7"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("it may be -1 to 1, not 7"),
        "{}",
        refused.err
    );
    let wrong = param(&["set", "arm", "enabled", "7"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong
            .err
            .contains("value of enabled, which is true or false"),
        "{}",
        wrong.err
    );
}

#[test]
fn nodes_that_beat_are_shown() {
    let url = url(3);
    let bus = Bus::open(&url).unwrap();
    let mut heart = bus.heartbeat("arm", Duration::from_millis(100)).unwrap();
    heart.set_state("running");
    let _beating = heart.on_thread(Tuning::default()).unwrap();
    let nodes = said(&url, &["nodes", "--duration", "1s"]);
    assert_eq!(nodes.code, 0, "{}", nodes.err);
    let json = nodes.json();
    assert_described("msg", "nodes", &json);
    assert_eq!(json["nodes"][0]["name"], "arm");
    assert_eq!(json["nodes"][0]["state"], "running");
    assert!(nodes.err.contains("arm beats"), "{}", nodes.err);
}
