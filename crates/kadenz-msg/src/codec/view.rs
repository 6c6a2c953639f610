use std::marker::PhantomData;

use super::Primitive;

/// An array as it lies in a message: nothing is copied, and each element is turned around when it is
/// asked for. Real-time safe.
///
/// ```
/// use kadenz_msg::codec::Reader;
///
/// let bytes = [0, 1, 0, 2, 0, 3];
/// let view = Reader::new(&bytes).view::<i16>("ranges", 3)?;
/// assert_eq!((view.len(), view.get(2)), (3, Some(3)));
/// assert_eq!(view.iter().sum::<i16>(), 6);
/// # Ok::<(), kadenz_msg::codec::DecodeError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T> {
    bytes: &'a [u8],
    of: PhantomData<T>,
}

impl<'a, T: Primitive> View<'a, T> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            of: PhantomData,
        }
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / T::SIZE
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// One element.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let from = index.checked_mul(T::SIZE)?;
        let bytes = self.bytes.get(from..from.checked_add(T::SIZE)?)?;
        Some(T::from_be(bytes))
    }

    /// All elements, one after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + 'a {
        self.bytes.chunks_exact(T::SIZE).map(T::from_be)
    }

    /// The elements as they lie in the message, big-endian.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
