//! Ending a wait from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

    pub(super) fn event(&self) -> &Event {
        &self.0.event
    }

    pub(super) fn clear(&self) {
        self.0.event.clear();
    }
}
