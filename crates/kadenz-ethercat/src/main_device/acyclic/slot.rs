//! A slot for one request, and whose turn it is.
//!
//! A slot belongs to one side at a time, and only that side locks it: the caller from [`SlotState::Filling`] to
//! [`SlotState::Asked`] and again from the answer on, the loop in between. So the loop always finds it unlocked,
//! and an answer that came is never put off.

use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

use crate::sync::{AtomicU8, Mutex, MutexGuard, Ordering};

/// The stage of a slot's request, with the side whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SlotState {
    /// Free: a caller may take it.
    Free,
    /// The caller's, which puts the request in.
    Filling,
    /// The loop's: to be sent.
    Asked,
    /// The loop's: on the wire.
    Sent,
    /// The caller's: the answer is there.
    Answered,
    /// The caller's: there will be no answer.
    Lost,
}

/// A slot for one request, with the side whose turn it is.
#[derive(Debug)]
pub(super) struct RequestSlot<T> {
    state: AtomicU8,
    content: Mutex<T>,
}

impl<T: Default> Default for RequestSlot<T> {
    fn default() -> Self {
        Self {
            state: AtomicU8::new(SlotState::Free as u8),
            content: Mutex::new(T::default()),
        }
    }
}

impl<T> RequestSlot<T> {
    /// Whether it is in that state.
    pub(super) fn is(&self, state: SlotState) -> bool {
        self.state.load(Ordering::Acquire) == state as u8
    }

    /// For the caller: takes a free slot, puts a request in and gives it to the loop; returns whether it was
    /// free.
    pub(super) fn fill(&self, put: impl FnOnce(&mut T)) -> bool {
        let (free, filling) = (SlotState::Free as u8, SlotState::Filling as u8);
        let taken =
            self.state
                .compare_exchange(free, filling, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        // Unlocked before the loop may look.
        put(&mut self.lock());
        self.state.store(SlotState::Asked as u8, Ordering::Release);
        true
    }

    /// For the loop: returns the request where its state is this one, else `None`. Never waits.
    pub(super) fn turn(&self, state: SlotState) -> Option<Turn<'_, T>> {
        if !self.is(state) {
            return None;
        }
        let content = match self.content.try_lock() {
            Ok(content) => content,
            Err(TryLockError::Poisoned(content)) => content.into_inner(),
            // No other side locks it in the loop's states.
            Err(TryLockError::WouldBlock) => return None,
        };
        let state = &self.state;
        Some(Turn { state, content })
    }

    /// For the caller: takes the result of the request, and frees the slot; returns `None` as long as it is the
    /// loop's turn. May wait until the loop lets go.
    pub(super) fn take<R>(&self, take: impl FnOnce(&mut T, SlotState) -> R) -> Option<R> {
        let end = [SlotState::Answered, SlotState::Lost]
            .into_iter()
            .find(|it| self.is(*it))?;
        let taken = take(&mut self.lock(), end);
        self.leave();
        Some(taken)
    }

    /// For the caller: frees the slot, whatever the state of the request. Only where no loop runs any more, or at
    /// the end of a request.
    pub(super) fn leave(&self) {
        self.state.store(SlotState::Free as u8, Ordering::Release);
    }

    /// The request. Waits; for the caller, or where no loop runs any more.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request in a slot while it is the loop's turn.
pub(super) struct Turn<'p, T> {
    state: &'p AtomicU8,
    content: MutexGuard<'p, T>,
}

impl<T> Turn<'_, T> {
    /// Changes to another state. The caller may see that at once, and waits until this is dropped.
    pub(super) fn to(&self, state: SlotState) {
        self.state.store(state as u8, Ordering::Release);
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.content
    }
}

#[cfg(all(test, loom))]
mod loom {
    //! Requests and answers under every interleaving that loom finds.

    use ::loom::{model::Builder, sync::Arc, thread};

    use super::*;

    /// The loop's part of a cycle: it never finds a slot locked in its turn.
    fn cycle(slot: &RequestSlot<u32>) {
        if slot.is(SlotState::Asked) {
            let mut request = slot.turn(SlotState::Asked).expect("no other side locks it");
            *request += 1;
            request.to(SlotState::Sent);
        }
        if slot.is(SlotState::Sent) {
            let mut request = slot.turn(SlotState::Sent).expect("no other side locks it");
            *request += 10;
            request.to(SlotState::Answered);
        }
    }

    #[test]
    fn the_loop_never_finds_a_question_held_and_no_caller_gets_another_s_answer() {
        let mut model = Builder::new();
        // Three threads: without a bound there are too many orders.
        model.preemption_bound = Some(3);
        model.check(|| {
            let slot = Arc::new(RequestSlot::<u32>::default());
            let asking = [100, 200].map(|number| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || {
                    if !slot.fill(|it| *it = number) {
                        return false;
                    }
                    // A few tries: loom would explore endless ones.
                    for _ in 0..2 {
                        if let Some(answer) = slot.take(|it, end| (*it, end)) {
                            assert_eq!(answer, (number + 11, SlotState::Answered));
                            break;
                        }
                        thread::yield_now();
                    }
                    true
                })
            });
            cycle(&slot);
            cycle(&slot);
            let asked = asking.map(|it| it.join().expect("it ended"));
            assert!(asked.contains(&true), "the first finds it free");
        });
    }
}
