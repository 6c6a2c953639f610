//! With `ppoll`, and an event descriptor in front of the sockets.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Interest, Wait, WakeCause};
use crate::clock;
use crate::os::linux::epoll::Polled;
use crate::os::linux::udp::socket::Event;

/// A watch with `ppoll`, and the event that ends its wait.
#[derive(Debug)]
pub(super) struct SystemWatch {
    polled: Polled,
    sockets: usize,
    waker: SystemWaker,
}

/// A flag that says whether the watch was woken, and an event that ends the wait.
#[derive(Debug, Clone)]
pub(super) struct SystemWaker(Arc<(AtomicBool, Event)>);

impl SystemWaker {
    pub(super) fn create() -> io::Result<Self> {
        let event = Event::create().map_err(io::Error::from_raw_os_error)?;
        Ok(Self(Arc::new((AtomicBool::new(false), event))))
    }

    pub(super) fn number(&self) -> i32 {
        self.0.1.number()
    }

    pub(super) fn wake(&self) {
        let (flag, event) = &*self.0;
        if !flag.swap(true, Ordering::AcqRel) {
            event.signal();
        }
    }

    /// Makes later waits wait again.
    fn clear(&self) {
        self.0.1.clear();
    }

    /// Returns whether a waker was used. It clears the event before the flag, so that no wake is lost.
    pub(super) fn take(&self) -> bool {
        let (flag, event) = &*self.0;
        if !flag.load(Ordering::Relaxed) {
            return false;
        }
        event.clear();
        flag.swap(false, Ordering::AcqRel)
    }
}

impl SystemWatch {
    pub(super) fn create() -> io::Result<Self> {
        let mut parts = Self {
            polled: Polled::default(),
            sockets: 0,
            waker: SystemWaker::create()?,
        };
        parts.clear();
        Ok(parts)
    }

    pub(super) fn waker(&self) -> SystemWaker {
        self.waker.clone()
    }

    pub(super) fn clear(&mut self) {
        self.polled.clear();
        self.polled.push(self.waker.number(), false);
        self.sockets = 0;
    }

    pub(super) fn add(&mut self, number: i32, interest: Interest) -> usize {
        self.polled.push(number, interest == Interest::ReadAndWrite);
        self.sockets += 1;
        self.sockets - 1
    }

    pub(super) fn wait(&mut self, wait: Wait) -> io::Result<WakeCause> {
        let span_ns = match wait {
            Wait::Poll => Some(0),
            Wait::Forever => None,
            Wait::Until(end) => {
                let left = end.remaining(clock::now()).as_nanos();
                Some(u64::try_from(left).unwrap_or(u64::MAX))
            }
        };
        let ready = match self.polled.wait(span_ns) {
            Ok(ready) => ready,
            Err(errno) => {
                let error = io::Error::from_raw_os_error(errno);
                let signal = error.kind() == io::ErrorKind::Interrupted;
                return if signal {
                    Ok(WakeCause::Interrupted)
                } else {
                    Err(error)
                };
            }
        };
        let signalled = self.polled.reads(0);
        let others = ready - usize::from(signalled);
        // A waker sets the flag first: its event may come after the flag was taken. Before the flag is tested, so that
        // no wake is lost; a poll takes no wake, so it leaves the event to the next wait.
        if signalled && wait != Wait::Poll {
            self.waker.clear();
        }
        Ok(if wait != Wait::Poll && self.waker.take() {
            WakeCause::Woken
        } else if others > 0 {
            WakeCause::Ready
        } else {
            WakeCause::Nothing
        })
    }

    pub(super) fn readable(&self, place: usize) -> bool {
        self.polled.reads(place + 1)
    }

    pub(super) fn writable(&self, place: usize) -> bool {
        self.polled.writes(place + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// As a waker does that is interrupted between its flag and its event, while the wait takes the flag.
    #[test]
    fn an_event_that_comes_after_its_wake_was_taken_ends_one_wait_only() {
        let mut watch = SystemWatch::create().unwrap();
        // As a waker whose flag was taken before its event came.
        watch.waker.0.1.signal();
        let soon = || clock::now() + Duration::from_millis(50);
        assert_eq!(watch.wait(Wait::Until(soon())).unwrap(), WakeCause::Nothing);
        let (begin, end) = (clock::now(), soon());
        while watch.wait(Wait::Until(end)).unwrap() == WakeCause::Interrupted {}
        assert!(clock::now().since(begin) >= 49_000_000, "it did not wait");
        watch.waker().wake();
        assert_eq!(watch.wait(Wait::Forever).unwrap(), WakeCause::Woken);
    }
}
