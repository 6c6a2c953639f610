//! Commands of other programs to a running loop, as a user types them: read its sensors, set its outputs, stop its axes
//! and let them go on.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::*;
#[path = "common/robot.rs"]
mod robot;
use robot::*;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use kadenz::ethercat::control::process_image::{ProcessImageWriter, words_for};
use kadenz::rt::shared::Owner;
use serde_json::Value;

fn entries(json: &Value) -> &Vec<Value> {
    json["entries"].as_array().unwrap()
}

/// The value of an entry.
fn value(json: &Value, index: u16, sub: u8) -> &Value {
    let is_it = |it: &&Value| it["index"] == index && it["sub"] == sub;
    let found = entries(json).iter().find(is_it);
    &found.unwrap_or_else(|| panic!("no 0x{index:04X}:{sub}: {json}"))["value"]
}

#[test]
fn other_programs_read_the_sensors_of_a_running_loop() {
    let robot = Robot::moving("inputs");
    robot.is_in_op();
    let all = robot.ask("inputs", &["inputs"]);
    assert!(
        entries(&all).iter().all(|it| it["direction"] == "in"),
        "{all}"
    );
    let both = robot.ask("inputs", &["inputs", "--outputs"]);
    assert!(entries(&both).len() > entries(&all).len());
    let imu = robot.ask("inputs", &["inputs", "--device", "torso imu", "--units"]);
    assert_eq!(entries(&imu)[0]["device"]["position"], 3);
    let knees = robot.ask(
        "inputs",
        &[
            "inputs",
            "--device",
            "left knee",
            "--name",
            "0x6064",
            "--units",
        ],
    );
    assert_eq!(entries(&knees)[0]["unit"], "inc");
    // The drive's statusword is among the inputs.
    let knee = ["--device", "left knee"];
    let status = robot.ask(
        "inputs",
        &[&["inputs", "--name", "0x6041"], &knee[..]].concat(),
    );
    assert_eq!(entries(&status).len(), 1);
    let word = value(&status, 0x6041, 0).as_u64().unwrap();
    assert_eq!(word & 0x40, 0, "it is not disabled: 0x{word:04X}");
    // The axis moves, so its position changes between two reads.
    let position = || {
        let json = robot.ask(
            "inputs",
            &[&["inputs", "--name", "0x6064"], &knee[..]].concat(),
        );
        value(&json, 0x6064, 0).as_i64().unwrap()
    };
    let before = position();
    wait_until(|| position() != before);
    let words = robot.say(&["inputs", "--device", "8", "--name", "POSITION"]);
    assert_eq!(words.code, 0, "{}", words.err);
    assert!(
        words.out.contains("left knee") && words.out.contains("0x6064:00"),
        "{}",
        words.out
    );
    for (arguments, word) in [
        (
            &["inputs", "--name", "0x1234"][..],
            "no input matches --device/--name",
        ),
        (&["inputs", "--name", "0xyz"], "0x1018:1"),
        (&["inputs", "--device", "elbow"], "no device is named"),
        (&["inputs", "--rate", "5Hz"], "--watch"),
        (&["inputs", "--csv", "--json"], "cannot be used with"),
    ] {
        let refused = robot.say(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(refused.err.contains(word), "{arguments:?}: {}", refused.err);
    }
    robot.end();
}

#[test]
fn sensors_are_watched_as_lines() {
    let robot = Robot::start("watch", &[]);
    let watch = ["inputs", "--watch", "--rate", "50Hz", "--duration", "500ms"];
    let json = robot.say(&[&watch[..], &["--device", "3", "--json"]].concat());
    assert_eq!(json.code, 0, "{}", json.err);
    let mut last = 0;
    for line in json.out.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_described("ethercat", "inputs", &line);
        let cycle = line["cycle"].as_u64().unwrap();
        assert!(cycle >= last, "{last} {cycle}");
        last = cycle;
    }
    assert!(last > 0, "{}", json.out);
    let csv = robot.say(&[&watch[..], &["--device", "3", "--csv"]].concat());
    let lines: Vec<&str> = csv.out.lines().collect();
    assert!(lines.len() >= 2, "{}", csv.err);
    assert!(
        lines[0].starts_with("cycle,received_ns,whole,torso imu in 0x6000:01 "),
        "{}",
        lines[0]
    );
    let columns = lines[0].split(',').count();
    for line in &lines[1..] {
        assert_eq!(line.split(',').count(), columns, "{line}");
    }
    let name = robot.name.clone();
    robot.end();
    let gone = words(&["inputs", "--loop", &name]);
    assert_eq!(gone.code, 2);
    assert!(
        gone.err.contains("is one of that name running"),
        "{}",
        gone.err
    );
}

#[test]
fn a_watcher_reports_that_the_loop_ends_and_ends_well() {
    for readers in ["sequence", "pi-mutex"] {
        let robot = Robot::start(&format!("end-{readers}"), &["--readers", readers]);
        let watching = Watcher::start(&robot, &PATIENT);
        robot.end();
        let said = watching.ended();
        assert_eq!(said.code, 0, "{readers}: {}", said.err);
        assert!(
            said.err.contains("the loop has ended"),
            "{readers}: {}",
            said.err
        );
    }
}

#[test]
fn readers_that_are_killed_while_they_read_leave_the_loop_as_it_is() {
    let robot = Robot::start("killed", &[]);
    for _ in 0..5 {
        let more = [&["--rate", "2kHz"][..], &PATIENT[..]].concat();
        let mut reader = Watcher::start(&robot, &more);
        for _ in 0..20 {
            reader.lines.next().unwrap().unwrap();
        }
        // SIGKILL.
        reader.child.kill().unwrap();
        reader.child.wait().unwrap();
        robot.goes_on();
    }
    robot.ask("inputs", &["inputs"]);
    let (said, _) = robot.end();
    assert_ended_well(&said);
}

#[test]
fn a_loop_that_stands_still_is_known_by_the_age_of_its_last_cycle() {
    let robot = Robot::start("still", &[]);
    let watching = Watcher::start(&robot, &["--oldest", "5s"]);
    robot.signal("STOP");
    let said = watching.ended();
    robot.signal("CONT");
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("stands still: its last cycle, number"),
        "{}",
        said.err
    );
    assert!(said.err.contains("old"), "{}", said.err);
    wait_until(|| robot.say(&["inputs"]).code == 0);
    robot.end();
}

#[test]
fn readers_behind_a_mutex_ask_the_control_socket_as_in_yoon2009() {
    let robot = Robot::start("mutex", &["--readers", "pi-mutex"]);
    let imu = robot.ask("inputs", &["inputs", "--device", "torso imu"]);
    assert!(imu["cycle"].as_u64() > Some(0), "{imu}");
    let watch = ["inputs", "--watch", "--rate", "200Hz", "--duration", "2s"];
    let seen = robot.say(&[&watch[..], &["--json"]].concat());
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(seen.out.lines().count() > 1);
    let (_, run) = robot.end();
    let parameters = &run["parameters"];
    assert_eq!(parameters["readers"], "pi-mutex");
    assert!(parameters["reader_waits"].is_u64(), "{parameters}");
}

#[test]
fn outputs_that_no_axis_has_are_set_while_the_loop_runs() {
    let robot = Robot::moving("outputs");
    robot.is_in_op();
    let lamps = |robot: &Robot| robot.ask("inputs", &["inputs", "--outputs", "--device", "EL2889"]);
    let (first, tenth) = ((0x7000, 1), (0x7090, 1));
    let of = |json: &Value, (index, sub)| value(json, index, sub).clone();
    let dark = lamps(&robot);
    assert_eq!(of(&dark, first), false);
    let set = robot.ask("output", &["output", "EL2889", "0x7090:1", "1"]);
    assert_eq!(
        (&set["value"], &set["type"]),
        (&true.into(), &"bool".into())
    );
    let cycle = set["cycle"].as_u64().unwrap();
    wait_until(|| lamps(&robot)["cycle"].as_u64() >= Some(cycle));
    let lit = lamps(&robot);
    assert_eq!(
        (of(&lit, first), of(&lit, tenth)),
        (false.into(), true.into())
    );
    let words = robot.say(&["output", "1", "0x7090:1", "false"]);
    assert!(
        words.out.starts_with("0x7090:01") && words.out.contains("= false"),
        "{}",
        words.out
    );
    for (arguments, word) in [
        (["left knee", "0x607A", "5"], "belongs to an axis"),
        (["left knee", "0x6064", "5"], "is not an output"),
        (["EL2889", "0x7090:1", "2"], "write true or false"),
        (["EL2889", "0x7777:1", "1"], "is not an output"),
    ] {
        let refused = robot.say(&[&["output"], &arguments[..]].concat());
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(refused.err.contains(word), "{arguments:?}: {}", refused.err);
    }
    robot.end();
}

#[test]
fn axes_are_stopped_and_go_on_and_a_loop_whose_axes_stood_at_the_end_says_so() {
    let robot = Robot::moving("axes");
    let axes = || robot.say(&["axes", "--json"]).json();
    wait_until(|| axes()["stage"] == "playing");
    assert_described("ethercat", "axes", &axes());
    let nothing = robot.say(&["reset"]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("nothing to reset"), "{}", nothing.err);
    let stopped = robot.ask("axes", &["stop"]);
    assert_eq!(stopped["stage"], "stopped");
    assert_eq!(stopped["stopped"]["cause"], "asked");
    let by = stopped["stopped"]["by"].as_str().unwrap();
    assert!(by.contains("kadenz ethercat stop"), "{by}");
    let words = robot.say(&["axes"]);
    assert_eq!(words.code, 1, "they are stopped: {}", words.err);
    assert!(words.out.contains("left knee"), "{}", words.out);
    // The loop and its other functions go on.
    robot.goes_on();
    robot.is_in_op();
    let reset = robot.ask("axes", &["reset"]);
    assert_eq!(
        (&reset["stops"], &reset["stopped"]),
        (&1.into(), &Value::Null)
    );
    wait_until(|| axes()["stage"] == "playing");
    assert_eq!(robot.say(&["axes"]).code, 0);
    robot.ask("axes", &["stop"]);
    let (said, run) = robot.end();
    assert_eq!(said.code, 1, "{}", said.err);
    let last = said.err.lines().last().unwrap();
    assert!(
        last.starts_with("the axes stood at the end: "),
        "{}",
        said.err
    );
    let motion = &run["parameters"]["motion"];
    assert_eq!(motion["stops"], 2);
    assert!(motion["stopped"].is_string(), "{motion}");
}

#[test]
fn a_reset_says_which_axis_keeps_all_from_moving() {
    let segment = folder();
    let file = segment.path().join("two.toml");
    let text = r#"
        [[device]]
        name = "coupler"
        model = "ek1100"
        [[device]]
        name = "knee"
        model = "drive"
        [[device]]
        name = "ankle"
        model = "drive"
        [[fault]]
        what = "power-off"
        device = "ankle"
        at_ms = 3000
        "#;
    std::fs::write(&file, text).unwrap();
    let motion = motion_of(&segment, &["knee", "ankle"]);
    let robot = Robot::on("hindered", &[text_of(&motion), "--sim", text_of(&file)]);
    wait_until(|| {
        let json = robot.ask("state", &["state"]);
        json["devices"][2]["reason"] == "gone" && json["devices"][1]["state"] == "OP"
    });
    robot.ask("axes", &["stop"]);
    let reset = robot.say(&["reset", "--within", "1s"]);
    assert_eq!(reset.code, 2, "{}", reset.out);
    for word in ["do not move within", "ankle (device 2) does not answer"] {
        assert!(reset.err.contains(word), "{word}: {}", reset.err);
    }
    // The same for a reset that is interrupted while it waits.
    robot.ask("axes", &["stop"]);
    let waiting = kadenz(&["ethercat", "reset", "--loop", &robot.name])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| robot.say(&["axes", "--json"]).json()["stage"] == "enabling");
    signal(&waiting, "INT");
    let said = Said::of(waiting.wait_with_output().unwrap());
    assert_eq!(said.code, 2, "{}", said.out);
    assert!(said.err.contains("ankle (device 2)"), "{}", said.err);
    robot.end();
}

#[test]
fn a_loop_that_moves_nothing_has_nothing_to_stop() {
    let segment = folder();
    let file = segment.path().join("sensors.toml");
    let text = r#"
        [[device]]
        name = "coupler"
        model = "ek1100"
        [[device]]
        name = "imu"
        model = "imu"
        parent = "coupler"
        port = 2
        "#;
    std::fs::write(&file, text).unwrap();
    let robot = Robot::on("nothing", &["--sim", text_of(&file)]);
    for arguments in [["stop"], ["reset"], ["axes"]] {
        let refused = robot.say(&arguments);
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(refused.err.contains("moves no axes"), "{}", refused.err);
    }
    assert_eq!(
        entries(&robot.ask("inputs", &["inputs"]))[0]["device"]["position"],
        1
    );
    let (said, _) = robot.end();
    assert_eq!(said.code, 0, "{}", said.err);
}

/// The user's page on reading a loop from other programs, with a reader in Python.
fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ethercat-inputs.md");
    std::fs::read_to_string(page).unwrap()
}

/// The reader of the page, split before the code that follows its last function.
fn reader_of(page: &str) -> (&str, &str) {
    let script = page.split("```python").nth(1).unwrap();
    let script = script.split("```").next().unwrap();
    script.split_at(script.find("loop, device, name").unwrap())
}

/// The Python interpreter; `None` if there is none.
fn python(test: &str) -> Option<String> {
    let python = std::env::var("KADENZ_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_it = Command::new(&python).arg("--version").output();
    if !has_it.is_ok_and(|it| it.status.success()) {
        skip(test, "Python 3 (apt-get install python3)");
        return None;
    }
    Some(python)
}

#[test]
fn the_page_s_reader_in_python_reads_what_the_command_reads() {
    let Some(python) = python("the_page_s_reader_in_python_reads_what_the_command_reads") else {
        return;
    };
    let page = page();
    let (functions, rest) = reader_of(&page);
    let script = [functions, rest].concat();
    let robot = Robot::moving("python");
    robot.is_in_op();
    let ask = |device: &str, entry: &str| {
        let mut reader = Command::new(&python);
        reader.args(["-c", &script, &robot.name, device, entry]);
        let said = Said::of(reader.output().unwrap());
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    let moving = ask("left knee", "0x6064");
    let words: Vec<&str> = moving.split_whitespace().collect();
    assert!(words[0].parse::<u64>().unwrap() > 0, "a cycle: {moving}");
    words[1].parse::<i64>().unwrap();
    let lamp = robot.ask("output", &["output", "EL2889", "0x7090:1", "1"]);
    let set = lamp["cycle"].as_u64().unwrap();
    wait_until(|| {
        let said = ask("1", "0x7090:1");
        let (cycle, value) = said.trim().split_once(' ').unwrap();
        cycle.parse::<u64>().unwrap() >= set && value == "1"
    });
    robot.end();
}

#[test]
fn the_page_s_reader_in_python_waits_for_the_first_cycle() {
    let Some(python) = python("the_page_s_reader_in_python_waits_for_the_first_cycle") else {
        return;
    };
    let page = page();
    let (functions, _) = reader_of(&page);
    let script = format!(
        "{functions}\nprint('here', flush=True)\nprint(ProcessImage(sys.argv[1]).read().hex())"
    );
    let name = format!("kadenz-page-{}", std::process::id());
    let owner = Owner::create(&name, words_for(16)).unwrap();
    let mut child = Command::new(python)
        .args(["-c", &script, &name])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "here");
    // At first there is no process image, and then an empty one.
    std::thread::sleep(Duration::from_millis(200));
    let mut publisher = ProcessImageWriter::begin(owner.words(), 16).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    publisher.publish(&[7; 16]).unwrap();
    let read = lines.next().map(Result::unwrap);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(read, Some("07".repeat(16)));
}

/// Starts a loop without a name under a umask that removes no permission; returns it with its socket.
fn start_unnamed(folder: &std::path::Path, out: &str) -> (std::process::Child, std::path::PathBuf) {
    let script = "umask 000; exec \"$0\" \"$@\"";
    let arguments = [
        "ethercat", "run", "--sim", "3", "--rate", "200Hz", "--quiet",
    ];
    let child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_kadenz")])
        .args(arguments)
        .arg("--out")
        .arg(folder.join(out))
        .env("XDG_RUNTIME_DIR", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let socket = format!("kadenz/ethercat-run-{}.sock", child.id());
    (child, folder.join(socket))
}

#[test]
fn a_control_socket_is_its_user_s_alone_and_goes_when_its_loop_was_killed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).map(|it| it.permissions().mode() & 0o777);
    let (mut first, socket) = start_unnamed(folder.path(), "first");
    wait_until(|| mode(&socket).is_ok_and(|it| it == 0o600));
    assert_eq!(mode(&folder.path().join("kadenz")).unwrap(), 0o700);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(socket.exists());
    let (mut second, other) = start_unnamed(folder.path(), "second");
    wait_until(|| other.exists());
    assert!(!socket.exists() && !socket.with_extension("lock").exists());
    signal(&second, "INT");
    second.wait().unwrap();
    assert!(!other.exists());
}
