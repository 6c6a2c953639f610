//! A virtual segment that a separate process serves, in a network of the test's own.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, Stdio};

use kadenz::rt::net::namespace::Namespace;
use serde_json::Value;

use super::*;

/// A running `kadenz ethercat sim`.
pub(crate) struct Sim {
    child: Child,
    notes: BufReader<ChildStderr>,
}

impl Sim {
    /// Starts a segment on `far`, with a cable to `near`, the interface of the MainDevices.
    pub(crate) fn start(more: &[&str]) -> Self {
        let mut sim = Self::at(&[&["--interface", "far", "--cable", "near"], more].concat());
        let first = sim.next_note();
        assert!(first.contains("on far, its other end is near"), "{first}");
        sim
    }

    /// Starts a segment with these options; returns before its first note.
    pub(crate) fn at(options: &[&str]) -> Self {
        let mut child = kadenz(&[&["ethercat", "sim"], options].concat())
            .args(["--json", "--until-stdin-closes"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let notes = BufReader::new(child.stderr.take().unwrap());
        Self { child, notes }
    }

    pub(crate) fn next_note(&mut self) -> String {
        let mut line = String::new();
        self.notes.read_line(&mut line).unwrap();
        line
    }

    /// Sends a line to the segment; returns its answer.
    pub(crate) fn say(&mut self, line: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.next_note()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the segment has ended by itself; returns its output.
    pub(crate) fn ended(mut self) -> Said {
        wait_until(|| self.child.try_wait().unwrap().is_some());
        let mut notes = String::new();
        self.notes.read_to_string(&mut notes).unwrap();
        let mut said = Said::of(self.child.wait_with_output().unwrap());
        said.err = notes;
        said
    }

    /// Ends the segment; returns its counters.
    pub(crate) fn end(mut self) -> Value {
        drop(self.child.stdin.take());
        std::io::copy(&mut self.notes, &mut std::io::sink()).unwrap();
        let json = Said::of(self.child.wait_with_output().unwrap()).json();
        assert_described("ethercat", "sim", &json);
        json
    }
}

/// Runs `work` in a network of its own, or reports why it cannot.
pub(crate) fn in_a_network(test: &str, work: impl FnOnce() + Send) {
    match Namespace::create() {
        Ok(network) => network.run(work).unwrap(),
        Err(error) => {
            assert!(error.is_refusal(), "{error}");
            skip(test, &error.to_string());
        }
    }
}

/// Whether a command succeeded, and all devices in its answer are in OP.
pub(crate) fn all_in_op(said: &Said) -> bool {
    said.code == 0 && {
        let json = said.json();
        let devices = json["devices"].as_array().unwrap();
        devices.iter().all(|it| it["state"] == "OP")
    }
}

/// Runs a command of `kadenz ethercat` on `near`.
pub(crate) fn near(arguments: &[&str]) -> Said {
    run(&[&["ethercat"], arguments, &["--interface", "near"]].concat())
}
