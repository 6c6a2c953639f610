//! The note that Kadenz programs add to a message for each other: its sender, and its number on its channel.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use super::peer_receiver::{PeerProtocol, PeerReceiver};
use crate::arrival::{Arrival, Scope, SenderId, Sequence, SourceInfo, random_number};
use crate::channel::{Channel, Pattern};
use crate::provider::{
    Inlet, InletCounters, ProviderError, ReceiveError, Received, Take, Wait, Wake,
};

/// The length of a note, in bytes.
pub(in crate::provider) const NOTE: usize = 16;

/// The end of a note, by which it differs from other programs' bytes.
const MARK: &[u8; 4] = b"kdz1";

pub(in crate::provider) fn note(sender: u64, number: u32) -> [u8; NOTE] {
    let mut note = [0; NOTE];
    note[..8].copy_from_slice(&sender.to_be_bytes());
    note[8..12].copy_from_slice(&number.to_be_bytes());
    note[12..].copy_from_slice(MARK);
    note
}

/// Reads a note; `None` if the bytes are not one.
pub(in crate::provider) fn read_note(bytes: &[u8]) -> Option<SourceInfo> {
    let bytes: &[u8; NOTE] = bytes.try_into().ok()?;
    let (sender, rest) = bytes.split_first_chunk()?;
    let (number, mark) = rest.split_first_chunk()?;
    if mark != MARK {
        return None;
    }
    let sequence = Sequence {
        number: u32::from_be_bytes(*number),
        scope: Scope::Channel,
    };
    let sender = SenderId(u64::from_be_bytes(*sender).into());
    Some(SourceInfo::new(sender, Some(sequence)))
}

/// The numbers of an outlet.
#[derive(Debug)]
pub(in crate::provider) struct Numbers {
    sender: u64,
    next: HashMap<Channel, u32>,
}

impl Numbers {
    pub(in crate::provider) fn new() -> Self {
        Self {
            sender: random_number(),
            next: HashMap::new(),
        }
    }

    /// Returns the note of the next message. Allocates for a channel's first one.
    pub(in crate::provider) fn note(&mut self, channel: &Channel) -> [u8; NOTE] {
        let next = self.next.entry(*channel).or_insert(0);
        let note = note(self.sender, *next);
        *next = next.wrapping_add(1);
        note
    }

    /// Gives the number of a refused message to the next one: its sender got the error, so no inlet is to
    /// count it as lost.
    pub(in crate::provider) fn take_back(&mut self, channel: &Channel) {
        if let Some(next) = self.next.get_mut(channel) {
            *next = next.wrapping_sub(1);
        }
    }
}

/// The number of senders' channels that are remembered, so that a gap in their numbers is known.
const MAX_EXPECTED: usize = 1 << 16;

/// The next expected numbers of senders.
#[derive(Debug, Default)]
pub(in crate::provider) struct Expected(HashMap<(SenderId, Channel), u32>);

impl Expected {
    /// Forgets the numbers: messages that were not wanted are not lost.
    pub(in crate::provider) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns how many messages before this one were dropped. A stream loses nothing and keeps the order, so
    /// that only a sender's full buffer makes a gap.
    pub(in crate::provider) fn gap(&mut self, arrival: &Arrival<'_>) -> u64 {
        let source = arrival.info.source;
        let (Some(sequence), Ok(channel)) = (source.sequence, Channel::new(arrival.channel)) else {
            return 0;
        };
        if self.0.len() >= MAX_EXPECTED {
            self.0.clear();
        }
        let next = sequence.number.wrapping_add(1);
        let before = self.0.insert((source.sender, channel), next);
        let gap = before.map_or(0, |before| sequence.number.wrapping_sub(before));
        // A latched message arrives again with a new connection: nothing is missing if numbers go back.
        if gap.cast_signed() < 0 { 0 } else { gap.into() }
    }
}

/// An inlet of messages that peers send.
#[derive(Debug)]
pub(in crate::provider) struct PeerInlet<T> {
    pub(in crate::provider) receiver: PeerReceiver<T>,
    /// `None` if messages have no numbers.
    pub(in crate::provider) expected: Option<Expected>,
}

impl<T> PeerInlet<T> {
    /// An inlet of messages with numbers.
    pub(in crate::provider) fn numbered(receiver: PeerReceiver<T>) -> Self {
        Self {
            receiver,
            expected: Some(Expected::default()),
        }
    }
}

impl<T: PeerProtocol + Debug> Inlet for PeerInlet<T> {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        self.receiver.want(patterns);
        self.expected.iter_mut().for_each(Expected::clear);
        Ok(())
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        let Some(expected) = &mut self.expected else {
            return self.receiver.receive(wait, take);
        };
        let mut overrun = 0;
        let outcome = self.receiver.receive(wait, &mut |arrival| {
            overrun += expected.gap(&arrival);
            take(arrival)
        });
        self.receiver.counters.overrun += overrun;
        outcome
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::new(self.receiver.waker())
    }

    fn counters(&self) -> InletCounters {
        self.receiver.counters
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::StreamMessage;
    use super::*;

    #[test]
    fn a_refused_message_leaves_no_gap() {
        let mut numbers = Numbers::new();
        let [a, b] = ["A", "B"].map(|it| Channel::new(it).unwrap());
        let number = |note: [u8; NOTE]| read_note(&note).unwrap().sequence.unwrap().number;
        let notes = [&a, &a, &b].map(|channel| numbers.note(channel));
        assert_eq!(notes.map(number), [0, 1, 0]);
        numbers.take_back(&a);
        assert_eq!(number(numbers.note(&a)), 1);
    }

    #[test]
    fn a_number_that_comes_again_is_not_a_gap() {
        let mut expected = Expected::default();
        let mut gap = |number| {
            let received = StreamMessage {
                channel: "A",
                payload: &[],
                source: read_note(&note(7, number)).unwrap(),
            };
            expected.gap(&received.arrival())
        };
        let gaps = [u32::MAX, u32::MAX, 0, 3, 3, 4].map(&mut gap);
        assert_eq!(gaps, [0, 0, 0, 2, 0, 0]);
    }

    proptest! {
        #[test]
        fn a_note_comes_back(sender: u64, number: u32) {
            let source = read_note(&note(sender, number)).unwrap();
            prop_assert_eq!(source.sender.0, u128::from(sender));
            prop_assert_eq!(source.sequence.unwrap().number, number);
        }

        #[test]
        fn other_bytes_are_not_a_note(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assume!(!bytes.ends_with(MARK));
            prop_assert_eq!(read_note(&bytes), None);
        }
    }
}
