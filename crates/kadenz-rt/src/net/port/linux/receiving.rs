//! Taking what has come, and waiting for it with as few system calls as can be.
//!
//! What is waited for goes through one of two doors. The call that receives can itself wait, which
//! wakes the thread with the datagram in its hands; but it cannot be woken, and its limit is counted
//! in ticks of the kernel. `ppoll` knows nanoseconds and events, and costs a call more and a
//! high-resolution timer that is set before and cancelled after the wait: in a virtual machine each
//! of the two takes microseconds, for the hypervisor has to be asked. So the first is taken where
//! nobody holds a waker, or it may be late, and the deadline is far enough away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

use super::super::inbox::About;
use super::super::{Inbox, ReceiveError, Reception, Wait};
use super::{Port, error_queue, stamps};
use crate::clock::now;
use crate::os::linux::clock::tick;
use crate::os::linux::udp::messages::{self, Queue};
use crate::os::linux::udp::socket::{self, Event, Socket};

/// A call that waits comes back this often, to see whether somebody may wake it by now, or the
/// deadline is near. It lasts a tick of the kernel at least, whatever is asked for; a short one lets
/// beats of 100 Hz be waited for with it where the tick is 4 ms.
const SLICE: Duration = Duration::from_millis(1);

/// The longest that a slice lasts, except for the scheduler: the kernel rounds it up to whole ticks and
/// adds the one that has begun (`sock_set_timeout`, net/core/sock.c; `calc_index`, kernel/time/timer.c).
fn longest_slice(tick: Duration) -> Duration {
    let ticks = SLICE.as_nanos().div_ceil(tick.as_nanos().max(1)) + 1;
    tick * u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// How a port waits, and whether it had to last time.
#[derive(Debug)]
pub(super) struct WaitState {
    /// A slice lasts no longer; none where calls cannot be limited.
    slice_lasts_ns: Option<u64>,
    /// The last datagrams had to be waited for. Those of ping-pong always have to, and a first look
    /// finds nothing.
    had_to_wait: bool,
    /// A waker is looked for between slices alone.
    wakers_may_be_late: bool,
}

impl WaitState {
    /// Limits the calls of a socket.
    pub(super) fn set_up(socket: &Socket, wakers_may_be_late: bool) -> Self {
        let limited = socket.wait_at_most(SLICE).ok();
        let slice_lasts = limited.and_then(|()| tick()).map(longest_slice);
        Self {
            slice_lasts_ns: slice_lasts.and_then(|span| u64::try_from(span.as_nanos()).ok()),
            had_to_wait: false,
            wakers_may_be_late,
        }
    }

    /// For another handle of the socket.
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

/// What receiving does next.
enum ReceiveStep {
    Look,
    /// Receive, and wait in that call.
    Slice,
    /// Wait that long; for ever without an end.
    Await(Option<u64>),
    Over,
}

/// What the kernel was asked last.
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
            // Before the look at the flag: a wake by the last waker must not be missed.
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

    /// Waits for a datagram, an error or an event; false when a signal ended it.
    fn wait(&mut self, span_ns: Option<u64>, alone: bool) -> Result<bool, ReceiveError> {
        // What stands in the error queue ends every wait until it is taken out.
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

    /// Takes what is there, or comes while a slice lasts.
    fn take(
        &mut self,
        inbox: &mut Inbox,
        mut blocking: messages::BlockingMode,
    ) -> Result<Reception, ReceiveError> {
        // Without a peer each error tells of somebody else's datagram; the error queue keeps it.
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
            // Else the slices of many errors might outlast the deadline.
            blocking = messages::BlockingMode::None;
        }
        Ok(Reception::Nothing)
    }

    fn describe(&mut self, inbox: &mut Inbox, count: usize) {
        for (at, about) in inbox.about[..count].iter_mut().enumerate() {
            let notes = inbox.system.notes(at);
            *about = About {
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

/// A flag that says whether, and an event that ends the wait. The flag is set before the event is
/// signalled and looked at after the event was cleared, so no wake is lost; an event without its flag
/// is one that was answered already.
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

    /// Whether somebody woke since the last call.
    pub(super) fn take(&self) -> bool {
        if !self.0.flag.load(Ordering::Relaxed) {
            return false;
        }
        self.0.event.clear();
        self.0.flag.swap(false, Ordering::AcqRel)
    }

    /// Whether nobody can wake any more or yet. Whoever could has woken before this says so: a wake
    /// is seen by the next [`SystemPortWaker::take`].
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
    fn who_holds_a_waker_is_known() {
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
