use super::{ArrayElement, EncodeResult, Primitive};

/// Writes members one after the other into a caller's buffer.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug)]
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    written: usize,
}

/// The reason for which a message cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The buffer ends before the message does.
    #[error("the buffer of {room} bytes is too short for the message: {needed} bytes at least")]
    BufferTooShort {
        /// How many bytes are needed up to here.
        needed: usize,
        /// How long the buffer is.
        room: usize,
    },
    /// A variable array has another length than the member that states it.
    #[error(
        "{array} holds {length} elements, but {stated_by} says {stated}: set it to the array's length"
    )]
    LengthMismatch {
        /// The name of the array.
        array: &'static str,
        /// How many elements it holds.
        length: usize,
        /// The member that states its length.
        stated_by: &'static str,
        /// The value of that member.
        stated: i64,
    },
    /// LCM ends a string by NUL, so that one within it would cut it.
    #[error("the string {member} holds a NUL, which would end it for every receiver")]
    NulInString {
        /// The name of the string.
        member: &'static str,
    },
    /// Its length does not fit 32 bits.
    #[error("the string {member} of {length} bytes is longer than 2 GiB")]
    StringTooLong {
        /// The name of the string.
        member: &'static str,
        /// How long it is.
        length: usize,
    },
}

impl<'a> Writer<'a> {
    /// Writes from the front of a buffer.
    #[must_use]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, written: 0 }
    }

    /// Returns how many bytes have been written.
    #[must_use]
    pub fn written(&self) -> usize {
        self.written
    }

    /// Writes one primitive.
    ///
    /// # Errors
    /// If the buffer is full.
    #[inline]
    pub fn value<T: Primitive>(&mut self, value: T) -> Result<(), EncodeError> {
        let place = self.claim(T::SIZE)?;
        value.put_be(place);
        Ok(())
    }

    /// Writes a fingerprint, or any eight bytes.
    ///
    /// # Errors
    /// If the buffer is full.
    #[inline]
    pub fn u64(&mut self, value: u64) -> Result<(), EncodeError> {
        self.claim(8)?.copy_from_slice(&value.to_be_bytes());
        Ok(())
    }

    /// Writes the elements of an array, without a length.
    ///
    /// # Errors
    /// If the buffer is too short for all of them; none is written then.
    pub fn array<T: Primitive>(&mut self, values: &[T]) -> Result<(), EncodeError> {
        let place = self.claim(values.len().saturating_mul(T::SIZE))?;
        for (bytes, value) in place.chunks_exact_mut(T::SIZE).zip(values) {
            value.put_be(bytes);
        }
        Ok(())
    }

    /// Writes bytes unchanged.
    ///
    /// # Errors
    /// If the buffer is too short for all of them.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.claim(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Writes a string: its length with the NUL as 32 bits, its bytes, and a NUL.
    ///
    /// # Errors
    /// If it holds a NUL, is longer than 2 GiB, or the buffer is too short.
    pub fn string(&mut self, member: &'static str, text: &str) -> Result<(), EncodeError> {
        if text.as_bytes().contains(&0) {
            return Err(EncodeError::NulInString { member });
        }
        let Ok(length) = i32::try_from(text.len().saturating_add(1)) else {
            let length = text.len();
            return Err(EncodeError::StringTooLong { member, length });
        };
        self.value(length)?;
        self.bytes(text.as_bytes())?;
        self.value(0_u8)
    }

    /// Writes an array of any elements and dimensions. Each variable array in it has a member that states its
    /// length: the name and the value of that member.
    ///
    /// # Errors
    /// If a variable array has another length than its member states, an element cannot be written, or the
    /// buffer is too short.
    pub fn list<E: ArrayElement>(
        &mut self,
        member: &'static str,
        array: &E,
        stated: &[(&'static str, i64)],
    ) -> EncodeResult {
        E::put_all(std::slice::from_ref(array), self, (member, stated))
    }

    /// Compares the length of a variable array to the member that states it.
    ///
    /// # Errors
    /// If they differ.
    pub fn agree(
        array: &'static str,
        length: usize,
        stated_by: &'static str,
        stated: i64,
    ) -> Result<(), EncodeError> {
        if i64::try_from(length).is_ok_and(|length| length == stated) {
            return Ok(());
        }
        Err(EncodeError::LengthMismatch {
            array,
            length,
            stated_by,
            stated,
        })
    }

    fn claim(&mut self, length: usize) -> Result<&mut [u8], EncodeError> {
        let needed = self.written.saturating_add(length);
        let room = self.buffer.len();
        let Some(place) = self.buffer.get_mut(self.written..needed) else {
            return Err(EncodeError::BufferTooShort { needed, room });
        };
        self.written = needed;
        Ok(place)
    }
}
