//! The state of one long message while its fragments arrive.

use kadenz_rt::clock::MonotonicTime;

use super::fragments::Fragment;
use crate::arrival::SenderId;
use crate::channel::Channel;

/// The place of a fragment; if it has not arrived, `length` is [`Piece::ABSENT`].
#[derive(Debug, Clone, Copy)]
struct Piece {
    offset: u32,
    length: u32,
}

impl Piece {
    const ABSENT: Self = Self {
        offset: 0,
        length: u32::MAX,
    };
}

/// The maximum distance of a fragment behind those that arrived before it, in bytes: networks exchange a few.
const MAX_JUMP: usize = 1 << 20;

/// A message of which parts have arrived. Its memory is reused for the next one.
#[derive(Debug, Default)]
pub(super) struct ReassemblySlot {
    pub(super) sender: SenderId,
    pub(super) sequence: u32,
    pub(super) channel: Option<Channel>,
    pub(super) last_fed: MonotonicTime,
    /// When the kernel had the fragment that arrived first.
    pub(super) kernel: Option<MonotonicTime>,
    pub(super) payload: Vec<u8>,
    size: usize,
    pieces: Vec<Piece>,
    count: u16,
    present: u16,
}

/// The outcome of feeding a fragment to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fed {
    More,
    Duplicate,
    Inconsistent,
    Whole,
}

impl ReassemblySlot {
    /// Begins a message, in the memory of another one.
    pub(super) fn begin(
        &mut self,
        sender: SenderId,
        fragment: &Fragment<'_>,
        kernel: Option<MonotonicTime>,
    ) {
        self.sender = sender;
        self.sequence = fragment.sequence;
        self.channel = None;
        self.kernel = kernel;
        self.size = fragment.size;
        self.count = fragment.count;
        self.present = 0;
        self.payload.clear();
        self.pieces.clear();
    }

    /// Releases the memory; for a message of which no part has arrived yet.
    pub(super) fn give_memory_back(&mut self) {
        self.payload = Vec::new();
        self.pieces = Vec::new();
    }

    pub(super) fn is_of(&self, sender: SenderId, sequence: u32) -> bool {
        self.sequence == sequence && self.sender == sender
    }

    /// Returns whether taking the fragment would cost memory for many fragments that did not arrive.
    pub(super) fn is_far_behind(&self, fragment: &Fragment<'_>) -> bool {
        fragment.offset > self.payload.len() + MAX_JUMP
    }

    /// Returns the memory that it holds, in bytes.
    pub(super) fn held(&self) -> usize {
        self.payload.capacity() + self.pieces.capacity() * size_of::<Piece>()
    }

    /// Returns the maximum memory that it would hold with this fragment, in bytes.
    pub(super) fn held_with(&self, fragment: &Fragment<'_>) -> usize {
        let payload = self.payload_room(fragment).max(self.payload.capacity());
        let pieces = self.piece_room(fragment).max(self.pieces.capacity());
        payload + pieces * size_of::<Piece>()
    }

    /// Returns the memory to hold: it grows with the fragments, by doubling, and never beyond the message.
    fn payload_room(&self, fragment: &Fragment<'_>) -> usize {
        let end = fragment.offset + fragment.payload.len();
        let capacity = self.payload.capacity();
        if end <= capacity {
            return capacity;
        }
        end.max((2 * capacity).min(self.size))
    }

    fn piece_room(&self, fragment: &Fragment<'_>) -> usize {
        let needed = usize::from(fragment.number) + 1;
        let capacity = self.pieces.capacity();
        if needed <= capacity {
            return capacity;
        }
        needed.max((2 * capacity).min(usize::from(self.count)))
    }

    /// Takes a fragment of this message.
    pub(super) fn feed(&mut self, fragment: &Fragment<'_>) -> Fed {
        if fragment.size != self.size || fragment.count != self.count {
            return Fed::Inconsistent;
        }
        let (at, offset) = (usize::from(fragment.number), fragment.offset);
        let piece = Piece {
            offset: offset as u32,
            length: fragment.payload.len() as u32,
        };
        if let Some(known) = self.pieces.get(at)
            && known.length != Piece::ABSENT.length
        {
            let same = known.offset == piece.offset && known.length == piece.length;
            return if same {
                Fed::Duplicate
            } else {
                Fed::Inconsistent
            };
        }
        if let Some(name) = fragment.channel {
            let Ok(channel) = Channel::new(name) else {
                return Fed::Inconsistent;
            };
            self.channel = Some(channel);
        }
        self.store(at, piece, fragment);
        self.present += 1;
        if self.present < self.count {
            return Fed::More;
        }
        if self.has_no_hole() {
            Fed::Whole
        } else {
            Fed::Inconsistent
        }
    }

    fn store(&mut self, at: usize, piece: Piece, fragment: &Fragment<'_>) {
        let rooms = (self.piece_room(fragment), self.payload_room(fragment));
        self.pieces.reserve_exact(rooms.0 - self.pieces.len());
        if self.pieces.len() <= at {
            self.pieces.resize(at + 1, Piece::ABSENT);
        }
        self.pieces[at] = piece;
        self.payload.reserve_exact(rooms.1 - self.payload.len());
        let (begin, end) = (fragment.offset, fragment.offset + fragment.payload.len());
        if begin == self.payload.len() {
            // In order no byte is written twice.
            self.payload.extend_from_slice(fragment.payload);
            return;
        }
        if self.payload.len() < end {
            self.payload.resize(end, 0);
        }
        self.payload[begin..end].copy_from_slice(fragment.payload);
    }

    /// Returns whether every fragment has arrived.
    pub(super) fn is_full(&self) -> bool {
        self.present == self.count
    }

    /// Returns whether the fragments follow each other from the first byte to the last: else a hole would show
    /// what was in the memory before.
    fn has_no_hole(&self) -> bool {
        let mut end = 0;
        let follows = self.pieces.iter().all(|piece| {
            let begins = piece.offset;
            let here = begins == end;
            end = begins.saturating_add(piece.length);
            here
        });
        follows && end as usize == self.size && self.channel.is_some()
    }
}
