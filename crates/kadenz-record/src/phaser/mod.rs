//! Double buffering in which writers never wait.
//!
//! [`WriterReaderPhaser`] follows the algorithm of Gil Tene's `WriterReaderPhaser` (HdrHistogram, public domain).
//! There are two phases, and each double-buffered structure has one buffer for each. A writer enters a section,
//! writes to the buffer of the section's phase, and leaves. A reader flips the phase, and the flip returns only
//! when the last writer of the old phase has left: from then on, and until the next flip, only the reader uses the
//! old phase's buffer.
//!
//! # How it works
//! `entered` counts the entries into the current phase and carries the phase in its sign: the even phase counts up
//! from 0, the odd one from `i64::MIN`. Each phase has a counter of exits that starts at the same value. A flip
//! sets the next phase's exits to their start and swaps `entered` to that start in one atomic step. The swap
//! returns the final number of entries into the old phase; when its exits have reached that number, no writer is
//! left in it.
//!
//! # Assumptions
//! 1. There is one buffer for each phase, and a writer writes only to the buffer of the phase that
//!    its [`WriterSection`] names, and only while it holds that section.
//! 2. Writers do not stay in a section forever, and a section is not forgotten
//!    ([`std::mem::forget`]).
//! 3. A reader touches only the buffer of the phase that [`ReaderTurn::resting`] names, and only
//!    while it holds its turn.
//! 4. Readers do not hold their turn forever.
//! 5. No phase is entered more than 2^63 times between two flips: 292 years at one a nanosecond.
//!
//! # Guarantees
//! 1. After [`ReaderTurn::flip`], no writer modifies the resting buffer, and everything written
//!    to it is visible to the reader.
//! 2. A writer that enters a phase sees everything the reader did to that phase's buffer while it
//!    rested.
//!
//! # Progress
//! 1. Entering and leaving are wait-free where an atomic fetch-and-add is (x86-64, ARMv8.1 with
//!    LSE), and lock-free elsewhere. Neither allocates, calls the system, or waits for a
//!    reader. A section costs two atomic read-modify-writes.
//! 2. A flip waits only for writers that had entered before it began and have not left yet;
//!    writers that enter later cannot prolong it. It spins briefly and then sleeps 50 us at a time,
//!    so that a writer of lower priority on the same CPU can finish.
//! 3. [`WriterReaderPhaser::read`] waits only for other readers.
//!
//! Loom models in `tests/loom.rs` check the guarantees over all interleavings of small
//! numbers of writers and flips.
//!
//! # Example
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use kadenz_record::phaser::WriterReaderPhaser;
//!
//! let phaser = WriterReaderPhaser::new();
//! let events = [AtomicU64::new(0), AtomicU64::new(0)];
//!
//! // A writer, on any thread:
//! let section = phaser.enter();
//! events[section.phase().index()].fetch_add(1, Ordering::Relaxed);
//! drop(section);
//!
//! // A reader takes the counts since the previous flip:
//! let mut turn = phaser.read();
//! turn.flip();
//! assert_eq!(events[turn.resting().index()].swap(0, Ordering::Relaxed), 1);
//! ```

use crate::sync::{AtomicI64, Mutex, MutexGuard, Ordering, PoisonError, wait_a_little};

/// One of the two phases.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The first phase.
    Even,
    /// The second one.
    Odd,
}

impl Phase {
    /// 0 or 1, the index into a pair of buffers.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            Self::Even => 0,
            Self::Odd => 1,
        }
    }

    #[inline]
    const fn of(entered: i64) -> Self {
        if entered < 0 { Self::Odd } else { Self::Even }
    }

    const fn other(self) -> Self {
        match self {
            Self::Even => Self::Odd,
            Self::Odd => Self::Even,
        }
    }

    /// The start value of the counters of the phase.
    const fn start(self) -> i64 {
        match self {
            Self::Even => 0,
            Self::Odd => i64::MIN,
        }
    }
}

/// Lets writers proceed without waiting while readers take turns at the resting buffer; see the [module
/// documentation](self) for its assumptions and guarantees.
///
/// # Real-time safety
/// Only [`WriterReaderPhaser::read`] locks and waits. No method allocates on Linux.
#[derive(Debug)]
#[repr(align(64))]
pub struct WriterReaderPhaser {
    /// Entries into the current phase, counted from the phase's start.
    entered: AtomicI64,
    /// Exits from each phase, counted from the phase's start.
    left: [AtomicI64; 2],
    /// Held by the reader whose turn it is.
    turn: Mutex<()>,
}

impl Default for WriterReaderPhaser {
    fn default() -> Self {
        Self::new()
    }
}

impl WriterReaderPhaser {
    /// A phaser in its even phase, with no writer inside.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entered: AtomicI64::new(Phase::Even.start()),
            left: [Phase::Even, Phase::Odd].map(|phase| AtomicI64::new(phase.start())),
            turn: Mutex::new(()),
        }
    }

    /// Enters a writer's section; any number of threads may be in one at a time.
    ///
    /// # Real-time safety
    /// Real-time safe.
    #[inline]
    pub fn enter(&self) -> WriterSection<'_> {
        WriterSection {
            phaser: self,
            phase: self.count_entry(),
        }
    }

    #[inline]
    fn count_entry(&self) -> Phase {
        // Acquire: synchronizes with the flip that began this phase (entries in between continue its release
        // sequence), so the reader's changes to the buffer are visible.
        Phase::of(self.entered.fetch_add(1, Ordering::Acquire))
    }

    /// Waits for other readers to finish their turns, then takes one.
    ///
    /// # Real-time safety
    /// Not real-time safe: it locks and waits.
    pub fn read(&self) -> ReaderTurn<'_> {
        // The lock guards no data of its own, so a reader that panicked left nothing inconsistent.
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Only readers change the sign, and it is this reader's turn.
        let current = Phase::of(self.entered.load(Ordering::Relaxed));
        ReaderTurn {
            phaser: self,
            resting: current.other(),
            _turn: turn,
        }
    }
}

/// A writer's stay in a section; dropping it leaves the section.
///
/// # Real-time safety
/// Real-time safe: dropping it is one atomic addition.
#[derive(Debug)]
#[must_use = "the section ends when this is dropped"]
pub struct WriterSection<'a> {
    phaser: &'a WriterReaderPhaser,
    phase: Phase,
}

impl WriterSection<'_> {
    /// The phase whose buffer may be written.
    #[must_use]
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }
}

impl Drop for WriterSection<'_> {
    #[inline]
    fn drop(&mut self) {
        let left = &self.phaser.left[self.phase.index()];
        // Release: a reader that sees this exit counted sees the writes of the section.
        left.fetch_add(1, Ordering::Release);
    }
}

/// A reader's turn; dropping it lets the next reader in.
///
/// # Real-time safety
/// Not real-time safe: [`ReaderTurn::flip`] waits for writers, and a turn holds a lock.
#[derive(Debug)]
pub struct ReaderTurn<'a> {
    phaser: &'a WriterReaderPhaser,
    resting: Phase,
    _turn: MutexGuard<'a, ()>,
}

impl ReaderTurn<'_> {
    /// The phase whose buffer no writer touches.
    #[must_use]
    pub fn resting(&self) -> Phase {
        self.resting
    }

    /// Sends writers to the resting buffer, and returns when the other one has come to rest. Waits only for writers
    /// that are inside now; no further writer needs to enter.
    pub fn flip(&mut self) {
        let next = self.resting;
        let previous = next.other();
        // No writer is in the next phase, so its exits can be set; the swap publishes that.
        self.phaser.left[next.index()].store(next.start(), Ordering::Relaxed);
        let entries = self.phaser.entered.swap(next.start(), Ordering::AcqRel);
        let mut spins = 100;
        // Acquire: pairs with the exits, so that the writes of the sections are visible.
        while self.phaser.left[previous.index()].load(Ordering::Acquire) != entries {
            wait_a_little(&mut spins);
        }
        self.resting = previous;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
