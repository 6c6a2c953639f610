//! The wait of an inlet whose messages another thread, or a file, provides.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use kadenz_rt::clock;

use super::{Received, Wait, Wake};
use crate::sync::lock;

/// The maximum of one wait, as some systems support no much longer ones; the inlet then waits again.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Notified when a message may have arrived; a waker ends the wait.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    signals: Mutex<Signals>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Signals {
    notified: bool,
    woken: bool,
}

impl Notifier {
    /// Notifies: a message may be there.
    #[cfg(any(test, feature = "dds", feature = "zenoh"))]
    pub(super) fn notify(&self) {
        lock(&self.signals).notified = true;
        self.changed.notify_one();
    }

    /// Waits until it is notified; returns the end of the wait if it ended otherwise.
    pub(super) fn wait(&self, wait: Wait) -> Option<Received> {
        let mut signals = lock(&self.signals);
        loop {
            if wait != Wait::Poll && std::mem::take(&mut signals.woken) {
                return Some(Received::Woken);
            }
            let left = match wait {
                Wait::Until(end) => end.remaining(clock::now()),
                Wait::Poll | Wait::Forever => MAX_WAIT,
            };
            if left.is_zero() {
                return Some(Received::Nothing);
            }
            if std::mem::take(&mut signals.notified) {
                return None;
            }
            if wait == Wait::Poll {
                return Some(Received::Nothing);
            }
            let waited = self.changed.wait_timeout(signals, left.min(MAX_WAIT));
            signals = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Wake for Notifier {
    fn wake(&self) {
        lock(&self.signals).woken = true;
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_notice_ends_one_wait_and_a_wake_another() {
        let notifier = Notifier::default();
        notifier.notify();
        assert_eq!(notifier.wait(Wait::Forever), None);
        Wake::wake(&notifier);
        assert_eq!(notifier.wait(Wait::Poll), Some(Received::Nothing));
        assert_eq!(notifier.wait(Wait::Forever), Some(Received::Woken));
        let soon = clock::now() + Duration::from_millis(1);
        assert_eq!(notifier.wait(Wait::Until(soon)), Some(Received::Nothing));
    }

    #[test]
    fn notices_without_end_keep_no_wait_from_its_end() {
        let notifier = Notifier::default();
        notifier.notify();
        let now = clock::now();
        assert_eq!(notifier.wait(Wait::Until(now)), Some(Received::Nothing));
    }
}
