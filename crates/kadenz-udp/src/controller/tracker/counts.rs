//! A tracker's result for one answer, and for all of them.

use core::fmt;

use crate::wire::Sequence;

/// Whether an answer came in the order of the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// No later question was answered before.
    InOrder,
    /// A later question was answered before: Type-P-Reordered (RFC 4737 section 3.3).
    Reordered,
}

/// Whether an answer came within the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// It took at most the timeout.
    InTime,
    /// It took longer.
    Late,
}

/// A tracker's result for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The first answer to its question.
    First {
        /// Its order against the answers to other questions.
        order: Order,
        /// Its round trip against the timeout.
        timing: Timing,
    },
    /// A further answer to a question that has one.
    Duplicate,
    /// Its question left the window; the question counts as lost if no answer came before.
    TooOld,
    /// No question was sent under its number.
    NotOurs,
}

/// A number that does not follow the last one: only numbers in order can be tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSequence {
    /// The last number sent.
    pub last: Sequence,
    /// The number that was given instead of the next one.
    pub given: Sequence,
}

impl fmt::Display for OutOfSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (last, given) = (self.last.0, self.given.0);
        write!(
            f,
            "the number {given} was sent after {last}: numbers must grow, and may wrap"
        )
    }
}

impl core::error::Error for OutOfSequence {}

/// The counts of all questions so far. `sent = in_time + late + lost +` the outstanding ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Questions that were sent, answered or not.
    pub sent: u64,
    /// Questions whose first answer came within the timeout.
    pub in_time: u64,
    /// Questions whose first answer came after the timeout, and within the window.
    pub late: u64,
    /// Questions without an answer that are no longer outstanding.
    pub lost: u64,
    /// The most questions in a row without an answer in time: lost, or answered late.
    pub longest_loss: u64,
    /// First answers that came after the answer to a later question (RFC 4737 section 3.3).
    pub reordered: u64,
    /// Further answers to a question that has one.
    pub duplicates: u64,
    /// Answers whose question had left the window.
    pub too_old: u64,
    /// Answers to questions that were never sent.
    pub not_ours: u64,
}

impl Counts {
    /// Questions that were answered, in time or late.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.in_time + self.late
    }

    /// Questions that may still be answered.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.sent - self.answered() - self.lost
    }
}
