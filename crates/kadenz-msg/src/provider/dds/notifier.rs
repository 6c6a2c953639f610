//! What an inlet waits at: rustdds rings it when something has come, a waker when the wait is to end.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task;

use kadenz_rt::clock;

use crate::provider::{Received, Wait, Wake};

#[derive(Debug, Default)]
pub(super) struct Notifier {
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Told {
    notified: bool,
    woken: bool,
}

impl Notifier {
    /// Nothing in here panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something may be there.
    pub(super) fn notify(&self) {
        self.lock().notified = true;
        self.changed.notify_one();
    }

    /// Waits until it is notified; how the wait ended where it ended otherwise.
    pub(super) fn wait(&self, wait: Wait) -> Option<Received> {
        let mut told = self.lock();
        loop {
            if wait != Wait::Poll && std::mem::take(&mut told.woken) {
                return Some(Received::Woken);
            }
            let left = match wait {
                Wait::Until(end) => Some(end.remaining(clock::now())),
                Wait::Poll | Wait::Forever => None,
            };
            if left.is_some_and(|left| left.is_zero()) {
                return Some(Received::Nothing);
            }
            if std::mem::take(&mut told.notified) {
                return None;
            }
            told = match left {
                _ if wait == Wait::Poll => return Some(Received::Nothing),
                None => {
                    let waited = self.changed.wait(told);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(told, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl task::Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}

impl Wake for Notifier {
    fn wake(&self) {
        self.lock().woken = true;
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_ring_ends_one_wait_and_a_wake_another() {
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
    fn who_rings_without_end_keeps_no_wait_from_its_end() {
        let notifier = Notifier::default();
        notifier.notify();
        let now = clock::now();
        assert_eq!(notifier.wait(Wait::Until(now)), Some(Received::Nothing));
    }
}
