//! `kadenz msg server` as a user types it, and other commands over it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Said, assert_described, folder, kadenz, parted, run, signal, skip, text};
use serde_json::Value;

const GOAL: &str = "package robot;
struct point_t { double x; double y; }
struct goal_t { int64_t utime; point_t at; }";

const MESSAGE: &str = r#"{"utime": 7, "at": {"x": 1.5, "y": -2}}"#;

/// A running `kadenz msg server` on a free port.
struct Server {
    child: Child,
    notes: BufReader<std::process::ChildStderr>,
    url: String,
}

impl Server {
    fn start(more: &[&str]) -> Self {
        let arguments = [
            &["msg", "server", "--listen", "127.0.0.1:0", "--json"],
            more,
        ]
        .concat();
        let mut child = kadenz(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut notes = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        notes.read_line(&mut line).unwrap();
        let begin = line.find("tcpq://").unwrap_or_else(|| panic!("{line}"));
        let url = line[begin..].split(';').next().unwrap().to_owned();
        Self { child, notes, url }
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("tcpq://").unwrap()
    }

    /// Starts `kadenz msg` as one of its clients.
    fn client(&self, arguments: &[&str]) -> Child {
        kadenz(&[&["msg"], arguments, &["--url", &self.url]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.client(arguments).wait_with_output().unwrap())
    }

    /// Publishes bytes twenty times a second.
    fn beat(&self, channel: &str) -> Child {
        self.client(&[
            "pub",
            channel,
            "--hex",
            "0011223344556677",
            "--rate",
            "20Hz",
        ])
    }

    /// Ends the server as Ctrl-C does; returns its exit code, its JSON and its notes.
    fn end(mut self) -> (i32, Value, String) {
        signal(&self.child, "INT");
        let mut notes = String::new();
        self.notes.read_to_string(&mut notes).unwrap();
        let mut printed = String::new();
        let mut out = self.child.stdout.take().unwrap();
        out.read_to_string(&mut printed).unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        (code, serde_json::from_str(&printed).unwrap(), notes)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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

/// A folder with the description of a goal.
fn types() -> tempfile::TempDir {
    let folder = folder();
    std::fs::write(folder.path().join("goal.lcm"), GOAL).unwrap();
    folder
}

#[test]
fn programs_meet_over_it_and_it_counts_what_it_passed_on() {
    let server = Server::start(&[]);
    let beat = server.beat("A");
    let heard = server.run(&["echo", "A", "--count", "3", "--duration", "10s", "--json"]);
    assert_eq!(heard.code, 0, "{}", heard.err);
    assert_eq!(lines(&heard)[2]["hex"], "0011223344556677");
    let published = end(beat);
    assert_eq!(published.code, 0, "{}", published.err);
    let (code, report, notes) = server.end();
    assert_eq!(code, 0, "{notes}");
    assert_described("msg", "server", &report);
    assert!(report["messages"].as_u64() >= Some(3), "{report}");
    assert!(report["delivered"].as_u64() >= Some(3), "{report}");
    assert!(report["left"].as_u64() >= Some(2), "{report}");
}

#[test]
fn the_reference_implementation_is_served() {
    let python = std::env::var("KADENZ_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_it = Command::new(&python).args(["-c", "import lcm"]).output();
    if !has_it.is_ok_and(|it| it.status.success()) {
        return skip(
            "the_reference_implementation_is_served",
            "Python's lcm (python3 -m venv v && v/bin/pip install lcm, then KADENZ_PYTHON=v/bin/python)",
        );
    }
    let server = Server::start(&[]);
    let script = "
import lcm, sys
bus = lcm.LCM(sys.argv[1])
def answer(channel, data):
    bus.publish('ANSWER', data[::-1])
bus.subscribe('QUESTION', answer)
while True:
    bus.handle()
";
    let mut child = Command::new(&python)
        .args(["-c", script, &server.url])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ask = server.client(&parted("pub QUESTION --hex 0011223344556677 --rate 20Hz"));
    let heard = server.run(&parted("echo ANSWER --count 2 --duration 10s --json"));
    child.kill().unwrap();
    child.wait().unwrap();
    end(ask);
    assert_eq!(heard.code, 0, "{}", heard.err);
    assert_eq!(lines(&heard)[0]["hex"], "7766554433221100");
}

#[test]
fn a_subscriber_that_is_killed_or_stands_still_delays_no_other() {
    let server = Server::start(&["--queue", "100kB"]);
    let hears_one = |child: &mut Child| {
        let mut line = String::new();
        let mut heard = BufReader::new(child.stdout.take().unwrap());
        heard.read_line(&mut line).unwrap();
        assert!(line.contains("\"A\""), "{line}");
        // Without a reader the subscriber would end by itself.
        heard
    };
    let beat = server.beat("A");
    let mut killed = server.client(&["echo", "A", "--json"]);
    let _heard = hears_one(&mut killed);
    let mut stands = server.client(&["echo", "A|LARGE", "--json"]);
    let _stands_heard = hears_one(&mut stands);
    killed.kill().unwrap();
    killed.wait().unwrap();
    signal(&stands, "STOP");
    // More than the kernel's buffers and the server's queue hold together.
    let flood = server.flood(200, 100_000);
    let heard = server.run(&["echo", "A", "--count", "3", "--duration", "10s", "--json"]);
    assert_eq!(heard.code, 0, "{}", heard.err);
    let published = end(beat);
    assert_eq!(published.code, 0, "{}", published.err);
    drop(flood);
    stands.kill().unwrap();
    stands.wait().unwrap();
    let (code, report, notes) = server.end();
    assert_eq!(code, 1, "{notes}");
    assert!(report["dropped"].as_u64() > Some(0), "{report}");
    assert!(report["left"].as_u64() >= Some(3), "{report}");
    assert!(notes.contains("does not read"), "{notes}");
}

impl Server {
    /// Publishes so many messages of a length, and stays connected.
    fn flood(&self, count: usize, bytes: usize) -> kadenz::Bus {
        let bus = kadenz::Bus::open(&self.url).unwrap();
        for _ in 0..count {
            bus.publish_bytes("LARGE", &vec![0; bytes]).unwrap();
        }
        bus
    }
}

#[test]
fn a_second_server_at_one_address_is_refused_with_the_remedy() {
    let server = Server::start(&[]);
    let said = run(&["msg", "server", "--listen", server.address()]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert!(said.err.contains("--listen 127.0.0.1:"), "{}", said.err);
    let said = run(&["msg", "server", "--listen", "192.0.2.1"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("no interface"), "{}", said.err);
}

/// LCM's bytes that subscribe to A and publish to it.
const ACTIVE: &[u8] =
    b"\x28\x76\x17\xfb\0\0\x01\0\0\0\0\x02\0\0\0\x01A\0\0\0\x01\0\0\0\x01A\0\0\0\0";

#[test]
fn a_client_that_speaks_no_lcm_and_one_too_many_are_disconnected() {
    let server = Server::start(&["--clients", "1"]);
    let mut foreign = TcpStream::connect(server.address()).unwrap();
    foreign.write_all(ACTIVE).unwrap();
    // The server's greeting, and the message.
    foreign.read_exact(&mut [0; 8 + 13]).unwrap();
    let mut other = TcpStream::connect(server.address()).unwrap();
    let _ = other.read(&mut [0; 8]);
    foreign.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let _ = foreign.read_to_end(&mut Vec::new());
    let (code, report, notes) = server.end();
    assert_eq!((code, &report["refused"]), (0, &Value::from(2)), "{notes}");
}

#[test]
fn more_silent_connections_than_slots_keep_no_client_out() {
    let server = Server::start(&["--clients", "50"]);
    let silent = (0..300).map(|_| TcpStream::connect(server.address()).unwrap());
    let silent: Vec<_> = silent.collect();
    let mut active = TcpStream::connect(server.address()).unwrap();
    active.write_all(ACTIVE).unwrap();
    active.read_exact(&mut [0; 8 + 13]).unwrap();
    let (code, report, notes) = server.end();
    assert_eq!(
        (code, &report["delivered"]),
        (0, &Value::from(1)),
        "{notes}"
    );
    assert!(report["refused"].as_u64() >= Some(250), "{report}");
    drop(silent);
}

#[test]
fn memory_for_less_than_two_messages_is_refused_with_the_remedy() {
    let said = run(&["msg", "server", "--memory", "1MiB"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("--memory") && said.err.contains("--longest"),
        "{}",
        said.err
    );
}

#[test]
fn what_is_published_is_decoded_elsewhere_without_files() {
    let server = Server::start(&[]);
    let folder = types();
    let arguments = [
        "pub",
        "GOAL",
        "robot.goal_t",
        MESSAGE,
        "--types",
        text(folder.path()),
    ];
    let goals = server.client(&[&arguments[..], &["--rate", "20Hz"]].concat());
    let heard = server.run(&parted("echo GOAL --count 2 --duration 10s --json"));
    assert_eq!(heard.code, 0, "{}", heard.err);
    let message = &lines(&heard)[1];
    assert_eq!(message["type"], "robot.goal_t", "{message}");
    assert_eq!(message["message"]["at"]["y"], -2.0);
    let spied = server.run(&["spy", "--once", "--duration", "2s", "--json"]);
    let spied = spied.json();
    assert_described("msg", "spy", &spied);
    let goal = spied["channels"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["channel"] == "GOAL");
    assert_eq!(goal.unwrap()["type"], "robot.goal_t", "{spied}");
    let hz = server
        .run(&["hz", "GOAL", "--duration", "1s", "--json"])
        .json();
    assert_eq!(hz["channels"][0]["type"], "robot.goal_t", "{hz}");
    // The message was decoded: the command calls the value an absurd stamp, not a missing member.
    let out = folder.path().join("delay");
    let delay = ["delay", "GOAL", "--field", "at.y", "--unit", "s", "--out"];
    let delay = server.run(&[&delay[..], &[text(&out), "--duration", "1s"]].concat());
    assert!(delay.err.contains("an hour or more away"), "{}", delay.err);
    let log = folder.path().join("goals.mcap");
    let record = ["log", "record", "--url", &server.url, "--out", text(&log)];
    let said = run(&[&record[..], &["--duration", "1s"]].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    let info = run(&["log", "info", text(&log)]).out;
    assert!(info.contains("robot.goal_t"), "{info}");
    end(goals);
}

#[test]
fn a_single_message_stays_until_its_type_was_asked_for() {
    let server = Server::start(&[]);
    let folder = types();
    let mut echo = server.client(&["echo", "GOAL|READY", "--duration", "60s", "--json"]);
    let mut heard = BufReader::new(echo.stdout.take().unwrap()).lines();
    // Too short for a fingerprint: echo would spend its time for questions on this type.
    let ready = server.client(&parted("pub READY --hex 00 --rate 20Hz"));
    heard.next().unwrap().unwrap();
    end(ready);
    let arguments = [
        "pub",
        "GOAL",
        "robot.goal_t",
        MESSAGE,
        "--types",
        text(folder.path()),
    ];
    // On a busy machine an answer may come after echo has stopped waiting for it; a later message then has its type.
    let until = Instant::now() + Duration::from_secs(30);
    let mut name = Value::Null;
    while name != "robot.goal_t" && Instant::now() < until {
        let goal = server.run(&arguments);
        assert_eq!(goal.code, 0, "{}", goal.err);
        let message = heard.find_map(|line| {
            let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
            (message["channel"] == "GOAL").then_some(message)
        });
        name = message.unwrap()["type"].clone();
    }
    assert_eq!(name, "robot.goal_t");
    end(echo);
    let quiet = server.run(&[&arguments[..], &["--no-announce-types"]].concat());
    assert_eq!(quiet.code, 0, "{}", quiet.err);
}

/// An MCAP log of goals that carries their type.
fn log_of_goals(server: &Server, types: &Path, log: &Path) {
    let arguments = [
        "pub",
        "GOAL",
        "robot.goal_t",
        MESSAGE,
        "--types",
        text(types),
    ];
    let goals = server.client(&[&arguments[..], &["--rate", "20Hz"]].concat());
    let types = ["--types", text(types), "--duration", "2s"];
    let said = run(&[
        &["log", "record", &server.url, "--out", text(log)],
        &types[..],
    ]
    .concat());
    assert_eq!(said.code, 0, "{}", said.err);
    end(goals);
}

#[test]
fn what_a_log_knows_of_its_types_is_announced_while_it_plays() {
    let server = Server::start(&[]);
    let folder = types();
    let log = folder.path().join("goals.mcap");
    log_of_goals(&server, folder.path(), &log);
    let player = kadenz(&["log", "play", text(&log), &server.url, "--loop"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let heard = server.run(&parted("echo GOAL --count 2 --duration 10s --json"));
    assert_eq!(heard.code, 0, "{}", heard.err);
    assert_eq!(lines(&heard)[1]["message"]["at"]["x"], 1.5);
    assert_eq!(end(player).code, 0);
}

#[test]
fn a_bridge_of_two_servers_carries_once_both_ways_and_passes_types_across() {
    let (a, b) = (Server::start(&[]), Server::start(&[]));
    let folder = types();
    let bridge = kadenz(&["msg", "bridge", &a.url, &b.url, "--both", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let arguments = [
        "pub",
        "GOAL",
        "robot.goal_t",
        "-",
        "--types",
        text(folder.path()),
        "--rate",
        "20Hz",
    ];
    let backs = b.beat("BACK");
    assert_eq!(
        a.run(&["echo", "BACK", "--count", "3", "--duration", "10s"])
            .code,
        0
    );
    let twenty = [
        "echo",
        "GOAL",
        "--count",
        "20",
        "--duration",
        "10s",
        "--json",
    ];
    let hears = b.client(&twenty);
    let comes_back = a.client(&twenty);
    // Both subscribers listen after this pause; the goals have numbers, which show duplicates.
    std::thread::sleep(Duration::from_millis(500));
    let mut goals = kadenz(&[&["msg"], &arguments[..], &["--url", &a.url]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = goals.stdin.take().unwrap();
    for n in 0..40 {
        writeln!(input, r#"{{"utime": {n}, "at": {{"x": 0, "y": 0}}}}"#).unwrap();
    }
    drop(input);
    for child in [hears, comes_back] {
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 0, "{}", said.err);
        let numbers: Vec<u64> = lines(&said)
            .iter()
            .filter_map(|it| it["message"]["utime"].as_u64())
            .collect();
        assert!(numbers.len() > 10, "the type was not told: {}", said.out);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    }
    goals.wait().unwrap();
    end(backs);
    let said = end(bridge);
    let report = said.json();
    assert_eq!(said.code, 0, "{report} {}", said.err);
    assert_described("msg", "bridge", &report);
    let of = |way: usize, what: &str| report["ways"][way][what].as_u64().unwrap();
    assert!(of(0, "carried") >= 20 && of(0, "carried") < 120, "{report}");
    assert!(of(1, "own") >= 20, "{report}");
}
