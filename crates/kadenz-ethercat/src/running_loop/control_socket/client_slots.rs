//! The slots that a control socket has for clients, and how long a client keeps one.
//!
//! Assumption: one thread gives slots away, any thread gives its own back. A client that asks to stop axes needs none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The most clients at one time that have a thread of their own; the control socket refuses further clients, unless
/// their question is about the axes.
pub const MAX_CLIENTS: usize = 16;

/// How long a client that asks nothing is kept, and the stack size of a client's thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientLimits {
    /// For a client that asked before; a client with a slot goes after this time only where others want a slot.
    pub(super) idle: Duration,
    /// For a client that never asked.
    pub(super) silent: Duration,
    /// Bytes of a thread's stack. Where memory is locked, the thread occupies all of them.
    pub(super) stack: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(60),
            silent: Duration::from_secs(5),
            stack: 512 * 1024,
        }
    }
}

impl ClientLimits {
    /// The longest time without a question, for a client that has or has not asked before.
    pub(super) const fn of(&self, has_asked: bool) -> Duration {
        if has_asked { self.idle } else { self.silent }
    }
}

/// The slots for clients of a control socket.
#[derive(Debug)]
pub(super) struct ClientSlots {
    limits: ClientLimits,
    taken: AtomicUsize,
    /// Whether a client was refused for want of a slot.
    wanted: AtomicBool,
}

/// A client's slot, free again when it is dropped.
#[derive(Debug)]
pub(super) struct ClientSlot<'s> {
    slots: &'s ClientSlots,
}

impl ClientSlots {
    pub(super) const fn new(limits: ClientLimits) -> Self {
        Self {
            limits,
            taken: AtomicUsize::new(0),
            wanted: AtomicBool::new(false),
        }
    }

    /// Takes a slot, or returns why there is none. For one thread.
    pub(super) fn take(&self) -> Result<ClientSlot<'_>, String> {
        if self.taken.load(Ordering::Relaxed) >= MAX_CLIENTS {
            self.wanted.store(true, Ordering::Relaxed);
            return Err(format!(
                "{MAX_CLIENTS} clients are here already; end one of them"
            ));
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(ClientSlot { slots: self })
    }
}

impl ClientSlot<'_> {
    /// Returns why the client must go, which has asked nothing for `idle`; `None` where it may stay. One client goes
    /// for each that was refused.
    pub(super) fn is_over(&self, idle: Duration) -> Option<String> {
        let is_long = idle >= self.slots.limits.idle;
        let goes = is_long && self.slots.wanted.swap(false, Ordering::Relaxed);
        goes.then(|| format!("nothing was asked for {idle:.0?}, and others came; connect again"))
    }
}

impl Drop for ClientSlot<'_> {
    fn drop(&mut self) {
        self.slots.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_free_again_when_they_are_wanted() {
        let slots = ClientSlots::new(ClientLimits::default());
        let all: Vec<_> = (0..MAX_CLIENTS).map(|_| slots.take().unwrap()).collect();
        let (short, long) = (Duration::from_millis(900), Duration::from_secs(3600));
        // No client was refused: a client that only watches may stay for hours.
        assert_eq!(all[0].is_over(long), None);
        assert!(slots.take().unwrap_err().contains("16 clients"));
        assert_eq!(all[0].is_over(short), None, "it was busy just now");
        assert!(all[1].is_over(long).is_some());
        assert_eq!(all[2].is_over(long), None, "one makes room enough");
        drop(all);
        assert!(slots.take().is_ok());
    }
}
