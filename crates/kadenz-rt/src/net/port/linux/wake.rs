//! Ending a wait from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use crate::os::linux::udp::wait::Event;

/// A flag that says whether, and an event that ends the wait. The flag is set before the event is
/// signalled and looked at after the event was cleared, so no wake is lost; an event without its flag
/// is one that was answered already.
#[derive(Debug, Clone)]
pub(in super::super) struct WakerParts(Arc<Wake>);

#[derive(Debug)]
struct Wake {
    flag: AtomicBool,
    event: Event,
}

impl WakerParts {
    pub(super) fn create() -> Result<Self, i32> {
        Ok(Self(Arc::new(Wake {
            flag: AtomicBool::new(false),
            event: Event::create()?,
        })))
    }

    pub(in super::super) fn wake(&self) {
        if !self.0.flag.swap(true, Ordering::AcqRel) {
            self.0.event.signal();
        }
    }

    /// Whether somebody woke since the last call.
    pub(super) fn take(&self) -> bool {
        if !self.0.flag.load(Ordering::Relaxed) {
            return false;
        }
        self.0.event.clear();
        self.0.flag.swap(false, Ordering::AcqRel)
    }

    /// Whether nobody can wake any more or yet. Whoever could has woken before this says so: a wake
    /// is seen by the next [`WakerParts::take`].
    pub(super) fn is_alone(&self) -> bool {
        let alone = Arc::strong_count(&self.0) == 1;
        // With the release by which a waker is dropped.
        fence(Ordering::Acquire);
        alone
    }

    pub(super) fn event(&self) -> &Event {
        &self.0.event
    }

    pub(super) fn clear(&self) {
        self.0.event.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_waker_is_known() {
        let parts = WakerParts::create().unwrap();
        assert!(parts.is_alone());
        let waker = parts.clone();
        assert!(!parts.is_alone());
        waker.wake();
        drop(waker);
        assert!(parts.is_alone());
        assert!(parts.take());
        assert!(!parts.take());
    }
}
