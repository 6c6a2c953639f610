//! Commands of `kadenz camera` that go on until a signal, among them the simulator.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use super::common::{Said, kadenz, signal};

/// A command that reports on standard error when it is ready, and then goes on.
pub(super) struct Started {
    pub(super) child: Child,
    notes: BufReader<std::process::ChildStderr>,
}

impl Started {
    pub(super) fn new(arguments: &[&str]) -> Self {
        let mut child = kadenz(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let notes = BufReader::new(child.stderr.take().unwrap());
        Self { child, notes }
    }

    /// Returns the first note that contains `what`.
    pub(super) fn said(&mut self, what: &str) -> String {
        let mut line = String::new();
        let mut all = String::new();
        while !line.contains(what) {
            line.clear();
            let count = self.notes.read_line(&mut line).unwrap();
            all += &line;
            assert!(count > 0, "it never said `{what}`: {all}");
        }
        line
    }

    pub(super) fn end(mut self, with: &str) -> Said {
        signal(&self.child, with);
        let (mut out, mut notes) = (String::new(), String::new());
        self.notes.read_to_string(&mut notes).unwrap();
        let stdout = self.child.stdout.as_mut().unwrap();
        stdout.read_to_string(&mut out).unwrap();
        Said {
            code: self.child.wait().unwrap().code().unwrap_or(-1),
            out,
            err: notes,
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // The command may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a simulated camera at a free port; returns it with its URL.
pub(super) fn sim(protocol: &str) -> (Started, String) {
    let mut sim = Started::new(&[
        "camera",
        "sim",
        "--listen",
        "127.0.0.1:0",
        "--protocol",
        protocol,
        "--size",
        "320x240",
        "--rate",
        "30Hz",
    ]);
    let line = sim.said("://");
    let url = line.split(' ').next().unwrap().to_owned();
    (sim, url)
}
