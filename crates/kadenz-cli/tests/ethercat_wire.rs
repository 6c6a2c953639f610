//! `kadenz ethercat` over a cable between two interfaces, in a network of the test's own, which needs root.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::assert_ended_well;
#[path = "common/on_a_cable.rs"]
mod on_a_cable;
use on_a_cable::*;

#[test]
fn every_command_works_over_a_cable() {
    in_a_network("every command works over a cable", || {
        let sim = Sim::start(&["12"]);
        let scan = near(&["scan", "--json"]).json();
        assert_eq!(scan["devices"].as_array().unwrap().len(), 12);
        // The devices leave OP where a busy machine delays the cycles.
        let to_op = ["state", "OP", "--duration", "300ms", "--json"];
        wait_until(|| all_in_op(&near(&to_op)));
        assert_eq!(near(&["state", "PREOP"]).code, 0);
        let name = near(&["sdo", "read", "left knee", "0x1008", "--json"]);
        assert_eq!(name.json()["value"], "KZ-Drive", "{}", name.err);
        assert!(name.err.is_empty(), "it is in PREOP already: {}", name.err);
        assert_eq!(
            near(&["pdo", "--json"]).json()["entries"]
                .as_array()
                .map(Vec::len)
                .map(|it| it > 50),
            Some(true)
        );
        assert_eq!(near(&["dc", "--json"]).json()["reference"], 0);
        let counts = sim.end();
        assert!(counts["frames"].as_u64() > Some(1_000), "{counts}");
        assert_eq!(counts["frames"], counts["returned"]);
    });
}

#[test]
fn faults_are_set_while_a_segment_runs_and_seen_by_a_scan() {
    in_a_network("faults are set while it runs", || {
        let mut sim = Sim::start(&["12"]);
        let ports = |said: &Said, device: usize| said.json()["devices"][device]["ports"].clone();
        let whole = near(&["scan", "--json"]);
        assert_eq!(whole.json()["devices"].as_array().unwrap().len(), 12);
        assert_eq!(ports(&whole, 7)[1], "open");
        assert!(sim.say("cut 'left knee'").starts_with("done: cut"));
        let cut = near(&["scan", "--json"]);
        let left = cut.json()["devices"].as_array().unwrap().len();
        assert_eq!(left, 9, "what is behind the knee is gone");
        assert_eq!(ports(&cut, 7)[1], "unplugged");
        assert!(sim.say("heal 'left knee'").starts_with("done: heal"));
        assert_eq!(near(&["scan", "--json"]).json(), whole.json());
        // The scan sends lost frames again.
        assert!(sim.say("chance 0.01 lose").starts_with("done"));
        assert_eq!(near(&["scan", "--json"]).json(), whole.json());
        assert!(sim.say("clear").starts_with("1 planned fault cancelled"));
        assert!(sim.say("explode").contains("`help` lists the commands"));
        assert!(sim.say("counts").contains("faults of frames"));
        let counts = sim.end();
        assert!(
            counts["lost"].as_u64() > Some(0) && counts["wire_faults"] == 2,
            "{counts}"
        );
    });
}

#[test]
fn the_cable_is_gone_when_the_segment_ends() {
    in_a_network("the cable is gone when the segment ends", || {
        let known = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let sim = Sim::start(&["3"]);
        assert!(known().contains("near:"));
        let second = run(&["ethercat", "sim", "--interface", "far", "--cable", "near"]);
        assert_eq!(second.code, 2);
        assert!(
            second.err.contains("an interface of that name exists"),
            "{}",
            second.err
        );
        sim.end();
        assert!(!known().contains("near:") && !known().contains("far:"));
        let said = near(&["scan"]);
        assert!(
            said.code == 2 && said.err.contains("`near`"),
            "{}",
            said.err
        );
    });
}

#[test]
fn a_segment_without_power_is_reported_as_such() {
    in_a_network("a segment without power is reported as such", || {
        let mut sim = Sim::start(&["3"]);
        assert!(sim.say("power 0 off").starts_with("done"));
        let said = near(&["scan"]);
        assert_eq!(said.code, 2);
        assert!(said.err.contains("is the cable plugged in"), "{}", said.err);
        sim.end();
    });
}

#[test]
fn a_running_loop_is_looked_at_but_not_disturbed() {
    in_a_network("a running loop is looked at but not disturbed", || {
        let folder = folder();
        let out = folder.path().join("run");
        let sim = Sim::start(&["12"]);
        let arguments = parted("ethercat run --interface near --rate 500Hz --json");
        let child = start_measuring(&out, &[&arguments[..], &["--interval", "100ms"]].concat());
        // The supervisor brings all devices to OP; a scan sees this and does not disturb the loop.
        let in_op = || {
            let said = near(&["scan", "--json"]);
            let devices = said.json()["devices"].clone();
            devices
                .as_array()
                .is_some_and(|all| all.iter().all(|it| it["state"] == "OP"))
        };
        wait_until(in_op);
        for command in [
            &["state", "PREOP"][..],
            &["dc", "--align"],
            &["pdo", "--watch", "1"],
            &[
                "run",
                "--duration",
                "1s",
                "--out",
                text(&folder.path().join("second")),
            ],
        ] {
            let refused = near(command);
            assert_eq!(refused.code, 2, "{command:?}");
            assert!(
                refused.err.contains("another MainDevice"),
                "{command:?}: {}",
                refused.err
            );
        }
        // The loop goes on, or is back after a stall of a busy machine.
        wait_until(in_op);
        signal(&child, "INT");
        let said = Said::of(child.wait_with_output().unwrap());
        assert_ended_well(&said);
        let json = said.json();
        assert!(series(&json, "period")["count"].as_u64() > Some(10));
        assert_eq!(run_json(&out)["ended_by"], "interrupted");
        sim.end();
    });
}
