//! A loop as a user starts it, and a program that reads its process image.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use super::fieldbus::{answer_of, words};
use super::*;

/// Options for a reader that waits longer than a busy machine delays a loop.
pub(crate) const PATIENT: [&str; 2] = ["--oldest", "20s"];

/// A loop that drives a virtual segment of 12 devices.
pub(crate) struct Robot {
    /// `None` once the loop has been ended.
    child: Option<Child>,
    pub(crate) name: String,
    folder: tempfile::TempDir,
}

impl Robot {
    pub(crate) fn start(name: &str, more: &[&str]) -> Self {
        Self::on(name, &[&["--sim", "12"], more].concat())
    }

    pub(crate) fn on(name: &str, more: &[&str]) -> Self {
        let folder = folder();
        let name = format!("test-{name}-{}", std::process::id());
        let arguments = [
            "ethercat", "run", "--rate", "200Hz", "--quiet", "--json", "--name", &name,
        ];
        let out = folder.path().join("run");
        let interval = ["--interval", "100ms"];
        let child = start_measuring(&out, &[&arguments[..], &interval, more].concat());
        Self {
            child: Some(child),
            name,
            folder,
        }
    }

    pub(crate) fn moving(name: &str) -> Self {
        let robot = folder();
        let motion = motion_of(&robot, &["left knee"]);
        // The loop has read the file when its first interval is on disk.
        Self::start(name, &[text_of(&motion)])
    }

    pub(crate) fn ask(&self, definition: &str, arguments: &[&str]) -> Value {
        answer_of(definition, &self.arguments(arguments))
    }

    pub(crate) fn say(&self, arguments: &[&str]) -> Said {
        words(&self.arguments(arguments))
    }

    /// Options that let a reader wait: on a busy machine a loop without priority stalls now and then.
    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let patient: &[&str] = match arguments[0] {
            "inputs" => &PATIENT,
            _ => &[],
        };
        [arguments, patient, &["--loop", &self.name]].concat()
    }

    pub(crate) fn cycles(&self) -> u64 {
        let stats = answer_of("stats", &["stats", &self.name]);
        stats["stats"]["cycles"].as_u64().unwrap()
    }

    /// Waits until the loop has run some more cycles.
    pub(crate) fn goes_on(&self) {
        let before = self.cycles();
        wait_until(|| self.cycles() > before + 20);
    }

    pub(crate) fn is_in_op(&self) {
        wait_until(|| {
            let json = self.ask("state", &["state"]);
            let devices = json["devices"].as_array().unwrap();
            devices.iter().all(|it| it["state"] == "OP")
        });
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.as_ref().unwrap(), name);
    }

    /// Ends the loop as Ctrl-C does; returns its output and its run.
    pub(crate) fn end(mut self) -> (Said, Value) {
        self.signal("INT");
        let said = self.child.take().unwrap().wait_with_output().unwrap();
        let run = run_json(&self.folder.path().join("run"));
        (Said::of(said), run)
    }
}

/// A reader of a loop that has printed its first line. The reader ends when the loop ends.
pub(crate) struct Watcher {
    pub(crate) child: Child,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
}

impl Watcher {
    pub(crate) fn start(robot: &Robot, more: &[&str]) -> Self {
        let mut child = kadenz(&["ethercat", "inputs", "--watch", "--json"])
            .args(["--loop", &robot.name])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        match lines.next() {
            Some(line) => line.unwrap(),
            None => panic!("{}", Said::of(child.wait_with_output().unwrap()).err),
        };
        Self { child, lines }
    }

    /// Waits for the end of the reader; returns its output in words.
    pub(crate) fn ended(self) -> Said {
        // Without a reader of its output the process would block.
        self.lines.for_each(drop);
        Said::of(self.child.wait_with_output().unwrap())
    }
}

/// Ends the loop, so that a failed test leaves none behind.
impl Drop for Robot {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Writes a motion file with limits so wide that a busy machine does not stop the axes.
pub(crate) fn motion_of(folder: &tempfile::TempDir, devices: &[&str]) -> std::path::PathBuf {
    let motion = folder.path().join("motion.toml");
    let mut text =
        "cycle_us = 5000\n[safety]\nlost_cycles = 100000\nlate_cycles = 100000\n".to_owned();
    for device in devices {
        text.push_str(&format!(
            "[[axis]]\ndevice = \"{device}\"\nrepeat = true\n\
             moves = [ {{ to = 0.2, velocity = 0.5 }}, {{ to = 0.0 }} ]\n"
        ));
    }
    std::fs::write(&motion, text).unwrap();
    motion
}

pub(crate) fn text_of(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}
