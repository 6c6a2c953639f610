//! `kadenz log` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kadenz_msg::log::{self, Entry};
use serde_json::Value;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/logs")
        .join(name)
}

fn entries(path: &Path) -> Vec<Entry> {
    let mut reader = log::open(path).unwrap();
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while reader.read(&mut entry).unwrap() {
        all.push(entry.clone());
    }
    all
}

fn said_well(arguments: &[&str]) -> Said {
    let said = run(arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    said
}

fn url(path: &Path, parameters: &str) -> String {
    format!("file://{}?{parameters}", path.display())
}

#[test]
fn info_tells_of_every_format_and_damage_is_exit_code_1() {
    let names = [
        "events.lcmlog",
        "chunks-lz4.mcap",
        "ros1-bz2.bag",
        "ros2-mcap",
    ];
    let paths = names.map(golden);
    let mut arguments = vec!["log", "info", "--json"];
    arguments.extend(paths.iter().map(|it| text(it)));
    let json = said_well(&arguments).json();
    assert_described("log", "info", &json);
    let counts = json["logs"].as_array().unwrap().iter();
    let counts: Vec<u64> = counts.map(|it| it["messages"].as_u64().unwrap()).collect();
    assert_eq!(counts, [200, 100, 60, 30]);
    assert_eq!(
        json["logs"][0]["channels"][1]["fingerprints"][0],
        "0x1122334455667788"
    );
    assert_eq!(json["logs"][1]["channels"][1]["type"], "robot.pose_t");

    let said = run(&["log", "info", text(&golden("damaged.lcmlog"))]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.out.contains("DAMAGED at 3 places"), "{}", said.out);
    let said = run(&["log", "info", text(&golden("README.md"))]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("is no log"), "{}", said.err);
}

#[test]
fn cut_takes_a_part_by_time_and_channel_and_overwrites_nothing() {
    let folder = folder();
    let out = folder.path().join("part.mcap");
    let input = golden("events.lcmlog");
    let cut = |more: &[&str]| {
        let mut arguments = vec!["log", "cut", text(&input), "--out", text(&out)];
        arguments.extend(more);
        run(&arguments)
    };
    let said = cut(&["--from", "1s", "--until", "1.5s", "--channel", "POSE|IMU"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let numbers: Vec<u32> = entries(&out).iter().map(|it| it.sequence).collect();
    let expected: Vec<u32> = (100..150).filter(|n| n % 3 != 2).collect();
    assert_eq!(numbers, expected);

    let said = cut(&["--from", "@1700000001.99"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--force"), "{}", said.err);
    let said = cut(&["--from", "@1700000001.99", "--force"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(entries(&out).len(), 1);
    let said = cut(&["--from", "2s", "--until", "1s", "--force"]);
    assert!(said.err.contains("ends before it begins"), "{}", said.err);
}

#[test]
fn what_is_read_is_never_overwritten_even_by_force() {
    let folder = folder();
    let path = folder.path().join("log");
    std::fs::copy(golden("events.lcmlog"), &path).unwrap();
    let said = run(&["log", "cut", text(&path), "--out", text(&path), "--force"]);
    assert_eq!(said.code, 2);
    assert_eq!(entries(&path).len(), 200);
}

#[test]
fn merge_makes_one_log_in_the_order_of_time() {
    let folder = folder();
    let out = folder.path().join("both.mcap");
    let logs = [golden("events.lcmlog"), golden("ros1-lz4.bag")];
    let (one, other) = (text(&logs[0]), text(&logs[1]));
    let said = said_well(&["log", "merge", one, other, "--out", text(&out), "--json"]);
    assert_described("log", "copy", &said.json());
    assert_eq!(said.json()["messages"], 260);
    let all = entries(&out);
    assert!(all.is_sorted_by_key(|it| it.log_time));
    assert_eq!(all[1].channel.name, "/chatter");
}

const POSE: &str = "package robot; struct pose_t { int64_t n; double x; }";

/// An event log of two messages of a type, and the folder with its description.
fn typed(folder: &Path) -> (PathBuf, PathBuf) {
    let types = folder.join("types");
    std::fs::create_dir(&types).unwrap();
    std::fs::write(types.join("pose.lcm"), POSE).unwrap();
    let fingerprint = kadenz_msg::types::Types::from_text(POSE)
        .unwrap()
        .fingerprint("robot.pose_t")
        .unwrap();
    let path = folder.join("typed.lcmlog");
    let mut writer = log::create(&path, log::Format::EventLog).unwrap();
    for n in 0..2_i64 {
        let mut payload = fingerprint.0.to_be_bytes().to_vec();
        payload.extend(n.to_be_bytes());
        payload.extend(0.5_f64.to_be_bytes());
        let channel = log::LoggedChannel::lcm("POSE").into();
        let entry = Entry {
            channel,
            payload,
            ..Entry::default()
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    (path, types)
}

#[test]
fn convert_puts_types_in_and_then_json_needs_no_types_any_more() {
    let folder = folder();
    let (path, types) = typed(folder.path());
    let described = folder.path().join("described.mcap");
    let (input, out) = (text(&path), text(&described));
    said_well(&[
        "log",
        "convert",
        input,
        "--types",
        text(&types),
        "--out",
        out,
    ]);
    let all = entries(&described);
    let schema = all[0].channel.schema.as_ref().unwrap();
    assert_eq!(schema.name, "robot.pose_t");

    let shown = folder.path().join("shown.mcap");
    let shown = text(&shown);
    said_well(&["log", "convert", out, "--to", "json", "--out", shown]);
    let all = entries(Path::new(shown));
    let json: Value = serde_json::from_slice(&all[1].payload).unwrap();
    assert_eq!(json, serde_json::json!({"n": 1, "x": 0.5}));
    assert_eq!(all[1].channel.encoding, "json");

    let none = folder.path().join("none.mcap");
    let none = text(&none);
    let said = run(&["log", "convert", input, "--to", "json", "--out", none]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("2 messages left out"), "{}", said.err);

    let back = folder.path().join("back.lcmlog");
    said_well(&["log", "convert", out, "--out", text(&back)]);
    assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(&path).unwrap());
}

#[test]
fn recover_makes_a_whole_log_of_a_damaged_one() {
    let folder = folder();
    let out = folder.path().join("whole.lcmlog");
    let damaged = golden("damaged.lcmlog");
    let said = said_well(&[
        "log",
        "recover",
        text(&damaged),
        "--out",
        text(&out),
        "--json",
    ]);
    assert_described("log", "copy", &said.json());
    assert_eq!(said.json()["messages"], 197);
    assert_eq!(said.json()["damaged_places"], 3);
    said_well(&["log", "info", text(&out)]);
}

#[test]
fn record_takes_a_bus_into_a_log_and_play_brings_it_back() {
    let folder = folder();
    let recorded = folder.path().join("recorded.mcap");
    let bus = url(&golden("events.lcmlog"), "speed=0");
    let out = text(&recorded);
    let said = said_well(&[
        "log", "record", &bus, "--out", out, "--json", "-v", "-c", "IMU",
    ]);
    let json = said.json();
    assert_described("log", "record", &json);
    assert_eq!(
        (json["messages"].as_u64(), json["dropped"].as_u64()),
        (Some(133), Some(0))
    );
    assert_eq!(json["channels"].as_array().unwrap().len(), 2);

    let played = folder.path().join("played.lcmlog");
    let bus = url(&played, "mode=w");
    let said = said_well(&["log", "play", out, &bus, "--speed", "0", "--json"]);
    assert_described("log", "play", &said.json());
    assert_eq!(said.json()["messages"], 133);
    let payloads = |path: &Path| entries(path).into_iter().map(|it| it.payload);
    let expected = entries(&golden("events.lcmlog")).into_iter();
    let expected = expected
        .filter(|it| it.channel.name != "IMU")
        .map(|it| it.payload);
    assert!(payloads(&played).eq(expected));
}

/// A recorder of a log that is played for ever, once it has made its file.
fn recorder(out: &Path, more: &[&str]) -> Child {
    let bus = url(&golden("events.lcmlog"), "loop=yes");
    let arguments = ["log", "record", &bus, "--out", text(out), "--for", "30s"];
    let child = kadenz(&[&arguments[..], more].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let folder = out.parent().unwrap();
    wait_until(|| std::fs::read_dir(folder).unwrap().count() > 0);
    child
}

#[test]
fn a_recording_is_split_by_size_and_by_time() {
    let folder = folder();
    let out = folder.path().join("part.lcmlog");
    let bus = url(&golden("events.lcmlog"), "speed=0");
    let said = said_well(&[
        "log",
        "record",
        &bus,
        "--out",
        text(&out),
        "--split-mb",
        "0.003",
        "--json",
    ]);
    let files = said.json()["files"].as_array().unwrap().clone();
    assert!(files.len() > 2, "{files:?}");
    assert!(files[1].as_str().unwrap().ends_with("part-001.lcmlog"));
    let all = files
        .iter()
        .flat_map(|it| entries(Path::new(it.as_str().unwrap())));
    assert_eq!(all.count(), 200);

    let hours = folder.path().join("hour.mcap");
    let bus = url(&golden("events.lcmlog"), "speed=1");
    let said = said_well(&[
        "log",
        "record",
        &bus,
        "--out",
        text(&hours),
        "--split-every",
        "500ms",
        "--json",
    ]);
    let files = said.json()["files"].as_array().unwrap().clone();
    // The log lasts two seconds; a busy machine may begin a file later.
    assert!(files.len() > 1 && files.len() < 6, "{files:?}");
    let all = files
        .iter()
        .flat_map(|it| entries(Path::new(it.as_str().unwrap())));
    assert_eq!(all.count(), 200);
}

#[test]
fn an_event_log_is_appended_to_and_mcap_is_not() {
    let folder = folder();
    let out = folder.path().join("both.lcmlog");
    let bus = url(&golden("events.lcmlog"), "speed=0");
    for count in [200, 400] {
        let said = said_well(&["log", "record", &bus, "--out", text(&out), "-a", "-q"]);
        assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
        assert_eq!(entries(&out).len(), count);
    }
    assert_eq!(entries(&out)[200].payload, entries(&out)[0].payload);
    let mcap = folder.path().join("one.mcap");
    said_well(&["log", "record", &bus, "--out", text(&mcap), "-a"]);
    let said = run(&["log", "record", &bus, "--out", text(&mcap), "-a"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("kadenz log merge"), "{}", said.err);
    assert_eq!(entries(&mcap).len(), 200);
}

#[test]
fn a_second_recorder_of_a_file_is_refused_and_the_first_goes_on() {
    for (name, first, second) in [
        ("a.mcap", &[][..], &["--force"][..]),
        ("a.lcmlog", &["-a"], &["-a"]),
        (
            "r.mcap",
            &["--rotate", "3", "--split-mb", "100"],
            &["--rotate", "3", "--split-mb", "100"],
        ),
    ] {
        let folder = folder();
        let out = folder.path().join(name);
        let child = recorder(&out, first);
        let bus = url(&golden("events.lcmlog"), "speed=0");
        let arguments = ["log", "record", &bus, "--out", text(&out)];
        let said = run(&[&arguments[..], second].concat());
        assert_eq!(said.code, 2, "{name}: {}", said.err);
        assert!(said.err.contains("another program"), "{name}: {}", said.err);
        signal(&child, "INT");
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 0, "{name}: {}", said.err);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn what_cannot_be_recorded_is_exit_code_2_with_the_remedy() {
    let folder = folder();
    let there = folder.path().join("no/such/folder.mcap");
    let out = folder.path().join("log.mcap");
    let (there, out) = (text(&there), text(&out));
    for (arguments, word) in [
        (&["--out", there][..], "folder is not there"),
        (&["--out", out, "--rotate", "3"], "--split-every"),
        (&["--out", out, "--split-mb", "0"], "above 0"),
        (&["--out", out, "--split-mb", "x"], "0.5"),
        (
            &["--out", out, "--split-every", "0s"],
            "longer than nothing",
        ),
        (&["--out", out, "--split-every", "10"], "unit"),
        (&["--out", out, "-v"], "--channel"),
        (&["--out", out, "-c", "("], "regular expression"),
        (&["--out", out, "-a", "-f"], "cannot be used with"),
        (&["--out", out, "--queue", "9000TB"], "memory"),
        (&["--out", out, "-m", "many"], "MB"),
        (&["--out", out, "--compression", "rar"], "zstd"),
        (&["tcpq://127.0.0.1:99999", "--out", out], "port"),
        (&["warp://", "--out", out], "udpm"),
        (&[], "--out"),
    ] {
        let said = run(&[&["log", "record"], arguments].concat());
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
        assert!(!Path::new(out).exists(), "{arguments:?}");
    }
}

#[test]
fn play_steps_at_each_line_and_loses_what_it_is_told_to() {
    let folder = folder();
    let log = golden("events.lcmlog");
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    let mut child = kadenz(&["log", "play", text(&log), &url(&one, "mode=w"), "--step"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n\n\nq\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(entries(&one).len(), 3);

    let bus = url(&other, "mode=w");
    let said = said_well(&[
        "log",
        "play",
        text(&log),
        &bus,
        "--speed",
        "0",
        "--loss",
        "0.5",
        "--json",
    ]);
    let left_out = said.json()["left_out"].as_u64().unwrap();
    assert!((50..150).contains(&left_out), "{left_out}");
    assert_eq!(entries(&other).len() as u64, 200 - left_out);
}

/// Records a bus without end, that is as fast as it goes.
fn recording(out: &Path, more: &[&str]) -> Child {
    let bus = url(&golden("events.lcmlog"), "speed=0&loop=yes");
    // It ends by itself where a test fails before it ends it.
    let bounded = ["--for", "60s", "--json"];
    kadenz(&["log", "record", &bus, "--out", text(out)])
        .args(bounded)
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |facts| facts.len())
}

#[test]
fn a_killed_recorder_leaves_a_log_that_is_read_and_recovered() {
    let folder = folder();
    let out = folder.path().join("killed.mcap");
    let mut child = recording(&out, &["--flush-interval", "10ms"]);
    wait_until(|| length(&out) > 200_000);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = run(&["log", "info", text(&out)]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.out.contains("NOT COMPLETE"), "{}", said.out);
    let whole = folder.path().join("whole.mcap");
    let said = said_well(&[
        "log",
        "recover",
        text(&out),
        "--out",
        text(&whole),
        "--json",
    ]);
    let recovered = said.json()["messages"].as_u64().unwrap();
    assert!(recovered > 1000, "{recovered}");
    let info = said_well(&["log", "info", text(&whole), "--json"]).json();
    assert_eq!(info["logs"][0]["messages"].as_u64(), Some(recovered));
    assert_eq!(info["logs"][0]["complete"], true);
}

#[test]
fn ctrl_c_ends_a_recording_with_a_whole_log() {
    let folder = folder();
    let out = folder.path().join("ended.mcap");
    let child = recording(&out, &["--flush-interval", "10ms"]);
    wait_until(|| length(&out) > 100_000);
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    let json = said.json();
    let info = said_well(&["log", "info", text(&out), "--json"]).json();
    assert_eq!(
        info["logs"][0]["messages"], json["messages"],
        "{}",
        said.err
    );
    assert_eq!(info["logs"][0]["complete"], true);
}

#[test]
fn rotation_keeps_the_newest_files_and_each_is_whole() {
    let folder = folder();
    let out = folder.path().join("box.mcap");
    let more = [
        "--split-mb",
        "0.05",
        "--rotate",
        "3",
        "--compression",
        "none",
    ];
    let child = recording(&out, &more);
    wait_until(|| folder.path().join("box-2.mcap").exists());
    signal(&child, "INT");
    Said::of(child.wait_with_output().unwrap()).json();
    let names = ["box-0.mcap", "box-1.mcap", "box-2.mcap"];
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    for name in names {
        said_well(&["log", "info", text(&folder.path().join(name))]);
    }
}

/// A small disk of its own; gone when it is dropped.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k", "kadenz-test"]);
        let mounted = mount.arg(folder.path()).output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        mounted.then_some(Self(folder))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_ends_no_recording_and_leaves_a_whole_log() {
    let test = "a_full_disk_ends_no_recording_and_leaves_a_whole_log";
    let Some(disk) = is_root().then(Disk::new).flatten() else {
        return skip(
            test,
            "a disk of its own; run as root, where tmpfs can be mounted",
        );
    };
    let out = disk.0.path().join("full.mcap");
    let child = recording(&out, &["--flush-interval", "10ms", "--compression", "none"]);
    // It fills the disk by itself; then the log grows no more.
    wait_until(|| {
        let before = length(&out);
        std::thread::sleep(std::time::Duration::from_millis(500));
        before > 50_000 && length(&out) == before
    });
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("no room on the disk"), "{}", said.err);
    let json = said.json();
    assert!(json["dropped"].as_u64().unwrap() > 0);
    let info = said_well(&["log", "info", text(&out), "--json"]).json();
    assert_eq!(info["logs"][0]["complete"], true);
    assert_eq!(info["logs"][0]["messages"], json["messages"]);
}
