//! Receiving, and waiting for datagrams with as few system calls as possible.
//!
//! There are two ways to wait. The receiving call can itself wait, and then wakes the thread with the datagram
//! already copied; but no waker can end that wait, and its limit counts in ticks of the kernel. `ppoll` has limits
//! in nanoseconds and ends for events, and costs one more call and a high-resolution timer that is set before the
//! wait and cancelled after it: in a virtual machine each of the two takes microseconds, since the guest must call
//! the hypervisor. So the port waits in the receiving call where no waker exists, or where a waker may be late, and
//! the deadline is far enough away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

use super::super::inbox::DatagramFacts;
use super::super::{Inbox, ReceiveError, Reception, Wait};
use super::{Port, error_queue, stamps};
use crate::clock::now;
use crate::os::linux::clock::tick;
use crate::os::linux::udp::messages::{self, Queue};
use crate::os::linux::udp::socket::{self, Event, Socket};

/// A waiting receive call returns this often, to check whether a waker exists by now or the deadline is near. It
/// lasts a tick of the kernel at least, whatever the limit; a short one allows this wait for beats of 100 Hz where
/// the tick is 4 ms.
const SLICE: Duration = Duration::from_millis(1);

/// The longest duration of a slice, except for the scheduler: the kernel rounds it up to whole ticks and adds the
/// one that has begun (`sock_set_timeout`, net/core/sock.c; `calc_index`, kernel/time/timer.c).
fn longest_slice(tick: Duration) -> Duration {
    let ticks = SLICE.as_nanos().div_ceil(tick.as_nanos().max(1)) + 1;
    tick * u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// The way in which a port waits, and whether it had to wait last time.
#[derive(Debug)]
pub(super) struct WaitState {
    /// The longest duration of a slice; `None` where calls cannot be limited.
    slice_lasts_ns: Option<u64>,
    /// Whether the last receive had to wait. In a ping-pong exchange every receive has to, and a first look finds
    /// nothing.
    had_to_wait: bool,
    /// Whether the port checks for wakers only between slices.
    wakers_may_be_late: bool,
}

impl WaitState {
    /// Sets the limit of a socket's receiving calls.
    pub(super) fn set_up(socket: &Socket, wakers_may_be_late: bool) -> Self {
        let limited = socket.wait_at_most(SLICE).ok();
        let slice_lasts = limited.and_then(|()| tick()).map(longest_slice);
        Self {
            slice_lasts_ns: slice_lasts.and_then(|span| u64::try_from(span.as_nanos()).ok()),
            had_to_wait: false,
            wakers_may_be_late,
        }
    }

    /// Returns the state for another handle of the socket.
    pub(super) fn another(&self) -> Self {
        Self {
            had_to_wait: false,
            ..*self
        }
    }

    fn allows_a_slice(&self, left_ns: Option<u64>) -> bool {
        let slice = self.slice_lasts_ns;
        slice.is_some_and(|slice| left_ns.is_none_or(|left| left > slice))
    }
}

/// The next step of receiving.
enum ReceiveStep {
    Look,
    /// Receive, and wait in that call.
    Slice,
    /// Wait that long; `None` forever.
    Await(Option<u64>),
    Over,
}

/// The last request to the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastQuery {
    Nothing,
    WhatIsThere,
    WhetherSomethingComes,
}

impl Port {
    pub(in super::super) fn receive(
        &mut self,
        inbox: &mut Inbox,
        wait: Wait,
    ) -> Result<Reception, ReceiveError> {
        let mut asked = LastQuery::Nothing;
        let mut waited = false;
        loop {
            // Before the check of the flag: a wake by the last waker must not be missed.
            let alone = self.waker.is_alone();
            if wait != Wait::Poll && self.waker.take() {
                return Ok(Reception::Woken);
            }
            let undisturbed = alone || self.waiting.wakers_may_be_late;
            let taken = match self.step(wait, asked, undisturbed) {
                ReceiveStep::Over => return Ok(Reception::Nothing),
                ReceiveStep::Look => self.take(inbox, messages::BlockingMode::None)?,
                ReceiveStep::Slice => self.take(inbox, messages::BlockingMode::ForOne)?,
                ReceiveStep::Await(span_ns) => {
                    if !self.wait(span_ns, alone)? {
                        return Ok(Reception::Interrupted);
                    }
                    waited = true;
                    asked = LastQuery::WhetherSomethingComes;
                    continue;
                }
            };
            if taken != Reception::Nothing {
                self.waiting.had_to_wait = waited;
                return Ok(taken);
            }
            asked = LastQuery::WhatIsThere;
        }
    }

    fn step(&self, wait: Wait, asked: LastQuery, undisturbed: bool) -> ReceiveStep {
        let left_ns = match wait {
            Wait::Poll => Some(0),
            Wait::Forever => None,
            Wait::Until(deadline) => Some(u64::try_from(deadline.since(now())).unwrap_or(0)),
        };
        match (left_ns, asked) {
            (Some(0), LastQuery::WhatIsThere) => ReceiveStep::Over,
            (Some(0), _) | (_, LastQuery::WhetherSomethingComes) => ReceiveStep::Look,
            (_, LastQuery::Nothing) if !self.waiting.had_to_wait => ReceiveStep::Look,
            (left_ns, _) if undisturbed && self.waiting.allows_a_slice(left_ns) => {
                ReceiveStep::Slice
            }
            (left_ns, _) => ReceiveStep::Await(left_ns),
        }
    }

    /// Waits for a datagram, an error or an event; returns false when a signal ended the wait.
    fn wait(&mut self, span_ns: Option<u64>, alone: bool) -> Result<bool, ReceiveError> {
        // A message in the error queue ends every wait until it is taken out.
        if self.stamping.transmits() && self.unread.load(Ordering::Relaxed) > 0 {
            self.drain();
        }
        let event = (!alone).then(|| self.waker.event());
        match socket::wait(&self.socket, event, span_ns) {
            Ok(ready) => {
                if ready.event {
                    self.waker.clear();
                }
                if ready.error {
                    self.drain();
                }
                Ok(true)
            }
            Err(libc::EINTR) => Ok(false),
            Err(errno) => Err(ReceiveError::Other { errno }),
        }
    }

    /// Takes the datagrams that are there, or come while a slice lasts.
    fn take(
        &mut self,
        inbox: &mut Inbox,
        mut blocking: messages::BlockingMode,
    ) -> Result<Reception, ReceiveError> {
        // Without a peer each error concerns a datagram to another destination; the error queue keeps it.
        const ERRORS_OF_OTHERS: usize = 8;
        for _ in 0..ERRORS_OF_OTHERS {
            let messages = &mut inbox.system;
            let (payload, slot) = (&mut inbox.payload, inbox.slot_bytes);
            let taken = messages.receive(&self.socket, Queue::Datagrams, blocking, payload, slot);
            let errno = match taken {
                Ok(count) => {
                    self.describe(inbox, count);
                    return Ok(Reception::Datagrams(count));
                }
                Err(libc::EAGAIN) => return Ok(Reception::Nothing),
                Err(libc::EINTR) => return Ok(Reception::Interrupted),
                Err(errno) => errno,
            };
            self.drain();
            if self.connected || !error_queue::is_of_a_datagram(errno) {
                return Err(error_queue::receive_error(errno));
            }
            // Otherwise the slices of many errors might outlast the deadline.
            blocking = messages::BlockingMode::None;
        }
        Ok(Reception::Nothing)
    }

    fn describe(&mut self, inbox: &mut Inbox, count: usize) {
        for (at, about) in inbox.about[..count].iter_mut().enumerate() {
            let notes = inbox.system.notes(at);
            *about = DatagramFacts {
                whole_length: inbox.system.length(at),
                from: inbox.system.address(at).unwrap_or(about.from),
                stamps: stamps(&notes),
                dropped_before: self
                    .drops
                    .as_mut()
                    .map(|drops| drops.total(notes.dropped.unwrap_or(0))),
            };
        }
        inbox.filled = count;
    }
}

// Ending a wait from another thread.

/// A flag that says whether the port was woken, and an event that ends the wait. The waker sets the flag before it
/// signals the event, and the port reads the flag after it has cleared the event, so no wake is lost; an event
/// without its flag belongs to a wake that was handled already.
#[derive(Debug, Clone)]
pub(in crate::net::port) struct SystemPortWaker(Arc<Wake>);

#[derive(Debug)]
struct Wake {
    flag: AtomicBool,
    event: Event,
}

impl SystemPortWaker {
    pub(super) fn create() -> Result<Self, i32> {
        Ok(Self(Arc::new(Wake {
            flag: AtomicBool::new(false),
            event: Event::create()?,
        })))
    }

    pub(in crate::net::port) fn wake(&self) {
        if !self.0.flag.swap(true, Ordering::AcqRel) {
            self.0.event.signal();
        }
    }

    /// Returns whether a waker was used since the last call.
    pub(super) fn take(&self) -> bool {
        if !self.0.flag.load(Ordering::Relaxed) {
            return false;
        }
        self.0.event.clear();
        self.0.flag.swap(false, Ordering::AcqRel)
    }

    /// Returns whether no waker exists. A wake by a waker that was dropped before this returns true is seen by the
    /// next [`SystemPortWaker::take`].
    pub(super) fn is_alone(&self) -> bool {
        let alone = Arc::strong_count(&self.0) == 1;
        // Pairs with the release by which a waker is dropped.
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
    fn a_slice_lasts_whole_ticks_and_the_one_that_has_begun() {
        for (tick, longest) in [(1, 2), (4, 8), (10, 20)] {
            let tick = Duration::from_millis(tick);
            assert_eq!(longest_slice(tick), Duration::from_millis(longest));
        }
        let fine = longest_slice(Duration::from_micros(300));
        assert_eq!(fine, Duration::from_micros(1_500));
    }
}

#[cfg(test)]
mod wake_tests {
    use super::*;

    #[test]
    fn a_port_is_alone_once_its_wakers_are_dropped() {
        let parts = SystemPortWaker::create().unwrap();
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
