//! `kadenz msg spy`, `echo`, `pub`, `hz`, `delay`, `list` and `bridge`, as a user types them.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::UdpSocket;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::{
    Said, assert_described, assert_valid, folder, kadenz, parted, run, run_json, series, signal,
    skip, text,
};
use kadenz::msg::service::messages::Heartbeat;
use serde_json::Value;

const POSE: &str = "package robot;
struct pose_t { int64_t utime; double position[3]; string name; }";

const MESSAGE: &str = r#"{"utime": 7, "position": [1, 2.5, "NaN"], "name": "left"}"#;

/// A bus that no other test uses: LCM's group on this host, with its own port.
struct OwnBus {
    url: String,
    folder: tempfile::TempDir,
}

impl OwnBus {
    /// Opens the bus; `None` where this machine has no multicast.
    fn new(test: &str) -> Option<Self> {
        let port = UdpSocket::bind("0.0.0.0:0").unwrap().local_addr().unwrap();
        let bus = Self {
            url: format!("udpm://239.255.76.67:{}?ttl=0", port.port()),
            folder: folder(),
        };
        std::fs::write(bus.folder.path().join("pose.lcm"), POSE).unwrap();
        let echo = bus.start(&["echo", "PROBE", "--count", "1", "--duration", "30s"]);
        let beat = bus.start(&parted("pub PROBE --hex 0011223344556677 --rate 20Hz"));
        let heard = Said::of(echo.wait_with_output().unwrap());
        end(beat);
        if heard.code != 0 {
            skip(
                test,
                "multicast on this host (ip route add 224.0.0.0/4 dev lo)",
            );
            return None;
        }
        Some(bus)
    }

    fn types(&self) -> &str {
        text(self.folder.path())
    }

    /// Starts `kadenz msg` on this bus.
    fn start(&self, arguments: &[&str]) -> Child {
        kadenz(&[&["msg"], arguments, &["--url", &self.url]].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs `kadenz msg` on this bus to its end.
    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.start(arguments).wait_with_output().unwrap())
    }

    /// Publishes poses again and again until the test ends the program.
    fn poses(&self, channel: &str, rate: &str) -> Child {
        let types = self.types();
        self.start(&[
            "pub",
            channel,
            "robot.pose_t",
            MESSAGE,
            "--types",
            types,
            "--rate",
            rate,
        ])
    }
}

/// Ends a program as Ctrl-C does; returns its output.
fn end(child: Child) -> Said {
    signal(&child, "INT");
    Said::of(child.wait_with_output().unwrap())
}

/// The JSON objects in the lines of an output.
fn lines(said: &Said) -> Vec<Value> {
    let lines = said.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_message_is_echoed_as_it_was_published() {
    let Some(bus) = OwnBus::new("a_message_is_echoed_as_it_was_published") else {
        return;
    };
    let poses = bus.poses("POSE", "50Hz");
    let wanted = ["--types", bus.types(), "--count", "2", "--duration", "10s"];
    let echo = |more: &[&str]| bus.run(&[&["echo", "PO.E"], &wanted[..], more].concat());
    let said = echo(&["--json"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let messages = lines(&said);
    assert_eq!(messages.len(), 2);
    assert_described("msg", "echo", &messages[0]);
    assert_eq!(messages[0]["channel"], "POSE");
    assert_eq!(messages[0]["type"], "robot.pose_t");
    let expected: Value =
        serde_json::from_str(r#"{"utime": 7, "position": [1.0, 2.5, "NaN"], "name": "left"}"#)
            .unwrap();
    assert_eq!(messages[0]["message"], expected);
    let number = |at: usize| messages[at]["sequence"].as_u64().unwrap();
    assert!(number(1) > number(0));

    let said = echo(&["--field", "position[1]"]);
    assert_eq!(said.out, "2.5\n2.5\n", "{}", said.err);
    let said = bus.run(&["echo", "POSE", "--types", bus.types(), "--field", "nope"]);
    let is_said = said.err.contains("has no member nope; it has utime");
    assert!(said.code == 2 && is_said, "{}", said.err);
    let said = echo(&[]);
    assert!(
        said.out.contains("  position: [1.0, 2.5, NaN]\n"),
        "{}",
        said.out
    );
    end(poses);
}

#[test]
fn a_type_that_its_publisher_describes_is_decoded_without_files() {
    let Some(bus) = OwnBus::new("a_type_that_its_publisher_describes_is_decoded_without_files")
    else {
        return;
    };
    let robot = kadenz::Bus::open(&bus.url).unwrap();
    let mut beats = robot.publisher::<Heartbeat>("BEAT").unwrap();
    let _responder = robot.serve_types(kadenz::Tuning::default()).unwrap();
    let mut echo = bus.start(&["echo", "BEAT", "--duration", "10s", "--json"]);
    let mut heard = BufReader::new(echo.stdout.take().unwrap()).lines();
    let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(0);
    let beating = std::thread::spawn(move || {
        let pause = std::time::Duration::from_millis(20);
        for number in 0.. {
            let beat = Heartbeat {
                number,
                ..Heartbeat::default()
            };
            let _ = beats.publish(&beat);
            if stopped.recv_timeout(pause) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    // The answer may come after the first messages.
    let decoded = heard.find_map(|line| {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        message["message"]["number"].as_u64()
    });
    assert!(decoded.is_some(), "none was decoded within 10 s");
    drop(stop);
    beating.join().unwrap();
    signal(&echo, "INT");
    echo.wait().unwrap();
}

#[test]
fn what_cannot_be_decoded_is_shown_with_a_hint() {
    let Some(bus) = OwnBus::new("what_cannot_be_decoded_is_shown_with_a_hint") else {
        return;
    };
    let beat = bus.start(&[
        "pub",
        "RAW",
        "--hex",
        "0123456789abcdef 00",
        "--rate",
        "50Hz",
    ]);
    let said = bus.run(&["echo", "RAW", "--count", "1", "--duration", "10s", "--json"]);
    let message = &lines(&said)[0];
    assert_described("msg", "echo", message);
    assert_eq!(message["hex"], "0123456789abcdef00");
    assert_eq!(message["fingerprint"], "0x0123456789abcdef");
    assert!(message["hint"].as_str().unwrap().contains("--types"));
    end(beat);
}

#[test]
fn fewer_messages_than_wanted_are_exit_code_1() {
    let Some(bus) = OwnBus::new("fewer_messages_than_wanted_are_exit_code_1") else {
        return;
    };
    let said = bus.run(&["echo", "SILENT", "--count", "1", "--duration", "300ms"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{}", said.err);
    assert!(said.err.contains("kadenz msg doctor"), "{}", said.err);
    let said = bus.run(&["hz", "SILENT", "--duration", "300ms", "--at-least", "1Hz"]);
    assert_eq!(said.code, 1, "{}", said.err);
}

#[test]
fn a_loss_on_any_of_several_channels_is_judged() {
    let Some(bus) = OwnBus::new("a_loss_on_any_of_several_channels_is_judged") else {
        return;
    };
    let (_, address) = bus.url.split_once("//").unwrap();
    let group = address.split_once('?').unwrap().0.to_owned();
    let ends = Arc::new(AtomicBool::new(false));
    let has_ended = Arc::clone(&ends);
    let sender = thread::spawn(move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_multicast_ttl_v4(0).unwrap();
        let mut number = 0_u32;
        while !has_ended.load(Ordering::Relaxed) {
            // One number of three is missing.
            for (step, name) in [(1, b"A\0"), (2, b"B\0")] {
                number += step;
                let message = [&b"LC02"[..], &number.to_be_bytes(), name, &[7; 8]].concat();
                socket.send_to(&message, &group).unwrap();
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    let hz = |most| bus.run(&["hz", "A", "--duration", "1s", "--lost", most]);
    let said = hz("0");
    assert_eq!(said.code, 1, "{} {}", said.out, said.err);
    assert!(said.out.contains("number several channels"), "{}", said.out);
    assert_eq!(hz("1000000").code, 0);
    ends.store(true, Ordering::Relaxed);
    sender.join().unwrap();
}

#[test]
fn lines_of_standard_input_are_published_each() {
    let Some(bus) = OwnBus::new("lines_of_standard_input_are_published_each") else {
        return;
    };
    let types = bus.types().to_owned();
    let mut echo = bus.start(&parted(&format!(
        "echo GOAL|READY --types {types} --duration 60s --json"
    )));
    let mut heard = BufReader::new(echo.stdout.take().unwrap()).lines();
    // Messages before the subscription are lost, so the test waits for a first one.
    let ready = bus.start(&["pub", "READY", "--hex", "00", "--rate", "20Hz"]);
    heard.next().unwrap().unwrap();
    end(ready);
    let mut goals = bus.start(&parted(&format!(
        "pub GOAL robot.pose_t - --types {types} --json"
    )));
    let mut input = goals.stdin.take().unwrap();
    for at in 0..4 {
        writeln!(
            input,
            r#"{{"utime": {at}, "position": [0, 0, 0], "name": ""}}"#
        )
        .unwrap();
    }
    drop(input);
    let said = Said::of(goals.wait_with_output().unwrap());
    assert_eq!(
        (said.code, said.json()["published"].as_u64()),
        (0, Some(4)),
        "{}",
        said.err
    );
    assert_described("msg", "pub", &said.json());
    // The subscriber may have received READY more than once.
    let goal = heard.find_map(|line| {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (message["channel"] == "GOAL").then_some(message)
    });
    end(echo);
    let goal = goal.expect("echo ended before a goal came");
    assert_eq!(goal["message"]["utime"], 0, "{goal}");
}

#[test]
fn a_message_that_does_not_fit_its_type_is_not_published() {
    let Some(bus) = OwnBus::new("a_message_that_does_not_fit_its_type_is_not_published") else {
        return;
    };
    for (name, message, word) in [
        ("robot.pose_t", r#"{"utime": 1}"#, "position"),
        ("robot.pose_t", "{", "JSON"),
        ("robot.pos_t", "{}", "robot.pose_t"),
        ("pose_t", "{}", "robot.pose_t"),
    ] {
        let said = bus.run(&["pub", "GOAL", name, message, "--types", bus.types()]);
        assert_eq!(said.code, 2, "{name} {message}");
        assert!(said.err.contains(word), "{}", said.err);
    }
    let said = bus.run(&[
        "pub",
        "GOAL",
        "robot.pose_t",
        "--default",
        "--types",
        bus.types(),
    ]);
    let expected = r#"{"name":"","position":[0.0,0.0,0.0],"utime":0}"#;
    assert_eq!(said.out.trim(), expected);
}

#[test]
fn channels_are_listed_with_their_rates() {
    let Some(bus) = OwnBus::new("channels_are_listed_with_their_rates") else {
        return;
    };
    let (poses, others) = (bus.poses("POSE", "50Hz"), bus.poses("OTHER", "10Hz"));
    let types = ["--types", bus.types(), "--duration", "2s", "--json"];
    let list = bus.run(&[&["list"], &types[..]].concat()).json();
    assert_described("msg", "list", &list);
    let names: Vec<&str> = list["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["channel"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["OTHER", "POSE"]);
    let hz = bus.run(&[&["hz", "POSE"], &types[..]].concat()).json();
    assert_described("msg", "hz", &hz);
    let pose = &hz["channels"][0];
    assert_eq!(pose["type"], "robot.pose_t");
    assert_eq!(pose["lost"], 0);
    // On a busy machine messages may be late, and then come faster.
    let rate = pose["rate_hz"].as_f64().unwrap();
    assert!(rate > 10.0 && rate < 250.0, "{rate}");
    for child in [poses, others] {
        assert_eq!(end(child).code, 0);
    }
}

#[test]
fn a_spy_in_a_pipe_prints_tables_and_json() {
    let Some(bus) = OwnBus::new("a_spy_in_a_pipe_prints_tables_and_json") else {
        return;
    };
    let poses = bus.poses("POSE", "50Hz");
    let said = bus.run(&["spy", "--once", "--duration", "2s", "--types", bus.types()]);
    assert_eq!(said.code, 0, "{}", said.err);
    let row = said.out.lines().find(|line| line.contains("POSE")).unwrap();
    assert!(row.contains("robot.pose_t"), "{row}");
    let said = bus.run(&["spy", "--duration", "2500ms", "--json"]);
    let shown = lines(&said);
    assert!(!shown.is_empty(), "{}", said.err);
    let last = shown.last().unwrap();
    assert_described("msg", "spy", last);
    assert_eq!(last["channels"][0]["channel"], "POSE");
    end(poses);
}

#[test]
fn messages_that_carry_their_time_make_a_run_of_latencies() {
    let Some(bus) = OwnBus::new("messages_that_carry_their_time_make_a_run_of_latencies") else {
        return;
    };
    let out = bus.folder.path().join("run");
    let types = bus.types().to_owned();
    let mut stamped = bus.start(&["pub", "POSE", "robot.pose_t", "-", "--types", &types]);
    let mut input = stamped.stdin.take().unwrap();
    let beat = std::thread::spawn(move || {
        for _ in 0..1000 {
            let utime = kadenz::rt::clock::WallTime::now().as_unix_ns() / 1000;
            let line = format!(r#"{{"utime": {utime}, "position": [0, 0, 0], "name": ""}}"#);
            if writeln!(input, "{line}").is_err() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    });
    let arguments = [
        "delay",
        "POSE",
        "--types",
        &types,
        "--count",
        "50",
        "--duration",
        "10s",
    ];
    let said = bus.run(&[&arguments[..], &["--json", "--out", text(&out)]].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_valid("output", &json);
    assert_described("msg", "delay", &json);
    let latency = series(&json, "latency");
    assert!(latency["count"].as_u64().unwrap() >= 50);
    // Stamps in microseconds are up to 1 us too old.
    assert!(latency["min_ns"].as_i64().unwrap() > 0);
    assert_eq!(series(&json, "to-kernel")["count"], latency["count"]);
    assert_eq!(run_json(&out)["parameters"]["field"], "utime");

    let wrong = bus.run(
        &[
            &arguments[..],
            &["--unit", "ms", "--out", &format!("{}2", text(&out))],
        ]
        .concat(),
    );
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("--unit"), "{}", wrong.err);
    signal(&stamped, "TERM");
    stamped.wait().unwrap();
    beat.join().unwrap();
}

#[test]
fn a_bridge_carries_both_ways_and_never_in_circles() {
    let test = "a_bridge_carries_both_ways_and_never_in_circles";
    let (Some(a), Some(b)) = (OwnBus::new(test), OwnBus::new(test)) else {
        return;
    };
    // Without the questions for types and their answers, which it would carry and count, too.
    let of = ["--both", "--channel", "POSE|BACK", "--json"];
    let bridge = kadenz(&[&["msg", "bridge", &a.url, &b.url], &of[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (poses, backs) = (a.poses("POSE", "20Hz"), b.poses("BACK", "20Hz"));
    let listen = |bus: &OwnBus, channel: &str| {
        let three = ["--count", "3", "--duration", "10s", "--json"];
        bus.run(&[&["echo", channel], &three[..]].concat())
    };
    assert_eq!(listen(&b, "POSE").code, 0);
    assert_eq!(listen(&a, "BACK").code, 0);
    // The messages that the bridge publishes appear on their bus once, and not again.
    let said = a.run(&["hz", "BACK", "--duration", "2s", "--json"]).json();
    assert_eq!(said["channels"][0]["senders"].as_array().unwrap().len(), 1);
    let (posed, backed) = (end(poses), end(backs));
    let published = |said: &Said| -> u64 {
        let words: Vec<&str> = said.err.split_whitespace().collect();
        let at = words.iter().position(|it| *it == "published").unwrap();
        words[at - 1].parse().unwrap()
    };
    let report = end(bridge).json();
    let carried = |way: usize| report["ways"][way]["carried"].as_u64().unwrap();
    assert!(
        carried(0) >= 3 && carried(0) <= published(&posed),
        "{report}"
    );
    assert!(
        carried(1) >= 3 && carried(1) <= published(&backed),
        "{report}"
    );
}

#[test]
fn one_bus_by_two_names_is_not_bridged() {
    let Some(bus) = OwnBus::new("one_bus_by_two_names_is_not_bridged") else {
        return;
    };
    let other = format!("{}&priority=1", bus.url);
    for (a, b) in [(&bus.url, &bus.url), (&bus.url, &other)] {
        let said = run(&["msg", "bridge", a, b, "--duration", "1s"]);
        assert_eq!(said.code, 2, "{}", said.err);
    }
}

#[test]
fn providers_are_listed_with_what_they_promise() {
    let said = run(&["msg", "list", "--providers", "--json"]);
    let json = said.json();
    assert_described("msg", "list-providers", &json);
    let providers = json["providers"].as_array().unwrap();
    let udpm = providers.iter().find(|it| it["scheme"] == "udpm").unwrap();
    assert_eq!(udpm["promises"]["discovery"], "multicast");
    assert!(providers.iter().all(|it| it["scheme"].is_string()));
}
