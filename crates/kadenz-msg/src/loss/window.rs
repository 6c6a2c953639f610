//! The window of the last numbers of one counter that have arrived.

use super::{SequenceStatus, Tally};

/// The distance behind the newest number within which the window knows each number; a number from farther
/// behind shows a counter that restarted.
pub const WINDOW: u32 = 1024;
/// A jump forward by more is not a loss but a counter that restarted: at 1 kHz these are 4 hours.
const MAX_LOST: u32 = 1 << 24;
/// The count of consecutive numbers close to 0, all of which had arrived before, that shows a counter that
/// restarted while the old one was still within the window.
const RESTARTS_AFTER: u32 = 16;
/// The limit of a number close to 0: a receiver may miss the first few of a counter that restarted.
const CLOSE_TO_START: u32 = 4 * RESTARTS_AFTER;

const WORDS: usize = WINDOW as usize / 64;

#[derive(Debug, Clone)]
pub(super) struct Window {
    newest: u32,
    /// Bit `n % WINDOW` is set if number `n` has arrived.
    come: [u64; WORDS],
    /// How many numbers are within the window.
    known: u32,
    last_duplicate: u32,
    duplicates_in_a_row: u32,
}

impl Window {
    pub(super) fn beginning_with(number: u32) -> Self {
        let mut window = Self {
            newest: number,
            come: [0; WORDS],
            known: 1,
            last_duplicate: 0,
            duplicates_in_a_row: 0,
        };
        window.mark(number);
        window
    }

    pub(super) fn note(&mut self, number: u32, tally: &mut Tally) -> SequenceStatus {
        let ahead = number.wrapping_sub(self.newest);
        let behind = self.newest.wrapping_sub(number);
        if ahead == 0 || behind < WINDOW {
            return self.note_behind(number, behind, tally);
        }
        self.duplicates_in_a_row = 0;
        tally.received += 1;
        if ahead > MAX_LOST {
            return self.restart(number, tally);
        }
        self.advance(number, ahead);
        if ahead == 1 {
            return SequenceStatus::Next;
        }
        let lost = ahead - 1;
        tally.lost += u64::from(lost);
        SequenceStatus::Gap { lost }
    }

    fn note_behind(&mut self, number: u32, behind: u32, tally: &mut Tally) -> SequenceStatus {
        if behind >= self.known {
            // From before the first: it was not missed, and is not a restart either as it is so close.
            self.known = behind + 1;
            self.mark(number);
            self.duplicates_in_a_row = 0;
            tally.received += 1;
            tally.reordered += 1;
            // Those between it and the first are missing now.
            let between = self.missing_from(number, behind);
            tally.lost += between;
            return SequenceStatus::Late;
        }
        if !self.has(number) {
            self.mark(number);
            self.duplicates_in_a_row = 0;
            tally.received += 1;
            tally.lost = tally.lost.saturating_sub(1);
            tally.reordered += 1;
            return SequenceStatus::Late;
        }
        let follows = number == self.last_duplicate.wrapping_add(1);
        self.duplicates_in_a_row = if follows {
            self.duplicates_in_a_row + 1
        } else {
            1
        };
        self.last_duplicate = number;
        tally.duplicated += 1;
        let long_run = self.duplicates_in_a_row >= RESTARTS_AFTER;
        if !long_run || number >= CLOSE_TO_START || behind < CLOSE_TO_START {
            return SequenceStatus::Duplicate;
        }
        let wrongly = u64::from(self.duplicates_in_a_row);
        tally.duplicated = tally.duplicated.saturating_sub(wrongly);
        tally.received += wrongly;
        self.restart(number, tally)
    }

    fn restart(&mut self, number: u32, tally: &mut Tally) -> SequenceStatus {
        *self = Self::beginning_with(number);
        tally.restarted += 1;
        SequenceStatus::Restarted
    }

    /// Returns how many numbers right after this one have not arrived, up to one that has.
    fn missing_from(&self, number: u32, behind: u32) -> u64 {
        let after = (1..=behind).map(|step| number.wrapping_add(step));
        after.take_while(|number| !self.has(*number)).count() as u64
    }

    fn advance(&mut self, number: u32, ahead: u32) {
        if ahead >= WINDOW {
            self.come = [0; WORDS];
        } else {
            for step in 1..=ahead {
                self.clear(self.newest.wrapping_add(step));
            }
        }
        self.newest = number;
        self.known = self.known.saturating_add(ahead).min(WINDOW);
        self.mark(number);
    }

    const fn place(number: u32) -> (usize, u64) {
        let at = number % WINDOW;
        (at as usize / 64, 1 << (at % 64))
    }

    fn has(&self, number: u32) -> bool {
        let (word, bit) = Self::place(number);
        self.come[word] & bit != 0
    }

    fn mark(&mut self, number: u32) {
        let (word, bit) = Self::place(number);
        self.come[word] |= bit;
    }

    fn clear(&mut self, number: u32) {
        let (word, bit) = Self::place(number);
        self.come[word] &= !bit;
    }
}
