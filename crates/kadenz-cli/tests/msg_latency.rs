//! `kadenz msg latency`: a publisher and its subscribers, as a user types them.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use common::{
    Said, assert_on_one_screen, assert_valid, folder, parted, run, run_json, run_line, series,
    signal, skip, start_measuring, text,
};

/// A deadline longer than any pause of a busy machine, so that no test misses it by accident.
const GENEROUS: &str = "60s";

fn latency(more: &[&str]) -> Said {
    let mut arguments = vec![
        "msg", "latency", "--rate", "200Hz", "--queue", "1000", "--json",
    ];
    arguments.extend(more);
    run(&arguments)
}

/// A group and port of the test's own, on which no other program sends.
fn bus(test: u16) -> String {
    format!("udpm://239.255.76.70:{}?ttl=0", 17_000 + test)
}

/// Whether messages arrive by multicast on this machine, which needs a route for it.
fn has_multicast(test: &str, said: &Said) -> bool {
    let without = said.code == 2 && (said.err.contains("msg doctor") || said.err.contains("route"));
    if without {
        skip(
            test,
            &format!(
                "no multicast here (ip route add 224.0.0.0/4 dev lo): {}",
                said.err
            ),
        );
    }
    !without
}

#[test]
fn a_subscriber_spins_where_there_is_a_cpu_for_it() {
    let folder = folder();
    let out = folder.path().join("run");
    let more = ["--url", "memq://", "--receive", "spin", "--count", "100"];
    let said = latency(&[&more[..], &["--out", text(&out)]].concat());
    if said.code == 2 && said.err.contains("keeps a CPU busy") {
        let test = "a_subscriber_spins_where_there_is_a_cpu_for_it";
        return skip(test, "two CPUs that no other program has taken");
    }
    assert_eq!(said.code, 0, "{}", said.err);
    let one_way = series(&said.json(), "one-way-from-send")["count"].as_u64();
    assert_eq!(one_way, Some(100));
}

#[test]
fn every_message_to_another_process_is_counted_and_its_hops_reported() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = latency(&[
        "--url",
        &bus(1),
        "--count",
        "200",
        "--deadline",
        GENEROUS,
        "--out",
        text(&out),
    ]);
    if !has_multicast(
        "every_message_to_another_process_is_counted_and_its_hops_reported",
        &said,
    ) {
        return;
    }
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_valid("output", &json);
    let messages = &json["runs"][0]["messages"];
    assert_eq!(messages["published"], 200);
    assert_eq!(messages["subscribers"][0]["received"], 200);
    assert_eq!(messages["subscribers"][0]["lost"], 0);
    for name in [
        "one-way",
        "one-way-from-send",
        "queue",
        "decode",
        "publish-lateness",
    ] {
        assert_eq!(series(&json, name)["count"], 200, "{name}");
    }
    assert_eq!(
        series(&json, "publish")["count"],
        199,
        "told by the message after"
    );
    let (beat, send) = (series(&json, "one-way"), series(&json, "one-way-from-send"));
    assert!(beat["max_ns"].as_i64() >= send["min_ns"].as_i64());
    assert!(
        send["min_ns"].as_i64().unwrap() > 0,
        "one clock on both sides"
    );
    let budget = &json["runs"][0]["message_budget"];
    assert_eq!(budget["packets"], 200);
    let written = run_json(&out);
    assert_eq!(written["complete"], true);
    assert_eq!(written["parameters"]["size"], "200B");
    // The series of the publisher holds the settings that its process was granted.
    let all = written["series"].as_array().unwrap();
    let lateness = all
        .iter()
        .find(|it| it["name"] == "publish-lateness")
        .unwrap();
    assert_eq!(lateness["tuning"][0]["name"], "policy", "{lateness}");
}

#[test]
fn each_of_several_subscribers_has_its_own_series_within_one_process() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = latency(&parted(&format!(
        "--url memq:// --subscribers 3 --count 100 --size 5kB --out {}",
        text(&out)
    )));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    let subscribers = json["runs"][0]["messages"]["subscribers"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(subscribers.len(), 3);
    for subscriber in &subscribers {
        let name = subscriber["name"].as_str().unwrap();
        assert_eq!(subscriber["received"], 100, "{subscriber}");
        assert_eq!(series(&json, &format!("{name}.one-way"))["count"], 100);
    }
    assert!(
        json["runs"][0]["message_budget"].is_null(),
        "of several there is none"
    );
}

#[test]
fn a_missed_deadline_is_exit_code_1() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = latency(&parted(&format!(
        "--url memq:// --count 20 --deadline 1ns --out {}",
        text(&out)
    )));
    assert_eq!(said.code, 1, "{}", said.err);
    assert_eq!(series(&said.json(), "one-way")["deadline"]["misses"], 20);
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_ends_the_publisher() {
    let folder = folder();
    let out = folder.path().join("run");
    let mut arguments = vec![
        "msg",
        "latency",
        "--rate",
        "200Hz",
        "--duration",
        "1h",
        "--json",
    ];
    let url = bus(2);
    let in_process = run_line(&format!(
        "msg latency --url {url} --count 1 --out {}",
        text(&folder.path().join("probe"))
    ));
    if !has_multicast(
        "an_interrupt_keeps_what_was_measured_and_ends_the_publisher",
        &in_process,
    ) {
        return;
    }
    arguments.extend(["--queue", "1000", "--url", &url]);
    let child = start_measuring(&out, &arguments);
    signal(&child, "TERM");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    let written = run_json(&out);
    assert_eq!(written["complete"], true);
    assert_eq!(written["ended_by"], "interrupted");
    let messages = &written["messages"];
    let subscriber = &messages["subscribers"][0];
    assert!(messages["published"].as_u64().unwrap() > 0);
    assert_eq!(subscriber["received"], messages["published"], "{messages}");
}

#[test]
fn what_cannot_be_measured_is_said_and_leaves_no_folder() {
    let folder = folder();
    let out = folder.path().join("run");
    for (wrong, words) in [
        (["--url", "carrier-pigeon://loft"], "carrier-pigeon"),
        (["--size", "20B"], "at least 52"),
    ] {
        let mut arguments = vec!["--out", text(&out), "--count", "5", "--in-process"];
        arguments.extend(wrong);
        let said = latency(&arguments);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
        assert!(!out.exists());
    }
}

#[test]
fn the_answer_is_read_on_one_screen() {
    let folder = folder();
    let out = folder.path().join("run");
    let words = [
        "msg", "latency", "--url", "memq://", "--count", "50", "--out",
    ];
    let said = run(&[&words[..], &[text(&out)]].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    assert_on_one_screen(&said);
}
