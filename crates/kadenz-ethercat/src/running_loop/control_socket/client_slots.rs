//! Which clients a control socket has room for, and for how long.
//!
//! Assumption: one thread gives slots away, any thread gives its own back. A client that asks to stop axes needs none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Clients at one time that have a thread of their own; who comes then is told that it is too many, unless it is about
/// the axes.
pub const MAX_CLIENTS: usize = 16;

/// How long clients are kept that ask nothing, and what a client's thread takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientLimits {
    /// One that asked before; of those with a seat, where others want it.
    pub(super) idle: Duration,
    /// One that never asked.
    pub(super) silent: Duration,
    /// Bytes of a thread's stack, of which memory that is locked takes all.
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
    /// How long a client may ask nothing that has, or has not, asked before.
    pub(super) const fn of(&self, has_asked: bool) -> Duration {
        if has_asked { self.idle } else { self.silent }
    }
}

/// The slots for clients of a control socket.
#[derive(Debug)]
pub(super) struct ClientSlots {
    limits: ClientLimits,
    taken: AtomicUsize,
    /// Somebody was refused for want of one.
    wanted: AtomicBool,
}

/// A client's slot, free again when it is dropped.
#[derive(Debug)]
pub(super) struct ClientSlot<'s> {
    seats: &'s ClientSlots,
}

impl ClientSlots {
    pub(super) const fn new(limits: ClientLimits) -> Self {
        Self {
            limits,
            taken: AtomicUsize::new(0),
            wanted: AtomicBool::new(false),
        }
    }

    /// A seat, or why there is none. For one thread.
    pub(super) fn take(&self) -> Result<ClientSlot<'_>, String> {
        if self.taken.load(Ordering::Relaxed) >= MAX_CLIENTS {
            self.wanted.store(true, Ordering::Relaxed);
            return Err(format!(
                "{MAX_CLIENTS} clients are here already; end one of them"
            ));
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(ClientSlot { seats: self })
    }
}

impl ClientSlot<'_> {
    /// Why the client has to go, which has asked nothing for so long; `None` where it may stay. One goes for each that
    /// was refused.
    pub(super) fn is_over(&self, idle: Duration) -> Option<String> {
        let is_long = idle >= self.seats.limits.idle;
        let goes = is_long && self.seats.wanted.swap(false, Ordering::Relaxed);
        goes.then(|| format!("nothing was asked for {idle:.0?}, and others came; connect again"))
    }
}

impl Drop for ClientSlot<'_> {
    fn drop(&mut self) {
        self.seats.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_free_again_when_they_are_wanted() {
        let seats = ClientSlots::new(ClientLimits::default());
        let all: Vec<_> = (0..MAX_CLIENTS).map(|_| seats.take().unwrap()).collect();
        let (short, long) = (Duration::from_millis(900), Duration::from_secs(3600));
        // Nobody was refused: whoever watches for hours may.
        assert_eq!(all[0].is_over(long), None);
        assert!(seats.take().unwrap_err().contains("16 clients"));
        assert_eq!(all[0].is_over(short), None, "it was busy just now");
        assert!(all[1].is_over(long).is_some());
        assert_eq!(all[2].is_over(long), None, "one makes room enough");
        drop(all);
        assert!(seats.take().is_ok());
    }
}
