//! `kadenz check` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::net::UdpSocket;
use std::thread::JoinHandle;
use std::time::Duration;

use common::*;
use kadenz::lab::stop::Stop;
use kadenz::lab::udp::echo::{EchoDevice, EchoPlan};

#[test]
fn check_answers_in_words_and_leaves_a_run_with_a_page() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "check --rate 1kHz --deadline 400us --duration 1s --out {}",
        text(&out)
    ));
    assert!(said.code == 0 || said.code == 1, "{}", said.err);
    assert!(said.out.contains("This machine"), "{}", said.out);
    assert_on_one_screen(&said);
    assert!(
        said.err.contains("in total if it then tries tunings"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains(text(&out.join("report.html"))),
        "{}",
        said.out
    );
    let shown = run(&["show", text(&out)]);
    assert_on_one_screen(&shown);
    let all = run(&["show", text(&out), "--details"]);
    assert!(all.out.lines().count() > 40, "{}", all.out);
    let quiet = run(&["show", text(&out), "--quiet"]);
    assert_eq!(quiet.out.lines().count(), 1, "{}", quiet.out);
    assert!(quiet.out.starts_with("This machine"), "{}", quiet.out);
    let coloured = run(&["show", text(&out), "--color", "always"]);
    assert!(coloured.out.starts_with("\u{1b}[1;3"), "{}", coloured.out);
    assert!(!shown.out.contains('\u{1b}'), "{}", shown.out);
    assert!(
        said.out.contains("realtime") && said.out.contains("ordinary"),
        "{}",
        said.out
    );
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    let run = run_json(&out);
    assert_eq!(run["complete"], true);
    assert_eq!(run["parameters"]["rate"], "1kHz");
    let timeout = run["parameters"]["timeout"].as_str().unwrap();
    assert_eq!(timeout.replace(' ', ""), "1s");
}

#[test]
fn the_exit_code_is_the_verdict_of_the_real_time_series() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "check --duration 500ms --deadline 10s --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(series(&json, "realtime")["deadline"]["kept"], true);
    assert_eq!(series(&json, "realtime")["count"], 500);
    assert!(
        json["answer"].as_str().unwrap().contains("keeps 1 kHz"),
        "{}",
        json["answer"]
    );

    let out = folder.path().join("missed");
    let said = run_line(&format!(
        "check --duration 500ms --deadline 1ns --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 1, "{}", said.err);
    assert_eq!(series(&said.json(), "realtime")["deadline"]["kept"], false);
}

#[test]
fn a_percentile_that_the_sample_cannot_carry_is_not_printed() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "check --duration 200ms --json --out {}",
        text(&out)
    ));
    let json = said.json();
    let percentiles = &series(&json, "realtime")["percentiles"];
    assert!(percentiles["99"].is_number());
    assert!(
        percentiles["99.9"].is_null(),
        "200 samples cannot carry 99.9 %"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_answer_names_the_cheapest_tuning() {
    let folder = folder();
    let out = folder.path().join("kept");
    let words = ["check", "--duration", "500ms", "--json"];
    let said = run(&[&words[..], &["--deadline", "10s", "--out", text(&out)]].concat());
    let json = said.json();
    assert_eq!(json["cheapest"]["cell"], "none");
    let answer = json["answer"].as_str().unwrap();
    assert!(
        answer.contains("No tuning is needed to keep it here"),
        "{answer}"
    );
    // The check also measures what holding idle states off gains, where the machine has idle states.
    let idle = json["cheapest"]["idle"].as_str().unwrap();
    let matrix = out.join("tuning");
    if matrix.exists() {
        let cells = run_json(&matrix)["parameters"]["cells_asked"].clone();
        assert_eq!(cells, "PM,PMI");
        // Another test may have begun to hold them off after the check looked.
        let refused = run_json(&matrix)["tune"]["not_granted"].clone();
        let refused = refused.as_array().unwrap();
        match refused.iter().any(|it| it["measure"] == "I") {
            true => assert!(
                idle.starts_with("Idle states were not held off: I "),
                "{idle}"
            ),
            false => assert!(idle.contains("It costs power"), "{idle}"),
        }
    } else {
        assert!(idle.contains("not available here"), "{idle}");
    }
    assert!(answer.ends_with(idle), "{answer}");

    let out = folder.path().join("missed");
    let said = run(&[&words[..], &["--deadline", "1ns", "--out", text(&out)]].concat());
    let json = said.json();
    assert!(json["cheapest"]["cell"].is_null(), "{json}");
    assert_eq!(run_json(&out.join("tuning"))["experiment"], "tune");
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.contains("Nothing that was tried"), "{answer}");

    let out = folder.path().join("quick");
    let said = run(&[&words[..], &["--no-tune", "--out", text(&out)]].concat());
    assert!(said.json().get("cheapest").is_none(), "{}", said.out);
}

#[test]
fn a_budget_shows_where_the_time_over_the_loopback_goes() {
    let folder = folder();
    let out = folder.path().join("run");
    let words = "check --rate 2kHz --duration 3s --deadline 10s --no-tune --json --out";
    let words: Vec<&str> = words.split(' ').chain([text(&out)]).collect();
    let said = run(&words);
    // Beside other work a thread may owe beats at its end; a beat that did not run has missed even this deadline.
    let warnings = run_json(&out)["warnings"].clone();
    let warnings = warnings.as_array().unwrap();
    let owes_beats = warnings.iter().any(|it| it["id"] == "beats_not_run");
    assert_eq!(
        said.code,
        i32::from(owes_beats),
        "{} {}",
        said.err,
        said.out
    );
    let json = said.json();
    assert_eq!(series(&json, "realtime")["count"], 4800, "four fifths");
    assert_eq!(
        json["runs"][0]["network"]["total"]["sent"], 1200,
        "one fifth"
    );
    let response = series(&json, "response");
    assert!(response["deadline"].is_null(), "loopback has no verdict");

    let budget = &json["runs"][0]["budget"];
    assert_eq!(budget["limit_ns"], 10_000_000_000_u64);
    assert_eq!(budget["packets"], 1200);
    assert_eq!(budget["whole"]["max_ns"], response["max_ns"], "as measured");
    let layers: Vec<&str> = budget["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["series"].as_str().unwrap())
        .collect();
    let stamped = ["lateness", "send-stack", "wire-and-device", "receive-stack"];
    assert_eq!(
        layers,
        if cfg!(target_os = "linux") {
            &stamped[..]
        } else {
            &["lateness", "rtt"]
        }
    );
    let answer = json["answer"].as_str().unwrap();
    assert!(
        answer.contains("Of the 10 s, a round trip over the loopback takes"),
        "{answer}"
    );
    assert!(answer.contains("left for the control law"), "{answer}");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("id=\"budget\""));
    let shown = run(&["show", text(&out), "--details"]);
    assert!(shown.out.contains("| left of 10 s"), "{}", shown.out);
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_asked_for_and_not_granted_is_said_first_or_refused() {
    let folder = folder();
    let words = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let words = "check --duration 400ms --deadline 10s --no-network --no-messages --no-tune";
        let words = words.split(' ').chain(more.iter().copied());
        let words: Vec<String> = words
            .chain(["--out", text(&out)])
            .map(str::to_owned)
            .collect();
        (out, words)
    };
    let as_ordinary_user = |words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        without_rights(&words).map(|mut it| Said::of(it.output().unwrap()))
    };
    let (_, asked) = words("granted", &["--json"]);
    let Some(said) = as_ordinary_user(&asked) else {
        skip(
            "what_was_asked_for_and_not_granted",
            "prlimit and setpriv of util-linux",
        );
        return;
    };
    assert_eq!(said.code, 0, "{}", said.err);
    let answer = said.json()["answer"].as_str().unwrap().to_owned();
    let of_granted = "as an ordinary process (not granted: SCHED_FIFO 80";
    assert!(
        answer
            .split(": 0 misses")
            .next()
            .unwrap()
            .contains(of_granted),
        "{answer}"
    );
    assert!(answer.contains("; remedy: "), "{answer}");
    assert!(!answer.contains("at SCHED_FIFO 80"), "{answer}");
    assert!(
        answer.contains("longer than the period of 1 ms"),
        "{answer}"
    );

    let (out, required) = words("required", &["--require"]);
    let said = as_ordinary_user(&required).unwrap();
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("SCHED_FIFO 80") && said.err.contains("remedy: "),
        "{}",
        said.err
    );
    assert!(!out.exists(), "nothing was measured");
}

#[cfg(target_os = "linux")]
#[test]
fn a_cpu_that_is_not_there_is_refused_with_those_that_are() {
    let folder = folder();
    let out = folder.path().join("run");
    for option in ["--cpus", "--shield"] {
        let said = run_line(&format!(
            "check {option} 1023 --duration 100ms --out {}",
            text(&out)
        ));
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("there are CPUs 0"), "{}", said.err);
        assert!(!out.exists(), "nothing was measured");
    }
}

/// A device on a thread of the test.
struct Device {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
    address: String,
}

impl Device {
    fn start() -> Self {
        let mut echo = EchoDevice::open(&EchoPlan::default()).unwrap();
        let address = echo.port().local_address().to_string();
        Self::of(address, move |stop| echo.run(stop))
    }

    /// A device that answers the question which devices are there, and nothing else.
    fn deaf() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let address = socket.local_addr().unwrap().to_string();
        Self::of(address, move |stop| {
            let mut bytes = [0; 2048];
            while !stop.requested() {
                let Ok((length, from)) = socket.recv_from(&mut bytes) else {
                    continue;
                };
                let (discover, present) = (0xA3, 0xA4);
                if bytes[0] == discover {
                    bytes[0] = present;
                    bytes[18..length].fill(0);
                    socket.send_to(&bytes[..length], from).unwrap();
                }
            }
        })
    }

    fn of(address: String, work: impl FnOnce(&Stop) + Send + 'static) -> Self {
        let stop = Stop::default();
        let until = stop.clone();
        Self {
            stop,
            thread: Some(std::thread::spawn(move || work(&until))),
            address,
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn check_peer(device: &Device, out: &std::path::Path) -> Said {
    let words = "check --duration 500ms --deadline 10s --no-tune --json --peer";
    let words: Vec<&str> = words
        .split(' ')
        .chain([device.address.as_str(), "--out", text(out)])
        .collect();
    run(&words)
}

#[test]
fn the_deadline_is_held_against_round_trips_to_a_peer() {
    let folder = folder();
    let out = folder.path().join("run");
    let device = Device::start();
    let said = check_peer(&device, &out);
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(series(&json, "realtime")["count"], 400);
    assert_eq!(series(&json, "response")["deadline"]["kept"], true);
    assert_eq!(
        json["runs"][0]["network"]["flows"][0]["address"],
        device.address.as_str()
    );
    assert!(
        json["runs"][0]["budget"]["left_p99_9_ns"].is_null(),
        "100 round trips carry no p99.9"
    );
    assert!(json["runs"][0]["budget"]["left_max_ns"].is_i64());
    assert_eq!(
        run_json(&out)["parameters"]["peer"],
        device.address.as_str()
    );
}

#[test]
fn a_peer_that_never_answers_in_time_is_exit_code_2_with_the_remedy() {
    let folder = folder();
    let device = Device::deaf();
    let said = check_peer(&device, &folder.path().join("run"));
    let json = said.json();
    assert_eq!(series(&json, "realtime")["deadline"]["kept"], true);
    assert_eq!(json["runs"][0]["network"]["total"]["lost"], 100);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("kadenz udp echo"), "{}", said.err);
}

#[test]
fn a_peer_that_is_not_there_is_named_before_a_minute_is_spent() {
    let folder = folder();
    let out = folder.path().join("run");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let said = run(&["check", "--peer", &address, "--out", text(&out)]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("kadenz udp echo --bind 0.0.0.0:"),
        "{}",
        said.err
    );
    assert!(!out.exists(), "nothing was measured");
}

#[test]
fn a_check_without_a_network_says_why() {
    let folder = folder();
    let without = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let words = [
            "check",
            "--duration",
            "300ms",
            "--no-tune",
            "--json",
            "--out",
            text(&out),
        ];
        let json = run(&[&words[..], more].concat()).json();
        assert_eq!(
            series(&json, "realtime")["count"],
            300,
            "no time was kept back"
        );
        assert!(json["runs"][0]["budget"].is_null() && json["runs"][0]["network"].is_null());
        let warnings = json["warnings"].as_array().unwrap();
        warnings.iter().any(|it| it["id"] == "no_network")
    };
    assert!(without("short", &[]), "300 ms are too short");
    assert!(
        !without("unasked", &["--no-network"]),
        "the user asked for no network"
    );
}

#[test]
fn a_path_without_a_device_is_refused() {
    let folder = folder();
    let out = folder.path().join("run");
    for also in [&[][..], &["--no-network"]] {
        let mut words = vec![
            "check",
            "--path",
            "100M,1G",
            "--duration",
            "100ms",
            "--out",
            text(&out),
        ];
        words.extend(also);
        let said = run(&words);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("--peer"), "{}", said.err);
        assert!(!out.exists());
    }
}

#[test]
fn a_bus_that_is_asked_for_has_a_budget_however_short_the_check() {
    let folder = folder();
    let out = folder.path().join("run");
    let said = run_line(&format!(
        "check --url memq:// --duration 1s --no-network --no-tune --json --deadline 10s --out \
         {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(series(&json, "realtime")["count"], 900, "nine tenths");
    assert_eq!(series(&json, "one-way")["count"], 100);
    assert!(
        series(&json, "one-way")["deadline"].is_null(),
        "of the beat alone"
    );
    let budget = &json["runs"][0]["message_budget"];
    assert_eq!(
        (&budget["packets"], &budget["unanswered"]),
        (&100.into(), &0.into())
    );
    let words = json["runs"][0]["messages"]["answer"].as_str().unwrap();
    assert!(words.contains("over memq://"), "{words}");
}
