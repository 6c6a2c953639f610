//! How axes are, and what stops them and lets them go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::question::Answer;
use super::server::Counter;
use crate::motion::{StageName, Status, Switch};

/// How long the loop may take to hear: it looks once a cycle, and a cycle takes at most a second.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(1);

/// How all axes are, by what is known: who asks waits for no drive.
pub(super) fn tell(counter: &Counter<'_>) -> Result<Answer, String> {
    status(of(counter)?).map(|it| Answer::Axes(Box::new(it)))
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
    // Whether it has begun is looked at before: it only ever begins.
    let has_begun = switch.has_begun();
    switch.status().ok_or_else(|| match has_begun {
        false => "the axes have not been heard of yet, as the loop has run no cycle; ask again"
            .to_owned(),
        true => "the loop told of its axes faster than that could be read; ask again".to_owned(),
    })
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
