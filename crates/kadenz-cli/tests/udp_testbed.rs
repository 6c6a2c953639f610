//! A controller in a testbed counts exactly the faults that the testbed injects, packet for packet.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// A controller and a device on one switch. A test may append settings of the device's link, which is last.
const ARM: &str = "name = 'arm'\n[[switch]]\nname = 's'\n\
                   [[host]]\nname = 'c'\nrole = 'controller'\n\
                   [[host]]\nname = 'd'\nrole = 'device'\n\
                   program = ['kadenz', 'udp', 'echo', '--quiet', '--bind', '0.0.0.0', '--name', '{host}']\n\
                   [[link]]\nbetween = ['c', 's']\nrate = '100M'\n\
                   [[link]]\nbetween = ['d', 's']\nrate = '100M'\n";

/// The counts of a controller and of the testbed around it.
struct Counted {
    /// The controller's run, read while the testbed was up.
    run: Value,
    /// The page of the run, made after the end of the testbed.
    page: String,
    network: Value,
    status: Value,
    code: i32,
}

impl Counted {
    fn packets(&self, name: &str) -> u64 {
        self.network["total"][name].as_u64().unwrap()
    }

    /// The number of faults of this kind in both directions of the device's link.
    fn faults(&self, device: &str, name: &str) -> u64 {
        let lanes = self.status["lanes"].as_array().unwrap().iter();
        let ours = lanes.filter(|lane| lane["from"] == device || lane["to"] == device);
        ours.map(|lane| lane[name].as_u64().unwrap()).sum()
    }
}

/// Whether this machine and user can build a testbed; reports a skipped test if not.
fn can_build(test: &str) -> bool {
    if !is_root() {
        skip(
            test,
            "network namespaces need root: run the tests with sudo",
        );
    } else if !Path::new("/dev/net/tun").exists() {
        skip(test, "the driver of taps is missing: sudo modprobe tun");
    } else {
        return true;
    }
    false
}

/// Runs a controller in a testbed of this topology.
fn counted(topology: &str, controller: &[&str]) -> Counted {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone: MutexGuard<'_, ()> = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let (file, bed, run) = (path("arm.toml"), path("bed"), path("run"));
    std::fs::write(&file, topology).unwrap();
    let mut arguments = vec![
        "testbed",
        "run",
        text(&file),
        "--out",
        text(&bed),
        "--",
        "kadenz",
    ];
    arguments.extend(controller);
    arguments.extend(["--json", "--out", text(&run)]);
    let mut command = kadenz(&arguments);
    command.env("KADENZ_JOURNAL_FOLDER", path("journal"));
    let said = Said::of(command.output().unwrap());
    let status = std::fs::read(bed.join("status.json"));
    let status = status.unwrap_or_else(|error| panic!("{error}: {}", said.err));
    let page = path("page.html");
    let reported = kadenz(&["report", text(&run), "--out", text(&page)]).output();
    assert!(reported.unwrap().status.success());
    let measured = said.json()["runs"][0].clone();
    Counted {
        page: std::fs::read_to_string(page).unwrap(),
        network: measured["network"].clone(),
        run: measured,
        status: serde_json::from_slice(&status).unwrap(),
        code: said.code,
    }
}

const SEND: [&str; 12] = [
    "udp",
    "send",
    "--to",
    "{d}",
    "--rate",
    "500Hz",
    "--count",
    "600",
    "--warm-up",
    "0",
    "--timeout",
    "5s",
];

#[test]
fn a_network_without_faults_loses_nothing() {
    if !can_build("a_network_without_faults_loses_nothing") {
        return;
    }
    let counted = counted(ARM, &[&SEND[..], &["--deadline", "10s"]].concat());
    assert_eq!(counted.code, 0);
    assert_eq!((counted.packets("sent"), counted.packets("lost")), (600, 0));
    assert_eq!(
        counted.packets("duplicates") + counted.packets("reordered"),
        0
    );
}

#[test]
fn a_run_says_which_testbed_is_around_it() {
    if !can_build("a_run_says_which_testbed_is_around_it") {
        return;
    }
    let counted = counted(ARM, &[&SEND[..], &["--deadline", "10s"]].concat());
    let path = &counted.network["path"];
    assert_eq!(
        (&path["told_by"], &path["connection"]),
        (&"testbed".into(), &"2x 100 Mbit/s".into())
    );
    assert_eq!(path["round_trip_ns"], 81_280);
    let testbed = &counted.network["testbed"];
    assert_eq!(
        (&testbed["topology"], &testbed["host"]),
        (&"arm".into(), &"c".into())
    );
    assert_eq!(testbed["run"], "bed");
    // The time on the wire, and that of the switch: 4 us each way.
    assert_eq!(testbed["model"]["p50_ns"], 81_280 + 2 * 4_000);
    let layers = counted.run["budget"]["layers"].as_array().unwrap();
    let wire = layers.iter().filter(|layer| layer["wire_ns"] == 81_280);
    assert_eq!(wire.count(), 1, "{layers:?}");
    for words in [
        "<section id=\"testbed\">",
        "by the model, with ideal hosts",
        "own error, a frame",
        "of it on the wire (computed)",
    ] {
        assert!(counted.page.contains(words), "{words}");
    }
}

#[test]
fn what_the_user_says_of_the_links_goes_before_the_testbed() {
    if !can_build("what_the_user_says_of_the_links_goes_before_the_testbed") {
        return;
    }
    let counted = counted(ARM, &[&SEND[..], &["--path", "1G, 100M"]].concat());
    let path = &counted.network["path"];
    assert_eq!(path["told_by"], "user");
    assert_eq!(
        path["links_bit_s"],
        serde_json::json!([1_000_000_000, 100_000_000])
    );
    assert_eq!(path["round_trip_ns"], 2 * (2_032 + 20_320));
}

#[test]
fn lost_packets_are_counted_exactly() {
    if !can_build("lost_packets_are_counted_exactly") {
        return;
    }
    let lossy = format!("{ARM}loss = 0.05\nseed = 3\n");
    let counted = counted(&lossy, &[&SEND[..], &["--deadline", "10s"]].concat());
    let lost = counted.faults("d", "lost");
    assert!(lost > 20, "{}", counted.status);
    assert_eq!(counted.packets("lost"), lost);
    assert_eq!(counted.packets("answered"), 600 - lost);
    assert_eq!(counted.code, 1, "a lost packet missed its deadline");
}

#[test]
fn duplicates_are_counted_exactly() {
    if !can_build("duplicates_are_counted_exactly") {
        return;
    }
    let doubling = format!("{ARM}duplicate = 0.05\nseed = 4\n");
    let counted = counted(&doubling, &SEND);
    let doubled = counted.faults("d", "duplicated");
    assert!(doubled > 20, "{}", counted.status);
    assert_eq!(counted.packets("duplicates"), doubled);
    assert_eq!(counted.packets("lost"), 0);
}

#[test]
fn reordered_packets_are_counted_exactly() {
    if !can_build("reordered_packets_are_counted_exactly") {
        return;
    }
    // A packet that is overtaken on the way there and overtakes on the way back is in order again; with this seed there
    // is no such packet.
    let mixing = format!("{ARM}reorder = 0.02\nseed = 8\n");
    let counted = counted(&mixing, &SEND);
    let reordered = counted.faults("d", "reordered");
    assert!(reordered > 10, "{}", counted.status);
    assert_eq!(
        counted.packets("reordered"),
        reordered,
        "{}",
        counted.status
    );
    assert_eq!(counted.packets("lost"), 0);
}

#[test]
fn of_a_whole_robot_each_device_is_counted_for_itself() {
    if !can_build("of_a_whole_robot_each_device_is_counted_for_itself") {
        return;
    }
    let robot = ARM
        .replace("name = 'd'\n", "name = 'd'\ncount = 6\n")
        .replace("'d', 's'", "'d-*', 's'");
    let lossy = format!("{robot}loss = 0.05\nseed = 6\n");
    let burst = [
        "udp",
        "burst",
        "--to",
        "{broadcast}",
        "--devices",
        "6",
        "--rate",
        "200Hz",
        "--count",
        "200",
        "--warm-up",
        "0",
        "--timeout",
        "10s",
    ];
    let counted = counted(&lossy, &burst);
    let flows = counted.network["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 6);
    let mut lost_in_all = 0;
    for flow in flows {
        let device = flow["device"].as_str().unwrap();
        assert_eq!(flow["sent"], 200);
        // The testbed may also have lost discovery packets before the burst.
        let lost = flow["lost"].as_u64().unwrap();
        let on_purpose = counted.faults(device, "lost");
        assert!(
            on_purpose >= lost && on_purpose <= lost + 6,
            "{device}: {lost} of {on_purpose}"
        );
        lost_in_all += lost;
    }
    assert!(lost_in_all > 50, "{}", counted.network);
}
