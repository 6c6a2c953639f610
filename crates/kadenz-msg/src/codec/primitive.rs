//! The types that everything else is made of.

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

macro_rules! number {
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

number!(i8, "int8_t");
number!(i16, "int16_t");
number!(i32, "int32_t");
number!(i64, "int64_t");
number!(u8, "byte");
number!(f32, "float");
number!(f64, "double");

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
