//! Commands of `kadenz udp` that wait for packets.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::{Said, kadenz};

/// A command of `kadenz udp` that waits for packets, on a port of its own.
pub(crate) struct Listener {
    child: Child,
    notes: BufReader<std::process::ChildStderr>,
    /// The address at which the command listens.
    pub(crate) address: String,
}

impl Listener {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = kadenz(arguments)
            .arg("--until-stdin-closes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut notes = BufReader::new(child.stderr.take().unwrap());
        let mut address = None;
        while address.is_none() {
            let mut line = String::new();
            assert!(
                notes.read_line(&mut line).unwrap() > 0,
                "it ended: {arguments:?}"
            );
            let rest = line.split(" on ").nth(1);
            address = rest.and_then(|it| it.split(';').next()).map(str::to_owned);
        }
        Self {
            child,
            notes,
            address: address.unwrap(),
        }
    }

    pub(crate) fn echo(more: &[&str]) -> Self {
        let mut arguments = vec!["udp", "echo", "--bind", "127.0.0.1:0", "--json"];
        arguments.extend(more);
        Self::start(&arguments)
    }

    /// Waits until the command ends by itself; returns its output.
    pub(crate) fn ended(self) -> Said {
        Said::of(self.child.wait_with_output().unwrap())
    }

    /// Closes the command's standard input, which ends it; returns its output.
    pub(crate) fn end(mut self) -> Said {
        drop(self.child.stdin.take());
        std::io::copy(&mut self.notes, &mut std::io::sink()).unwrap();
        Said::of(self.child.wait_with_output().unwrap())
    }

    /// Ends the command; returns its output as JSON.
    pub(crate) fn report(self) -> Value {
        self.end().json()
    }
}
