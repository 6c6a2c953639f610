//! Where one question lies, and whose turn it is.
//!
//! A place belongs to one side at a time, and only that side locks it: who asks from [`SlotState::Filling`] to
//! [`SlotState::Asked`] and again from the answer on, the loop in between. So the loop finds it unlocked always,
//! and an answer that came is never put off.

use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

use crate::sync::{AtomicU8, Mutex, MutexGuard, Ordering};

/// Whose turn a slot is, and how far its request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SlotState {
    /// Nobody's: who asks may take it.
    Free,
    /// Of who asks, and puts the question in.
    Filling,
    /// The loop's: to be sent.
    Asked,
    /// The loop's: on the wire.
    Out,
    /// Of who asked: the answer is there.
    Answered,
    /// Of who asked: there will be none.
    Lost,
}

/// A slot for one request, and whose turn it is.
#[derive(Debug)]
pub(super) struct RequestSlot<T> {
    stage: AtomicU8,
    content: Mutex<T>,
}

impl<T: Default> Default for RequestSlot<T> {
    fn default() -> Self {
        Self {
            stage: AtomicU8::new(SlotState::Free as u8),
            content: Mutex::new(T::default()),
        }
    }
}

impl<T> RequestSlot<T> {
    /// Whether it is at that stage.
    pub(super) fn is(&self, stage: SlotState) -> bool {
        self.stage.load(Ordering::Acquire) == stage as u8
    }

    /// Who asks: takes a place that is free, puts a question in and gives it to the loop; whether it was
    /// free.
    pub(super) fn fill(&self, put: impl FnOnce(&mut T)) -> bool {
        let (free, filling) = (SlotState::Free as u8, SlotState::Filling as u8);
        let taken =
            self.stage
                .compare_exchange(free, filling, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        // Unlocked before the loop may look.
        put(&mut self.lock());
        self.stage.store(SlotState::Asked as u8, Ordering::Release);
        true
    }

    /// The loop: what lies here at a stage of its own; `None` at another. Never waits.
    pub(super) fn turn(&self, stage: SlotState) -> Option<Turn<'_, T>> {
        if !self.is(stage) {
            return None;
        }
        let content = match self.content.try_lock() {
            Ok(content) => content,
            Err(TryLockError::Poisoned(content)) => content.into_inner(),
            // Nobody else locks it at the loop's stages.
            Err(TryLockError::WouldBlock) => return None,
        };
        let stage = &self.stage;
        Some(Turn { stage, content })
    }

    /// Who asked: takes what became of the question, and leaves the place to others; `None` as long as it is
    /// the loop's turn. May wait for the loop to let go.
    pub(super) fn take<R>(&self, take: impl FnOnce(&mut T, SlotState) -> R) -> Option<R> {
        let end = [SlotState::Answered, SlotState::Lost]
            .into_iter()
            .find(|it| self.is(*it))?;
        let taken = take(&mut self.lock(), end);
        self.leave();
        Some(taken)
    }

    /// Who asked: leaves the place to others, whatever became of the question. Only where no loop runs any
    /// more, or at the end of a question.
    pub(super) fn leave(&self) {
        self.stage.store(SlotState::Free as u8, Ordering::Release);
    }

    /// What lies here. Waits; for who asks, or where no loop runs any more.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What lies in a place while it is the loop's turn.
pub(super) struct Turn<'p, T> {
    stage: &'p AtomicU8,
    content: MutexGuard<'p, T>,
}

impl<T> Turn<'_, T> {
    /// Goes on to another stage. Who asked may see that at once, and waits until this is dropped.
    pub(super) fn to(&self, stage: SlotState) {
        self.stage.store(stage as u8, Ordering::Release);
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
    //! Questions and answers under every interleaving that loom finds.

    use ::loom::{model::Builder, sync::Arc, thread};

    use super::*;

    /// The loop's part of a cycle: it never finds a place of its own locked.
    fn cycle(place: &RequestSlot<u32>) {
        if place.is(SlotState::Asked) {
            let mut question = place.turn(SlotState::Asked).expect("nobody holds it");
            *question += 1;
            question.to(SlotState::Out);
        }
        if place.is(SlotState::Out) {
            let mut question = place.turn(SlotState::Out).expect("nobody holds it");
            *question += 10;
            question.to(SlotState::Answered);
        }
    }

    #[test]
    fn the_loop_never_finds_a_question_held_and_nobody_gets_another_s_answer() {
        let mut model = Builder::new();
        // Three threads: without a bound there are too many orders.
        model.preemption_bound = Some(3);
        model.check(|| {
            let place = Arc::new(RequestSlot::<u32>::default());
            let asking = [100, 200].map(|number| {
                let place = Arc::clone(&place);
                thread::spawn(move || {
                    if !place.fill(|it| *it = number) {
                        return false;
                    }
                    // Some tries: loom would explore endless ones.
                    for _ in 0..2 {
                        if let Some(answer) = place.take(|it, end| (*it, end)) {
                            assert_eq!(answer, (number + 11, SlotState::Answered));
                            break;
                        }
                        thread::yield_now();
                    }
                    true
                })
            });
            cycle(&place);
            cycle(&place);
            let asked = asking.map(|it| it.join().expect("it ended"));
            assert!(asked.contains(&true), "the first finds it free");
        });
    }
}
