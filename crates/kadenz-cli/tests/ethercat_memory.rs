//! SII memories of devices and their aliases, written as a user types it: on a virtual segment in the program's own
//! process, and over a cable to one that keeps them.
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

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use kadenz::ethercat::wire::sii::checksum;
use serde_json::Value;

/// Reads the memory of a device of `--sim 12` into a file.
fn memory_of(device: &str, folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("memory.bin");
    answer_of(
        "sii",
        &["sii", "read", device, "--sim", "12", "--out", text(&path)],
    );
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

/// The same memory with other letters in its long name.
fn renamed(bytes: &[u8]) -> Vec<u8> {
    let at = bytes.windows(9).position(|it| it == b"left knee").unwrap();
    let mut renamed = bytes.to_vec();
    renamed[at..at + 9].copy_from_slice(b"LEFT KNEE");
    renamed
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[14] = checksum(bytes.first_chunk().unwrap());
    bytes
}

#[test]
fn a_memory_is_written_and_read_again() {
    let folder = folder();
    let (path, bytes) = memory_of("left knee", folder.path());
    let write = ["sii", "write", "left knee", text(&path), "--sim", "12"];
    let same = answer_of("sii-write", &write);
    assert_eq!((&same["words"], &same["left"]), (&0.into(), &0.into()));
    assert!(words(&write).out.contains("already equals the file"));
    std::fs::write(&path, renamed(&bytes)).unwrap();
    let done = answer_of("sii-write", &write);
    let count = done["words"].as_u64().unwrap();
    assert!((4..=5).contains(&count), "{done}");
    assert_eq!(
        (&done["written"], &done["left"]),
        (&count.into(), &0.into())
    );
    let said = words(&write);
    assert!(said.out.contains("next power-on"), "{}", said.out);
    // From standard input.
    let mut child = kadenz(&[
        "ethercat", "sii", "write", "8", "-", "--sim", "12", "--json",
    ])
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&renamed(&bytes))
        .unwrap();
    let piped = Said::of(child.wait_with_output().unwrap());
    assert_eq!(piped.code, 0, "{}", piped.err);
    assert_eq!(piped.json()["words"], count);
}

#[test]
fn what_would_spoil_a_device_is_refused_unless_it_is_forced() {
    let folder = folder();
    let (path, bytes) = memory_of("8", folder.path());
    let write = ["sii", "write", "8", text(&path), "--sim", "12"];
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] ^= value;
        bytes
    };
    for (content, word) in [
        (bytes[..100].to_vec(), "100 bytes are too few"),
        (bytes[..129].to_vec(), "too few"),
        (bytes[..bytes.len() - 1].to_vec(), "not whole words"),
        (changed(8, 1), "its checksum is"),
        (changed(0x83, 0xFF), "reaches over the image's end"),
        (changed(0x10, 1), "its vendor is"),
        (changed(0x14, 1), "its product is"),
        (changed(0x18, 1), "its revision is"),
        (changed(0x1C, 1), "its serial number is"),
        (with_checksum(changed(1, 0x80)), "wired"),
        (
            [&bytes[..], &[0xFF; 600_000]].concat(),
            "longer than any memory",
        ),
        (Vec::new(), "is empty"),
    ] {
        std::fs::write(&path, content).unwrap();
        let said = words(&write);
        assert_eq!(said.code, 2, "{word}");
        assert!(said.err.contains(word), "{word}: {}", said.err);
        assert!(said.out.is_empty(), "{}", said.out);
    }
    std::fs::write(&path, changed(0x18, 1)).unwrap();
    assert!(words(&write).err.contains("--force writes it nevertheless"));
    let forced = [&write[..], &["--force"]].concat();
    let json = answer_of("sii-write", &forced);
    assert_eq!((&json["written"], &json["left"]), (&1.into(), &0.into()));
    assert!(json["overridden"][0].as_str().unwrap().contains("revision"));
    assert!(
        words(&forced)
            .err
            .contains("forced, though its revision is")
    );
    let missing = words(&["sii", "write", "8", "/no/such.bin", "--sim", "12"]);
    assert!(missing.code == 2 && missing.err.contains("/no/such.bin"));
}

#[test]
fn an_alias_is_written_with_its_checksum() {
    let alias = ["alias", "left knee", "0x3F0", "--sim", "12"];
    let json = answer_of("alias", &alias);
    assert_eq!(
        (&json["before"], &json["alias"], &json["written"]),
        (&0.into(), &1008.into(), &true.into())
    );
    let said = words(&alias);
    assert!(
        said.out.contains("takes effect at the next power-on"),
        "{}",
        said.out
    );
    let none = answer_of("alias", &["alias", "8", "0", "--sim", "12"]);
    assert_eq!(none["written"], false);
    let folder = folder();
    let file = folder.path().join("two.toml");
    let segment = "[[device]]\nname = \"a\"\nmodel = \"drive\"\nalias = 7\n[[device]]\nname = \"b\"\nmodel = \
                   \"drive\"\n[[device]]\nname = \"c\"\nmodel = \"drive\"\neeprom = { spoiled = [[2, 0x55]] }\n";
    std::fs::write(&file, segment).unwrap();
    for (device, alias, word) in [
        ("1", "7", "device 0 (a) has the alias 7 already"),
        ("2", "8", "the SII checksum is wrong"),
        ("1", "65536", "65535"),
        ("3", "8", "the last of 3"),
        ("all", "8", "3 devices are all"),
    ] {
        let said = words(&["alias", device, alias, "--sim", text(&file)]);
        assert_eq!(said.code, 2, "{device} {alias}");
        assert!(said.err.contains(word), "{word}: {}", said.err);
    }
    let forced = answer_of(
        "alias",
        &["alias", "1", "7", "--force", "--sim", text(&file)],
    );
    assert_eq!(forced["overridden"].as_array().unwrap().len(), 1);
    let gone = answer_of("alias", &["alias", "alias:7", "0", "--sim", text(&file)]);
    assert_eq!(
        (&gone["before"], &gone["written"]),
        (&7.into(), &true.into())
    );
}

#[test]
fn memory_and_alias_stay_and_count_from_the_next_power_on() {
    in_a_network("memory and alias stay", || {
        let mut sim = Sim::start(&["12"]);
        let folder = folder();
        let file = folder.path().join("knee.bin");
        let saved = near(&["sii", "read", "8", "--out", text(&file)]);
        assert_eq!(saved.code, 0, "{}", saved.err);
        let wanted = renamed(&std::fs::read(&file).unwrap());
        std::fs::write(&file, &wanted).unwrap();
        let written = near(&["sii", "write", "8", text(&file)]);
        assert_eq!(written.code, 0, "{}", written.err);
        assert!(
            near(&["sii", "write", "8", text(&file)])
                .out
                .contains("already equals the file")
        );
        let alias = near(&["alias", "LEFT KNEE", "1008"]);
        assert_eq!(alias.code, 0, "{}", alias.err);
        let scanned = || {
            let said = near(&["scan", "--json"]);
            (said.code == 0).then(|| said.json()["devices"][8].clone())
        };
        let before = scanned().unwrap();
        assert_eq!(
            (&before["alias"], &before["description"]),
            (&0.into(), &"LEFT KNEE".into())
        );
        assert!(sim.say("power 8 cycle 100ms").starts_with("done"));
        wait_until(|| scanned().is_some_and(|it| it["alias"] == 1008));
        let register = near(&["register", "read", "alias:1008", "0x0012"]);
        assert!(
            register.out.contains("station alias = 1008"),
            "{}",
            register.out
        );
        let taken = near(&["alias", "9", "1008"]);
        assert_eq!(taken.code, 2);
        assert!(taken.err.contains("device 8 (LEFT KNEE)"), "{}", taken.err);
        sim.end();
    });
}

#[test]
fn writing_that_is_interrupted_says_what_is_left_and_goes_on_from_there() {
    in_a_network("interrupted writing goes on", || {
        let sim = Sim::start(&["12"]);
        let folder = folder();
        let file = folder.path().join("knee.bin");
        assert_eq!(near(&["sii", "read", "8", "--out", text(&file)]).code, 0);
        let mut bytes = std::fs::read(&file).unwrap();
        // Kadenz does not interpret the bytes after the end mark.
        let room = (usize::from(u16::from_le_bytes([bytes[0x7C], bytes[0x7D]])) + 1) * 128;
        bytes.resize(room, 0x5A);
        std::fs::write(&file, &bytes).unwrap();
        let write = ["sii", "write", "8", text(&file), "--json"];
        let mut child = kadenz(&[&["ethercat"], &write[..], &["--interface", "near"]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
        // The second line comes when a quarter is written.
        for _ in 0..2 {
            let line = notes.next().unwrap().unwrap();
            assert!(line.starts_with("writing words of the memory: "), "{line}");
        }
        signal(&child, "INT");
        notes.for_each(drop);
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 2, "{}", said.out);
        let first = said.json();
        assert_described("ethercat", "sii-write", &first);
        let count = |json: &Value, what: &str| json[what].as_u64().unwrap();
        assert!(
            count(&first, "written") > 0 && count(&first, "left") > 0,
            "{first}"
        );
        assert_eq!(
            count(&first, "written") + count(&first, "left"),
            count(&first, "words")
        );
        let second = near(&write);
        assert_eq!(second.code, 0, "{}", second.err);
        assert_eq!(count(&second.json(), "words"), count(&first, "left"));
        assert_eq!(near(&write).json()["words"], 0);
        sim.end();
    });
}
