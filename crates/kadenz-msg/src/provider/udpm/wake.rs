//! Ending an inlet's wait, before and after it has joined.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};

use kadenz_rt::net::port::Waker;

use crate::provider::Wake;

/// Wakes the port that an inlet waits at until it joins, and then the one that joined. Either side
/// first says what it did and then looks at what the other did, so no wake is lost between the two.
#[derive(Debug)]
pub(super) struct UdpmWake {
    idle: Waker,
    joined: OnceLock<Waker>,
}

impl UdpmWake {
    pub(super) fn new(idle: Waker) -> Self {
        let joined = OnceLock::new();
        Self { idle, joined }
    }

    pub(super) fn join(&self, waker: Waker) {
        // A second one would be of the same port.
        let _ = self.joined.set(waker);
        fence(Ordering::SeqCst);
    }
}

impl Wake for UdpmWake {
    fn wake(&self) {
        self.idle.wake();
        fence(Ordering::SeqCst);
        if let Some(joined) = self.joined.get() {
            joined.wake();
        }
    }
}
