//! What messages are made of: primitives, and arrays of numbers, strings and messages at any depth.

use super::{DecodeError, EncodeError, Reader, Writer};

/// A primitive of the `.lcm` language: `int8_t`, `int16_t`, `int32_t`, `int64_t`, `byte`, `float`,
/// `double` or `boolean`.
pub trait Primitive: Copy + Default + PartialEq + sealed::Sealed + 'static {
    /// The number of bytes of one value.
    const SIZE: usize;

    /// Its name in the `.lcm` language.
    const NAME: &'static str;

    /// Returns the value of the first bytes; zero if there are too few, which the callers exclude.
    fn from_be(bytes: &[u8]) -> Self;

    /// Puts the value into the first bytes.
    fn put_be(self, bytes: &mut [u8]);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! primitive {
    ($type:ty, $name:literal) => {
        impl sealed::Sealed for $type {}

        impl Primitive for $type {
            const SIZE: usize = size_of::<$type>();
            const NAME: &'static str = $name;

            #[inline]
            fn from_be(bytes: &[u8]) -> Self {
                bytes
                    .first_chunk()
                    .map_or_else(Self::default, |it| Self::from_be_bytes(*it))
            }

            #[inline]
            fn put_be(self, bytes: &mut [u8]) {
                if let Some(place) = bytes.first_chunk_mut() {
                    *place = self.to_be_bytes();
                }
            }
        }
    };
}

primitive!(i8, "int8_t");
primitive!(i16, "int16_t");
primitive!(i32, "int32_t");
primitive!(i64, "int64_t");
primitive!(u8, "byte");
primitive!(f32, "float");
primitive!(f64, "double");

impl sealed::Sealed for bool {}

/// One byte; LCM's programs send 0 and 1, and take every other value than 0 for true.
impl Primitive for bool {
    const SIZE: usize = 1;
    const NAME: &'static str = "boolean";

    #[inline]
    fn from_be(bytes: &[u8]) -> Self {
        bytes.first().is_some_and(|byte| *byte != 0)
    }

    #[inline]
    fn put_be(self, bytes: &mut [u8]) {
        if let Some(place) = bytes.first_mut() {
            *place = u8::from(self);
        }
    }
}

/// A result of writing.
pub type EncodeResult = Result<(), EncodeError>;

/// A result of reading.
pub type DecodeResult<T = ()> = Result<T, DecodeError>;

/// The name of an array, and the members that state the lengths of its variable arrays, with their values.
pub type Stated<'a> = (&'static str, &'a [(&'static str, i64)]);

/// The name of an array, and its lengths.
pub type Lengths<'a> = (&'static str, &'a [i64]);

/// An element of an array of a message: a number, a string, a message, or an array of one of these.
///
/// [`Writer::list`], [`Reader::list`] and [`length`] take arrays of it, which is how `kadenz msg gen` writes members.
pub trait ArrayElement: Sized {
    /// Whether it is a number, or an array of numbers.
    const IS_NUMBER: bool = false;

    /// Returns the initial value of an element.
    fn start() -> Self;

    /// Returns how many bytes elements take.
    fn length_of(all: &[Self]) -> usize;

    /// Writes elements. Compares each variable array within to the member that states its length, the
    /// outermost first.
    ///
    /// # Errors
    /// As [`Writer::list`].
    fn put_all(all: &[Self], to: &mut Writer<'_>, array: Stated<'_>) -> EncodeResult;

    /// Reads elements into existing ones. The lengths are those of the arrays within, the outermost first.
    ///
    /// # Errors
    /// As [`Reader::list`].
    fn get_all(all: &mut [Self], from: &mut Reader<'_>, array: Lengths<'_>) -> DecodeResult;

    /// Reads that many elements into a vector. Allocates only if the vector has too little room.
    ///
    /// # Errors
    /// As [`Reader::list`].
    fn get_vector(
        into: &mut Vec<Self>,
        count: usize,
        from: &mut Reader<'_>,
        array: Lengths<'_>,
    ) -> DecodeResult {
        into.truncate(count);
        Self::get_all(into, from, array)?;
        // Elements that never come take no memory.
        while into.len() < count {
            let mut next = Self::start();
            Self::get_all(std::slice::from_mut(&mut next), from, array)?;
            into.push(next);
        }
        Ok(())
    }
}

/// Returns how many bytes an array takes.
pub fn length<E: ArrayElement>(array: &E) -> usize {
    E::length_of(std::slice::from_ref(array))
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl ArrayElement for $number {
            const IS_NUMBER: bool = true;

            fn start() -> Self {
                Self::default()
            }

            fn length_of(all: &[Self]) -> usize {
                all.len() * Self::SIZE
            }

            fn put_all(all: &[Self], to: &mut Writer<'_>, _: Stated<'_>) -> EncodeResult {
                to.array(all)
            }

            fn get_all(all: &mut [Self], from: &mut Reader<'_>, (member, _): Lengths<'_>) -> DecodeResult {
                from.array(member, all)
            }

            fn get_vector(
                into: &mut Vec<Self>,
                count: usize,
                from: &mut Reader<'_>,
                (member, _): Lengths<'_>,
            ) -> DecodeResult {
                from.vector(member, count, into)
            }
        }
    )*};
}

numbers!(i8 i16 i32 i64 u8 f32 f64 bool);

impl ArrayElement for String {
    fn start() -> Self {
        Self::new()
    }

    fn length_of(all: &[Self]) -> usize {
        all.iter().map(|it| 5 + it.len()).sum()
    }

    fn put_all(all: &[Self], to: &mut Writer<'_>, (member, _): Stated<'_>) -> EncodeResult {
        all.iter().try_for_each(|it| to.string(member, it))
    }

    fn get_all(all: &mut [Self], from: &mut Reader<'_>, (member, _): Lengths<'_>) -> DecodeResult {
        all.iter_mut().try_for_each(|it| from.string(member, it))
    }
}

impl<E: ArrayElement, const N: usize> ArrayElement for [E; N] {
    const IS_NUMBER: bool = E::IS_NUMBER;

    fn start() -> Self {
        std::array::from_fn(|_| E::start())
    }

    fn length_of(all: &[Self]) -> usize {
        all.iter().map(|it| E::length_of(it)).sum()
    }

    fn put_all(all: &[Self], to: &mut Writer<'_>, array: Stated<'_>) -> EncodeResult {
        all.iter().try_for_each(|it| E::put_all(it, to, array))
    }

    fn get_all(
        all: &mut [Self],
        from: &mut Reader<'_>,
        (member, lengths): Lengths<'_>,
    ) -> DecodeResult {
        let inner = lengths.get(1..).unwrap_or_default();
        let mut all = all.iter_mut();
        all.try_for_each(|it| E::get_all(it, from, (member, inner)))
    }
}

impl<E: ArrayElement> ArrayElement for Vec<E> {
    const IS_NUMBER: bool = E::IS_NUMBER;

    fn start() -> Self {
        Self::new()
    }

    fn length_of(all: &[Self]) -> usize {
        all.iter().map(|it| E::length_of(it)).sum()
    }

    fn put_all(all: &[Self], to: &mut Writer<'_>, (member, stated): Stated<'_>) -> EncodeResult {
        let (&(by, says), inner) = stated.split_first().unwrap_or((&("", 0), &[]));
        all.iter().try_for_each(|it| {
            Writer::agree(member, it.len(), by, says)?;
            E::put_all(it, to, (member, inner))
        })
    }

    fn get_all(
        all: &mut [Self],
        from: &mut Reader<'_>,
        (member, lengths): Lengths<'_>,
    ) -> DecodeResult {
        let (count, inner) = lengths.split_first().unwrap_or((&0, &[]));
        let count = Reader::length(member, *count)?;
        let mut all = all.iter_mut();
        all.try_for_each(|it| E::get_vector(it, count, from, (member, inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_never_come_take_no_memory() {
        // Each string begins with its length, which is at least 1.
        let mut reader = Reader::new(&[0; 64]);
        let mut rows: Vec<[String; 1]> = Vec::new();
        assert!(reader.list("rows", &mut rows, &[900, 1], 0).is_err());
        assert_eq!(rows.capacity(), 0);
    }
}
