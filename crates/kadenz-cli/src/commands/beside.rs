//! A load beside which something is measured: a `kadenz load` in a process of its own.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use kadenz_lab::stop::Stop;

use super::child::{self, Notes, Running};

/// How long a load runs before anything is measured beside it.
const SETTLE: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Starts it and waits until it is under way, or until `stop` is requested.
///
/// # Errors
/// It cannot be started, or ends before anything was measured.
pub(super) fn start(words: &[String], stop: &Stop) -> io::Result<Running> {
    let started = child::start(words, Stdio::piped(), Notes::Kept);
    let mut load = started.map_err(io::Error::other)?;
    for _ in 0..SETTLE.as_millis() / LOOK_EVERY.as_millis() {
        std::thread::sleep(LOOK_EVERY);
        load = still_runs(load)?;
        if stop.requested() {
            break;
        }
    }
    Ok(load)
}

/// The same, if it still runs; an error that says what it said, if it does not.
pub(super) fn still_runs(mut load: Running) -> io::Result<Running> {
    if load.runs() {
        return Ok(load);
    }
    let words = load.words().to_owned();
    let said = load.finish()?;
    Err(failed(&words, &said.stderr))
}

/// What a command that failed has said, in one line.
pub(super) fn failed(words: &str, stderr: &[u8]) -> io::Error {
    let said = String::from_utf8_lossy(stderr);
    let is_error = |line: &&str| line.starts_with("kadenz:") || line.starts_with("error:");
    let reason = said.lines().find(is_error).or(said.lines().last());
    io::Error::other(format!(
        "`{words}` ended: {}",
        reason.unwrap_or("it did not say why")
    ))
}
