//! For systems without a way to wait for several sockets: each counts as ready once a millisecond.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Interest, Wait, WakeCause};
use crate::clock;

/// The longest wait.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A watch without the system's help: the number of its sockets.
#[derive(Debug)]
pub(super) struct SystemWatch {
    sockets: usize,
    waker: SystemWaker,
}

/// A flag that says whether the wait is to end.
#[derive(Debug, Clone)]
pub(super) struct SystemWaker(Arc<AtomicBool>);

impl SystemWaker {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self(Arc::new(AtomicBool::new(false))))
    }

    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }

    pub(super) fn wake(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl SystemWatch {
    pub(super) fn create() -> io::Result<Self> {
        Ok(Self {
            sockets: 0,
            waker: SystemWaker::create()?,
        })
    }

    pub(super) fn waker(&self) -> SystemWaker {
        self.waker.clone()
    }

    pub(super) fn clear(&mut self) {
        self.sockets = 0;
    }

    pub(super) fn add(&mut self, _number: i32, _interest: Interest) -> usize {
        self.sockets += 1;
        self.sockets - 1
    }

    pub(super) fn wait(&mut self, wait: Wait) -> io::Result<WakeCause> {
        let left = match wait {
            Wait::Poll => Duration::ZERO,
            Wait::Forever => POLL_INTERVAL,
            Wait::Until(end) => end.remaining(clock::now()),
        };
        if wait != Wait::Poll && self.waker.take() {
            return Ok(WakeCause::Woken);
        }
        thread::sleep(left.min(POLL_INTERVAL));
        Ok(
            if self.sockets > 0 && (left > Duration::ZERO || wait == Wait::Poll) {
                WakeCause::Ready
            } else if wait == Wait::Forever || left > POLL_INTERVAL {
                WakeCause::Interrupted
            } else {
                WakeCause::Nothing
            },
        )
    }

    pub(super) fn readable(&self, place: usize) -> bool {
        place < self.sockets
    }

    pub(super) fn writable(&self, place: usize) -> bool {
        place < self.sockets
    }
}
