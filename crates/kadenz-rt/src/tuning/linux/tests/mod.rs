mod measures;
mod memory;
mod policy;
mod refusals;

use std::thread;

use super::super::{AppliedTuning, CpuSet, Measure, Policy, Tuning, apply};
use crate::os::linux::sched;
use crate::testing::{give_up_capabilities, skip};

const NEEDS_RIGHTS: &str =
    "the right to real-time scheduling; run as root or `sudo prlimit --pid $$ --rtprio=99`";

/// Runs a test on a thread of its own, so that its changes affect no other test.
fn on_own_thread(test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        if let Err(panic) = scope.spawn(test).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn policy(policy: Policy) -> Tuning {
    Tuning {
        policy,
        ..Tuning::default()
    }
}

fn measure<'a>(applied: &'a AppliedTuning, name: &str) -> &'a Measure {
    applied
        .measures
        .iter()
        .find(|measure| measure.name == name)
        .unwrap()
}

/// The kernel's state of the calling thread: policy, priority and flags.
fn in_force() -> (u32, u32, u64) {
    let attr = sched::scheduling().unwrap();
    (attr.policy, attr.priority, attr.flags)
}

/// Skips a test and reports what the measure says is missing.
fn skip_for(test: &str, measure: &Measure) {
    let (reason, remedy) = (measure.reason.as_deref(), measure.remedy.as_deref());
    skip(test, &format!("{}; {}", reason.unwrap(), remedy.unwrap()));
}
