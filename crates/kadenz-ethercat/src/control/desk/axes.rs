//! How axes are, and what stops them and lets them go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::objects;
use super::question::Answer;
use super::server::Counter;
use crate::motion::{StageName, Status, Switch};
use crate::wire::coe::Address;

/// How long the loop may take to hear: it looks once a cycle, and a cycle takes at most a second.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(1);
/// Error code of a drive (CiA 402-2).
const ERROR_CODE: Address = Address {
    index: 0x603F,
    sub: 0,
};

/// How all axes are; drives with a fault are asked for its code.
pub(super) fn tell(counter: &Counter<'_>) -> Result<Answer, String> {
    let switch = of(counter)?;
    let mut way = objects::way(counter);
    switch.learn_codes(|device| {
        let read = counter.roster.read_object(&mut way, device, ERROR_CODE);
        let bytes = read.ok()?.try_into().ok()?;
        Some(u16::from_le_bytes(bytes))
    });
    status(switch).map(|it| Answer::Axes(Box::new(it)))
}

/// Stops all, and tells how they are then.
pub(super) fn stop(
    counter: &Counter<'_>,
    by: Option<&str>,
    halt: &AtomicBool,
) -> Result<Answer, String> {
    let switch = of(counter)?;
    // Before anything is looked at: it stands, whatever can be seen of it.
    switch.stop_by(by.unwrap_or("a client of the desk"));
    let is_heard = |it: &Status| matches!(it.stage, StageName::Stopped | StageName::Ending);
    wait_until(switch, is_heard, halt)
}

/// Lets all go on after a stop, and tells how they are then: they are about to be enabled.
pub(super) fn reset(counter: &Counter<'_>, halt: &AtomicBool) -> Result<Answer, String> {
    let switch = of(counter)?;
    let before = status(switch)?;
    if before.stage != StageName::Stopped {
        return Err(format!(
            "the axes are not stopped but {}; there is nothing to reset",
            before.stage
        ));
    }
    switch.reset();
    // One that fails again at once was heard all the same.
    let is_heard = |it: &Status| it.stage != StageName::Stopped || it.stops > before.stops;
    wait_until(switch, is_heard, halt)
}

fn of<'c>(counter: &Counter<'c>) -> Result<&'c Switch, String> {
    let missing = || "this loop moves no axes".to_owned();
    counter.switch.ok_or_else(missing)
}

fn status(switch: &Switch) -> Result<Status, String> {
    switch
        .status()
        .ok_or_else(|| "the axes have not been heard of yet; ask again".to_owned())
}

/// Waits until the loop has heard.
fn wait_until(
    switch: &Switch,
    is_heard: impl Fn(&Status) -> bool,
    halt: &AtomicBool,
) -> Result<Answer, String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let now = switch.status();
        if let Some(now) = now.as_ref().filter(|it| is_heard(it)) {
            return Ok(Answer::Axes(Box::new(now.clone())));
        }
        if Instant::now() >= end || halt.load(Ordering::Relaxed) {
            let stands = now.map_or("has told of no axes yet".to_owned(), |it| {
                format!("stands in cycle {}", it.cycle)
            });
            return Err(format!(
                "the loop has not heard it within {PATIENCE:?}: it {stands}, or is ending; what was asked is \
                 obeyed in its next cycle, and drives that hear nothing stop by their own watchdogs"
            ));
        }
        std::thread::sleep(LOOK);
    }
}
