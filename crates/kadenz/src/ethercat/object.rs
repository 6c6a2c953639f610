use std::marker::PhantomData;

use kadenz_ethercat::wire::coe::DataType;
use kadenz_ethercat::wire::copy_bits;

/// An object in the inputs of a device, of type `T`. From [`Device::input`](super::Device::input).
#[derive(Debug)]
pub struct Input<T> {
    pub(super) place: ObjectLocation,
    of: PhantomData<fn() -> T>,
}

/// An object in the outputs of a device, of type `T`. From [`Device::output`](super::Device::output).
#[derive(Debug)]
pub struct Output<T> {
    pub(super) place: ObjectLocation,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Input<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Input<T> {}

impl<T> Clone for Output<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Output<T> {}

impl<T> Input<T> {
    pub(super) const fn at(place: ObjectLocation) -> Self {
        let of = PhantomData;
        Self { place, of }
    }
}

impl<T> Output<T> {
    pub(super) const fn at(place: ObjectLocation) -> Self {
        let of = PhantomData;
        Self { place, of }
    }
}

/// The place of an object in the process data of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectLocation {
    /// The network of the object.
    pub(super) network: u64,
    /// The position of its device.
    pub(super) device: usize,
    /// Its first bit in the image of its direction.
    pub(super) bit: usize,
    /// Bits that it takes, 1 to 64.
    pub(super) bits: usize,
}

impl ObjectLocation {
    /// Its bits, the lowest first.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub(super) fn read(self, image: &[u8]) -> u64 {
        let mut word = [0; 8];
        copy_bits(image, self.bit, &mut word, 0, self.bits);
        u64::from_le_bytes(word)
    }

    /// Changes its bits and no other.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub(super) fn write(self, image: &mut [u8], word: u64) {
        copy_bits(&word.to_le_bytes(), 0, image, self.bit, self.bits);
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that an object of the process data can have: `bool`, integers and floats.
///
/// # Real-time safety
/// Real-time safe: conversions of a few instructions.
pub trait ObjectValue: sealed::Sealed + Copy {
    /// The type as a value.
    const TYPE: ValueType;
    /// The value of these bits.
    fn from_bits(word: u64) -> Self;
    /// Its bits; those beyond the type's length have no meaning.
    fn to_bits(self) -> u64;
}

macro_rules! object_value {
    ($($type:ty, $kind:ident $bits:literal, |$word:ident| $from:expr, |$value:ident| $to:expr;)+) => {
        /// All types.
        const TYPES: &[ValueType] = &[$(<$type>::TYPE),+];
        $(
            impl sealed::Sealed for $type {}
            impl ObjectValue for $type {
                const TYPE: ValueType = ValueType { name: stringify!($type), kind: Kind::$kind, bits: $bits };
                fn from_bits($word: u64) -> Self {
                    $from
                }
                fn to_bits(self) -> u64 {
                    let $value = self;
                    $to
                }
            }
        )+
    };
}

object_value! {
    bool, Bool 1, |word| word & 1 != 0, |value| u64::from(value);
    u8, Unsigned 8, |word| word as u8, |value| u64::from(value);
    u16, Unsigned 16, |word| word as u16, |value| u64::from(value);
    u32, Unsigned 32, |word| word as u32, |value| u64::from(value);
    u64, Unsigned 64, |word| word, |value| value;
    i8, Signed 8, |word| word as i8, |value| value as u64;
    i16, Signed 16, |word| word as i16, |value| value as u64;
    i32, Signed 32, |word| word as i32, |value| value as u64;
    i64, Signed 64, |word| word as i64, |value| value as u64;
    f32, Float 32, |word| f32::from_bits(word as u32), |value| u64::from(value.to_bits());
    f64, Float 64, |word| f64::from_bits(word), |value| value.to_bits();
}

/// The type of an object where it is known at run time only: `"u16".parse()`.
///
/// # Real-time safety
/// Real-time safe, except for parsing, whose error allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueType {
    name: &'static str,
    kind: Kind,
    bits: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Unsigned,
    Signed,
    Float,
}

/// The value of an object whose type is known at run time only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Of `bool`.
    Bool(bool),
    /// Of an integer.
    Integer(i128),
    /// Of a float.
    Float(f64),
}

/// The text is not a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid type of an object; take bool, u8 to u64, i8 to i64, f32 or f64")]
pub struct ParseTypeError(String);

impl std::str::FromStr for ValueType {
    type Err = ParseTypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = TYPES.iter().find(|it| it.name == text);
        found
            .copied()
            .ok_or_else(|| ParseTypeError(text.to_owned()))
    }
}

impl ValueType {
    /// Its name, as Rust's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Bytes of an object of that type in a mailbox.
    pub(super) const fn bytes(self) -> usize {
        self.bits.div_ceil(8)
    }

    /// The type of an object of CoE (ETG.1000.6, table 64), where it is a number: BOOLEAN 1, INTEGERs 2, 3, 4 and 0x15,
    /// UNSIGNEDs 5, 6, 7 and 0x1B, REAL32 8, REAL64 0x11, BYTE 0x1E, WORD 0x1F, DWORD 0x20, BIT1 0x30, BIT8 0x37.
    pub(super) const fn of(data_type: DataType) -> Option<Self> {
        Some(match data_type.0 {
            0x01 | 0x30 => bool::TYPE,
            0x02 => i8::TYPE,
            0x03 => i16::TYPE,
            0x04 => i32::TYPE,
            0x05 | 0x1E | 0x37 => u8::TYPE,
            0x06 | 0x1F => u16::TYPE,
            0x07 | 0x20 => u32::TYPE,
            0x08 => f32::TYPE,
            0x11 => f64::TYPE,
            0x15 => i64::TYPE,
            0x1B => u64::TYPE,
            _ => return None,
        })
    }

    /// Whether an object of so many bits and of that type is read as this one. For types without a name here, as fields
    /// of bits and a vendor's enumerations, the number of bits decides.
    pub(super) fn fits(self, bits: usize, data_type: Option<DataType>) -> bool {
        let is_named = |it: &DataType| type_name(*it).is_some();
        let is_of = |it| Self::of(it) == Some(self);
        bits == self.bits && data_type.is_none_or(|it| is_of(it) || !is_named(&it))
    }

    /// The value of these bits.
    ///
    /// # Real-time safety
    /// It neither allocates nor locks.
    pub(super) fn value(self, word: u64) -> Value {
        let above = 64 - self.bits;
        match self.kind {
            Kind::Bool => Value::Bool(word & 1 != 0),
            Kind::Unsigned => Value::Integer((word << above >> above).into()),
            Kind::Signed => Value::Integer(((word << above).cast_signed() >> above).into()),
            Kind::Float if self.bits == 32 => Value::Float(f32::from_bits(word as u32).into()),
            Kind::Float => Value::Float(f64::from_bits(word)),
        }
    }

    /// The bits of a value; `None` where the type cannot hold it, as 300 in a `u8` or 1.5 in an `i32`.
    ///
    /// # Real-time safety
    /// It neither allocates nor locks.
    pub(super) fn bits_of(self, value: Value) -> Option<u64> {
        let number = match value {
            Value::Bool(value) => i128::from(value),
            Value::Integer(number) => number,
            Value::Float(number) if self.kind == Kind::Float => {
                return Some(match self.bits {
                    32 => u64::from((number as f32).to_bits()),
                    _ => number.to_bits(),
                });
            }
            Value::Float(number) if number.fract() == 0.0 => number as i128,
            Value::Float(_) => return None,
        };
        match self.kind {
            Kind::Float => self.bits_of(Value::Float(number as f64)),
            Kind::Bool | Kind::Unsigned => (0..1 << self.bits)
                .contains(&number)
                .then_some(number as u64),
            Kind::Signed => {
                let limit = 1_i128 << (self.bits - 1);
                (-limit..limit).contains(&number).then_some(number as u64)
            }
        }
    }
}

/// The name of a type of CoE, where it has one here.
pub(super) const fn type_name(data_type: DataType) -> Option<&'static str> {
    Some(match data_type.0 {
        0x01 => "BOOLEAN",
        0x02 => "INTEGER8",
        0x03 => "INTEGER16",
        0x04 => "INTEGER32",
        0x05 => "UNSIGNED8",
        0x06 => "UNSIGNED16",
        0x07 => "UNSIGNED32",
        0x08 => "REAL32",
        0x11 => "REAL64",
        0x15 => "INTEGER64",
        0x1B => "UNSIGNED64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(bit: usize, bits: usize) -> ObjectLocation {
        ObjectLocation {
            network: 0,
            device: 0,
            bit,
            bits,
        }
    }

    fn there_and_back<T: ObjectValue + PartialEq + std::fmt::Debug>(value: T) {
        for bit in [0, 3, 8, 13] {
            for fill in [0x00, 0xFF] {
                let mut image = [fill; 12];
                let place = place(bit, T::TYPE.bits);
                place.write(&mut image, value.to_bits());
                assert_eq!(T::from_bits(place.read(&image)), value, "{bit}");
                place.write(&mut image, u64::from(fill) * (u64::MAX / 0xFF));
                assert_eq!(image, [fill; 12], "no other bit changed");
            }
        }
    }

    #[test]
    fn a_named_type_is_read_as_itself_and_any_other_by_its_bits() {
        let (integer32, bit_array8, nothing) = (DataType(0x04), DataType(0x2D), DataType(0));
        assert!(i32::TYPE.fits(32, Some(integer32)) && i32::TYPE.fits(32, None));
        assert!(!u32::TYPE.fits(32, Some(integer32)) && !f32::TYPE.fits(32, Some(integer32)));
        assert!(u8::TYPE.fits(8, Some(bit_array8)) && u16::TYPE.fits(16, Some(nothing)));
        assert!(!u16::TYPE.fits(8, Some(bit_array8)) && !i32::TYPE.fits(16, None));
    }

    #[test]
    fn every_type_comes_back_from_any_bit_and_changes_no_other() {
        there_and_back(true);
        there_and_back(0xA5_u8);
        there_and_back(0xA5C3_u16);
        there_and_back(0xA5C3_1234_u32);
        there_and_back(u64::MAX - 2);
        there_and_back(-3_i8);
        there_and_back(-300_i16);
        there_and_back(-70_000_i32);
        there_and_back(i64::MIN + 1);
        there_and_back(-1.5_f32);
        there_and_back(1e-300_f64);
    }

    #[test]
    fn a_value_has_its_place_in_a_type_or_none() {
        let of = |name: &str| name.parse::<ValueType>().unwrap();
        let back = |name, value| of(name).bits_of(value).map(|word| of(name).value(word));
        for (name, fits, not) in [
            ("u8", 255, 256),
            ("i8", -128, -129),
            ("i32", -70_000, 1 << 31),
            ("u64", i128::from(u64::MAX), -1),
            ("i64", i128::from(i64::MIN), 1 << 63),
        ] {
            assert_eq!(
                back(name, Value::Integer(fits)),
                Some(Value::Integer(fits)),
                "{name}"
            );
            assert_eq!(back(name, Value::Integer(not)), None, "{name}");
        }
        assert_eq!(back("bool", Value::Integer(1)), Some(Value::Bool(true)));
        assert_eq!(back("bool", Value::Integer(2)), None);
        assert_eq!(back("i16", Value::Float(-3.0)), Some(Value::Integer(-3)));
        assert_eq!(back("i16", Value::Float(0.5)), None);
        assert_eq!(back("i16", Value::Float(f64::NAN)), None);
        assert_eq!(back("f32", Value::Integer(-2)), Some(Value::Float(-2.0)));
        assert_eq!(
            back("f64", Value::Float(1e-300)),
            Some(Value::Float(1e-300))
        );
        assert!(
            "i33"
                .parse::<ValueType>()
                .unwrap_err()
                .to_string()
                .contains("i8 to i64")
        );
    }

    #[test]
    fn bytes_are_in_the_fieldbus_s_order() {
        let mut image = [0; 4];
        place(8, 16).write(&mut image, 0x1234);
        assert_eq!(image, [0, 0x34, 0x12, 0]);
    }
}
