//! Questions of other threads, which the loop carries: it sends at most one a cycle.
//!
//! The loop never waits for a lock, and loses no answer to one: only the side whose turn it is locks a slot.
//!
//! One slot is reserved for the supervisor, which gets at least every second send, however many other threads
//! send requests.

use std::array;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::exchange::{Exchange, ExchangeError, ExchangeResult, FrameBuffer, RetryPolicy};
use super::link::{Arrived, Link, Ticket};
use crate::port::Port;
use slot::{RequestSlot, SlotState};

mod slot;
#[cfg(all(test, not(loom)))]
mod tests;

/// Questions in shared slots that may wait at once.
const SHARED: usize = 4;
/// The slot of the supervisor, which must not wait for all other threads.
const OWN: usize = SHARED;
const SLOTS: usize = SHARED + 1;

/// The slots of the queue that a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotClass {
    /// The shared slots.
    Shared,
    /// The supervisor's slot.
    Own,
}

/// A frame that another thread asks the loop to send, and the thread that waits for its answer.
#[derive(Debug, Default)]
struct AcyclicRequest {
    frame: FrameBuffer,
    retry: RetryPolicy,
    waiting: Option<Thread>,
    /// The frame on the wire, and the time at which the loop gives it up.
    out: Option<(Ticket, MonotonicTime)>,
}

/// The slots of questions and answers.
#[derive(Debug, Default)]
pub struct AcyclicQueue {
    slots: [RequestSlot<AcyclicRequest>; SLOTS],
    /// The shared slot that the loop looks at first: behind the one whose question was sent last, so that a
    /// thread that asks again and again keeps no other waiting.
    first: AtomicUsize,
    /// Whether the last question was of the supervisor's slot.
    was_own: AtomicBool,
    ended: AtomicBool,
}

impl AcyclicQueue {
    /// Sends one question that waits; for the loop, before it sleeps. The supervisor's slot and the shared
    /// ones take turns, each of the latter in turn.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor waits.
    pub fn send_one<P: Port>(&self, link: &mut Link<P>) {
        for slot in self.turns() {
            let Some(mut question) = self.slots[slot].turn(SlotState::Asked) else {
                continue;
            };
            self.was_own.store(slot == OWN, Ordering::Relaxed);
            if slot != OWN {
                self.first.store((slot + 1) % SHARED, Ordering::Relaxed);
            }
            let until = link.now() + question.retry.answer;
            match link.send(question.frame.bytes_mut()) {
                Ok(ticket) => {
                    question.out = Some((ticket, until));
                    question.to(SlotState::Sent);
                }
                Err(_) => {
                    question.to(SlotState::Lost);
                    question.wake();
                }
            }
            return;
        }
    }

    /// The order in which the loop looks at slots.
    fn turns(&self) -> [usize; SLOTS] {
        let first = self.first.load(Ordering::Relaxed);
        let mut turns = array::from_fn(|it| (first + it) % SHARED);
        turns[SHARED] = OWN;
        if !self.was_own.load(Ordering::Relaxed) {
            turns.rotate_right(1);
        }
        turns
    }

    /// Delivers an answer to a question that is not the loop's own; for the loop. Neither allocates, locks nor
    /// waits.
    pub(crate) fn deliver<P: Port>(&self, arrived: Arrived, answer: &[u8]) {
        for slot in &self.slots {
            let Some(mut question) = slot.turn(SlotState::Sent) else {
                continue;
            };
            let out = question.out.as_ref();
            if out.is_some_and(|(ticket, _)| Link::<P>::is_answer(ticket, arrived)) {
                question.frame.replace(answer);
                question.to(SlotState::Answered);
                question.wake();
                return;
            }
        }
    }

    /// Gives up frames that are out for too long; for the loop, once a cycle.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor waits.
    pub fn expire<P: Port>(&self, link: &mut Link<P>) {
        for slot in &self.slots {
            let Some(question) = slot.turn(SlotState::Sent) else {
                continue;
            };
            let Some((ticket, until)) = &question.out else {
                continue;
            };
            if link.now() >= *until || !link.is_out(ticket) {
                link.give_up(ticket);
                question.to(SlotState::Lost);
                question.wake();
            }
        }
    }

    /// Marks the loop as ended: it carries no more questions; threads that wait for an answer get an error.
    ///
    /// # Real-time safety
    /// For the end of the loop: it may wait for a thread that puts a question in.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        for slot in &self.slots {
            slot.lock().wake();
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Puts a question in; returns its slot, or `None` when all slots that it may have are taken.
    pub(crate) fn request(
        &self,
        frame: &FrameBuffer,
        retry: RetryPolicy,
        class: SlotClass,
    ) -> Option<usize> {
        let mut slots = match class {
            SlotClass::Shared => 0..SHARED,
            SlotClass::Own => OWN..SLOTS,
        };
        slots.find(|slot| {
            self.slots[*slot].fill(|question| {
                question.frame = frame.clone();
                question.retry = retry;
                question.waiting = Some(std::thread::current());
                question.out = None;
            })
        })
    }

    /// Waits for the end of the slot's request; returns whether there is an answer, which is then in `frame`.
    fn answer(&self, slot: usize, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        loop {
            // Read before: an answer that came just before the loop's end counts.
            let ended = self.has_ended();
            if let Some(answered) = self.take(slot, frame) {
                return Ok(answered);
            }
            if ended {
                self.slots[slot].leave();
                return Err(ExchangeError::Ended);
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Takes the slot's answer into `frame`; returns whether there is one, `None` as long as that is not
    /// known.
    pub(crate) fn take(&self, slot: usize, frame: &mut FrameBuffer) -> Option<bool> {
        self.slots[slot].take(|question, end| {
            let answered = end == SlotState::Answered;
            if answered {
                frame.replace(question.frame.bytes());
            }
            question.waiting = None;
            answered
        })
    }
}

impl AcyclicRequest {
    /// Wakes the asking thread.
    fn wake(&self) {
        if let Some(waiting) = &self.waiting {
            waiting.unpark();
        }
    }
}

/// A thread's access to the segment while the loop runs. Waits.
///
/// # Real-time safety
/// Not for the loop: its thread waits for the loop.
#[derive(Debug, Clone, Copy)]
pub struct AcyclicClient<'p> {
    queue: &'p AcyclicQueue,
    retry: RetryPolicy,
    class: SlotClass,
}

impl<'p> AcyclicClient<'p> {
    /// A client of this queue.
    #[must_use]
    pub fn of(queue: &'p AcyclicQueue, retry: RetryPolicy) -> Self {
        Self {
            queue,
            retry,
            class: SlotClass::Shared,
        }
    }

    /// A client of this queue for the [supervisor](crate::control::supervisor), which must not wait for all
    /// other threads: at least every other question is its. Of several such clients one waits for the other.
    #[must_use]
    pub fn of_supervisor(queue: &'p AcyclicQueue, retry: RetryPolicy) -> Self {
        Self {
            class: SlotClass::Own,
            ..Self::of(queue, retry)
        }
    }
}

impl Exchange for AcyclicClient<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        self.retry.exchange(self, frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        let slot = loop {
            if self.queue.has_ended() {
                return Err(ExchangeError::Ended);
            }
            match self.queue.request(frame, self.retry, self.class) {
                Some(slot) => break slot,
                None => std::thread::sleep(Duration::from_micros(500)),
            }
        };
        self.queue.answer(slot, frame)
    }

    fn pause(&mut self, span: Duration) {
        std::thread::sleep(span);
    }

    fn now(&self) -> MonotonicTime {
        clock::now()
    }
}
