//! The sleepers of macOS.

use std::io;

use super::portable::{Condvar, NanosleepRelative, Spin, StdSleep};
use super::{Sleeper, SleeperKind, SleeperOptions, WaitPrimitive, Waiter, boxed, wait_for_rest};
use crate::clock::MonotonicTime;
use crate::os::macos::{prepare, wait_for};

#[expect(
    clippy::unnecessary_wraps,
    reason = "as on Linux and Windows, where it can fail"
)]
pub(super) fn make(kind: SleeperKind, options: SleeperOptions) -> io::Result<Box<dyn Sleeper>> {
    prepare();
    Ok(match kind {
        SleeperKind::NanosleepRelative => boxed(NanosleepRelative),
        SleeperKind::Condvar => boxed(Condvar::new()),
        SleeperKind::Std => boxed(StdSleep),
        SleeperKind::Spin => Box::new(Spin::new(Waiter::new(MachWait), options.spin_margin)),
        _ => boxed(MachWait),
    })
}

/// `mach_wait_until` on Mach's absolute time, which [`std::time::Instant`] reads too.
struct MachWait;

impl WaitPrimitive for MachWait {
    const KIND: SleeperKind = SleeperKind::MachWait;

    #[inline]
    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        wait_for_rest(deadline, wait_for)
    }
}
