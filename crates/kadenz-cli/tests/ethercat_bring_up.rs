//! The bring-up of a segment with missing devices, as a user sees it and ends it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
use common::*;
#[path = "common/fieldbus.rs"]
mod fieldbus;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use fieldbus::*;

/// Writes a segment file of a humanoid of twelve devices, one of which has no power.
fn segment(folder: &Path) -> PathBuf {
    let printed = run(&["ethercat", "sim", "12", "--print"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let off = "\n[[fault]]\nwhat = \"power-off\"\ndevice = \"left knee\"\nat_ms = 0\n";
    let path = folder.join("robot.toml");
    std::fs::write(&path, printed.out + off).unwrap();
    path
}

#[test]
fn a_bring_up_that_waits_for_a_device_is_seen_and_ended_by_a_stop() {
    let folder = folder();
    let file = segment(folder.path());
    let name = format!("test-bring-up-{}", std::process::id());
    let arguments = ["ethercat", "run", "--sim", text(&file), "--name", &name];
    // The timeout is in the segment's own time, which passes as fast as this machine computes it.
    let wait = ["--expect", text(&file), "--bring-up-timeout", "10h"];
    let child = kadenz(&[&arguments[..], &wait].concat())
        .arg("--out")
        .arg(folder.path().join("run"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let of = ["--loop", name.as_str()];
    wait_until(|| words(&[&["axes"], &of[..]].concat()).code == 0);
    let json = answer_of("axes", &[&["axes"], &of[..]].concat());
    assert_eq!(json["stage"], "bringing_up");
    let said = words(&[&["axes"], &of[..]].concat());
    assert!(said.out.starts_with("bringing up for "), "{}", said.out);
    let refused = words(&["stats", &name]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("is bringing up"), "{}", refused.err);
    let json = answer_of("axes", &[&["stop"], &of[..]].concat());
    assert_eq!(json["stage"], "ending");
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("ended by `kadenz ethercat stop`"),
        "{}",
        said.err
    );
    let retries = said.err.matches("tried again for up to 10h").count();
    assert_eq!(retries, 1, "{}", said.err);
    assert!(!folder.path().join("run").exists(), "nothing was measured");
}

#[test]
fn a_bring_up_says_once_that_it_waits_and_once_that_this_is_over() {
    let folder = folder();
    let file = segment(folder.path());
    let text_of = std::fs::read_to_string(&file).unwrap();
    let on = "\n[[fault]]\nwhat = \"power-on\"\ndevice = \"left knee\"\nat_ms = 3000\n";
    std::fs::write(&file, text_of + on).unwrap();
    let out = folder.path().join("run");
    let arguments = ["ethercat", "run", "--sim", text(&file), "--rate", "200Hz"];
    let more = ["--expect", text(&file), "--beat", "reference"];
    let rest = ["--duration", "500ms", "--out", text(&out)];
    let said = run(&[&arguments[..], &more, &rest].concat());
    assert_ended_well(&said);
    let count = |words: &str| said.err.matches(words).count();
    assert_eq!(
        count("bring-up, tried again for up to 10s"),
        1,
        "{}",
        said.err
    );
    assert_eq!(count("bring-up: done after "), 1, "{}", said.err);
    assert_eq!(count("clocks: after "), 1, "{}", said.err);
}

#[test]
fn a_device_of_the_motion_s_file_that_is_not_there_is_waited_for_without_chatter() {
    let folder = folder();
    let motion = folder.path().join("motion.toml");
    std::fs::write(
        &motion,
        "cycle_us = 4000\n[[axis]]\ndevice = \"third knee\"\nmoves = [ { to = 0.2, velocity = 0.5 } ]\n",
    )
    .unwrap();
    let out = folder.path().join("run");
    let arguments = ["ethercat", "run", text(&motion), "--sim", "12"];
    let more = ["--bring-up-timeout", "2s", "--out", text(&out)];
    let said = run(&[&arguments[..], &more].concat());
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.lines().count() <= 3, "{}", said.err);
    assert_eq!(
        said.err.matches("tried again for up to 2s").count(),
        1,
        "{}",
        said.err
    );
    assert!(said.err.contains("no device is"), "{}", said.err);
}
