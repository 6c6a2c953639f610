//! `kadenz udp`: devices, controllers and the logging server, as a user types them.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::net::UdpSocket;
use std::time::Duration;

use common::listener::Listener;
use common::{
    Said, assert_described, assert_on_one_screen, folder, kadenz, parted, run, run_json, run_line,
    series, text,
};

/// Sends to these addresses at a rate that a busy machine keeps up with, and with a timeout longer than its pauses.
fn send(to: &str, more: &[&str]) -> Said {
    let mut arguments = vec!["udp", "send", "--to", to, "--rate", "200Hz", "--json"];
    if !more.contains(&"--timeout") {
        arguments.extend(["--timeout", "10s"]);
    }
    arguments.extend(more);
    run(&arguments)
}

#[test]
fn every_packet_is_answered_and_reported() {
    let folder = folder();
    let out = folder.path().join("run");
    let echo = Listener::echo(&[]);
    let said = send(
        &echo.address,
        &["--count", "100", "--device-stamps", "--out", text(&out)],
    );
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_described("udp", "send", &json);
    let network = &json["runs"][0]["network"];
    assert_eq!(network["total"]["sent"], 100);
    assert_eq!(network["total"]["answered"], 100);
    assert_eq!(network["flows"][0]["address"], echo.address.as_str());
    for name in ["lateness", "response", "rtt", "device"] {
        assert_eq!(series(&json, name)["count"], 100, "{name}");
    }
    let (response, rtt) = (series(&json, "response"), series(&json, "rtt"));
    assert!(response["max_ns"].as_i64() >= rtt["min_ns"].as_i64());
    let written = run_json(&out);
    assert_eq!(written["network"]["payload_bytes"], 200);
    // Both ends have one clock here, so the time of each way is known.
    let error = written["parameters"]["one_way_error_ns"].as_f64().unwrap();
    let ways = ["to-device", "from-device"].map(|name| {
        let series = series(&json, name);
        assert_eq!(series["count"], 100, "{name}");
        series["mean_ns"].as_f64().unwrap()
    });
    let device = series(&json, "device")["mean_ns"].as_f64().unwrap();
    let whole = rtt["mean_ns"].as_f64().unwrap();
    let sum = ways.iter().sum::<f64>() + device;
    assert!(
        error > 0.0 && (sum - whole).abs() <= 2.0 * error,
        "{sum} {whole} {error}"
    );
    let report = echo.report();
    assert_eq!(
        report["answered"], 105,
        "and those that warmed up: {report}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_round_trip_splits_into_its_parts() {
    let folder = folder();
    let out = folder.path().join("run");
    let echo = Listener::echo(&[]);
    let json = send(&echo.address, &["--count", "50", "--out", text(&out)]).json();
    let mean = |name: &str| series(&json, name)["mean_ns"].as_f64().unwrap();
    let parts = ["send-stack", "wire-and-device", "receive-stack"].map(mean);
    let counts = series(&json, "wire-and-device")["count"].as_u64().unwrap();
    assert_eq!(counts, 50);
    let (sum, whole) = (parts.iter().sum::<f64>(), mean("rtt"));
    assert!(
        (sum - whole).abs() < 0.02 * whole,
        "{parts:?} make {sum}, not {whole}"
    );
}

#[test]
fn the_closed_loop_and_the_busy_one_answer_as_well() {
    let echo = Listener::echo(&[]);
    for more in [
        &["--loop", "closed"][..],
        &["--loop", "closed", "--receive", "block"],
        &["--receive", "block"],
        &["--receive", "spin", "--rehearse"],
        &["--loop", "closed", "--busy-poll"],
        &["--busy-poll"],
        &["--stamps", "off", "--size", "18B"],
        &["--size", "65507B"],
    ] {
        let folder = folder();
        let out = folder.path().join("run");
        let mut arguments = vec!["--count", "20", "--out", text(&out)];
        arguments.extend(more);
        let said = send(&echo.address, &arguments);
        assert_eq!(said.code, 0, "{more:?}: {}", said.err);
        let total = &said.json()["runs"][0]["network"]["total"];
        assert_eq!(
            (&total["sent"], &total["lost"]),
            (&20.into(), &0.into()),
            "{more:?}"
        );
    }
}

/// The receiver of a busy poll never sleeps, and the sender has the same priority.
#[test]
#[cfg(target_os = "linux")]
fn a_real_time_busy_poll_on_one_cpu_leaves_the_sender_its_turn() {
    let test = "a_real_time_busy_poll_on_one_cpu_leaves_the_sender_its_turn";
    if !common::is_root() || std::thread::available_parallelism().unwrap().get() < 2 {
        return common::skip(test, "it needs root and two CPUs: run the tests with sudo");
    }
    let (folder, echo) = (folder(), Listener::echo(&[]));
    let out = folder.path().join("run");
    let arguments = [
        "udp",
        "send",
        "--to",
        &echo.address,
        "--busy-poll",
        "--count",
        "20",
    ];
    let plain = kadenz(&arguments);
    let mut bounded = std::process::Command::new("timeout");
    bounded
        .args(["--kill-after=5", "60"])
        .arg(plain.get_program())
        .args(plain.get_args());
    bounded.args([
        "--policy",
        "fifo:10",
        "--cpus",
        "0",
        "--timeout",
        "10s",
        "--out",
        text(&out),
    ]);
    let said = Said::of(bounded.output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(run_json(&out)["network"]["flows"][0]["answered"], 20);
}

#[test]
fn a_packet_to_each_of_several_devices() {
    let folder = folder();
    let out = folder.path().join("run");
    let echoes = [
        Listener::echo(&[]),
        Listener::echo(&[]),
        Listener::echo(&[]),
    ];
    let addresses: Vec<&str> = echoes.iter().map(|it| it.address.as_str()).collect();
    let said = send(
        &addresses.join(","),
        &["--count", "40", "--out", text(&out)],
    );
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_eq!(series(&json, "rtt")["count"], 120);
    let flows = json["runs"][0]["network"]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 3);
    for flow in flows {
        assert_eq!(flow["answered"], 40);
        let own = format!("{}.rtt", flow["device"].as_str().unwrap());
        assert_eq!(series(&json, &own)["count"], 40);
    }
}

#[test]
fn without_an_answer_nothing_was_measured() {
    let folder = folder();
    let out = folder.path().join("run");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let all = ["--count", "10", "--timeout", "50ms", "--out", text(&out)];
    let said = send(&to, &[&all[..], &["--deadline", "10ms"]].concat());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("kadenz udp echo"), "{}", said.err);
    let total = said.json()["runs"][0]["network"]["total"].clone();
    assert_eq!(
        (&total["lost"], &total["longest_loss"]),
        (&10.into(), &10.into())
    );
}

#[test]
fn lost_packets_decide_where_a_limit_is_stated() {
    let echo = Listener::echo(&[]);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let both = format!("{},{}", echo.address, silent.local_addr().unwrap());
    // Half of the packets go to an address where no program answers.
    for (limit, code) in [
        (None, 0),
        (Some(["--max-loss", "9"]), 1),
        (Some(["--max-loss", "10"]), 0),
        (Some(["--max-loss", "10%"]), 1),
        (Some(["--deadline", "5s"]), 1),
    ] {
        let folder = folder();
        let out = folder.path().join("run");
        let all = ["--count", "10", "--timeout", "5s", "--out", text(&out)];
        let limit = limit.as_ref().map_or(&[][..], |it| &it[..]);
        let said = send(&both, &[&all[..], limit].concat());
        assert_eq!(said.code, code, "{limit:?}: {}", said.err);
        // The run decides alike when it is read later.
        let shown = run(&["show", text(&out)]);
        assert_eq!(shown.code, code, "{limit:?}: {}", shown.out);
    }
}

#[test]
fn the_timeout_that_held_is_recorded() {
    let folder = folder();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    for (deadline, held) in [("60ms", "60ms"), ("5ms", "20ms")] {
        let out = folder.path().join(deadline);
        let words = [
            "--count",
            "2",
            "--timeout",
            "20ms",
            "--deadline",
            deadline,
            "--out",
            text(&out),
        ];
        let said = send(&to, &words);
        assert_eq!(said.code, 2, "{}", said.err);
        assert_eq!(
            run_json(&out)["parameters"]["timeout"]
                .as_str()
                .map(|it| it.replace(' ', ""))
                .as_deref(),
            Some(held)
        );
    }
}

#[test]
fn only_a_controller_with_the_token_is_answered() {
    let folder = folder();
    let file = |name: &str, token: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, token).unwrap();
        path
    };
    let (right, wrong) = (
        file("right", "arm of robot 3\n"),
        file("wrong", "arm of robot 4\n"),
    );
    let short = file("short", "abc\n");
    let echo = Listener::echo(&["--token-file", text(&right)]);
    let lost = |name: &str, timeout: &str, token: &[&str]| {
        let out = folder.path().join(name);
        let options = [
            "--count",
            "5",
            "--warm-up",
            "0",
            "--timeout",
            timeout,
            "--out",
            text(&out),
        ];
        let said = send(&echo.address, &[&options[..], token].concat());
        said.json()["runs"][0]["network"]["total"]["lost"].clone()
    };
    assert_eq!(lost("a", "10s", &["--token-file", text(&right)]), 0);
    assert_eq!(lost("b", "50ms", &["--token-file", text(&wrong)]), 5);
    assert_eq!(lost("c", "50ms", &[]), 5);
    let said = send(&echo.address, &["--token-file", text(&short)]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("/dev/urandom"), "{}", said.err);
    let report = echo.report();
    assert_eq!(
        (&report["answered"], &report["wrong_token"]),
        (&5.into(), &10.into())
    );
}

#[test]
fn garbage_at_the_echo_is_counted_and_answered_by_nothing() {
    let echo = Listener::echo(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    for garbage in [
        &b""[..],
        b"x",
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xA2; 200],
        &[0xFF; 65_000],
    ] {
        socket.send_to(garbage, &echo.address).unwrap();
    }
    assert!(
        socket.recv_from(&mut [0; 100]).is_err(),
        "nothing is answered"
    );
    let report = echo.report();
    assert_eq!(report["answered"], 0);
    let refused = ["malformed", "not_a_question"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(refused.iter().sum::<u64>(), 5, "{report}");
}

#[test]
fn the_limit_of_an_echo_holds() {
    let echo = Listener::echo(&["--limit", "10Hz"]);
    let folder = folder();
    let out = folder.path().join("run");
    let options = [
        "--count",
        "100",
        "--warm-up",
        "0",
        "--timeout",
        "50ms",
        "--out",
        text(&out),
    ];
    send(&echo.address, &options);
    let report = echo.report();
    let (answered, refused) = (
        report["answered"].as_u64().unwrap(),
        report["too_fast"].as_u64().unwrap(),
    );
    assert_eq!(answered + refused, 100, "{report}");
    assert!(refused > 0, "{report}");
}

#[test]
fn the_logging_server_has_what_the_controllers_measured() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let (log_out, first, second) = (path("log"), path("first"), path("second"));
    let log = Listener::start(&parted(&format!(
        "udp log --bind 127.0.0.1:0 --controllers 2 --json --out {}",
        text(&log_out)
    )));
    let echo = Listener::echo(&[]);
    for out in [&first, &second] {
        let options = ["--count", "60", "--log", &log.address, "--out", text(out)];
        let said = send(&echo.address, &options);
        assert_eq!(said.code, 0, "{}", said.err);
    }
    let said = log.ended();
    let json = said.json();
    assert_eq!(json["runs"][0]["complete"], true);
    assert_eq!(series(&json, "rtt")["count"], 120);
    let flows = json["runs"][0]["network"]["flows"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(flows.len(), 2, "a device of each controller");
    for (flow, own) in flows.iter().zip([&first, &second]) {
        assert_eq!((&flow["sent"], &flow["lost"]), (&60.into(), &0.into()));
        let logged = series(&json, &format!("{}.rtt", flow["device"].as_str().unwrap()));
        let counts = &run_json(own)["series"];
        let measured = counts
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["name"] == "rtt")
            .unwrap();
        assert_eq!(logged["count"], measured["counts"]["recorded"]);
        assert_eq!(logged["max_ns"], measured["counts"]["max_ns"]);
        assert_eq!(logged["min_ns"], measured["counts"]["min_ns"]);
    }
}

#[test]
fn devices_report_their_names() {
    let echo = Listener::echo(&["--name", "left-foot"]);
    let json = run_line(&format!(
        "udp discover --to {} --wait 300ms --json",
        echo.address
    ))
    .json();
    let devices = json["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1);
    assert_eq!(devices[0]["name"], "left-foot");
    assert_eq!(devices[0]["address"], echo.address.as_str());
}

#[test]
fn wrong_arguments_are_refused_with_a_remedy() {
    let empty = folder();
    let refused = |arguments: &[&str], words: &str| {
        let said = Said::of(
            kadenz(arguments)
                .current_dir(empty.path())
                .output()
                .unwrap(),
        );
        assert_eq!(said.code, 2, "{arguments:?}");
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    };
    refused(&["udp", "send"], "--to");
    refused(
        &["udp", "send", "--to", "10.0.0.5:99999"],
        "is not a valid address",
    );
    refused(&["udp", "send", "--to", "127.0.0.1,127.0.0.1"], "twice");
    refused(&["udp", "send", "--to", "127.0.0.1,::1"], "IPv4");
    refused(&["udp", "send", "--to", "127.0.0.1", "--size", "17B"], "18");
    refused(
        &["udp", "send", "--to", "127.0.0.1", "--size", "65508B"],
        "65507",
    );
    refused(
        &["udp", "send", "--to", "127.0.0.1", "--size", "200"],
        "200",
    );
    refused(
        &["udp", "send", "--to", "127.0.0.1", "--duration", "1us"],
        "shorter",
    );
    refused(
        &["udp", "burst", "--to", "127.0.0.1:9", "--devices", "3"],
        "0 of 3",
    );
    refused(&["udp", "echo", "--bind", "192.0.2.1"], "ip address");
    refused(&["udp", "echo", "--name", "\u{e4}"], "ASCII");
    let echo = Listener::echo(&[]);
    refused(&["udp", "echo", "--bind", &echo.address], "ss -ulpn");
    let left = std::fs::read_dir(&empty).unwrap().count();
    assert_eq!(left, 0, "what cannot begin leaves no run folder");
}

#[test]
fn a_deadline_gets_a_budget() {
    let folder = folder();
    let out = folder.path().join("run");
    let echo = Listener::echo(&[]);
    let all = ["--count", "50", "--deadline", "10s", "--out", text(&out)];
    let json = send(&echo.address, &all).json();
    let budget = &json["runs"][0]["budget"];
    assert_eq!(budget["packets"], 50);
    let response = series(&json, "response")["max_ns"].as_i64().unwrap();
    assert_eq!(budget["left_max_ns"], 10_000_000_000 - response);
    assert!(
        json["answer"]
            .as_str()
            .unwrap()
            .contains(budget["sentence"].as_str().unwrap()),
        "{}",
        json["answer"]
    );
    let without = folder.path().join("without");
    let json = send(&echo.address, &["--count", "5", "--out", text(&without)]).json();
    assert!(
        json["runs"][0]["budget"].is_null(),
        "no deadline was stated"
    );
    let briefly = folder.path().join("briefly");
    let words = [
        "udp",
        "send",
        "--to",
        &echo.address,
        "--count",
        "5",
        "--out",
    ];
    assert_on_one_screen(&run(&[&words[..], &[text(&briefly)]].concat()));
}

#[test]
fn a_search_that_takes_its_time_says_that_it_goes_on() {
    let search = ["udp", "discover", "--to", "127.0.0.1", "--wait"];
    let said = run(&[&search[..], &["2500ms", "--json"]].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    assert_described("udp", "discover", &said.json());
    assert!(
        said.err.contains("waiting for answers from 127.0.0.1"),
        "{}",
        said.err
    );
    let said = run(&[&search[..], &["100ms"]].concat());
    assert!(!said.err.contains("waiting for answers"), "{}", said.err);
}
