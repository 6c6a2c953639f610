use super::system;
use crate::clock::MonotonicTime;

/// How long [`receive_batch`](super::UdpPort::receive_batch) waits when nothing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Not at all: one look, for loops that spin. Wakers are not looked at.
    Poll,
    /// Until a point on the sleep clock. One that has passed means one look, as the kernel is asked
    /// first and the clock afterwards.
    Until(MonotonicTime),
    /// Until something comes, a waker is used or a signal arrives.
    Forever,
}

/// What ended a wait without error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reception {
    /// That many datagrams are in the inbox; at least one.
    Datagrams(usize),
    /// Nothing came until the deadline.
    Nothing,
    /// A [`Waker`] was used. Datagrams that wait are left for the next call.
    Woken,
    /// A signal was handled by this thread, and nothing had come.
    Interrupted,
}

impl Reception {
    /// How many datagrams came.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Datagrams(count) => count,
            Self::Nothing | Self::Woken | Self::Interrupted => 0,
        }
    }
}

/// Ends a port's wait from another thread.
///
/// Using it while the port does not wait ends its next wait; using it several times before that counts
/// once. It outlives the port without harm.
///
/// ```
/// use kadenz_rt::net::port::{Inbox, PortOptions, Reception, UdpPort, Wait};
///
/// let mut port = UdpPort::open(&PortOptions::default())?;
/// let waker = port.waker();
/// let thread = std::thread::spawn(move || waker.wake());
/// let mut inbox = Inbox::new(1, 1500);
/// assert_eq!(port.receive_batch(&mut inbox, Wait::Forever)?, Reception::Woken);
/// # thread.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Waker(pub(super) system::WakerParts);

impl Waker {
    /// Ends the wait. Real-time safe: no lock, at most one system call.
    pub fn wake(&self) {
        self.0.wake();
    }
}
