//! `kadenz log` as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

#[path = "common/logs.rs"]
mod logs;
use logs::*;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use kadenz::msg::log::{self, Entry, LoggedChannel};
use serde_json::Value;

#[test]
fn info_reads_every_format_and_damage_is_exit_code_1() {
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
    assert!(said.err.contains("is not a valid log"), "{}", said.err);
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    let folder = folder();
    for name in ["none.mcap", "none.lcmlog"] {
        let path = folder.path().join(name);
        std::fs::write(&path, "").unwrap();
        let said = run(&["log", "info", text(&path)]);
        assert_eq!(said.code, 1, "{}", said.err);
        let words = format!("{name} is empty: nothing was recorded into it");
        assert!(said.out.contains(&words), "{}", said.out);
    }
}

#[test]
fn what_reads_a_damaged_log_says_so_by_exit_code_1() {
    let folder = folder();
    let damaged = golden("damaged.lcmlog");
    let input = text(&damaged);
    for command in ["play", "cut", "merge", "convert"] {
        let out = folder.path().join(command).with_extension("mcap");
        let bus = url(&out, "mode=w");
        let said = match command {
            "play" => run(&["log", command, input, &bus, "--speed", "0"]),
            _ => run(&["log", command, input, "--out", text(&out)]),
        };
        assert_eq!(said.code, 1, "{command}: {}", said.err);
        assert!(said.err.contains("damaged at 3 places"), "{}", said.err);
        assert_eq!(entries(&out).len(), 197, "{command}");
    }
}

#[test]
fn the_rate_of_a_channel_is_that_of_its_own_time() {
    let folder = folder();
    for name in ["rates.mcap", "rates.lcmlog"] {
        let path = folder.path().join(name);
        let format = match name.ends_with("mcap") {
            true => log::Format::Mcap,
            false => log::Format::EventLog,
        };
        let mut writer = log::create(&path, format).unwrap();
        for n in 0..2001_i64 {
            // FAST has 500 Hz in the second half of the log.
            let channel = if n < 1000 { "SLOW" } else { "FAST" };
            let entry = Entry {
                channel: log::LoggedChannel::lcm(channel).into(),
                log_time: kadenz::rt::clock::WallTime::from_unix_ns(n * 2_000_000),
                ..Entry::default()
            };
            writer.write(&entry).unwrap();
        }
        writer.finish().unwrap();
        let said = said_well(&["log", "info", text(&path)]);
        let row = said.out.lines().find(|line| line.contains("FAST")).unwrap();
        assert!(row.split_whitespace().any(|it| it == "500"), "{row}");
    }
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

#[cfg(unix)]
#[test]
fn what_is_read_is_never_overwritten_under_another_name_or_in_a_folder() {
    let folder = folder();
    let [bag, link] = ["bag", "link.mcap"].map(|name| folder.path().join(name));
    std::fs::create_dir(&bag).unwrap();
    for entry in std::fs::read_dir(golden("ros2-mcap")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, bag.join(path.file_name().unwrap())).unwrap();
    }
    let files = std::fs::read_dir(&bag).unwrap();
    let mut files = files.map(|it| it.unwrap().path());
    let file = files.find(|it| it.extension().is_some_and(|it| it == "mcap"));
    let file = file.unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::hard_link(&file, &link).unwrap();
    for (input, out) in [(&bag, &file), (&bag, &link), (&file, &link)] {
        let arguments = ["convert", text(input), "--out", text(out), "--force"];
        let said = run(&[&["log"][..], &arguments].concat());
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("name another --out"), "{}", said.err);
        assert!(std::fs::read(&file).unwrap() == bytes, "{arguments:?}");
    }
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
    let fingerprint = kadenz::msg::types::Types::from_text(POSE)
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
    said_well(&parted(&format!(
        "log convert {input} --types {} --out {out}",
        text(&types)
    )));
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
fn json_leaves_out_kadenz_s_own_channels_unless_they_are_named() {
    let folder = folder();
    let path = folder.path().join("own.lcmlog");
    let mut writer = log::create(&path, log::Format::EventLog).unwrap();
    let entry = Entry {
        channel: log::LoggedChannel::lcm("KADENZ/TYPES/ASK").into(),
        payload: vec![7; 16],
        ..Entry::default()
    };
    writer.write(&entry).unwrap();
    writer.finish().unwrap();
    let out = folder.path().join("shown.mcap");
    let convert = |more: &[&str]| {
        let arguments = ["log", "convert", text(&path), "--to", "json", "--force"];
        run(&[&arguments[..], &["--out", text(&out)], more].concat())
    };
    let said = convert(&[]);
    assert_eq!(said.code, 0, "{}", said.err);
    let words = "1 message of Kadenz's own channels";
    assert!(said.err.contains(words), "{}", said.err);
    let said = convert(&["--channel", "KADENZ/TYPES/ASK"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("1 message left out"), "{}", said.err);
}

#[test]
fn a_log_is_written_under_no_unknown_ending() {
    let folder = folder();
    let input = golden("events.lcmlog");
    let bus = url(&input, "speed=0");
    let out = folder.path().join("d.xlsx");
    let commands = [
        ["log", "convert", text(&input)],
        ["log", "cut", text(&input)],
        ["log", "record", &bus],
    ];
    for command in commands {
        let said = run(&[&command[..], &["--out", text(&out)]].concat());
        assert_eq!(said.code, 2, "{command:?}: {}", said.err);
        for known in [".mcap", ".lcmlog"] {
            assert!(said.err.contains(known), "{command:?}: {}", said.err);
        }
        assert!(!out.exists(), "{command:?}");
    }
    // Names of lcm-logger.
    for name in ["lcmlog-2026-02-03.00", "log"] {
        let out = folder.path().join(name);
        said_well(&["log", "convert", text(&input), "--out", text(&out)]);
        assert_eq!(entries(&out).len(), 200);
    }
}

#[test]
fn recover_makes_a_whole_log_of_a_damaged_one() {
    let folder = folder();
    let out = folder.path().join("whole.lcmlog");
    let damaged = golden("damaged.lcmlog");
    let said = said_well(&parted(&format!(
        "log recover {} --out {} --json",
        text(&damaged),
        text(&out)
    )));
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
    assert_eq!(said.json()["lateness_ns"]["count"], 0);
    let payloads = |path: &Path| entries(path).into_iter().map(|it| it.payload);
    let expected = entries(&golden("events.lcmlog")).into_iter();
    let expected = expected
        .filter(|it| it.channel.name != "IMU")
        .map(|it| it.payload);
    assert!(payloads(&played).eq(expected));
}

#[test]
fn the_lateness_of_played_messages_is_that_of_accepted_ones() {
    let folder = folder();
    let log = folder.path().join("names.mcap");
    let mut writer = log::create(&log, log::Format::Mcap).unwrap();
    for name in ["ARM", &"x".repeat(64)] {
        let entry = Entry {
            channel: LoggedChannel::lcm(name).into(),
            payload: b"12345678".to_vec(),
            ..Entry::default()
        };
        writer.write(&entry).unwrap();
    }
    writer.finish().unwrap();
    let played = folder.path().join("played.lcmlog");
    let said = run(&["log", "play", text(&log), &url(&played, "mode=w"), "--json"]);
    assert_eq!(said.code, 2, "{}", said.err);
    let json = said.json();
    assert_eq!(
        (&json["messages"], &json["refused"]),
        (&1.into(), &1.into())
    );
    assert_eq!(json["lateness_ns"]["count"], 1);
}

#[test]
fn play_steps_at_each_line_and_leaves_out_the_given_share() {
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

    let unasked = url(&folder.path().join("unasked"), "mode=w");
    let mut child = kadenz(&["log", "play", text(&log), &unasked, "--step"]);
    let said = child.stdin(Stdio::null()).output().unwrap();
    let notes = String::from_utf8_lossy(&said.stderr);
    assert!(notes.contains("standard input ended"), "{notes}");
    assert!(!notes.contains("holds no message"), "{notes}");

    let bus = url(&other, "mode=w");
    let said = said_well(&parted(&format!(
        "log play {} {bus} --speed 0 --loss 0.5 --json",
        text(&log)
    )));
    let left_out = said.json()["left_out"].as_u64().unwrap();
    assert!((50..150).contains(&left_out), "{left_out}");
    assert_eq!(entries(&other).len() as u64, 200 - left_out);
}

/// A short MCAP file of many empty messages of a channel with a long name, which each event of an event
/// log repeats, and of a message of zeros.
fn bombs(folder: &Path) -> [PathBuf; 2] {
    let names = folder.join("names.mcap");
    let mut writer = log::create(&names, log::Format::Mcap).unwrap();
    let channel = std::sync::Arc::new(log::LoggedChannel::lcm(&"N".repeat(999)));
    let mut entry = Entry {
        channel,
        ..Entry::default()
    };
    (0..40_000).for_each(|_| writer.write(&entry).unwrap());
    writer.finish().unwrap();

    let zeros = folder.join("zeros.mcap");
    let mut writer = log::create(&zeros, log::Format::Mcap).unwrap();
    entry.channel = log::LoggedChannel::lcm("ZEROS").into();
    entry.payload = vec![0; 20 << 20];
    writer.write(&entry).unwrap();
    writer.finish().unwrap();
    [names, zeros]
}

#[test]
fn a_log_that_grows_without_measure_ends_the_command_and_an_option_allows_it() {
    let folder = folder();
    let [names, zeros] = bombs(folder.path());
    for (bomb, expansion) in [(names, 10), (zeros, 100)] {
        let length = std::fs::metadata(&bomb).unwrap().len();
        let allowed = log::Limits { expansion }.allowed_bytes(length);
        let out = folder.path().join("out.lcmlog");
        let convert = |expansion: &str| {
            let allowing = ["--force", "--max-expansion", expansion];
            let arguments = ["log", "convert", text(&bomb), "--out", text(&out)];
            run(&[&arguments[..], &allowing].concat())
        };
        let said = convert(&expansion.to_string());
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("raise --max-expansion"), "{}", said.err);
        let written = std::fs::metadata(&out).unwrap().len();
        assert!(written <= allowed, "{written} of {allowed}");
        let said = convert("10000");
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(std::fs::metadata(&out).unwrap().len() > allowed);
    }
}
