//! The state of the axes, and the requests that stop them and reset a stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::question::Answer;
use super::server::ServerContext;
use crate::motion::{MotionHandle, StageName, Status};

/// The longest time until the loop hears an order: it looks once a cycle, and a cycle takes at most a
/// second.
const ORDER_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Reports the last known state of all axes; waits for no drive.
pub(super) fn report(context: &ServerContext<'_>) -> Result<Answer, String> {
    status(of(context)?).map(|it| Answer::Axes(Box::new(it)))
}

/// An order to the loop, which hears it in its next cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    /// The count of stops of all axes before a reset; `None` for a stop.
    reset_after: Option<u64>,
    until: Instant,
}

/// Asks the loop to stop all axes.
pub(super) fn stop(context: &ServerContext<'_>, by: Option<&str>) -> Result<Order, String> {
    let handle = of(context)?;
    // Before the status is read: the stop stands, whatever the status is.
    handle.stop_by(by.unwrap_or("a client of the server"));
    Ok(Order::after(None))
}

/// Asks the loop to let all go on after a stop.
pub(super) fn reset(context: &ServerContext<'_>) -> Result<Order, String> {
    let handle = of(context)?;
    let before = status(handle)?;
    if before.stage != StageName::Stopped {
        return Err(format!(
            "the axes are not stopped but {}; there is nothing to reset",
            before.stage
        ));
    }
    handle.reset();
    Ok(Order::after(Some(before.stops)))
}

impl Order {
    fn after(reset_after: Option<u64>) -> Self {
        let until = Instant::now() + ORDER_TIMEOUT;
        Self { reset_after, until }
    }

    fn is_received(self, status: &Status) -> bool {
        match self.reset_after {
            None => matches!(status.stage, StageName::Stopped | StageName::Ending),
            // The loop has heard the reset also where an axis failed again at once.
            Some(stops) => status.stage != StageName::Stopped || status.stops > stops,
        }
    }

    /// Returns the state of all axes once the loop has heard the order, or why that is not known; `None`
    /// while the loop may still hear it.
    pub(super) fn outcome(
        self,
        context: &ServerContext<'_>,
        halt: &AtomicBool,
    ) -> Option<Result<Answer, String>> {
        let now = context.handle.and_then(MotionHandle::status);
        if let Some(now) = now.as_ref().filter(|it| self.is_received(it)) {
            return Some(Ok(Answer::Axes(Box::new(now.clone()))));
        }
        if Instant::now() < self.until && !halt.load(Ordering::Relaxed) {
            return None;
        }
        let last = now.map_or("it has published no status yet".to_owned(), |it| {
            format!("its last status is of cycle {}", it.cycle)
        });
        Some(Err(format!(
            "the loop did not acknowledge within {ORDER_TIMEOUT:?} ({last}); the request takes effect in its next \
             cycle, and a drive without frames stops by its watchdog"
        )))
    }

    /// Waits until the loop has heard the order.
    pub(super) fn wait(
        self,
        context: &ServerContext<'_>,
        halt: &AtomicBool,
    ) -> Result<Answer, String> {
        loop {
            if let Some(outcome) = self.outcome(context, halt) {
                return outcome;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

fn of<'c>(context: &ServerContext<'c>) -> Result<&'c MotionHandle, String> {
    let missing = || "this loop moves no axes".to_owned();
    context.handle.ok_or_else(missing)
}

fn status(handle: &MotionHandle) -> Result<Status, String> {
    // Whether the loop has begun is read first: a loop that has begun stays so.
    let has_begun = handle.has_begun();
    handle.status().ok_or_else(|| match has_begun {
        false => "the axes have no status yet: no cycle has run; retry".to_owned(),
        true => "the loop published its axes faster than they could be read; retry".to_owned(),
    })
}
