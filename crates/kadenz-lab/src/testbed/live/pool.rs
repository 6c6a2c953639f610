//! Room for frames that are under way, made once.

use std::rc::Rc;

/// The longest frame that a tap gives with an MTU of 1500: 14 bytes of header, 4 of a tag.
pub(super) const MAX: usize = 1518;

/// A frame's bytes.
#[derive(Debug)]
pub(super) struct Bytes {
    bytes: [u8; MAX],
    length: usize,
}

impl Bytes {
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Frames of other traffic are made by hand.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut all = [0; MAX];
        let length = bytes.len().min(MAX);
        all[..length].copy_from_slice(&bytes[..length]);
        Self { bytes: all, length }
    }
}

/// Frames, each taken again once nobody has it: always the first that is free, which the processor
/// has still at hand.
#[derive(Debug)]
pub(super) struct Pool(Vec<Rc<Bytes>>);

impl Pool {
    /// Room for so many.
    pub(super) fn new(count: usize) -> Self {
        let frame = || Rc::new(Bytes::of(&[]));
        Self(std::iter::repeat_with(frame).take(count).collect())
    }

    /// Fills a free frame; `None` when there is none, or nothing to fill it with.
    ///
    /// Allocates nothing.
    pub(super) fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Result<Option<usize>, E>,
    ) -> Result<Filled, E> {
        let free = self.0.iter_mut().find(|frame| Rc::strong_count(frame) == 1);
        let Some(frame) = free else {
            return Ok(Filled::NoRoom);
        };
        let Some(bytes) = Rc::get_mut(frame) else {
            return Ok(Filled::NoRoom);
        };
        let Some(length) = fill(&mut bytes.bytes)? else {
            return Ok(Filled::Nothing);
        };
        bytes.length = length.min(MAX);
        Ok(Filled::With(frame.clone()))
    }
}

/// What came of filling a frame.
#[derive(Debug)]
pub(super) enum Filled {
    /// The frame.
    With(Rc<Bytes>),
    /// There was nothing.
    Nothing,
    /// All frames are under way.
    NoRoom,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(pool: &mut Pool, byte: u8) -> Option<Rc<Bytes>> {
        let filled = pool.fill::<()>(|bytes| {
            bytes[0] = byte;
            Ok(Some(1))
        });
        match filled {
            Ok(Filled::With(bytes)) => Some(bytes),
            _ => None,
        }
    }

    #[test]
    fn a_frame_is_used_again_once_nobody_has_it() {
        let mut pool = Pool::new(2);
        let first = fill(&mut pool, 1);
        let second = fill(&mut pool, 2);
        assert!(first.is_some() && fill(&mut pool, 3).is_none());
        drop(first);
        assert_eq!(fill(&mut pool, 3).unwrap().as_slice(), [3]);
        assert_eq!(second.unwrap().as_slice(), [2]);
    }
}
