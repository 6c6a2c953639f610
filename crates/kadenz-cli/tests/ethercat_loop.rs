//! `kadenz ethercat scan`, `pdo`, `sii write` and `alias` with a running loop, as a user types them.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![cfg(target_os = "linux")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::*;
#[path = "common/robot.rs"]
mod robot;
use robot::*;
use serde_json::Value;

#[test]
fn a_running_loop_is_scanned_and_its_process_data_shown_as_over_the_wire() {
    let robot = Robot::start("scan", &["--demo"]);
    robot.is_in_op();
    let mut by_loop = Value::Null;
    // A device leaves OP for a while where a busy machine delays the loop.
    wait_until(|| {
        by_loop = robot.ask("scan", &["scan"]);
        by_loop["devices"][8]["state"] == "OP"
    });
    let by_wire = answer_of("scan", &["scan", "--sim", "12"]);
    let facts = |json: &Value| -> Vec<Value> {
        let devices = json["devices"].as_array().unwrap().iter();
        let names = ["name", "serial", "ports", "output_bytes", "clocks"];
        devices
            .map(|it| names.map(|name| it[name].clone()).into())
            .collect()
    };
    assert_eq!(facts(&by_loop), facts(&by_wire));
    assert_eq!(by_loop["segment"], format!("loop:{}", robot.name));
    let said = robot.say(&["scan"]);
    assert!(
        said.out.contains("12 devices, 66 bytes of outputs"),
        "{}",
        said.out
    );
    let imu =
        |place: &[&str]| answer_of("pdo", &[&["pdo", "--device", "torso imu"], place].concat());
    let (by_loop, by_wire) = (imu(&["--loop", &robot.name]), imu(&["--sim", "12"]));
    for what in ["entries", "inputs", "outputs"] {
        assert_eq!(by_loop[what], by_wire[what], "{what}");
    }
    let refused = robot.say(&["scan", "--esi", "vendors/"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("kadenz ethercat run --esi"),
        "{}",
        refused.err
    );
    robot.goes_on();
    assert_ended_well(&robot.end().0);
}

#[test]
fn memories_and_aliases_are_written_while_a_loop_goes_on() {
    let robot = Robot::start("memory", &["--demo"]);
    robot.is_in_op();
    let set = robot.ask("alias", &["alias", "left knee", "1008"]);
    assert_eq!((&set["written"], &set["before"]), (&true.into(), &0.into()));
    let again = robot.say(&["alias", "left knee", "1008"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.out.contains("1008 already"), "{}", again.out);
    // The memory as it was when the loop began, with another alias.
    let files = folder();
    let file = files.path().join("knee.bin");
    let read = robot.say(&["sii", "read", "left knee", "--out", text(&file)]);
    assert_eq!(read.code, 0, "{}", read.err);
    let written = robot.ask("sii-write", &["sii", "write", "left knee", text(&file)]);
    // The write puts back alias and checksum, and changes nothing else.
    assert_eq!(
        (&written["words"], &written["left"]),
        (&2.into(), &0.into())
    );
    let same = robot.say(&["sii", "write", "left knee", text(&file)]);
    assert!(same.out.contains("nothing was written"), "{}", same.out);
    let other = robot.say(&["sii", "write", "torso imu", text(&file)]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains("--force"), "{}", other.err);
    robot.goes_on();
    robot.is_in_op();
    assert_ended_well(&robot.end().0);
}
