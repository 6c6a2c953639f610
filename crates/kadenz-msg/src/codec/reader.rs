use std::marker::PhantomData;

use super::{ArrayElement, DecodeResult, Fingerprint, Primitive};

/// Reads members one after the other; malformed bytes never make it panic, nor allocate more than their
/// length.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many recursive structs hold what is read next.
    depth: usize,
    /// How many more elements may take no bytes.
    free: usize,
}

/// The maximum depth of recursive structs in a decoded message.
const MAX_DEPTH: usize = 128;

/// The maximum number of elements and rows of arrays without bytes, besides one for each byte of the message.
const FREE_ELEMENTS: usize = 1024;

/// The reason for which bytes are not the expected message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message is of another type, or of another version of this one.
    #[error(
        "the message carries the fingerprint {found}, but {name} has {expected}: its sender uses another type, or another version of it"
    )]
    OtherType {
        /// The fingerprint that the message carries.
        found: Fingerprint,
        /// The fingerprint of the expected type.
        expected: Fingerprint,
        /// The name of the type that was expected.
        name: &'static str,
    },
    /// The bytes end before the message does.
    #[error("the message ends after {length} bytes, within {member}, which needs {needed}")]
    TooShort {
        /// The member at which the bytes ended or failed.
        member: &'static str,
        /// How many bytes it would need.
        needed: usize,
        /// How many there are.
        length: usize,
    },
    /// Bytes are left after the last member.
    #[error("the message ends {left} bytes before its datagram does")]
    TooLong {
        /// Number of bytes after the last member.
        left: usize,
    },
    /// The member that states an array's length is negative.
    #[error("the length of {member} is {length}")]
    NegativeLength {
        /// The array or string.
        member: &'static str,
        /// The length that the message states.
        length: i64,
    },
    /// A string does not end with a NUL.
    #[error("the string {member} does not end with a NUL")]
    NoNul {
        /// The name of the string.
        member: &'static str,
    },
    /// An array would have more elements than there are bytes for.
    #[error("{member} would have {count} elements, more than the message can hold")]
    TooMany {
        /// The name of the array.
        member: &'static str,
        /// Number of elements that the message states.
        count: usize,
    },
    /// A recursive struct holds itself too deeply.
    #[error("{name} lies more than {most} deep within itself, which is not followed")]
    TooDeep {
        /// The name of the struct.
        name: &'static str,
        /// The deepest nesting that is decoded.
        most: usize,
    },
}

impl<'a> Reader<'a> {
    /// Reads from the front of bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            depth: 0,
            free: bytes.len().saturating_add(FREE_ELEMENTS),
        }
    }

    /// Returns how many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Reads the fingerprint of a message, which must be this one.
    ///
    /// # Errors
    /// If it is another one or the bytes end within it.
    pub fn fingerprint(
        &mut self,
        expected: Fingerprint,
        name: &'static str,
    ) -> Result<(), DecodeError> {
        let found = Fingerprint(self.u64("the fingerprint")?);
        if found == expected {
            return Ok(());
        }
        Err(DecodeError::OtherType {
            found,
            expected,
            name,
        })
    }

    /// Reads any eight bytes.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn u64(&mut self, member: &'static str) -> Result<u64, DecodeError> {
        let bytes = self.take(member, 8)?;
        Ok(bytes.first_chunk().map_or(0, |it| u64::from_be_bytes(*it)))
    }

    /// Reads one primitive.
    ///
    /// # Errors
    /// If the bytes end.
    #[inline]
    pub fn value<T: Primitive>(&mut self, member: &'static str) -> Result<T, DecodeError> {
        Ok(T::from_be(self.take(member, T::SIZE)?))
    }

    /// Reads the elements of a fixed array.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn array<T: Primitive>(
        &mut self,
        member: &'static str,
        into: &mut [T],
    ) -> Result<(), DecodeError> {
        let view = self.view::<T>(member, into.len())?;
        for (place, value) in into.iter_mut().zip(view.iter()) {
            *place = value;
        }
        Ok(())
    }

    /// Reads the elements of a variable array into an existing vector.
    ///
    /// # Errors
    /// If there are fewer; the vector is unchanged then.
    ///
    /// # Real-time safety
    /// It allocates only if the vector has too little room.
    pub fn vector<T: Primitive>(
        &mut self,
        member: &'static str,
        length: usize,
        into: &mut Vec<T>,
    ) -> Result<(), DecodeError> {
        let view = self.view::<T>(member, length)?;
        into.clear();
        into.extend(view.iter());
        Ok(())
    }

    /// Reads an array of any elements and dimensions into an existing one. If any length is variable, the caller
    /// states all lengths, the outermost first, and the minimum number of bytes of an element; else `lengths` is
    /// empty and `least` is 0. A vector without a stated length is emptied.
    ///
    /// # Errors
    /// If a length is negative, the remaining bytes cannot hold so many elements, or an element cannot be
    /// read.
    ///
    /// # Real-time safety
    /// It allocates only if a vector or a string has too little room, and never for elements for which the message
    /// has no room.
    pub fn list<E: ArrayElement>(
        &mut self,
        member: &'static str,
        into: &mut E,
        lengths: &[i64],
        least: usize,
    ) -> DecodeResult {
        for stated in lengths {
            Self::length(member, *stated)?;
        }
        // A vector of numbers needs no check: its read takes all bytes at once, or fails before it takes memory.
        let is_vector_of_numbers = lengths.len() == 1 && E::IS_NUMBER;
        if !lengths.is_empty() && !is_vector_of_numbers {
            self.find_room(member, lengths, least)?;
        }
        E::get_all(std::slice::from_mut(into), self, (member, lengths))
    }

    /// Returns the elements of an array in the message; nothing is copied.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn view<T: Primitive>(
        &mut self,
        member: &'static str,
        length: usize,
    ) -> Result<View<'a, T>, DecodeError> {
        let bytes = self.take(member, length.saturating_mul(T::SIZE))?;
        Ok(View::new(bytes))
    }

    /// Returns a string's bytes in the message, without the NUL; LCM promises no encoding.
    ///
    /// # Errors
    /// If its length is invalid, or no NUL ends it.
    pub fn text(&mut self, member: &'static str) -> Result<&'a [u8], DecodeError> {
        let stated: i32 = self.value(member)?;
        let length = Self::length(member, i64::from(stated))?;
        match self.take(member, length)?.split_last() {
            Some((0, text)) => Ok(text),
            _ => Err(DecodeError::NoNul { member }),
        }
    }

    /// Reads a string into an existing one. Bytes that are not UTF-8 become U+FFFD, so that a program that
    /// sends Latin-1 is still received.
    ///
    /// # Errors
    /// As [`Reader::text`].
    ///
    /// # Real-time safety
    /// It allocates only if the string has too little room.
    pub fn string(&mut self, member: &'static str, into: &mut String) -> Result<(), DecodeError> {
        let text = self.text(member)?;
        into.clear();
        for chunk in text.utf8_chunks() {
            into.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                into.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Ok(())
    }

    /// Converts the value of a member that states an array's length to a length.
    ///
    /// # Errors
    /// If it is negative.
    pub fn length(member: &'static str, stated: i64) -> Result<usize, DecodeError> {
        usize::try_from(stated).map_err(|_| DecodeError::NegativeLength {
            member,
            length: stated,
        })
    }

    /// Checks that the remaining bytes can hold an array of these lengths, whose elements take at least that
    /// many bytes each. The caller checks before it takes memory for the elements, or for rows of them.
    fn find_room(&mut self, member: &'static str, lengths: &[i64], least: usize) -> DecodeResult {
        // Empty rows count, too.
        let filled = lengths.iter().take_while(|it| **it > 0);
        let filled = filled.map(|it| usize::try_from(*it).unwrap_or(usize::MAX));
        let count = filled.fold(1, usize::saturating_mul);
        let too_many = DecodeError::TooMany { member, count };
        if least > 0 && !lengths.contains(&0) {
            return match count <= self.left() / least {
                true => Ok(()),
                false => Err(too_many),
            };
        }
        let count = if lengths.first() == Some(&0) {
            0
        } else {
            count
        };
        self.free = self.free.checked_sub(count).ok_or(too_many)?;
        Ok(())
    }

    /// Enters a struct that may hold itself; [`Reader::leave`] leaves it.
    ///
    /// # Errors
    /// If 128 of them hold each other already.
    pub fn enter(&mut self, name: &'static str) -> Result<(), DecodeError> {
        if self.depth >= MAX_DEPTH {
            let most = MAX_DEPTH;
            return Err(DecodeError::TooDeep { name, most });
        }
        self.depth += 1;
        Ok(())
    }

    /// Leaves a struct that may hold itself.
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    /// If bytes are left.
    pub fn end(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(DecodeError::TooLong { left }),
        }
    }

    /// Returns that many bytes unchanged.
    ///
    /// # Errors
    /// If there are fewer.
    #[inline]
    pub fn take(&mut self, member: &'static str, length: usize) -> Result<&'a [u8], DecodeError> {
        let needed = self.at.saturating_add(length);
        let Some(bytes) = self.bytes.get(self.at..needed) else {
            let length = self.bytes.len();
            return Err(DecodeError::TooShort {
                member,
                needed,
                length,
            });
        };
        self.at = needed;
        Ok(bytes)
    }
}

/// An array in the memory of a message: nothing is copied, and each element's byte order is converted when
/// the caller reads it.
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
///
/// # Real-time safety
/// Real-time safe.
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

    /// Returns how many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / T::SIZE
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the element at `index`, from 0; `None` beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let from = index.checked_mul(T::SIZE)?;
        let bytes = self.bytes.get(from..from.checked_add(T::SIZE)?)?;
        Some(T::from_be(bytes))
    }

    /// Returns all elements, one after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + 'a {
        self.bytes.chunks_exact(T::SIZE).map(T::from_be)
    }

    /// Returns the elements as they are in the message, big-endian.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
