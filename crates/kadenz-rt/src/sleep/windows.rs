//! The sleepers of Windows.

use std::io;
use std::time::Duration;

use super::portable::{Condvar, Spin, StdSleep};
use super::{Sleeper, SleeperKind, SleeperOptions, WaitPrimitive, Waiter, boxed, wait_for_rest};
use crate::clock::MonotonicTime;
use crate::os::windows::WaitableTimer;

pub(super) fn make(kind: SleeperKind, options: SleeperOptions) -> io::Result<Box<dyn Sleeper>> {
    let timer = WaitableTimer::create;
    Ok(match kind {
        SleeperKind::Condvar => boxed(Condvar::new()),
        SleeperKind::Std => boxed(StdSleep),
        SleeperKind::Spin => Box::new(Spin::new(Waiter::new(timer()?), options.spin_margin)),
        _ => boxed(timer()?),
    })
}

/// A waitable timer, of high resolution where Windows has it (10, version 1803, and later).
impl WaitPrimitive for WaitableTimer {
    const KIND: SleeperKind = SleeperKind::WaitableTimer;

    fn wait(&mut self, deadline: MonotonicTime) -> bool {
        wait_for_rest(deadline, |ns| {
            if !self.wait_for(ns) {
                std::thread::sleep(Duration::from_nanos(ns));
            }
        })
    }
}
