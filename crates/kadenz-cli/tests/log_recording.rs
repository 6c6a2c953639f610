//! `kadenz log record` as a user types it: its files, and the arguments that it refuses.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/logs.rs"]
mod logs;
use logs::*;

use kadenz::msg::log::{self, Entry};

use std::path::Path;
use std::process::{Child, Command, Stdio};

fn recorder(out: &Path, more: &[&str]) -> Child {
    let bus = url(&golden("events.lcmlog"), "loop=yes");
    let arguments = [
        "log",
        "record",
        &bus,
        "--out",
        text(out),
        "--duration",
        "30s",
    ];
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
    let said = said_well(&parted(&format!(
        "log record {bus} --out {} --split-mb 0.003 --json",
        text(&out)
    )));
    let files = said.json()["files"].as_array().unwrap().clone();
    assert!(files.len() > 2, "{files:?}");
    assert!(files[1].as_str().unwrap().ends_with("part-001.lcmlog"));
    let all = files
        .iter()
        .flat_map(|it| entries(Path::new(it.as_str().unwrap())));
    assert_eq!(all.count(), 200);

    let hours = folder.path().join("hour.mcap");
    let bus = url(&golden("events.lcmlog"), "speed=1");
    let said = said_well(&parted(&format!(
        "log record {bus} --out {} --split-every 500ms --json",
        text(&hours)
    )));
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
        (&["--out", out, "--split-mb", "0GiB"], "above 0"),
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
        (&["tcpq://127.0.0.1:1", "--out", out], "no server answers"),
        (&["warp://", "--out", out], "udpm"),
        (&[], "--out"),
    ] {
        let said = run(&[&["log", "record"], arguments].concat());
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
        assert!(!Path::new(out).exists(), "{arguments:?}");
    }
}

/// Records an endless bus as fast as possible.
fn recording(out: &Path, more: &[&str]) -> Child {
    recording_at("speed=0", out, more)
}

fn recording_at(speed: &str, out: &Path, more: &[&str]) -> Child {
    let bus = url(&golden("events.lcmlog"), &format!("{speed}&loop=yes"));
    // The recorder ends by itself if a test fails before it ends the recorder.
    let bounded = ["--duration", "60s", "--json"];
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
    let said = said_well(&parted(&format!(
        "log recover {} --out {} --json",
        text(&out),
        text(&whole)
    )));
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
        "50kB",
        "--rotate",
        "3",
        "--compression",
        "none",
    ];
    let child = recording(&out, &more);
    wait_until(|| folder.path().join("box-2.mcap").exists());
    signal(&child, "INT");
    let json = Said::of(child.wait_with_output().unwrap()).json();
    let names = ["box-0.mcap", "box-1.mcap", "box-2.mcap"];
    let listed = json["files"].as_array().unwrap().iter();
    let paths = names.iter().rev().map(|it| folder.path().join(it));
    assert!(
        listed.eq(paths
            .map(|it| text(&it).to_owned())
            .collect::<Vec<_>>()
            .iter()),
        "{json}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    for name in names {
        said_well(&["log", "info", text(&folder.path().join(name))]);
    }
}

/// A small disk, unmounted on drop.
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
    // Slow enough that a chunk which gathers while the machine is busy is never larger than the disk: such a chunk
    // would wait for room, and the log would stay empty.
    let more = ["--flush-interval", "10ms", "--compression", "none"];
    let child = recording_at("speed=30", &out, &more);
    // The recorder fills the disk; then the log stops growing.
    wait_until(|| {
        let before = length(&out);
        std::thread::sleep(std::time::Duration::from_secs(2));
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

#[test]
fn channels_beyond_those_that_are_counted_are_recorded_and_reported_once() {
    let folder = folder();
    let many = folder.path().join("many.lcmlog");
    let mut writer = log::create(&many, log::Format::EventLog).unwrap();
    for n in 0..8400 {
        let entry = Entry {
            channel: log::LoggedChannel::lcm(&format!("INVENTED_{}", n % 4200)).into(),
            ..Entry::default()
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    let out = folder.path().join("out.mcap");
    let bus = url(&many, "speed=0");
    let said = said_well(&["log", "record", &bus, "--out", text(&out), "--json"]);
    let json = said.json();
    assert_described("log", "record", &json);
    assert_eq!(json["messages"], 8400);
    assert_eq!(json["channels"].as_array().unwrap().len(), 4096);
    assert_eq!(json["further_channels"]["written"], 2 * (4200 - 4096));
    let noted = said.err.matches("more than 4096 channels").count();
    assert_eq!(noted, 1, "{}", said.err);
    assert_eq!(entries(&out).len(), 8400);
}
