//! Questions of other threads, carried by the loop's: at most one is sent a cycle.
//!
//! The loop never waits for a lock: a slot that somebody else holds is looked at again in the next cycle.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::Thread;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::exchange::{Exchange, ExchangeError, FrameBuffer, Patience};
use super::link::{Arrived, Link, Ticket};
use crate::port::Port;

/// Questions that may wait at once.
const SLOTS: usize = 4;

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Free,
    /// To be sent.
    Asked,
    /// On the wire, given up at that time.
    Out(Ticket, MonotonicTime),
    Answered,
    Lost,
}

#[derive(Debug, Default)]
struct Slot {
    stage: Stage,
    frame: FrameBuffer,
    patience: Patience,
    waiting: Option<Thread>,
}

/// Where questions and answers lie.
#[derive(Debug, Default)]
pub struct Postbox {
    slots: [Mutex<Slot>; SLOTS],
    /// The slot that is looked at first: behind the one whose question was sent last, so that nobody who
    /// asks again and again keeps others waiting.
    first: AtomicUsize,
    ended: AtomicBool,
}

impl Postbox {
    /// The loop's part before it sleeps: sends one question that waits, each slot's in turn. Neither allocates, locks nor
    /// waits.
    pub fn send_one<P: Port>(&self, link: &mut Link<P>) {
        let first = self.first.load(Ordering::Relaxed);
        for place in (first..first + SLOTS).map(|it| it % SLOTS) {
            let mut slot = match self.slots[place].try_lock() {
                Ok(slot) => slot,
                Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            if !matches!(slot.stage, Stage::Asked) {
                continue;
            }
            self.first.store((place + 1) % SLOTS, Ordering::Relaxed);
            let until = link.now() + slot.patience.answer;
            slot.stage = match link.send(slot.frame.bytes_mut()) {
                Ok(ticket) => Stage::Out(ticket, until),
                Err(_) => Stage::Lost,
            };
            slot.wake_if_done();
            return;
        }
    }

    /// The loop's part for an answer that is none of its own. Neither allocates nor waits; a slot that is
    /// held just now loses its answer, and the question is asked again.
    pub fn deliver<P: Port>(&self, arrived: Arrived, answer: &[u8]) {
        for slot in &self.slots {
            let Ok(mut slot) = slot.try_lock() else {
                continue;
            };
            let is_it = matches!(&slot.stage, Stage::Out(ticket, _) if Link::<P>::is_answer(ticket, arrived));
            if is_it {
                slot.frame.replace(answer);
                slot.stage = Stage::Answered;
                slot.wake_if_done();
                return;
            }
        }
    }

    /// The loop's part once a cycle: gives up what is out for too long.
    pub fn expire<P: Port>(&self, link: &mut Link<P>) {
        for slot in &self.slots {
            let Ok(mut slot) = slot.try_lock() else {
                continue;
            };
            let Stage::Out(ticket, until) = &slot.stage else {
                continue;
            };
            if link.now() >= *until || !link.is_out(ticket) {
                link.give_up(ticket);
                slot.stage = Stage::Lost;
                slot.wake_if_done();
            }
        }
    }

    /// Says that the loop carries no more questions; who waits for an answer gets an error.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        for slot in &self.slots {
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(waiting) = &slot.waiting {
                waiting.unpark();
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Puts a question in; which slot it has. `None` when all are taken.
    pub(crate) fn ask(&self, frame: &FrameBuffer, patience: Patience) -> Option<usize> {
        self.slots.iter().position(|slot| {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let free = matches!(slot.stage, Stage::Free);
            if free {
                slot.frame = frame.clone();
                slot.patience = patience;
                slot.waiting = Some(std::thread::current());
                slot.stage = Stage::Asked;
            }
            free
        })
    }

    /// Waits for the slot's end; whether there is an answer, which is put into `frame`.
    fn answer(&self, slot: usize, frame: &mut FrameBuffer) -> Result<bool, ExchangeError> {
        loop {
            // Asked before: an answer that came just before the loop's end counts.
            let ended = self.has_ended();
            if let Some(answered) = self.take(slot, frame) {
                return Ok(answered);
            }
            if ended {
                self.lock(slot).stage = Stage::Free;
                return Err(ExchangeError::Ended);
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// Takes the slot's answer into `frame`: whether there is one, `None` as long as that is not known.
    pub(crate) fn take(&self, slot: usize, frame: &mut FrameBuffer) -> Option<bool> {
        let mut slot = self.lock(slot);
        let answered = match slot.stage {
            Stage::Answered => true,
            Stage::Lost => false,
            _ => return None,
        };
        if answered {
            frame.replace(slot.frame.bytes());
        }
        slot.stage = Stage::Free;
        slot.waiting = None;
        Some(answered)
    }

    fn lock(&self, slot: usize) -> MutexGuard<'_, Slot> {
        self.slots[slot]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn wake_if_done(&self) {
        if let (Stage::Answered | Stage::Lost, Some(waiting)) = (&self.stage, &self.waiting) {
            waiting.unpark();
        }
    }
}

/// A thread's access to the segment while the loop runs. Waits.
#[derive(Debug, Clone, Copy)]
pub struct Correspondent<'p> {
    postbox: &'p Postbox,
    patience: Patience,
}

impl<'p> Correspondent<'p> {
    /// By this postbox.
    #[must_use]
    pub fn of(postbox: &'p Postbox, patience: Patience) -> Self {
        Self { postbox, patience }
    }
}

impl Exchange for Correspondent<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> Result<(), ExchangeError> {
        for _ in 0..self.patience.tries {
            let slot = loop {
                if self.postbox.has_ended() {
                    return Err(ExchangeError::Ended);
                }
                match self.postbox.ask(frame, self.patience) {
                    Some(slot) => break slot,
                    None => std::thread::sleep(Duration::from_micros(500)),
                }
            };
            if self.postbox.answer(slot, frame)? {
                return Ok(());
            }
        }
        Err(ExchangeError::Lost(
            self.patience.answer,
            self.patience.tries,
        ))
    }

    fn pause(&mut self, span: Duration) {
        std::thread::sleep(span);
    }

    fn now(&self) -> MonotonicTime {
        clock::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::WirePort;
    use crate::sim::Segment;

    #[test]
    fn who_asks_again_and_again_keeps_nobody_waiting() {
        let postbox = Postbox::default();
        let mut link = Link::new(WirePort::new(Segment::new(1)), 1);
        let frame = FrameBuffer::default();
        while postbox.ask(&frame, Patience::default()).is_some() {}
        let mut served = Vec::new();
        for _ in 0..SLOTS {
            postbox.send_one(&mut link);
            let is_served = |it: &Mutex<Slot>| !matches!(it.lock().unwrap().stage, Stage::Asked);
            let place = postbox.slots.iter().position(is_served).unwrap();
            // It asks anew at once.
            postbox.slots[place].lock().unwrap().stage = Stage::Asked;
            served.push(place);
        }
        assert_eq!(served, [0, 1, 2, 3]);
    }
}
