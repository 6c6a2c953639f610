//! `kadenz ethercat run` and `stats` on a virtual segment, and the examples of the user's page, as a user
//! types them.
//!
//! Longer than 500 lines: the tests start, query, stop and disturb the same loop, and share their helpers.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::*;

/// Drives a virtual segment for some cycles that are long enough for a busy machine.
fn drive(folder: &std::path::Path, more: &[&str]) -> Said {
    let out = folder.join("run");
    let arguments = parted("ethercat run --sim 12 --rate 200Hz --duration 3s");
    run(&[&arguments, &["--out", text(&out)][..], more].concat())
}

#[test]
fn a_loop_is_measured_as_a_run() {
    for mode in ["pipelined", "synchronous"] {
        let folder = folder();
        let said = drive(
            folder.path(),
            &["--json", "--mode", mode, "--deadline", "10s"],
        );
        assert_ended_well(&said);
        let json = said.json();
        assert_valid("output", &json);
        let written = run_json(&folder.path().join("run"));
        assert_valid("run", &written);
        let parameters = &written["parameters"];
        assert_eq!(
            (&parameters["devices"], &parameters["mode"]),
            (&12.into(), &mode.into())
        );
        let bus = &parameters["bus"];
        assert_eq!(&json["fieldbus"]["timing"], bus);
        assert_eq!(json["fieldbus"]["devices"], 12);
        let cycles = bus["cycles"].as_u64().unwrap();
        let left_out = bus["skipped_beats"].as_u64().unwrap();
        // 3 s of cycles of 5 ms, and more until all drives are at rest.
        assert!(cycles + left_out >= 600, "{bus}");
        // The run does not record the cycles after `--duration`, in which the axes come to rest.
        let count = |name: &str| series(&json, name)["count"].as_u64().unwrap();
        let (wake_ups, recorded) = (count("wake-up"), count("exchange"));
        assert!(
            0 < recorded && recorded <= wake_ups && wake_ups <= 600,
            "{bus}"
        );
        // The wake-up series also holds the lateness of skipped beats.
        assert!(wake_ups <= recorded + left_out, "{bus}");
        assert_eq!(count("controller"), recorded);
        assert_eq!(count("period"), recorded - 1);
        assert!(said.err.contains("12 devices in OP"), "{}", said.err);
    }
}

#[test]
fn a_loop_keeps_the_segment_s_time_and_moves_its_drives_as_a_file_says() {
    let folder = folder();
    let motion = folder.path().join("motion.toml");
    std::fs::write(
        &motion,
        r#"
        cycle_us = 4000
        [safety]
        lost_cycles = 100000
        late_cycles = 100000
        [[axis]]
        device = "left knee"
        repeat = true
        moves = [ { to = 0.2, velocity = 0.5 }, { to = 0.0 } ]
        "#,
    )
    .unwrap();
    let out = folder.path().join("run");
    let arguments = [
        "ethercat",
        "run",
        text(&motion),
        "--sim",
        "12",
        "--duration",
        "4s",
    ];
    let more = ["--beat", "reference", "--json", "--out", text(&out)];
    let said = run(&[&arguments[..], &more].concat());
    assert_ended_well(&said);
    let json = said.json();
    assert_valid("output", &json);
    for name in ["clock-offset", "clock-drift"] {
        assert!(
            series(&json, name)["count"].as_u64() > Some(100),
            "{name}: {}",
            said.err
        );
    }
    let parameters = &run_json(&out)["parameters"];
    assert_eq!(
        (&parameters["cycle"], &parameters["axes"]),
        (&"4ms".into(), &1.into())
    );
    let axis = &parameters["motion"]["axes"][0];
    assert_eq!(axis["position"], 8);
    assert!(axis["cycles"].as_u64() > Some(0), "{parameters}");
}

#[test]
fn a_loop_stands_beside_the_figure_of_yoon2009() {
    let folder = folder();
    let said = drive(folder.path(), &["--spin", "50us"]);
    assert_ended_well(&said);
    for words in [
        "Control periods",
        "Yoon has no such column",
        "12 devices, 1 frame in a cycle",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let quiet = tempfile::tempdir().unwrap();
    let said = drive(quiet.path(), &["--quiet"]);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    assert!(
        said.out.starts_with("No deadline was stated"),
        "{}",
        said.out
    );
    let other = tempfile::tempdir().unwrap();
    let said = drive(other.path(), &["--lock", "--sleeper", "nanosleep"]);
    let run = run_json(&other.path().join("run"));
    let tuning = run["series"][0]["tuning"].as_array().unwrap();
    let lock = tuning.iter().find(|it| it["name"] == "memory_lock");
    // Column M of figure 7: the lowest 99 % up to 1,032 us. Without the right to lock memory it is another column.
    let words = match lock.unwrap()["ok"] == true {
        true => ["figure 7", "column M;", "1032.0"],
        false => ["figure 7", "column none;", "Control periods"],
    };
    for word in words {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
}

#[test]
fn a_loop_that_cannot_be_is_refused_before_anything_runs() {
    for (arguments, word) in [
        (&["--rate", "1MHz"][..], "20us to 1s"),
        (&["--rate", "1"][..], "1kHz"),
        (
            &["--rate", "1Hz", "--duration", "10ms"][..],
            "shorter than one cycle",
        ),
        (&["--priority", "100"][..], "1..=99"),
        (
            &["--priority", "80", "--policy", "fifo:80"][..],
            "cannot be used with",
        ),
        (
            &["--spin", "50us", "--sleeper", "spin"][..],
            "cannot be used with",
        ),
        (&["--load", "soft"][..], "heavy"),
        (&["--mode", "sometimes"][..], "pipelined"),
        (&["--overrun", "hope"][..], "catch-up"),
        (&["--readers", "anyone"][..], "pi-mutex"),
        (&["/no/such/motion.toml"][..], "/no/such/motion.toml"),
    ] {
        let said = run(&[&["ethercat", "run", "--sim", "3"], arguments].concat());
        assert_eq!(said.code, 2, "{arguments:?}");
        assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
    }
}

/// The user's page, whose examples are what users type first.
fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ethercat.md");
    std::fs::read_to_string(page).unwrap()
}

/// Words of a shell's line, up to a comment after two spaces.
fn typed(line: &str) -> Vec<String> {
    let line = line.split("  ").next().unwrap();
    let mut words = Vec::new();
    for (place, part) in line.split('\'').enumerate() {
        match place % 2 {
            1 => words.push(part.to_owned()),
            _ => words.extend(part.split_whitespace().map(str::to_owned)),
        }
    }
    words
}

#[test]
fn the_page_s_examples_work_as_they_are_typed() {
    let page = page();
    let lines = page.lines().filter_map(|it| it.strip_prefix("$ kadenz "));
    // The examples with a running loop or a cable have their own tests.
    let others = [" stats ", " run ", "--loop", "--interface"];
    let alone = lines.filter(|line| !others.iter().any(|it| line.contains(it)));
    let mut count = 0;
    for line in alone {
        let words = typed(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = run(&words);
        assert_ended_well(&said);
        count += 1;
    }
    assert!(count > 8, "{count}");
    // The command prints the line that the page shows.
    let said = words(&["sdo", "read", "8", "0x6041", "--sim", "59"]);
    assert!(page.contains(said.out.trim()), "{}", said.out);
    let scan = words(&["scan", "--sim", "59"]);
    for line in scan.out.lines().take(3).chain(scan.out.lines().last()) {
        assert!(page.contains(line), "{line}");
    }
    let pdo = words(&["pdo", "--sim", "59", "--device", "torso imu"]);
    for line in pdo.out.lines().take(2) {
        assert!(page.contains(line), "{line}");
    }
}

#[test]
fn the_page_s_segment_is_one() {
    let page = page();
    let text = page
        .split("```toml")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let folder = folder();
    let file = folder.path().join("robot.toml");
    std::fs::write(&file, text).unwrap();
    let json = answer_of("scan", &["scan", "--sim", file.to_str().unwrap()]);
    let joint = &json["devices"][1];
    assert_eq!(
        (&joint["description"], &joint["alias"]),
        (&"joint".into(), &7.into())
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_running_loop_s_devices_are_asked_and_set_while_it_goes_on() {
    let folder = folder();
    let out = folder.path().join("run");
    let name = format!("test-set-{}", std::process::id());
    let arguments = [
        "ethercat", "run", "--sim", "12", "--rate", "200Hz", "--quiet", "--json",
    ];
    let child = start_measuring(&out, &[&arguments[..], &["--name", &name]].concat());
    let of = ["--loop", name.as_str()];
    let ask =
        |definition: &str, arguments: &[&str]| answer_of(definition, &[arguments, &of].concat());
    wait_until(|| {
        let json = ask("state", &["state"]);
        let devices = json["devices"].as_array().unwrap().clone();
        assert_eq!(devices.len(), 12);
        devices.iter().all(|it| it["state"] == "OP")
    });
    let window = ["left knee", "0x6065"];
    let json = ask(
        "sdo",
        &[&["sdo", "write"], &window[..], &["0x12345"]].concat(),
    );
    assert_eq!(json["segment"], format!("loop:{name}"));
    let json = ask("sdo", &[&["sdo", "read"], &window[..]].concat());
    assert_eq!(
        (&json["value"], &json["type"], &json["device"]["position"]),
        (&0x12345.into(), &"u32".into(), &8.into())
    );
    let refused = words(&["sdo", "write", "8", "0x6041", "1", of[0], of[1]]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("left knee"), "{}", refused.err);
    // The supervisor keeps the device in the requested state, and the others in theirs.
    let json = ask("state", &["state", "PREOP", "--device", "torso imu"]);
    assert_eq!(json["devices"][0]["state"], "PREOP");
    // A device leaves OP for a while where a busy machine delays the loop.
    let in_op = |arguments: &[&str]| {
        let said = words(&[arguments, &of, &["--json"]].concat());
        said.code == 0 && said.json()["devices"][0]["state"] == "OP"
    };
    wait_until(|| in_op(&["state"]));
    wait_until(|| in_op(&["state", "OP", "--device", "torso imu"]));
    let cycles = || answer_of("stats", &["stats", &name])["stats"]["cycles"].as_u64();
    let before = cycles();
    wait_until(|| cycles() > before);
    let other = words(&["state", "--loop", "no-such-loop"]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains(&name), "{}", other.err);
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_ended_well(&said);
    let gone = words(&["sdo", "read", "8", "0x6041", of[0], of[1]]);
    assert_eq!(gone.code, 2);
    assert!(gone.err.contains(&name), "{}", gone.err);
}

/// Checks the output of `stats` for a loop of twelve devices at 200 Hz.
#[cfg(target_os = "linux")]
fn assert_shows_its_state(name: &str) {
    use std::io::{BufRead as _, BufReader};
    let json = answer_of("stats", &["stats", name]);
    assert_eq!(json["stats"]["interval_ns"], 5_000_000);
    assert!(json["stats"]["cycles"].as_u64() > Some(0), "{json}");
    let well = || {
        let json = answer_of("stats-devices", &["stats", name, "--devices"]);
        let devices = json["devices"].as_array().unwrap().clone();
        assert_eq!(devices.len(), 12);
        devices.iter().all(|it| it["status"] == 8)
    };
    wait_until(well);
    let words_of = words(&["stats", name]);
    assert!(
        words_of.out.starts_with("interval: 5000000 ns\n"),
        "{}",
        words_of.out
    );
    let watch = ["ethercat", "stats", name, "--watch", "100ms", "--json"];
    let mut watch = kadenz(&watch)
        .args(["--duration", "60s"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let line = lines.next().expect("a line an interval").unwrap();
        assert_described("ethercat", "stats", &serde_json::from_str(&line).unwrap());
    }
    signal(&watch, "INT");
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn a_running_loop_is_asked_by_its_name() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;
    let folder = folder();
    let out = folder.path().join("run");
    let name = format!("test-{}", std::process::id());
    let arguments = [
        "ethercat", "run", "--sim", "12", "--rate", "200Hz", "--quiet", "--json",
    ];
    let child = start_measuring(
        &out,
        &[&arguments[..], &["--name", &name, "--interval", "100ms"]].concat(),
    );
    assert_shows_its_state(&name);
    let b = folder.path().join("b");
    let arguments = ["run", "--sim", "1", "--name", &name, "--duration", "1s"];
    let second = words(&[&arguments[..], &["--out", text(&b)]].concat());
    assert_eq!(second.code, 2);
    assert!(second.err.contains(&name), "{}", second.err);
    let notices = ["ethercat", "stats", &name, "--notices", "--json"];
    let mut hearing = kadenz(&notices)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(hearing.stderr.take().unwrap());
    let mut first = String::new();
    notes.read_line(&mut first).unwrap();
    assert!(first.starts_with("listening to"), "{first}");
    let state = ["state", "PREOP", "--device", "1", "--loop", &name];
    assert_eq!(words(&state).code, 0);
    signal(&child, "INT");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_ended_well(&said);
    let mut rest = String::new();
    notes.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("the loop has ended"), "{rest}");
    assert_eq!(hearing.wait().unwrap().code(), Some(0));
    let mut heard = String::new();
    let mut out = hearing.stdout.take().unwrap();
    out.read_to_string(&mut heard).unwrap();
    assert!(heard.contains("\"event\":\"state\""), "{heard}");
    for line in heard.lines() {
        let line = serde_json::from_str(line).unwrap();
        assert_described("ethercat", "stats-notice", &line);
    }
    let gone = words(&["stats", &name]);
    assert_eq!(gone.code, 2);
    assert!(
        gone.err.contains("is one of that name running"),
        "{}",
        gone.err
    );
}

/// Writes a segment file of a humanoid of twelve devices, with faults.
fn faulty_segment(folder: &std::path::Path, faults: &str) -> std::path::PathBuf {
    let printed = run(&["ethercat", "sim", "12", "--print"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let path = folder.join("faulty.toml");
    std::fs::write(&path, printed.out + faults).unwrap();
    path
}

#[test]
fn a_loop_reports_a_cut_cable_once_and_at_most_a_line_a_second() {
    let folder = folder();
    let faults = "\n[[fault]]\nwhat = \"cut\"\ndevice = \"left knee\"\nat_ms = 2000\n\
                  [[fault]]\nwhat = \"heal\"\ndevice = \"left knee\"\nat_ms = 4000\n";
    let segment = faulty_segment(folder.path(), faults);
    let out = folder.path().join("run");
    let arguments = [
        "ethercat",
        "run",
        "--sim",
        text(&segment),
        "--rate",
        "200Hz",
    ];
    let more = ["--duration", "7s", "--out", text(&out)];
    let said = run(&[&arguments[..], &more].concat());
    assert_ended_well(&said);
    let lines_with = |words: &str| said.err.lines().filter(|it| it.contains(words)).count();
    assert_eq!(
        lines_with("lost: 8 (left knee) to 10 (left ankle roll)"),
        1,
        "{}",
        said.err
    );
    assert_eq!(
        lines_with("back: 8 (left knee) to 10 (left ankle roll)"),
        1,
        "{}",
        said.err
    );
    // A line a second, the lines of the beginning and the end, and one that the axes were stopped.
    let lines: Vec<_> = said.err.lines().collect();
    assert!(lines.len() <= 7 + 8, "{}", said.err);
    assert!(
        lines.iter().all(|it| it.chars().count() <= 100),
        "{}",
        said.err
    );
}

#[test]
fn a_loop_s_rate_was_called_its_cycle() {
    let folder = folder();
    let out = folder.path().join("run");
    let arguments = ["ethercat", "run", "--sim", "3", "--cycle", "5ms", "--json"];
    let more = ["--duration", "300ms", "--quiet", "--out", text(&out)];
    assert_ended_well(&run(&[&arguments[..], &more].concat()));
    assert_eq!(run_json(&out)["parameters"]["cycle"], "5ms");
    let help = run(&["ethercat", "run", "--help"]).out;
    assert!(
        help.contains("--rate") && !help.contains("--cycle"),
        "{help}"
    );
}

/// Runs a loop on a faulty segment; returns its output.
fn drive_faulty(folder: &std::path::Path, faults: &str, more: &[&str]) -> Said {
    let segment = faulty_segment(folder, faults);
    let out = folder.join("run");
    let arguments = [
        "ethercat",
        "run",
        "--sim",
        text(&segment),
        "--rate",
        "200Hz",
    ];
    run(&[&arguments[..], &["--out", text(&out)], more].concat())
}

#[test]
fn verbose_shows_each_event() {
    let shown = |more: &[&str]| {
        let folder = folder();
        let said = drive_faulty(folder.path(), "", &[&["--duration", "1s"], more].concat());
        assert_ended_well(&said);
        let devices = said.err.lines().filter(|it| it.contains(" (left knee): "));
        (
            said.err.contains("all 12 devices are in OP"),
            devices.count(),
        )
    };
    assert_eq!(
        shown(&[]),
        (true, 0),
        "that each device comes up is one line"
    );
    let (_, in_full) = shown(&["-v"]);
    assert!(in_full > 0);
    assert_eq!(run(&["doctor", "-q", "-v"]).code, 2, "both at once");
}

#[test]
fn a_flap_while_devices_are_configured_is_waited_out() {
    for frame in [100, 1500, 5000] {
        let folder = folder();
        let flap = format!(
            "\n[[fault]]\nwhat = \"flap\"\ndevice = \"left knee\"\nframe = {frame}\nvalue = 300\n"
        );
        let said = drive_faulty(folder.path(), &flap, &["--duration", "500ms"]);
        assert_ended_well(&said);
        assert!(said.err.contains("tried again for"), "{}", said.err);
        assert!(said.out.contains("12 devices, "), "{}", said.out);
    }
}

#[test]
fn a_device_that_does_not_answer_at_the_start_is_named() {
    let folder = folder();
    for (frame, named) in [
        (
            1500,
            "the device at position 8 (address 0x1009) did not answer",
        ),
        (
            5000,
            "no answer from left knee (position 8, address 0x1009)",
        ),
    ] {
        let cut = format!("\n[[fault]]\nwhat = \"cut\"\ndevice = \"left knee\"\nframe = {frame}\n");
        let said = drive_faulty(folder.path(), &cut, &["--duration", "500ms"]);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(named), "{}", said.err);
    }
}

#[test]
fn a_loop_starts_without_a_missing_device_and_takes_it_in_later() {
    let folder = folder();
    let off = "\n[[fault]]\nwhat = \"power-off\"\ndevice = \"left knee\"\nat_ms = 0\n\
               [[fault]]\nwhat = \"power-on\"\ndevice = \"left knee\"\nat_ms = 9000\n";
    let segment = folder.path().join("faulty.toml");
    let wait = ["--expect", text(&segment), "--bring-up-timeout", "200ms"];
    let said = drive_faulty(folder.path(), off, &wait);
    assert_eq!(said.code, 2, "{}", said.err);
    let absent =
        "left knee (position 8, address 0x1009), left ankle pitch (position 9, address 0x100A)";
    assert!(said.err.contains(absent), "{}", said.err);
    let more = ["--start-without-missing", "--duration", "12s"];
    let said = drive_faulty(folder.path(), off, &[&wait[..], &more].concat());
    assert_ended_well(&said);
    assert!(
        said.err.contains("starts without left knee"),
        "{}",
        said.err
    );
    for words in ["back: 8 (left knee)", "all 12 devices are in OP"] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert!(!said.err.contains("unknown"), "{}", said.err);
    let refused = drive_faulty(folder.path(), off, &["--start-without-missing"]);
    assert!(refused.err.contains("--expect"), "{}", refused.err);
    let beat = ["--start-without-missing", "--beat", "reference"];
    let refused = drive_faulty(folder.path(), off, &[&wait[..], &beat].concat());
    assert!(
        refused.err.contains("leave out --beat reference"),
        "{}",
        refused.err
    );
}
