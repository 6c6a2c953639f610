//! Tracking the probes to one device.

use crate::memory::Memory;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the number {} was sent after {}: numbers must grow, and may wrap", given.0, last.0)]
pub struct OutOfSequence {
    /// The last number sent.
    pub last: Sequence,
    /// The number that was given instead of the next one.
    pub given: Sequence,
}

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

/// Memory for 64 sequence numbers of a [`Tracker`].
#[derive(Clone, Copy, Debug, Default)]
pub struct TrackWord {
    sent: u64,
    answered: u64,
    /// Of those that were answered.
    late: u64,
}

/// Tracks the questions to one device through a window of sequence numbers.
///
/// It needs three bits a number: 1024 [`TrackWord`]s, 24 KiB, track 65,536 of them, a minute at 1 kHz. Within the
/// window every count is exact, whatever is lost, duplicated, reordered or late. A question that leaves the window
/// unanswered is lost. Numbers may begin anywhere, wrap, and leave gaps.
///
/// When a word leaves the window, the tracker reads it bit by bit only if it holds an answer.
///
/// ```
/// use kadenz_udp::controller::{Arrival, Order, Timing, TrackWord, Tracker};
/// use kadenz_udp::wire::Sequence;
///
/// let mut tracker = Tracker::over([TrackWord::default(); 16], 10_000_000);
/// for number in 0..3 {
///     tracker.expect(Sequence(number))?;
/// }
/// let in_time = |order| Arrival::First { order, timing: Timing::InTime };
/// assert_eq!(tracker.received(Sequence(2), 190_000), in_time(Order::InOrder));
/// assert_eq!(tracker.received(Sequence(0), 350_000), in_time(Order::Reordered));
/// assert_eq!(tracker.received(Sequence(0), 351_000), Arrival::Duplicate);
/// let counts = tracker.finish();
/// assert_eq!((counts.in_time, counts.reordered, counts.duplicates, counts.lost), (2, 1, 1, 1));
/// # Ok::<(), kadenz_udp::controller::OutOfSequence>(())
/// ```
///
/// # Real-time safety
/// Real-time safe: [`received`](Self::received) reads one bit, [`expect`](Self::expect) and
/// [`expect_through`](Self::expect_through) one word for each 64 numbers since the last, and at most all words.
#[derive(Clone, Debug)]
pub struct Tracker<M> {
    words: M,
    timeout_ns: u64,
    /// First and last number sent, without wrapping.
    sent: Option<(u64, u64)>,
    /// `NextExp` of RFC 4737: an answer to a lower number is reordered.
    next_expected: u64,
    counts: Counts,
    /// Questions without an answer in time in a row, up to the last that left the window.
    losing: u64,
}

impl<M: Memory<TrackWord>> Tracker<M> {
    /// Makes a tracker of 64 numbers a word; a round trip above `timeout_ns` is late.
    pub fn over(mut words: M, timeout_ns: u64) -> Self {
        words.as_mut().fill(TrackWord::default());
        Self {
            words,
            timeout_ns,
            sent: None,
            next_expected: 0,
            counts: Counts::default(),
            losing: 0,
        }
    }

    /// How many numbers the window holds.
    #[must_use]
    pub fn window(&self) -> u64 {
        u64::try_from(self.words.as_ref().len())
            .unwrap_or(u64::MAX)
            .saturating_mul(64)
    }

    /// Records that a question goes out under this number.
    ///
    /// # Errors
    /// [`OutOfSequence`] if the number is not after the last one; the tracker is unchanged then.
    pub fn expect(&mut self, sequence: Sequence) -> Result<(), OutOfSequence> {
        let number = self.number_to_send(sequence)?;
        let first = match self.sent {
            None => number,
            Some((first, last)) => {
                self.move_window(last, number);
                first
            }
        };
        self.sent = Some((first, number));
        self.mark_sent(number, number);
        Ok(())
    }

    /// Records that all numbers after the last one, or from 0, up to this one were sent, for a receiver that sees
    /// only some of them. If more than `most` were left out, it records only this one. A number that is not ahead
    /// changes nothing.
    pub fn expect_through(&mut self, sequence: Sequence, most: u64) {
        let from_zero = u64::try_from(sequence.distance_from(Sequence(0)));
        if self.sent.is_none() && from_zero.is_ok_and(|left_out| left_out <= most) {
            let _ = self.expect(Sequence(0));
        }
        let (Some((first, last)), Ok(number)) = (self.sent, self.number_to_send(sequence)) else {
            // This is the first number, or one that is not ahead.
            let _ = self.expect(sequence);
            return;
        };
        if number - last - 1 > most {
            let _ = self.expect(sequence);
            return;
        }
        let window = self.window();
        self.move_window(last, number);
        // The numbers that entered the window and left it at once.
        let passed = (number - last).saturating_sub(window);
        self.counts.sent += passed;
        self.counts.lost += passed;
        self.losing += passed;
        self.counts.longest_loss = self.counts.longest_loss.max(self.losing);
        self.mark_sent(last + passed + 1, number);
        self.sent = Some((first, number));
    }

    /// Records that an answer to this number came after `round_trip_ns`, and returns its classification.
    pub fn received(&mut self, sequence: Sequence, round_trip_ns: u64) -> Arrival {
        let arrival = self.classify(sequence, round_trip_ns);
        let counts = &mut self.counts;
        match arrival {
            Arrival::First { order, timing } => {
                counts.reordered += u64::from(order == Order::Reordered);
                counts.late += u64::from(timing == Timing::Late);
                counts.in_time += u64::from(timing == Timing::InTime);
            }
            Arrival::Duplicate => counts.duplicates += 1,
            Arrival::TooOld => counts.too_old += 1,
            Arrival::NotOurs => counts.not_ours += 1,
        }
        arrival
    }

    /// The counts so far; unanswered questions in the window are outstanding.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The last number sent.
    #[must_use]
    pub fn last_sent(&self) -> Option<Sequence> {
        self.sent.map(|(_, last)| wrapped(last))
    }

    /// The counts as they are if no more answers come to the questions up to `through`: for a view of a running
    /// measurement.
    ///
    /// # Real-time safety
    /// Reads the whole window, so it is not for a real-time path.
    #[must_use]
    pub fn counts_through(&self, through: Sequence) -> Counts {
        let Some((first, last)) = self.sent else {
            return self.counts;
        };
        let after_last = i64::from(through.distance_from(wrapped(last))).min(0);
        let through = last.saturating_add_signed(after_last);
        let (mut counts, mut losing) = (self.counts, self.losing);
        for number in self.oldest(last).max(first)..=through {
            settle(self.state_of(number), &mut counts, &mut losing);
        }
        counts
    }

    /// The final counts: no question is outstanding any more.
    #[must_use]
    pub fn finish(self) -> Counts {
        self.last_sent()
            .map_or(self.counts, |last| self.counts_through(last))
    }

    fn number_to_send(&self, sequence: Sequence) -> Result<u64, OutOfSequence> {
        let Some((_, last)) = self.sent else {
            // Far enough from 0 to represent numbers before the first one.
            return Ok((1 << 32) + u64::from(sequence.0));
        };
        let steps = sequence.distance_from(wrapped(last));
        let steps = u64::try_from(steps).ok().filter(|steps| *steps > 0);
        steps.map(|steps| last + steps).ok_or(OutOfSequence {
            last: wrapped(last),
            given: sequence,
        })
    }

    /// Marks all numbers from `first` to `last`, which are in the window and clear.
    fn mark_sent(&mut self, first: u64, last: u64) {
        self.counts.sent += last + 1 - first;
        for (number, bits) in words_of(first, last) {
            let (word, _) = self.place(number);
            if let Some(word) = self.words.as_mut().get_mut(word) {
                word.sent |= bits;
            }
        }
    }

    /// Settles the numbers that leave when the window ends at `to` instead of `from`.
    fn move_window(&mut self, from: u64, to: u64) {
        let window = self.window();
        let steps = (to - from).min(window);
        // The slots of the numbers that leave are those of the new ones.
        for (number, bits) in words_of(from + 1, from + steps) {
            let (word, _) = self.place(number);
            if let Some(word) = self.words.as_mut().get_mut(word) {
                settle_word(word, bits, &mut self.counts, &mut self.losing);
                word.sent &= !bits;
                word.answered &= !bits;
                word.late &= !bits;
            }
        }
    }

    fn classify(&mut self, sequence: Sequence, round_trip_ns: u64) -> Arrival {
        let Some((first, last)) = self.sent else {
            return Arrival::NotOurs;
        };
        let back = i64::from(sequence.distance_from(wrapped(last)));
        let number = last.saturating_add_signed(back);
        if back > 0 || number < first {
            return Arrival::NotOurs;
        }
        if number < self.oldest(last) {
            return Arrival::TooOld;
        }
        match self.state_of(number) {
            NumberState::NotSent => return Arrival::NotOurs,
            NumberState::InTime | NumberState::Late => return Arrival::Duplicate,
            NumberState::Unanswered => {}
        }
        let timing = if round_trip_ns > self.timeout_ns {
            Timing::Late
        } else {
            Timing::InTime
        };
        let (word, bit) = self.place(number);
        if let Some(word) = self.words.as_mut().get_mut(word) {
            word.answered |= bit;
            if timing == Timing::Late {
                word.late |= bit;
            }
        }
        Arrival::First {
            order: self.order(number),
            timing,
        }
    }

    fn order(&mut self, number: u64) -> Order {
        if number < self.next_expected {
            return Order::Reordered;
        }
        self.next_expected = number + 1;
        Order::InOrder
    }

    /// The oldest number in a window that ends at `last`.
    fn oldest(&self, last: u64) -> u64 {
        (last + 1).saturating_sub(self.window())
    }

    fn state_of(&self, number: u64) -> NumberState {
        let (word, bit) = self.place(number);
        let word = self.words.as_ref().get(word);
        word.map_or(NumberState::NotSent, |word| word.state(bit))
    }

    /// Word and bit of a number.
    fn place(&self, number: u64) -> (usize, u64) {
        let words = u64::try_from(self.words.as_ref().len()).unwrap_or(u64::MAX);
        let word = (number / 64).checked_rem(words).unwrap_or(0);
        (
            usize::try_from(word).unwrap_or(usize::MAX),
            1 << (number % 64),
        )
    }
}

/// The state of a number in the window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberState {
    NotSent,
    Unanswered,
    InTime,
    Late,
}

impl TrackWord {
    /// The state of the number that has this bit.
    fn state(&self, bit: u64) -> NumberState {
        match (self.sent & bit, self.answered & bit, self.late & bit) {
            (0, ..) => NumberState::NotSent,
            (_, 0, _) => NumberState::Unanswered,
            (.., 0) => NumberState::InTime,
            _ => NumberState::Late,
        }
    }
}

/// Counts a number that is no longer outstanding.
fn settle(state: NumberState, counts: &mut Counts, losing: &mut u64) {
    match state {
        NumberState::NotSent => {}
        NumberState::InTime => *losing = 0,
        NumberState::Unanswered | NumberState::Late => {
            *losing += 1;
            counts.lost += u64::from(state == NumberState::Unanswered);
            counts.longest_loss = counts.longest_loss.max(*losing);
        }
    }
}

/// Counts the numbers of a word, in order; all at once where none was answered.
fn settle_word(word: &TrackWord, bits: u64, counts: &mut Counts, losing: &mut u64) {
    let sent = word.sent & bits;
    if sent & word.answered == 0 {
        let lost = u64::from(sent.count_ones());
        *losing += lost;
        counts.lost += lost;
        counts.longest_loss = counts.longest_loss.max(*losing);
        return;
    }
    for bit in (0..64).map(|at| 1 << at).filter(|bit| sent & bit != 0) {
        settle(word.state(bit), counts, losing);
    }
}

/// The words that hold the numbers from `first` to `last`: a number of each, and the bits of all in it.
fn words_of(first: u64, last: u64) -> impl Iterator<Item = (u64, u64)> {
    (first / 64..=last / 64)
        .map(move |word| (first.max(word * 64), last.min(word * 64 + 63)))
        .filter(|(low, high)| low <= high)
        .map(|(low, high)| {
            (
                low,
                (u64::MAX << (low % 64)) & (u64::MAX >> (63 - high % 64)),
            )
        })
}

/// The number in its 32-bit form of the wire.
fn wrapped(number: u64) -> Sequence {
    let [.., a, b, c, d] = number.to_be_bytes();
    Sequence(u32::from_be_bytes([a, b, c, d]))
}
