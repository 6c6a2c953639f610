//! Registers of devices, other data of devices from a running loop, and the choice of PDOs and modes from ESI files, as
//! a user types it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::*;
#[path = "common/on_a_cable.rs"]
mod on_a_cable;
use on_a_cable::*;
#[path = "common/robot.rs"]
mod robot;
use robot::*;

use std::path::Path;

use serde_json::Value;

#[test]
fn registers_are_read_of_one_device_and_of_all() {
    let read = ["register", "read"];
    let of = |more: &[&str]| answer_of("register", &[&read[..], more, &["--sim", "12"]].concat());
    let state = of(&["left knee", "0x0130"]);
    assert_eq!(
        (&state["name"], &state["type"]),
        (&"AL status".into(), &"u16".into())
    );
    let knee = &state["registers"][0];
    assert_eq!(
        (&knee["value"], &knee["bytes"]),
        (&1.into(), &"01 00".into())
    );
    assert_eq!(knee["device"]["position"], 8);
    let all = of(&["all", "0x0910"]);
    let values: Vec<bool> = all["registers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["value"].is_u64())
        .collect();
    assert!(values.len() == 12 && values.contains(&true), "{all}");
    let signed = of(&["8", "0x0130", "--type", "i8"]);
    assert_eq!(
        (&signed["length"], &signed["registers"][0]["value"]),
        (&1.into(), &1.into())
    );
}

/// Runs `register read` on the virtual segment with these further arguments; returns its output in words.
fn say(more: &[&str]) -> Said {
    words(&[&["register", "read"], more, &["--sim", "12"]].concat())
}

#[test]
fn registers_are_shown_as_value_bits_rows_and_raw() {
    let value = say(&["8", "0x0130"]);
    assert!(
        value
            .out
            .starts_with("0x0130 AL status = 1 (0x0001)   (u16; device 8 (left knee))"),
        "{}",
        value.out
    );
    assert!(
        say(&["8", "0x0130", "--form", "bits"])
            .out
            .contains(" = 00000001 00000000 ")
    );
    let hex = say(&["8", "0x0000", "24", "--form", "hex"]);
    assert!(
        hex.out.starts_with("0x0000  ") && hex.out.contains("\n0x0010  "),
        "{}",
        hex.out
    );
    assert_eq!(say(&["8", "0x0130", "--form", "raw"]).out, "\u{1}\0");
    let table = say(&["all", "0x0130"]);
    assert!(
        table
            .out
            .lines()
            .next()
            .unwrap()
            .contains("0x0130 AL status"),
        "{}",
        table.out
    );
    assert_eq!(table.out.lines().count(), 13, "{}", table.out);
}

#[test]
fn what_is_no_register_is_refused_with_a_remedy() {
    for (arguments, word) in [
        (&["8", "0x1000"][..], "--type u16"),
        (&["8", "0x1000", "2000"], "1 to 1024"),
        (&["8", "0x0130", "3", "--type", "u16"], "has 2 bytes"),
        (&["8", "0xFFFF", "2"], "over the last address"),
        (&["8", "304"], "0x0130"),
        (&["12", "0x0130"], "the last of 12"),
        (&["all", "0x0130", "--form", "raw"], "one device"),
        (&["8", "0xF000", "2"], "does not answer at 0xF000"),
        (
            &["8", "0x0130", "--form", "hex", "--json"],
            "cannot be used with",
        ),
    ] {
        let refused = say(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(refused.err.contains(word), "{arguments:?}: {}", refused.err);
    }
}

#[test]
fn registers_that_a_running_device_lives_by_are_written_by_force_alone() {
    let write = |more: &[&str]| words(&[&["register", "write"], more, &["--sim", "12"]].concat());
    let cleared = write(&["8", "0x0300", "00"]);
    assert_eq!(cleared.code, 0, "{}", cleared.err);
    for (arguments, word) in [
        (&["8", "0x0010", "7"][..], "loses the device"),
        (&["8", "0x0120", "1"], "kadenz ethercat state"),
        (&["8", "0x0420", "0"], "watchdogs"),
        (&["8", "0x0502", "0"], "sii write"),
        (&["8", "0x0981", "0"], "clocks"),
        (&["8", "0x1000", "00", "--type", "bytes"], "process data"),
        (&["8", "0x1000", "00"], "--type u16"),
        (&["8", "0x0120", "70000", "--force"], "0 to 65535"),
        (&["8", "0x0000", "1", "--force"], "does not take"),
        (&["all", "0x0300", "00"], "12 devices are all"),
    ] {
        let refused = write(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(refused.err.contains(word), "{arguments:?}: {}", refused.err);
    }
    let json = answer_of(
        "register-write",
        &[
            "register", "write", "8", "0x0420", "500", "--force", "--sim", "12",
        ],
    );
    assert_eq!(json["name"], "process data watchdog time");
    assert_eq!(
        (&json["value"], &json["reads"]),
        (&500.into(), &"f4 01".into())
    );
}

#[test]
fn a_mailbox_is_not_read_in_passing() {
    in_a_network("a mailbox is not read in passing", || {
        let sim = Sim::start(&["12"]);
        assert_eq!(near(&["state", "PREOP", "--device", "8"]).code, 0);
        let areas = near(&["register", "read", "8", "0x0800", "16", "--json"]).json();
        let bytes = areas["registers"][0]["bytes"].as_str().unwrap().to_owned();
        let byte = |at: usize| &bytes[3 * at..3 * at + 2];
        let sends = format!("0x{}{}", byte(9), byte(8));
        let refused = near(&["register", "read", "8", &sends, "16"]);
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains("a mailbox lies"), "{}", refused.err);
        // The mailbox is empty, so its SyncManager answers no read.
        let forced = near(&["register", "read", "8", &sends, "16", "--force"]);
        assert_eq!(forced.code, 2);
        let asked = format!("does not answer at {sends}");
        let says = forced.err.to_lowercase();
        assert!(says.contains(&asked), "{}", forced.err);
        sim.end();
    });
}

/// Ends a loop and asserts that it ended as it should.
fn end(robot: Robot) {
    assert_ended_well(&robot.end().0);
}

#[test]
fn registers_memories_and_clocks_are_read_through_a_running_loop() {
    let robot = Robot::start("registers", &[]);
    robot.is_in_op();
    let mut state = Value::Null;
    // The devices leave OP for a while where a busy machine delays the loop.
    wait_until(|| {
        state = robot.ask("register", &["register", "read", "all", "0x0130"]);
        let registers = state["registers"].as_array().unwrap();
        assert_eq!(registers.len(), 12, "{state}");
        registers.iter().all(|it| it["value"] == 8)
    });
    assert_eq!(state["segment"], format!("loop:{}", robot.name));
    for (arguments, word) in [
        (&["register", "write", "8", "0x0120", "1"][..], "--force"),
        (
            &["register", "write", "8", "0x0000", "1", "--force"],
            "does not take",
        ),
        (&["register", "read", "8", "0xF000", "2"], "does not answer"),
        (&["register", "read", "8", "0x1000", "64"], "a mailbox lies"),
        (&["dc", "--align"], "cannot be used with"),
    ] {
        let refused = robot.say(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}");
        assert!(refused.err.contains(word), "{arguments:?}: {}", refused.err);
    }
    let cleared = ["register", "write", "8", "0x0310", "00000000"];
    assert_eq!(
        robot.ask("register-write", &cleared)["reads"],
        "00 00 00 00"
    );
    // The event mask has no effect on the loop.
    let forced = ["register", "write", "8", "0x0200", "0x0001", "--force"];
    assert_eq!(robot.ask("register-write", &forced)["reads"], "01 00");

    let memory = robot.ask("sii", &["sii", "read", "left knee"]);
    let own = answer_of("sii", &["sii", "read", "left knee", "--sim", "12"]);
    assert_eq!(
        (&memory["bytes"], &memory["device"]),
        (&own["bytes"], &own["device"])
    );
    let clocks = robot.ask("dc", &["dc"]);
    assert_eq!(clocks["reference"], 0);
    let measured = answer_of("dc", &["dc", "--sim", "12"]);
    let bits = |json: &Value| -> Vec<Value> {
        let devices = json["devices"].as_array().unwrap();
        devices.iter().map(|it| it["bits"].clone()).collect()
    };
    assert_eq!(bits(&clocks), bits(&measured));
    end(robot);
}

#[test]
fn objects_are_listed_by_a_loop_that_goes_on() {
    let robot = Robot::on("objects", &["--sim", "4"]);
    robot.is_in_op();
    let answer_alone = |what: &[&str]| answer_of("sdo-list", &[what, &["--sim", "4"]].concat());
    let identity = ["sdo", "info", "torso imu", "0x1018"];
    let asked = robot.ask("sdo-list", &identity);
    assert_eq!(asked["objects"], answer_alone(&identity)["objects"]);
    let known = |json: &Value| -> Vec<(Value, Value, usize)> {
        let objects = json["objects"].as_array().unwrap();
        let entries = |it: &Value| it["entries"].as_array().unwrap().len();
        objects
            .iter()
            .map(|it| (it["index"].clone(), it["name"].clone(), entries(it)))
            .collect()
    };
    let list = ["sdo", "list", "torso imu"];
    assert_eq!(
        known(&robot.ask("sdo-list", &list)),
        known(&answer_alone(&list))
    );
    let none = robot.say(&["sdo", "info", "torso imu", "0x5FFF"]);
    assert!(
        none.code == 2 && none.err.contains("does not exist"),
        "{}",
        none.err
    );
    end(robot);
}

const GRIPPER: &str = include_str!("../../../conformance/ethercat/esi/gripper.xml");

/// A segment of one gripper, and its vendor's file.
fn gripper(folder: &Path) -> (String, String) {
    let (sim, esi) = (folder.join("one.toml"), folder.join("gripper.xml"));
    std::fs::write(&esi, GRIPPER).unwrap();
    let segment = "[[device]]\nname = \"a\"\nesi = \"gripper.xml\"\nproduct = 18\n";
    std::fs::write(&sim, segment).unwrap();
    (text(&sim).to_owned(), text(&esi).to_owned())
}

#[test]
fn other_pdos_of_an_esi_file_are_chosen() {
    let folder = folder();
    let (sim, esi) = gripper(folder.path());
    let segment = ["pdo", "--sim", &sim, "--esi", &esi];
    let names = |json: &Value| -> Vec<String> {
        let entries = json["entries"].as_array().unwrap();
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        entries.iter().map(name).collect()
    };
    let usual = names(&answer_of("pdo", &segment));
    assert!(usual.contains(&"Target width".to_owned()), "{usual:?}");
    let by_force = ["--pdos", "0=0x1600,0x1602,0x1A00,0x1A01", "--watch", "2"];
    let json = answer_of("pdo", &[&segment[..], &by_force].concat());
    let chosen = names(&json);
    assert!(chosen.contains(&"Target force".to_owned()), "{chosen:?}");
    assert!(chosen.contains(&"Force".to_owned()), "{chosen:?}");
    assert!(!chosen.contains(&"Target width".to_owned()), "{chosen:?}");
    assert_eq!(json["cycles"][1]["working_counter"], 3);
    for (choice, word) in [
        ("0=0x1601", "cannot be left out"),
        ("0=0x1600,0x1601,0x1602,0x1A00", "exclude each other"),
        ("0=0x1600,0x1607,0x1A00", "has no PDO 0x1607"),
        ("1=0x1600", "the last of 1"),
        ("0", "0x1601"),
    ] {
        let refused = words(&[&segment[..], &["--pdos", choice]].concat());
        assert_eq!(refused.code, 2, "{choice}");
        assert!(refused.err.contains(word), "{choice}: {}", refused.err);
    }
    let alone = words(&["pdo", "--sim", "3", "--pdos", "1=0x1600"]);
    assert!(
        alone.code == 2 && alone.err.contains("--esi"),
        "{}",
        alone.err
    );
}

#[test]
fn a_loop_drives_a_device_by_chosen_pdos_and_mode() {
    let folder = folder();
    let (sim, esi) = gripper(folder.path());
    let pulses = ["--beat", "reference", "--sync0", "--dc-mode"];
    let segment = ["--sim", &sim, "--esi", &esi];
    let out = folder.path().join("refused");
    for (mode, word) in [
        ("0=none", "it has SM, DC, DC fixed"),
        ("0=SM", "no device's SII or ESI file requests SYNC0"),
    ] {
        let run = ["run", "--duration", "100ms", "--out", text(&out)];
        let refused = words(&[&run[..], &segment[..], &pulses, &[mode]].concat());
        assert_eq!(refused.code, 2, "{mode}: {}", refused.out);
        assert!(refused.err.contains(word), "{mode}: {}", refused.err);
    }
    let chosen = ["0=DC fixed", "--pdos", "0=0x1600,0x1602,0x1A00"];
    let robot = Robot::on("chosen", &[&segment[..], &pulses, &chosen].concat());
    robot.is_in_op();
    let cycle = robot.ask("register", &["register", "read", "0", "0x09A0"]);
    assert_eq!(cycle["registers"][0]["value"], 62_500);
    let image = robot.ask("inputs", &["inputs", "--outputs"]);
    let entries = image["entries"].as_array().unwrap();
    let has = |sub: u8| {
        let mut all = entries.iter();
        all.any(|it| it["index"] == 0x7000 && it["sub"] == sub)
    };
    assert!(has(3) && !has(2), "{image}");
    end(robot);
}
