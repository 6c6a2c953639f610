//! `kadenz camera` as a user types it, against the simulator.
#![cfg(all(feature = "camera", target_os = "linux"))]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
#[path = "camera/shared.rs"]
mod shared;
#[path = "camera/started.rs"]
mod started;
#[path = "camera/v4l.rs"]
mod v4l;
#[path = "camera/video_log.rs"]
mod video_log;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use common::{
    Said, assert_described, assert_on_one_screen, folder, intervals_on_disk, kadenz, run, run_line,
    signal, start_measuring, text, wait_until,
};
use started::{Started, sim};

fn name(of: &str) -> String {
    format!("cli-{of}-{}", std::process::id())
}

#[test]
fn frames_of_rtsp_and_mjpeg_are_measured_to_their_painted_time() {
    for (protocol, more) in [
        ("rtsp", &["--transport", "udp"][..]),
        ("rtsp", &[]),
        ("http", &[]),
    ] {
        let (sim, url) = sim(protocol);
        let run_folder = folder();
        let out = run_folder.path().join("run");
        let said = run(&[
            &[
                "camera",
                "record",
                &url,
                "--barcode",
                "--duration",
                "2s",
                "--json",
                "--deadline",
                "1h",
                "--out",
                text(&out),
            ],
            more,
        ]
        .concat());
        assert_eq!(said.code, 0, "{}", said.err);
        let json = said.json();
        let series = json["series"].as_array().unwrap();
        let of = |name: &str| {
            series
                .iter()
                .find(|it| it["name"] == name)
                .unwrap_or_else(|| panic!("{name}: {json}"))
        };
        assert!(of("end-to-end")["count"].as_u64().unwrap() > 5, "{json}");
        assert!(of("frame-decode")["count"].as_u64().unwrap() > 5, "{json}");
        let run = &json["runs"][0];
        assert_eq!(run["camera"]["url"], url.as_str());
        assert!(
            run["frame_budget"]["layers"].as_array().unwrap().len() >= 5,
            "{run}"
        );
        let shown = common::run(&["show", text(&out)]);
        assert_on_one_screen(&shown);
        assert_eq!(sim.end("INT").code, 0);
    }
}

#[test]
fn a_served_camera_is_listed_shown_and_served_once() {
    let name = name("served");
    let mut server = Started::new(&[
        "camera",
        "serve",
        "test://320x240@30",
        "--name",
        &name,
        "--layout",
        "gray-column-major",
    ]);
    server.said("running");
    let listed = run(&["camera", "list", "--json"]).json();
    assert_described("camera", "list", &listed);
    let cameras = listed["cameras"].as_array().unwrap();
    let ours = cameras
        .iter()
        .find(|it| it["name"] == name.as_str())
        .unwrap();
    assert_eq!(ours["state"], "running");

    let place = folder();
    let png = place.path().join("now.png");
    let saved = run(&["camera", "show", &name, "--png", text(&png), "--json"]);
    assert_eq!(saved.code, 0, "{}", saved.err);
    assert_described("camera", "show", &saved.json());
    assert!(
        std::fs::read(&png)
            .unwrap()
            .starts_with(b"\x89PNG\r\n\x1a\n")
    );

    let second = run(&["camera", "serve", "test://320x240@30", "--name", &name]);
    assert_eq!(second.code, 2);
    assert!(
        second.err.contains("in use by another process"),
        "{}",
        second.err
    );
    assert_eq!(server.end("INT").code, 0);
    let gone = run(&["camera", "show", &name, "--png", text(&png)]);
    assert_eq!(gone.code, 2);
    assert!(gone.err.contains("kadenz camera serve"), "{}", gone.err);
}

#[test]
fn a_server_killed_in_the_middle_leaves_its_name_free() {
    let name = name("killed");
    let arguments = ["camera", "serve", "test://320x240@30", "--name", &name];
    let mut first = Started::new(&arguments);
    first.said("running");
    first.end("KILL");
    let listed = run(&["camera", "list"]);
    assert!(!listed.out.contains(&name), "{}", listed.out);
    let mut second = Started::new(&[&arguments[..], &["--json"]].concat());
    second.said("running");
    let said = second.end("INT");
    assert_eq!(said.code, 0, "{}", said.err);
    assert_described("camera", "serve", &said.json());
}

#[test]
fn a_camera_that_dies_misses_the_deadline_by_its_silence() {
    let (mut sim, url) = sim("rtsp");
    let place = folder();
    let record = ["camera", "record", &url, "--interval", "100ms", "--json"];
    let limits = ["--duration", "1h", "--silence", "1s", "--deadline", "900ms"];
    let record = start_measuring(place.path(), &[&record[..], &limits].concat());
    // An interval may be empty: of several, one has a frame.
    wait_until(|| intervals_on_disk(place.path()) > 4);
    sim.child.kill().unwrap();
    // The silence to be measured, with time for the frames that are still decoded.
    std::thread::sleep(std::time::Duration::from_secs(3));
    signal(&record, "INT");
    let said = Said::of(record.wait_with_output().unwrap());
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.out.contains("camera_lost"), "{}", said.out);
    sim.child.wait().unwrap();
}

#[test]
fn the_page_is_for_browsers_of_this_machine() {
    let mut page = Started::new(&["camera", "show", "test://320x240@30", "--port", "0"]);
    let line = page.said("http://");
    let at = line.find("http://").unwrap() + 7;
    let address = line[at..].split(' ').next().unwrap();
    let ask = |path: &str, host: &str| {
        let mut client = TcpStream::connect(address).unwrap();
        write!(client, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        answer
    };
    assert!(ask("/", address).starts_with(b"HTTP/1.1 200 OK"));
    let frame = ask("/frame", address);
    let body = frame.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(frame.len() - body, 54 + 320 * 240 * 3);
    assert!(
        String::from_utf8(ask("/status", address))
            .unwrap()
            .contains("\"age_ms\"")
    );
    assert!(ask("/frame", "evil.example").starts_with(b"HTTP/1.1 403"));
    // Clients that send nothing, or a byte now and then, do not keep other clients out and do not delay the end.
    let silent: Vec<_> = (0..30)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    assert!(ask("/", address).starts_with(b"HTTP/1.1 200 OK"));
    let mut slow = TcpStream::connect(address).unwrap();
    let trickle = std::thread::spawn(move || {
        while slow.write_all(b"G").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let large = TcpStream::connect(address).unwrap();
    write!(&large, "GET /frame HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    assert_eq!(page.end("INT").code, 0);
    trickle.join().unwrap();
    drop((silent, large));
}

#[test]
fn a_stop_is_heard_while_a_camera_does_not_answer() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("rtsp://{}/", silent.local_addr().unwrap());
    let name = name("silent");
    // Longer than any test runs.
    let arguments = ["camera", "serve", &url, "--name", &name, "--timeout", "1h"];
    let mut server = Started::new(&arguments);
    server.said("connecting");
    let _held = silent.accept().unwrap();
    assert_eq!(server.end("INT").code, 0);
}

#[test]
fn a_camera_that_was_never_open_is_exit_code_2() {
    let name = name("unreachable");
    let url = "rtsp://127.0.0.1:1/x";
    let arguments = ["camera", "serve", url, "--name", &name, "--json"];
    let said = run(&[&arguments[..], &["--duration", "2s"]].concat());
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
    let last = said.err.lines().next_back().unwrap();
    assert!(
        last.starts_with("kadenz: ") && last.contains("127.0.0.1:1"),
        "{last}"
    );
}

#[test]
fn what_cannot_be_done_is_said_with_its_remedy() {
    for (arguments, words) in [
        (
            &[
                "camera",
                "record",
                "rtsp://127.0.0.1:1/x",
                "--timeout",
                "300ms",
            ][..],
            "127.0.0.1:1",
        ),
        (
            &["camera", "record", "unserved-camera"],
            "kadenz camera serve",
        ),
        (
            &[
                "camera",
                "show",
                "test://320x240@30",
                "--layout",
                "rgb-column-major",
            ],
            "take --layout rgb",
        ),
        (
            &["camera", "serve", "test://1x1@30", "--name", "a/b"],
            "letters, digits",
        ),
        (
            &["camera", "record", "test://320x240@30", "--layout", "cmyk"],
            "rgb-column-major",
        ),
        (
            &[
                "camera",
                "serve",
                "rtsp://user:secret@127.0.0.1:1/x",
                "--slots",
                "1",
            ],
            "--slots",
        ),
    ] {
        let said = run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
        assert!(!said.err.contains("secret"), "{}", said.err);
    }
}

#[test]
fn the_doctor_names_the_layer_that_takes_most() {
    let said = run(&[
        "camera",
        "doctor",
        "test://320x240@30",
        "--duration",
        "1s",
        "--details",
        "--out",
        text(&folder().path().join("run")),
    ]);
    assert!(said.code <= 1, "{}", said.err);
    assert!(said.out.contains("of a frame's age"), "{}", said.out);
    assert!(said.out.contains("convert"), "{}", said.out);
}

#[test]
fn a_check_takes_the_camera_too() {
    let place = folder();
    let out = place.path().join("run");
    let said = run_line(&format!(
        "check --duration 2s --deadline 1s --no-network --no-messages --no-tune --camera \
         test://320x240@30 --camera-deadline 1h --json --out {}",
        text(&out)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    let budget = &json["runs"][1]["frame_budget"];
    assert!(
        budget["sentence"]
            .as_str()
            .unwrap()
            .contains("from test://"),
        "{json}"
    );
    let away = run(&[
        "check",
        "--camera",
        "unserved-camera",
        "--out",
        text(&place.path().join("away")),
    ]);
    assert_eq!(away.code, 2);
    assert!(away.err.contains("kadenz camera serve"), "{}", away.err);
}

#[test]
fn options_of_a_run_are_refused_where_there_is_none() {
    for option in [
        "--policy fifo:80",
        "--cpus 0",
        "--sleeper spin",
        "--deadline 1ms",
    ] {
        for (of, word) in [("--cameras 1 ", "--cameras"), ("", "--source")] {
            let said = run_line(&format!("camera bench {of}--size 320x240 {option}"));
            assert_eq!(said.code, 2, "{option}: {}", said.err);
            assert!(said.err.contains(word), "{option}: {}", said.err);
        }
    }
}

#[test]
fn a_measurement_of_cameras_at_once_that_is_ended_keeps_its_answer() {
    let arguments = "camera bench --cameras 1 --size 320x240 --duration 1h --json";
    let child = kadenz(&arguments.split(' ').collect::<Vec<_>>())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Time for the first frames.
    std::thread::sleep(std::time::Duration::from_secs(2));
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    // A busy machine may need longer.
    if said.err.contains("nothing was measured") {
        return assert_eq!(said.code, 2, "{}", said.err);
    }
    assert_eq!(said.code, 0, "{}", said.err);
    let taken = said.json()["hand_overs"].as_array().map(Vec::len);
    assert!(taken > Some(0), "{}", said.out);
}

#[test]
fn the_ways_to_hand_a_frame_over_stand_beside_the_published_ones() {
    let said = run_line("camera bench --size 480p --duration 5ms --json");
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_described("camera", "bench", &json);
    let all = json["hand_overs"].as_array().unwrap();
    assert_eq!(all.len(), 14);
    let of = |method: &str| {
        all.iter()
            .find(|it| it["method"] == method && it["channels"] == 3)
            .unwrap()
    };
    assert_eq!(of("shared-memory")["published_ns"], 300_000);
    let at_once = "camera bench --cameras 2 --size 320x240 --duration 300ms --json";
    let json = run(&at_once.split(' ').collect::<Vec<_>>()).json();
    assert_described("camera", "bench", &json);
    let all = json["hand_overs"].as_array().unwrap();
    assert_eq!(all.len(), 4);
    for row in all {
        assert_eq!(row["cameras"], 2);
        assert!(row["budget_percent"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["rate_hz"].as_f64().unwrap() > 0.0, "{row}");
    }
    let said = run(&[
        "camera",
        "bench",
        "--source",
        "rtsp-sim",
        "--size",
        "320x240",
        "--fps",
        "30",
        "--duration",
        "1s",
        "--json",
        "--out",
        text(&folder().path().join("run")),
    ]);
    let json = said.json();
    let series = json["series"].as_array().unwrap();
    let measured = series.iter().find(|it| it["name"] == "end-to-end").unwrap();
    assert!(measured["count"].as_u64().unwrap() > 3, "{json}");
}

#[test]
fn a_layout_outside_the_picture_is_exit_code_2_beside_the_whole_answer() {
    let name = format!("outside-{}", std::process::id());
    let layout = "gray[9999x240+0+0]";
    let said = run(&[
        "camera",
        "serve",
        "test://320x240@30",
        "--name",
        &name,
        "--layout",
        layout,
        "--publish",
        "FRAMES",
        "--bus",
        "memq://",
        "--duration",
        "1s",
        "--json",
    ]);
    assert_eq!(said.code, 2, "{}", said.err);
    let mut lines = said.err.lines();
    assert!(lines.any(|it| it.starts_with("the region 9999x240")));
    assert!(lines.next().is_none(), "{}", said.err);
    let json = said.json();
    assert_described("camera", "serve", &json);
    assert!(json["counts"]["frames"].as_u64().unwrap() > 0, "{json}");
}
