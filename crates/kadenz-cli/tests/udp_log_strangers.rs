//! `kadenz udp log` with unknown senders: a sender without a handshake takes no room, claims no loss and ends nothing.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::listener::Listener;
use common::*;

use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz::udp::record::{Batcher, Handshake, HandshakeEvent, Measurement, Outcome, Position};
use kadenz::udp::wire::{HEADER_BYTES, Kind, Packet, RunId, Sequence, Stamp};
use serde_json::Value;

fn log(out: &Path, more: &[&str]) -> Listener {
    let mut arguments = vec![
        "udp",
        "log",
        "--bind",
        "127.0.0.1:0",
        "--json",
        "--out",
        text(out),
    ];
    arguments.extend(more);
    Listener::start(&arguments)
}

/// A batch with measurements of one device under these numbers.
fn batch(run: u32, numbers: impl Iterator<Item = u32>, position: Position) -> Vec<u8> {
    let mut batcher = Batcher::over(vec![0; 9000], RunId(run), None).unwrap();
    for number in numbers {
        let answered = Measurement {
            device: std::net::SocketAddr::from(([10, 0, 0, 5], 6176)).into(),
            sequence: Sequence(number),
            intended_ns: 1_000_000,
            sent_ns: 1_000_000,
            outcome: Outcome::Answered {
                received_ns: 1_200_000,
                device: None,
            },
        };
        batcher.push(&answered).unwrap();
    }
    batcher.finish(Stamp(2_000_000), position).to_vec()
}

/// A socket that is connected to the server.
fn connected(log: &Listener) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(&log.address).unwrap();
    let wait = Some(Duration::from_secs(30));
    socket.set_read_timeout(wait).unwrap();
    socket
}

fn answer(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    let length = socket.recv(&mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

/// Performs the handshake; returns the server's answer at its end.
fn introduce(socket: &UdpSocket, run: u32) -> HandshakeEvent {
    let mut handshake = Handshake::new(RunId(run), None);
    socket.send(handshake.hello()).unwrap();
    assert_eq!(
        handshake.receive(&answer(socket)),
        HandshakeEvent::AskedAgain
    );
    socket.send(handshake.hello()).unwrap();
    handshake.receive(&answer(socket))
}

fn send(echo: &Listener, log: &Listener, out: &Path) -> Value {
    let said = run_line(&format!(
        "udp send --to {} --count 20 --rate 1kHz --timeout 10s --log {} --out {}",
        echo.address,
        log.address,
        text(out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    run_json(out)
}

fn warning<'a>(run: &'a Value, id: &str) -> Option<&'a str> {
    let all = run["warnings"].as_array().unwrap();
    let found = all.iter().find(|it| it["id"] == id)?;
    found["text"].as_str()
}

#[test]
fn forged_batches_take_no_room_and_end_nothing() {
    let folder = folder();
    let out = folder.path().join("log");
    let log = log(&out, &["--controllers", "1", "--max-controllers", "4"]);
    let forger = connected(&log);
    for run in 0..400 {
        forger.send(&batch(run, 0..9, Position::Last)).unwrap();
        let answer = answer(&forger);
        let cookie = Packet::parse(&answer).unwrap();
        assert_eq!((cookie.kind(), answer.len()), (Kind::Cookie, HEADER_BYTES));
    }
    let echo = Listener::echo(&[]);
    let own = send(&echo, &log, &folder.path().join("own"));
    assert_eq!(warning(&own, "not_handed_on"), None);
    let json = log.ended().json();
    let flows = json["runs"][0]["network"]["flows"].as_array().unwrap();
    assert_eq!((flows.len(), &flows[0]["sent"]), (1, &20.into()), "{json}");
    assert_eq!(series(&json, "rtt")["count"], 20);
    let files = std::fs::read_dir(&out).unwrap().count();
    assert_eq!(files, 7, "run.json, and two files for each of three series");
    assert!(warning(&run_json(&out), "strange").is_some_and(|it| it.starts_with("400 ")));
}

#[test]
fn numbers_far_apart_claim_no_loss() {
    let folder = folder();
    let log = log(&folder.path().join("log"), &[]);
    let controller = connected(&log);
    assert_eq!(introduce(&controller, 7), HandshakeEvent::Welcome);
    let far = (0..200).map(|number: u32| number << 20);
    controller.send(&batch(7, far, Position::Within)).unwrap();
    let kept = answer(&controller);
    assert_eq!(Packet::parse(&kept).unwrap().kind(), Kind::BatchKept);
    let json = log.report();
    let flow = &json["runs"][0]["network"]["flows"][0];
    assert_eq!(
        (&flow["sent"], &flow["lost"]),
        (&200.into(), &0.into()),
        "{flow}"
    );
}

#[test]
fn a_controller_without_room_is_refused_and_reports_it() {
    let folder = folder();
    let log = log(&folder.path().join("log"), &["--max-controllers", "1"]);
    assert_eq!(introduce(&connected(&log), 7), HandshakeEvent::Welcome);
    assert_eq!(introduce(&connected(&log), 7), HandshakeEvent::Refused);
    let own = send(&Listener::echo(&[]), &log, &folder.path().join("own"));
    let said = warning(&own, "not_handed_on").unwrap();
    assert!(
        said.contains("the logging server refused this run"),
        "{said}"
    );
    log.report();
    let logged = run_json(&folder.path().join("log"));
    assert!(warning(&logged, "crowded_out").is_some(), "{logged}");
}

#[test]
fn a_server_that_is_not_there_is_reported() {
    let folder = folder();
    let out = folder.path().join("own");
    let echo = Listener::echo(&[]);
    let absent = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let absent = absent.to_string();
    let said = run_line(&format!(
        "udp send --to {} --count 20 --rate 1kHz --log {absent} --out {}",
        echo.address,
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let own = run_json(&out);
    let said = warning(&own, "not_handed_on").unwrap();
    assert!(said.contains("never answered"), "{said}");
}

/// The largest batches of numbers that are far apart, as fast as one thread sends them.
#[test]
fn a_flood_does_not_keep_the_server_from_ending() {
    let folder = folder();
    let log = log(&folder.path().join("log"), &["--limit", "1MHz"]);
    let controller = connected(&log);
    assert_eq!(introduce(&controller, 7), HandshakeEvent::Welcome);
    let far = batch(
        7,
        (0..250).map(|number: u32| number << 20),
        Position::Within,
    );
    let over = AtomicBool::new(false);
    let json = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u32;
            while !over.load(Ordering::Relaxed) {
                let mut far = far.clone();
                kadenz::udp::wire::patch(&mut far, Sequence(number), Stamp(0), None).unwrap();
                let _ = controller.send(&far);
                number += 1 << 10;
            }
        });
        std::thread::sleep(Duration::from_millis(500));
        let json = log.report();
        over.store(true, Ordering::Relaxed);
        json
    });
    assert_eq!(json["runs"][0]["complete"], true);
}

#[test]
fn garbage_at_the_logging_server_is_refused() {
    let folder = folder();
    let out = folder.path().join("log");
    let log = log(&out, &[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    for length in 0..200 {
        let bytes: Vec<u8> = (0..length).map(|at| (at * 37 + length) as u8).collect();
        socket.send_to(&bytes, &log.address).unwrap();
    }
    socket.send_to(&[0xA5; 60_000], &log.address).unwrap();
    assert!(
        socket.recv_from(&mut [0; 100]).is_err(),
        "nothing is answered"
    );
    let json = log.report();
    assert_described("udp", "log", &json);
    assert_eq!(json["runs"][0]["complete"], true);
    assert_eq!(json["runs"][0]["network"]["foreign"], 201);
}
