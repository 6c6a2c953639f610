//! The inputs of every cycle on a board, for readers in other threads and processes.

use crate::control::board::{BoardError, Poster, words_for};
use crate::sync::AtomicU64;

use super::report::{CycleReport, Observer};

/// Bytes before the inputs: [`Heading`].
pub const HEAD: usize = 24;

/// What stands before the inputs of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heading {
    /// The cycle's number.
    pub number: u64,
    /// When the inputs were taken in, in ns of the loop's clock (`CLOCK_MONOTONIC` in real time).
    pub received_ns: u64,
    /// Whether all of them are new: no frame was lost, every SubDevice took part.
    pub whole: bool,
}

impl Heading {
    /// Of a post; and the inputs behind it. `None` where that is shorter than a heading.
    #[must_use]
    pub fn split(post: &[u8]) -> Option<(Self, &[u8])> {
        let (number, rest) = post.split_first_chunk()?;
        let (received, rest) = rest.split_first_chunk()?;
        let (whole, inputs) = rest.split_first_chunk::<8>()?;
        let heading = Self {
            number: u64::from_le_bytes(*number),
            received_ns: u64::from_le_bytes(*received),
            whole: whole[0] == 1,
        };
        Some((heading, inputs))
    }

    fn write(self, to: &mut [u8]) {
        to[..8].copy_from_slice(&self.number.to_le_bytes());
        to[8..16].copy_from_slice(&self.received_ns.to_le_bytes());
        to[16..HEAD].copy_from_slice(&u64::from(self.whole).to_le_bytes());
    }
}

/// Posts a [`Heading`] and all inputs once a cycle. Neither allocates, locks nor waits, whatever readers
/// do.
#[derive(Debug)]
pub struct Bulletin<'w> {
    poster: Poster<'w>,
    post: Vec<u8>,
}

impl<'w> Bulletin<'w> {
    /// Makes a board for so many bytes of inputs of words that are zero: in this process's memory, or
    /// shared with others (`kadenz_rt::shared`). Allocates.
    ///
    /// # Errors
    /// [`BoardError::TooSmall`] for fewer words than [`words`](Self::words).
    pub fn begin(words: &'w [AtomicU64], inputs: usize) -> Result<Self, BoardError> {
        Ok(Self {
            poster: Poster::begin(words, HEAD + inputs)?,
            post: vec![0; HEAD + inputs],
        })
    }

    /// Words that a board for so many bytes of inputs takes.
    #[must_use]
    pub const fn words(inputs: usize) -> usize {
        words_for(HEAD + inputs)
    }
}

impl Observer for Bulletin<'_> {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        if self.post.len() != HEAD + report.inputs.len() {
            debug_assert!(false, "a bulletin for another segment");
            return;
        }
        let heading = Heading {
            number: report.number,
            received_ns: report.received.as_ns(),
            whole: report.is_whole(),
        };
        heading.write(&mut self.post);
        self.post[HEAD..].copy_from_slice(report.inputs);
        let posted = self.poster.post(&self.post);
        debug_assert!(posted.is_ok(), "the post is as long as its board");
    }
}
