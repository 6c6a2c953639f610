//! The cable that `kadenz ethercat sim` makes, however the program ends. The tests run in a network of their own, which
//! needs root.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use kadenz::rt::net::namespace::Namespace;
use serde_json::Value;

/// Runs `work` in a network of its own, or reports why it cannot.
fn in_a_network(test: &str, work: impl FnOnce() + Send) {
    match Namespace::create() {
        Ok(network) => network.run(work).unwrap(),
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            skip(test, &error.to_string());
        }
    }
}

/// Starts a segment with a cable.
fn segment() -> Child {
    let mut child = kadenz(&["ethercat", "sim", "--interface", "far", "--cable", "near"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    notes.read_line(&mut first).unwrap();
    assert!(first.contains("on far, its other end is near"), "{first}");
    child
}

/// Starts and kills a segment, whose cable stays.
fn killed_segment() {
    let mut child = segment();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_there("far") && is_there("near"));
}

fn is_there(interface: &str) -> bool {
    let names = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    names
        .lines()
        .any(|it| it.trim_start().starts_with(&format!("{interface}:")))
}

/// Runs `kadenz doctor`, which finds journals of this test alone.
fn doctor(folder: &std::path::Path, arguments: &[&str]) -> Value {
    let mut doctor = kadenz(&[&["doctor", "--json"], arguments].concat());
    doctor.env("KADENZ_JOURNAL_FOLDER", folder);
    let said = Said::of(doctor.output().unwrap());
    assert_eq!(said.code, 0, "{}", said.err);
    said.json()
}

#[test]
fn the_cable_of_a_killed_segment_is_found_and_taken_away() {
    in_a_network("the cable of a killed segment", || {
        killed_segment();
        let journals = folder();
        let found = doctor(journals.path(), &[]);
        let is_it = |it: &&Value| it["id"] == "leftovers" && it["severity"] == "costs";
        let finding = found["findings"].as_array().unwrap().iter().find(is_it);
        let evidence = finding.unwrap()["evidence"].as_str().unwrap();
        assert!(evidence.starts_with("far: made by process"), "{evidence}");
        let restored = doctor(journals.path(), &["--restore"]);
        let put_back = restored["put_back"][0].as_str().unwrap();
        assert!(put_back.contains("the cable at `far`"), "{put_back}");
        assert!(!is_there("far") && !is_there("near"));
        // The next segment also removes the cable of a killed one.
        killed_segment();
        let mut next = segment();
        signal(&next, "INT");
        assert_eq!(next.wait().unwrap().code(), Some(0));
        assert!(!is_there("far") && !is_there("near"));
    });
}

#[test]
fn the_cable_goes_however_often_and_early_ctrl_c_is_pressed() {
    in_a_network("the cable goes with Ctrl-C", || {
        for _ in 0..5 {
            let mut child = segment();
            signal(&child, "INT");
            signal(&child, "INT");
            child.wait().unwrap();
            assert!(!is_there("far") && !is_there("near"));
        }
    });
}
