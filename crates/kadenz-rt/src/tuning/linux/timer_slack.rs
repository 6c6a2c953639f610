//! By how much the kernel may delay a thread's timers to bundle them.

use super::super::{Measure, Note};
use super::kernel_says;
use crate::os::linux::sched::{set_timer_slack_ns, timer_slack_ns};

/// Restores the thread's timer slack when it is dropped.
#[derive(Debug)]
pub(super) struct TimerSlackGuard(u64);

impl Drop for TimerSlackGuard {
    fn drop(&mut self) {
        // Zero stood for a real-time policy; the kernel restores the default together with that.
        if self.0 > 0 {
            let _ = set_timer_slack_ns(self.0);
        }
    }
}

pub(super) fn apply(slack_ns: u64) -> (Measure, Option<TimerSlackGuard>) {
    let before = timer_slack_ns();
    // The kernel takes zero for "the default", so the least that can be requested is one.
    let outcome = set_timer_slack_ns(slack_ns.max(1));
    let granted_ns = timer_slack_ns();
    let ok = granted_ns <= slack_ns.max(1);
    let reason = match outcome {
        Err(errno) => Some(format!("the kernel says: {}", kernel_says(errno))),
        Ok(()) => (!ok).then(|| "the kernel kept a larger slack".to_owned()),
    };
    let note = reason.map(|it| Note::new(it, "take a real-time policy: those have no slack"));
    let (requested, granted) = (format!("{slack_ns} ns"), format!("{granted_ns} ns"));
    let measure = Measure::noted("timer_slack", requested, granted, ok, note);
    (measure, Some(TimerSlackGuard(before)))
}
