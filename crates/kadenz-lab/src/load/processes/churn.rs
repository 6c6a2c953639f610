//! Processes that come and go.

use std::io;
use std::process::{Command, Stdio};

use crate::load::rates::Tally;
use crate::load::workers::{Trouble, Workers};
use crate::stop::Stop;

/// A program that ends at once, with the same result everywhere. It needs nobody to end it: none is
/// left when this process is killed.
const PROGRAM: &str = "true";

/// Starts one process after the other and waits for each.
pub(super) fn spawn(workers: &mut Workers, started: &Tally, trouble: &Trouble) -> io::Result<()> {
    let (started, trouble) = (started.clone(), trouble.clone());
    workers.spawn("processes", move |stop: &Stop| {
        while !stop.requested() {
            match come_and_go() {
                Ok(()) => started.add(0, 1),
                Err(error) => trouble.note(|| format!("cannot start `{PROGRAM}`: {error}")),
            }
        }
    })
}

fn come_and_go() -> io::Result<()> {
    Command::new(PROGRAM)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(|_| ())
}
