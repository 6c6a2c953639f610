//! Frames that a segment has passed already, met again: those of this one that a loop brings back, and those
//! that another segment on the same wire has answered. Were they passed, they would go to and fro for ever.

use crate::sim::Time;
use crate::wire::{Datagrams, Mac, RETURNED};

/// MainDevices' frames that are remembered: as many as may be out at a time.
const SLOTS: usize = 256;
/// For how long a frame is remembered that nobody counted. Whoever sends the like again so soon is told
/// nothing, which an answer would not have done either.
const REMEMBERED_NS: u64 = 100_000;

/// What was seen and sent.
#[derive(Debug)]
pub(super) struct Echoes {
    /// Addresses without the mark of a frame that came back, each in its slot: of MainDevices.
    known: [Option<Mac>; SLOTS],
    /// The last frame that went back with the mark, and without having been counted by anybody.
    uncounted: Option<(Time, u64)>,
}

impl Echoes {
    pub(super) fn new() -> Self {
        Self {
            known: [None; SLOTS],
            uncounted: None,
        }
    }

    /// Whether a frame that comes was passed already, by this segment or another.
    ///
    /// The first device of a segment sets a bit of the source address. Where the same address came without
    /// it, that says enough. An address may bear the bit from the beginning (that of a virtual machine, or of
    /// a cable in memory): then it was passed if somebody counted, since MainDevices send zeros, or if it is
    /// what was sent a moment ago.
    pub(super) fn is_one(&mut self, frame: &[u8], now: Time) -> bool {
        let Some(source) = source(frame) else {
            return false;
        };
        let mut unmarked = source;
        unmarked[0] &= !RETURNED;
        let known = &mut self.known[slot(unmarked)];
        if source == unmarked {
            *known = Some(source);
            return false;
        }
        *known == Some(unmarked)
            || is_counted(frame)
            || self
                .uncounted
                .is_some_and(|(at, it)| now.since(at) <= REMEMBERED_NS && it == likeness(frame))
    }

    /// A frame is sent back.
    pub(super) fn sent(&mut self, frame: &[u8], now: Time) {
        let marked = source(frame).is_some_and(|it| it[0] & RETURNED != 0);
        if marked && !is_counted(frame) {
            self.uncounted = Some((now, likeness(frame)));
        }
    }
}

/// Addresses that count up, as those of [`Link`](crate::main_device::link::Link) do, have slots of their own.
fn slot(source: Mac) -> usize {
    let folded = source.into_iter().fold(0_u8, |all, byte| all ^ byte);
    folded.into()
}

fn source(frame: &[u8]) -> Option<Mac> {
    frame.get(6..)?.first_chunk().copied()
}

/// Whether some device did what a datagram asks.
fn is_counted(frame: &[u8]) -> bool {
    Datagrams::of(frame).is_ok_and(|all| all.flatten().any(|it| it.working_counter != 0))
}

/// A number of all bytes (FNV-1a, by Fowler, Noll and Vo).
fn likeness(frame: &[u8]) -> u64 {
    frame.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Address, Command, FrameWriter, mark_as_returned};

    fn frame(source: u8, index: u8) -> [u8; 60] {
        let mut frame = [0; 60];
        let mut writer = FrameWriter::new(&mut frame, [source; 6]).unwrap();
        writer
            .push(Command::Brd, index, Address::broadcast(0), 1)
            .unwrap();
        writer.finish();
        frame
    }

    #[test]
    fn what_a_main_device_sends_is_none_and_what_came_of_it_is_one() {
        let mut echoes = Echoes::new();
        let sent: Vec<_> = (0..=255)
            .map(|index| {
                let mut frame = frame(0x10, index);
                // As our own MainDevice counts its frames.
                frame[11] = index;
                frame
            })
            .collect();
        let returned = |frame: &[u8; 60]| {
            let mut frame = *frame;
            mark_as_returned(&mut frame);
            frame
        };
        assert!(
            !echoes.is_one(&returned(&sent[0]), Time(0)),
            "nobody is known"
        );
        assert!(!sent.iter().any(|it| echoes.is_one(it, Time(0))));
        let late = Time(u64::MAX);
        assert!(sent.iter().all(|it| echoes.is_one(&returned(it), late)));
    }

    #[test]
    fn with_an_address_that_bears_the_mark_it_counts_whether_somebody_counted() {
        let mut echoes = Echoes::new();
        let mut one = frame(0x52, 1);
        for at in 0..3 {
            assert!(
                !echoes.is_one(&one, Time(at)),
                "a MainDevice may repeat itself"
            );
        }
        echoes.sent(&one, Time(0));
        assert!(
            echoes.is_one(&one, Time(REMEMBERED_NS)),
            "nobody counted it"
        );
        assert!(!echoes.is_one(&frame(0x52, 2), Time(0)));
        assert!(!echoes.is_one(&one, Time(REMEMBERED_NS + 1)));
        // The working counter, behind a header of 10 bytes and one of data.
        one[16 + 10 + 1] = 3;
        assert!(echoes.is_one(&one, Time(u64::MAX)));
        assert!(!echoes.is_one(&[0; 8], Time(0)), "nothing panics");
    }
}
