mod measures;
mod memory;
mod policy;
mod refusals;

use std::thread;

use super::super::{AppliedTuning, CpuSet, Measure, Policy, Tuning, apply};
use crate::os::linux::sched;
use crate::testing::skip;

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

/// Drops the capabilities of the calling thread alone, so that it has the rights of an ordinary user.
fn give_up_capabilities() {
    #[repr(C)]
    struct Header {
        version: u32,
        thread: i32,
    }
    // _LINUX_CAPABILITY_VERSION_3 of linux/capability.h; three sets of 64 bits, all empty.
    let header = Header {
        version: 0x2008_0522,
        thread: 0,
    };
    let none = [0_u32; 6];
    // SAFETY: both structures are live and laid out as capset(2) demands; thread 0 is the caller.
    let outcome = unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const none) };
    assert_eq!(outcome, 0);
}

/// Skips a test and reports what the measure says is missing.
fn skip_for(test: &str, measure: &Measure) {
    let (reason, remedy) = (measure.reason.as_deref(), measure.remedy.as_deref());
    skip(test, &format!("{}; {}", reason.unwrap(), remedy.unwrap()));
}
