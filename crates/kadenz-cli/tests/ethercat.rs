//! `kadenz ethercat` on a virtual segment in its own process, which needs no rights, as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::*;

use serde_json::Value;

#[test]
fn a_scan_lists_devices_and_what_is_plugged_into_what() {
    let json = answer_of("scan", &["scan", "--sim", "59"]);
    assert_eq!(json["segment"], "sim:59");
    let devices = json["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 59);
    let (coupler, knee) = (&devices[0], &devices[8]);
    assert_eq!(coupler["name"], "EK1100");
    assert_eq!(coupler["vendor"], 2);
    assert_eq!(
        coupler["ports"],
        serde_json::json!(["open", "open", "open", "unplugged"])
    );
    assert_eq!(knee["description"], "left knee");
    assert_eq!(
        (&knee["output_bytes"], &knee["input_bytes"]),
        (&8.into(), &12.into())
    );
    assert!(
        devices
            .iter()
            .all(|it| it["state"] == "INIT" && it["station"] == 0)
    );

    let said = words(&["scan", "--sim", "59"]);
    let row = said
        .out
        .lines()
        .find(|it| it.contains("left knee"))
        .unwrap();
    assert!(
        row.contains("0x4b41445a:0x04020001:0x00000001") && row.contains("01--"),
        "{row}"
    );
    assert!(
        said.out.contains("59 devices, 402 bytes of outputs"),
        "{}",
        said.out
    );
}

#[test]
fn a_state_is_shown_reached_and_refused_with_the_reason() {
    let json = answer_of("state", &["state", "--sim", "12"]);
    assert!(json["wanted"].is_null());
    for (wanted, device, count) in [
        ("PREOP", "all", 12),
        ("safeop", "left knee", 1),
        ("OP", "all", 12),
        ("INIT", "3", 1),
    ] {
        let json = answer_of(
            "state",
            &["state", wanted, "--sim", "12", "--device", device],
        );
        let devices = json["devices"].as_array().unwrap();
        assert_eq!(devices.len(), count, "{wanted}");
        let wanted = wanted.to_uppercase();
        assert!(
            devices.iter().all(|it| it["state"] == wanted.as_str()),
            "{json}"
        );
    }
    // 5 s of virtual time with a cycle each millisecond; no device falls back.
    let json = answer_of("state", &["state", "OP", "--sim", "12", "--duration", "5s"]);
    let states = json["devices"].as_array().unwrap().iter();
    assert!(
        states
            .clone()
            .all(|it| it["state"] == "OP" && it["error"] == false)
    );
}

#[test]
fn a_device_that_fails_is_reported_with_its_status_code() {
    let folder = folder();
    let file = folder.path().join("failing.toml");
    // The device leaves OP by its watchdog when its cable is cut for long enough.
    std::fs::write(
        &file,
        r#"
        [[device]]
        name = "coupler"
        model = "ek1100"
        [[device]]
        name = "joint"
        model = "drive"
        [[fault]]
        what = "flap"
        device = "joint"
        at_ms = 900
        value = 400
        "#,
    )
    .unwrap();
    let said = run_line(&format!(
        "ethercat state OP --duration 3s --json --sim {}",
        text(&file)
    ));
    assert_eq!(said.code, 0, "{}", said.err);
    let json = said.json();
    assert_described("ethercat", "state", &json);
    let joint = &json["devices"][1];
    assert_eq!(
        (&joint["state"], &joint["error"]),
        (&"SAFEOP".into(), &true.into())
    );
    assert_eq!(joint["al_status_code"], 0x1B);
    assert!(
        joint["reason"].as_str().unwrap().contains("watchdog"),
        "{joint}"
    );
}

#[test]
fn objects_are_read_by_position_and_name_with_the_type_that_the_device_reports() {
    let json = answer_of("sdo", &["sdo", "read", "8", "0x1018:1", "--sim", "59"]);
    assert_eq!(
        (&json["value"], &json["type"]),
        (&0x4B41_445A_u32.into(), &"u32".into())
    );
    assert_eq!(json["name"], "Vendor ID");
    let named = answer_of(
        "sdo",
        &["sdo", "read", "left knee", "0x1008", "--sim", "59"],
    );
    assert_eq!(
        (&named["value"], &named["type"]),
        (&"KZ-Drive".into(), &"text".into())
    );
    let forced = answer_of(
        "sdo",
        &[
            "sdo", "read", "8", "0x1018:1", "--type", "bytes", "--sim", "59",
        ],
    );
    assert_eq!(forced["value"], "5a 44 41 4b");
    let whole = answer_of(
        "sdo",
        &["sdo", "read", "8", "0x1018:1", "--complete", "--sim", "59"],
    );
    assert_eq!(whole["bytes"].as_str().unwrap().split(' ').count(), 16);

    let said = words(&["sdo", "read", "8", "0x6041", "--sim", "59"]);
    assert_eq!(said.code, 0);
    assert!(
        said.out.starts_with("0x6041:00 Statusword = "),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("was in INIT, and is in PREOP now"),
        "{}",
        said.err
    );
}

#[test]
fn objects_are_written_and_refusals_are_in_words() {
    let json = answer_of(
        "sdo",
        &["sdo", "write", "8", "0x6065", "0x20000", "--sim", "59"],
    );
    assert_eq!(json["bytes"], "00 00 02 00");
    let json = answer_of("sdo", &["sdo", "write", "8", "0x60B2", "-5", "--sim", "59"]);
    assert_eq!(
        (&json["value"], &json["type"]),
        (&(-5).into(), &"i16".into())
    );
    for (arguments, word) in [
        (&["write", "8", "0x6041", "1"][..], "read only"),
        (&["write", "8", "0x6060", "300"][..], "-128 to 127"),
        (&["write", "8", "0x6060", "x", "--type", "i8"][..], "digits"),
        (&["write", "8", "0x5FFF", "1"][..], "--type"),
        (
            &["write", "8", "0x5FFF", "1", "--type", "u8"][..],
            "does not exist",
        ),
        (&["read", "8", "0x1018:9"][..], "sub-index does not exist"),
        (&["read", "0", "0x1018"][..], "does not support CoE"),
        (&["read", "59", "0x1018"][..], "the last of 59 is at 58"),
        (&["read", "no-such-device", "0x1018"][..], "scan"),
        (
            &["read", "KZ-Drive", "0x1018"][..],
            "by its position: 4 (waist yaw), 5 (left hip yaw)",
        ),
        (&["info", "8", "0x5FFF"][..], "does not exist"),
    ] {
        let said = run(&[&["ethercat", "sdo"], arguments, &["--sim", "59"]].concat());
        assert_eq!(said.code, 2, "{arguments:?}");
        assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
        assert!(said.out.is_empty());
    }
}

#[test]
fn the_object_dictionary_is_listed_with_values() {
    let json = answer_of("sdo-list", &["sdo", "list", "left knee", "--sim", "59"]);
    let objects = json["objects"].as_array().unwrap();
    let of = |index: u32| objects.iter().find(|it| it["index"] == index).unwrap();
    assert_eq!(of(0x1018)["entries"].as_array().unwrap().len(), 5);
    let word = &of(0x6040)["entries"][0];
    assert_eq!(
        (&word["type"], &word["output"]),
        (&"u16".into(), &true.into())
    );
    assert!(word["writable"] == true && word["readable"] == true);
    let one = answer_of("sdo-list", &["sdo", "info", "8", "0x1018:1", "--sim", "59"]);
    assert_eq!(one["objects"][0]["entries"].as_array().unwrap().len(), 1);
    let said = words(&["sdo", "info", "8", "0x6040", "--sim", "59"]);
    assert!(
        said.out.contains("0x6040:00  Controlword") && said.out.contains("rwo-"),
        "{}",
        said.out
    );
}

#[test]
fn listed_entries_are_read_by_the_address_that_is_shown() {
    let said = words(&["sdo", "list", "4", "--sim", "5"]);
    assert!(said.out.contains(" 0x1C32:11 "), "{}", said.out);
    let listed = said.out.split_whitespace();
    let objects = ["0x1C32:", "0x1018:"];
    for entry in listed.filter(|it| objects.iter().any(|object| it.starts_with(object))) {
        let read = words(&["sdo", "read", "4", entry, "--sim", "5"]);
        assert!(read.out.starts_with(entry), "{entry}: {}", read.out);
    }
}

#[test]
fn process_data_is_where_it_is_said_to_be() {
    let json = answer_of("pdo", &["pdo", "--sim", "59", "--watch", "3"]);
    let entries = json["entries"].as_array().unwrap();
    let cycles = json["cycles"].as_array().unwrap();
    assert_eq!(cycles.len(), 3);
    for cycle in cycles {
        assert_eq!(cycle["working_counter"], cycle["expected_working_counter"]);
        assert_eq!(cycle["values"].as_array().unwrap().len(), entries.len());
    }
    // An IMU counts its samples: a value at a wrong place would not go up by one.
    let counter = |cycle: &Value| {
        let is_it = |it: &Value| it["name"] == "Sample counter" && it["device"]["position"] == 3;
        let place = entries.iter().position(is_it).unwrap();
        cycle["values"][place].as_u64().unwrap()
    };
    assert_eq!(counter(&cycles[1]), counter(&cycles[0]) + 1);
    assert_eq!(counter(&cycles[2]), counter(&cycles[0]) + 2);

    let alone = answer_of("pdo", &["pdo", "--sim", "59", "--device", "left knee"]);
    let names: Vec<_> = alone["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names[0], "Controlword");
    let said = words(&["pdo", "--sim", "59", "--device", "3", "--watch", "2"]);
    assert!(
        said.out.contains("cycle 2: working counter 159 of 159"),
        "{}",
        said.out
    );
}

#[test]
fn devices_are_configured_as_their_vendors_file_says() {
    const GRIPPER: &str = include_str!("../../../conformance/ethercat/esi/gripper.xml");
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("gripper.xml"), GRIPPER).unwrap();
    let segment = "[[device]]\nname = \"a\"\nesi = \"gripper.xml\"\nproduct = 18\n";
    std::fs::write(path("one.toml"), segment).unwrap();
    // A user's copy of the file maps the force too, under another name.
    let vendors = path("vendors");
    std::fs::create_dir(&vendors).unwrap();
    let mine = GRIPPER
        .replace(r#"<TxPdo Fixed="1">"#, r#"<TxPdo Sm="3" Fixed="1">"#)
        .replace(
            r#"<Name>Force</Name><DataType>"#,
            r#"<Name>Newtons</Name><DataType>"#,
        );
    std::fs::write(vendors.join("mine.xml"), mine).unwrap();
    std::fs::write(vendors.join("other.xml"), "<svg/>").unwrap();
    let sim = path("one.toml");
    let pdo = [
        "pdo",
        "--sim",
        text(&sim),
        "--esi",
        text(&vendors),
        "--watch",
        "2",
    ];
    let json = answer_of("pdo", &pdo);
    let entries = json["entries"].as_array().unwrap();
    assert_eq!(json["inputs"], 8);
    assert_eq!(entries.last().unwrap()["name"], "Newtons");
    assert_eq!(json["cycles"][1]["working_counter"], 3);
    let said = words(&pdo);
    for part in [
        "1 of 1 devices",
        "other.xml",
        "on the way to OP are not written",
    ] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    for (esi, part) in [("one.toml", "it is not valid XML"), ("none", "none")] {
        let file = path(esi);
        let said = words(&["pdo", "--sim", text(&sim), "--esi", text(&file)]);
        assert_eq!(said.code, 2);
        assert!(said.err.contains(part), "{}", said.err);
    }
}

#[test]
fn the_memory_of_a_device_is_shown_and_saved() {
    let folder = folder();
    let file = folder.path().join("knee.bin");
    let json = answer_of(
        "sii",
        &["sii", "read", "8", "--sim", "59", "--out", text(&file)],
    );
    assert_eq!(json["checksum_holds"], true);
    let bytes = std::fs::read(&file).unwrap();
    let shown: Vec<String> = bytes.iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(json["bytes"], shown.join(" ").as_str());
    assert!(
        json["categories"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["name"] == "SyncManagers")
    );
    let said = words(&["sii", "read", "left knee", "--sim", "59", "--hex"]);
    assert!(said.out.starts_with("0x0000  "), "{}", said.out);
    assert!(
        words(&["sii", "read", "0", "--sim", "59"])
            .out
            .contains("mailbox: none")
    );
}

#[test]
fn a_printed_segment_is_a_file_that_every_command_takes() {
    let folder = folder();
    let file = folder.path().join("robot.toml");
    let printed = words(&["sim", "12", "--print"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    std::fs::write(&file, &printed.out).unwrap();
    let of_file = answer_of("scan", &["scan", "--sim", text(&file)]);
    let of_number = answer_of("scan", &["scan", "--sim", "12"]);
    assert_eq!(of_file["devices"], of_number["devices"]);
    let again = words(&["sim", text(&file), "--print"]);
    assert_eq!(again.out, printed.out);
}

#[test]
fn what_cannot_be_is_exit_code_2_with_the_remedy() {
    let folder = folder();
    let file = folder.path().join("wrong.toml");
    std::fs::write(&file, "[[device]]\nname = \"a\"\nmodel = \"el9999\"\n").unwrap();
    for (arguments, word) in [
        (&["scan"][..], "--interface"),
        (&["scan", "--sim", "0"][..], "1 to 200"),
        (&["scan", "--sim", "201"][..], "1 to 200"),
        (&["scan", "--sim", "/no/such.toml"][..], "/no/such.toml"),
        (&["scan", "--sim", text(&file)][..], "wrong.toml:3"),
        (
            &["scan", "--sim", "59", "--interface", "eth0"][..],
            "cannot be used with",
        ),
        (&["state", "BOOT", "--sim", "3"][..], "PREOP"),
        (&["state", "--sim", "3", "--duration", "1s"][..], "STATE"),
        (
            &["state", "OP", "--sim", "3", "--duration", "1"][..],
            "unit",
        ),
        (
            &["state", "--sim", "3", "--device", "7"][..],
            "the last of 3 is at 2",
        ),
        (&["sdo", "read", "1", "6041", "--sim", "3"][..], "0x1018:1"),
        (
            &["sdo", "read", "1", "0x6041", "--type", "u7", "--sim", "3"][..],
            "f64",
        ),
        (&["pdo", "--watch", "0", "--sim", "3"][..], "1..=1000000"),
        (&["sii", "read", "9", "--sim", "3"][..], "the last of 3"),
        (
            &[
                "sii",
                "read",
                "0",
                "--sim",
                "3",
                "--out",
                "/no/such/folder/a",
            ][..],
            "/no/such/folder/a",
        ),
        (&["sim"][..], "--interface"),
        (&["sim", "300", "--print"][..], "200"),
        (&["sim", text(&file), "--print"][..], "el9999"),
        (&["sim", "--cable", "a0", "--print"][..], "--cable"),
        (&["dc", "--time", "own", "--sim", "3"][..], "--align"),
    ] {
        let said = words(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
        assert!(said.out.is_empty(), "{arguments:?}: {}", said.out);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_missing_interface_is_named_with_those_that_exist() {
    for command in [&["scan"][..], &["sim"], &["dc"], &["state", "OP"]] {
        let said = words(&[command, &["--interface", "nosuch0"]].concat());
        assert_eq!(said.code, 2);
        assert!(
            said.err.contains("`nosuch0`") && said.err.contains("lo"),
            "{}",
            said.err
        );
    }
}

#[test]
fn every_command_has_examples() {
    for command in [
        &["sim"][..],
        &["scan"],
        &["state"],
        &["sdo", "read"],
        &["sdo", "write"],
        &["sdo", "list"],
        &["sdo", "info"],
        &["pdo"],
        &["dc"],
        &["sii", "read"],
        &["sii", "write"],
        &["alias"],
        &["register", "read"],
        &["register", "write"],
        &["latency"],
        &["run"],
        #[cfg(target_os = "linux")]
        &["stats"],
    ] {
        let said = words(&[command, &["--help"]].concat());
        assert!(
            said.code == 0 && said.out.contains("Examples:"),
            "{command:?}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn without_the_right_to_raw_frames_the_remedy_is_named() {
    use std::process::Command;
    let mut command = Command::new("setpriv");
    if is_root() {
        if Command::new("setpriv").arg("--version").output().is_err() {
            return skip(
                "without the right to raw frames",
                "setpriv (apt install util-linux)",
            );
        }
        command.args(["--bounding-set=-net_raw", "--inh-caps=-net_raw"]);
        command.arg(env!("CARGO_BIN_EXE_kadenz"));
    } else {
        command = kadenz(&[]);
    }
    let scan = ["ethercat", "scan", "--interface", "lo"];
    let said = Said::of(command.args(scan).output().unwrap());
    assert_eq!(said.code, 2);
    assert!(said.err.contains("cap_net_raw"), "{}", said.err);
}

#[test]
fn simulated_loops_are_counted_while_they_take_their_time() {
    let said = words(&["latency", "--sim", "3", "--cycles", "100"]);
    assert_eq!(said.code, 0, "{}", said.err);
    for line in ["simulating loops: 0 of 5", "simulating loops: 4 of 5"] {
        assert!(said.err.contains(line), "{}", said.err);
    }
}
