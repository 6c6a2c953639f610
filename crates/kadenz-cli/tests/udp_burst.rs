//! `kadenz udp burst`: the order in which devices answer a broadcast, and how close together.
//!
//! The robot is a part of this test: one socket stands for the broadcast address, and every device answers each
//! broadcast from its own socket, in an order that the test chooses.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use common::{Said, folder, run, run_json, series, text};
use kadenz::udp::device::{Answer, Echo, Policy};
use kadenz::udp::wire::{Kind, Name, Packet};
use serde_json::Value;

/// Devices that answer whatever comes to one address.
struct Robot {
    address: String,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Robot {
    /// `order` returns the devices that answer the probe of a number, one after the other.
    fn start(devices: usize, order: impl Fn(u32) -> Vec<usize> + Send + 'static) -> Self {
        let broadcast = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = broadcast.local_addr().unwrap().to_string();
        broadcast
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let device = |number: usize| {
            let name = Name::new(&format!("d{number}")).unwrap();
            let policy = Policy {
                name,
                ..Policy::default()
            };
            (UdpSocket::bind("127.0.0.1:0").unwrap(), Echo::new(policy))
        };
        let mut devices: Vec<(UdpSocket, Echo)> = (0..devices).map(device).collect();
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let answer = move || {
            let mut bytes = [0; 2048];
            while !until.load(Ordering::Relaxed) {
                let Ok((length, from)) = broadcast.recv_from(&mut bytes) else {
                    continue;
                };
                let question = Packet::open(&bytes[..length], None).unwrap();
                let answering = match question.kind() {
                    Kind::Probe => order(question.sequence().0),
                    _ => (0..devices.len()).collect(),
                };
                for device in answering {
                    let (socket, echo) = &mut devices[device];
                    let mut answer = bytes;
                    let made = echo.on_datagram(0, &mut answer[..length]);
                    assert_eq!(made, Answer::Reply(length));
                    socket.send_to(&answer[..length], from).unwrap();
                }
            }
        };
        Self {
            address,
            over,
            thread: Some(std::thread::spawn(answer)),
        }
    }

    /// Runs a controller that sends `count` broadcasts to the robot; returns its output.
    fn asked(&self, devices: usize, count: u32, more: &[&str]) -> Said {
        let (devices, count) = (devices.to_string(), count.to_string());
        let mut arguments = vec!["udp", "burst", "--to", &self.address, "--rate", "200Hz"];
        arguments.extend(["--devices", &devices, "--count", &count]);
        if !more.contains(&"--timeout") {
            arguments.extend(["--timeout", "10s"]);
        }
        arguments.extend(more);
        run(&arguments)
    }
}

impl Drop for Robot {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// The places in the order of answers of the device of this name.
fn places(json: &Value, device: &str) -> Value {
    let flows = json["runs"][0]["network"]["flows"].as_array().unwrap();
    let flow = flows.iter().find(|flow| flow["device"] == device).unwrap();
    flow["places"].clone()
}

#[test]
fn an_order_that_never_changes_is_reported() {
    let folder = folder();
    let out = folder.path().join("run");
    let robot = Robot::start(5, |_| vec![3, 0, 4, 1, 2]);
    let said = robot.asked(5, 60, &["--json", "--out", text(&out)]);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    let broadcasts = &json["runs"][0]["network"]["broadcasts"];
    assert_eq!(
        (&broadcasts["sent"], &broadcasts["complete"]),
        (&60.into(), &60.into())
    );
    assert_eq!(broadcasts["concordance"], 1.0);
    assert_eq!(broadcasts["answer_bytes"], 266);
    let waiting = broadcasts["most_at_once"].as_u64().unwrap();
    assert!((1..=300).contains(&waiting), "{broadcasts}");
    for (place, device) in [(1, "d3"), (2, "d0"), (3, "d4"), (4, "d1"), (5, "d2")] {
        let own = places(&json, device);
        assert_eq!(own["mean"], f64::from(place), "{device}");
        assert_eq!(
            (&own["lowest"], &own["highest"]),
            (&place.into(), &place.into())
        );
        assert_eq!(own["first"], 60 * i32::from(place == 1), "{device}");
        assert_eq!(own["last"], 60 * i32::from(place == 5), "{device}");
    }
    let written = run_json(&out);
    assert_eq!(written["network"]["broadcasts"]["concordance"], 1.0);
    let shown = run(&["show", text(&out), "--details"]);
    let words = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("nearly always the same; d3 was first in 100 %, d2 last in 100 %"),
        "{words}"
    );
}

#[test]
fn an_order_that_is_drawn_anew_is_no_order() {
    let folder = folder();
    let out = folder.path().join("run");
    // All six orders of three devices, each as often.
    let all = [
        [0, 1, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
        [0, 2, 1],
        [1, 0, 2],
    ];
    let robot = Robot::start(3, move |number| all[number as usize % 6].to_vec());
    let json = robot.asked(3, 60, &["--json", "--out", text(&out)]).json();
    let broadcasts = &json["runs"][0]["network"]["broadcasts"];
    assert!(
        broadcasts["concordance"].as_f64().unwrap() < 0.01,
        "{broadcasts}"
    );
    assert!(
        broadcasts["answer"]
            .as_str()
            .unwrap()
            .contains("as different as by chance"),
        "{broadcasts}"
    );
}

#[test]
fn a_device_that_is_silent_leaves_its_broadcasts_incomplete() {
    let folder = folder();
    let out = folder.path().join("run");
    let robot = Robot::start(3, |number| match number % 4 {
        0 => vec![2, 0],
        _ => vec![2, 0, 1],
    });
    let more = [
        "--warm-up",
        "0",
        "--timeout",
        "2s",
        "--json",
        "--out",
        text(&out),
    ];
    let json = robot.asked(3, 40, &more).json();
    let broadcasts = &json["runs"][0]["network"]["broadcasts"];
    assert_eq!(
        (&broadcasts["sent"], &broadcasts["complete"]),
        (&40.into(), &30.into())
    );
    assert_eq!(places(&json, "d1")["answers"], 30);
    assert_eq!(
        places(&json, "d0")["last"],
        0,
        "no device is the last where one is missing"
    );
    let count = |name: &str| series(&json, name)["count"].clone();
    assert_eq!(
        (count("first-reply"), count("last-reply")),
        (40.into(), 30.into())
    );
    assert_eq!(count("reply-spread"), 30);
}

#[test]
fn how_close_together_answers_come_is_reported() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let robot = Robot::start(4, |_| vec![0, 1, 2, 3]);
    let out = path("stamped");
    let json = robot.asked(4, 50, &["--json", "--out", text(&out)]).json();
    let value = |name: &str, of: &str| series(&json, name)[of].as_i64().unwrap();
    for name in ["first-reply", "last-reply", "reply-spread"] {
        assert_eq!(series(&json, name)["count"], 50, "{name}");
    }
    assert!(value("first-reply", "min_ns") <= value("last-reply", "min_ns"));
    assert!(value("first-reply", "max_ns") <= value("last-reply", "max_ns"));
    if cfg!(target_os = "linux") {
        assert_eq!(series(&json, "densest-half")["count"], 50);
        assert!(value("densest-half", "max_ns") <= value("reply-spread", "max_ns"));
        assert!(
            value("reply-spread", "min_ns") > 0,
            "four answers are not one"
        );
    }
    let out = path("plain");
    let plain = robot.asked(4, 20, &["--stamps", "off", "--json", "--out", text(&out)]);
    let plain = plain.json();
    let names: Vec<&str> = plain["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"reply-spread") && !names.contains(&"densest-half"),
        "{names:?}"
    );
}

#[test]
fn packets_to_each_device_have_no_order() {
    let folder = folder();
    let out = folder.path().join("run");
    let robot = Robot::start(1, |_| vec![0]);
    let alone = robot.asked(1, 10, &["--json", "--out", text(&out)]).json();
    let network = &alone["runs"][0]["network"];
    assert!(
        network["broadcasts"]["answer"].is_null(),
        "of one device: {network}"
    );
    assert!(network["broadcasts"]["concordance"].is_null());
    assert!(network["flows"][0]["places"].is_null());
}
