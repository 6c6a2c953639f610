//! `kadenz ethercat` with ESI files as vendors write them, as a user types it.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use fieldbus::*;

const GRIPPER: &str = include_str!("../../../conformance/ethercat/esi/gripper.xml");

/// A segment of one gripper, and a folder of ESI files.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("gripper.xml"), GRIPPER).unwrap();
        let segment = "[[device]]\nname = \"a\"\nesi = \"gripper.xml\"\nproduct = 18\n";
        std::fs::write(folder.path().join("one.toml"), segment).unwrap();
        std::fs::create_dir(folder.path().join("vendors")).unwrap();
        Self { folder }
    }

    fn vendor(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.folder.path().join("vendors").join(name), bytes).unwrap();
    }

    fn pdo(&self) -> Said {
        self.say(&["pdo"])
    }

    /// Runs a command on the segment with the files.
    fn say(&self, arguments: &[&str]) -> Said {
        let path = |name: &str| self.folder.path().join(name);
        let (sim, vendors) = (path("one.toml"), path("vendors"));
        let by = ["--sim", text(&sim), "--esi", text(&vendors)];
        words(&[arguments, &by].concat())
    }
}

#[test]
fn a_vendors_file_is_read_in_its_letters() {
    let bench = Bench::new();
    let german = GRIPPER.replace("1.0\"?>", "1.0\" encoding=\"ISO-8859-1\"?>");
    let (before, behind) = german.split_once("Target width").unwrap();
    let latin = [before.as_bytes(), b"\xD6ffnung", behind.as_bytes()].concat();
    bench.vendor("german.xml", &latin);
    let said = bench.pdo();
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("Öffnung"), "{}", said.out);
    assert!(said.err.contains("1 of 1 devices"), "{}", said.err);
}

#[test]
fn what_is_wrong_with_one_device_is_said_and_ends_it_only_where_it_is_that_device() {
    let bench = Bench::new();
    bench.vendor("good.xml", GRIPPER.as_bytes());
    let faulty = GRIPPER.replacen("<SubIndex>1<", "<SubIndex>300<", 1);
    let another = faulty.replace("ProductCode=\"18\"", "ProductCode=\"19\"");
    bench.vendor("other.xml", another.as_bytes());
    let said = bench.pdo();
    assert_eq!(said.code, 0, "{}", said.err);
    for part in ["passed over", "other.xml", "line 14", "1 of 1 devices"] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
    // The later of two files takes precedence, and this one cannot be read.
    bench.vendor("other.xml", faulty.as_bytes());
    let said = bench.pdo();
    assert_eq!(said.code, 2, "{}", said.err);
    for part in ["other.xml", "line 14", "omit it"] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
}

#[test]
fn what_an_operation_mode_asks_for_and_kadenz_lacks_is_reported() {
    let bench = Bench::new();
    let text = GRIPPER.replace(
        "<ShiftTimeSync0>25000",
        "<ShiftTimeSync0 Factor=\"1\" Input=\"true\">25000",
    );
    bench.vendor("gripper.xml", text.as_bytes());
    let said = bench.pdo();
    let part = "needs settings that Kadenz does not support: a shift by a part of the cycle, SYNC0 timed for inputs";
    assert!(said.err.contains(part), "{}", said.err);
    assert!(said.err.contains("\"DC\""), "{}", said.err);
}

#[test]
fn a_scan_a_state_and_objects_go_by_a_vendors_file() {
    let bench = Bench::new();
    let renamed = GRIPPER.replace(">Target width<", ">Opening<");
    bench.vendor("gripper.xml", renamed.as_bytes());
    let json = bench.say(&["scan", "--json"]).json();
    assert_described("ethercat", "scan", &json);
    let (pdo, device) = (bench.say(&["pdo", "--json"]).json(), &json["devices"][0]);
    assert!(device["esi"].is_string(), "{device}");
    for (scanned, laid_out) in [("input_bytes", "inputs"), ("output_bytes", "outputs")] {
        assert_eq!(device[scanned], pdo[laid_out], "{scanned}");
    }
    let plain = bench.folder.path().join("one.toml");
    let plain = answer_of("scan", &["scan", "--sim", text(&plain)]);
    assert!(plain["devices"][0]["esi"].is_null(), "{plain}");
    for state in ["PREOP", "SAFEOP", "OP"] {
        let said = bench.say(&["state", state]);
        assert_eq!(said.code, 0, "{state}: {}", said.err);
        assert!(said.err.contains("1 of 1 devices"), "{}", said.err);
        assert!(said.out.contains(state), "{}", said.out);
    }
    for what in ["list", "read"] {
        let object: &[&str] = if what == "read" { &["0x1018:1"] } else { &[] };
        let said = bench.say(&[&["sdo", what, "0"], object].concat());
        assert_eq!(said.code, 0, "{what}: {}", said.err);
        assert!(said.err.contains("1 of 1 devices"), "{}", said.err);
    }
    // Every command reports a file that asks for an object which the device does not have.
    let faulty = GRIPPER.replacen("<SubIndex>1<", "<SubIndex>300<", 1);
    bench.vendor("other.xml", faulty.as_bytes());
    for command in [&["state", "SAFEOP"][..], &["sdo", "list", "0"]] {
        let said = bench.say(command);
        assert_eq!(said.code, 2, "{command:?}: {}", said.err);
        assert!(said.err.contains("omit it"), "{}", said.err);
    }
}
