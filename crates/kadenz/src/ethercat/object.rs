use std::marker::PhantomData;

use kadenz_ethercat::wire::coe::DataType;

/// An object in the inputs of a device, of type `T`. From [`Device::input`](super::Device::input).
#[derive(Debug)]
pub struct Input<T> {
    pub(super) place: Place,
    of: PhantomData<fn() -> T>,
}

/// An object in the outputs of a device, of type `T`. From [`Device::output`](super::Device::output).
#[derive(Debug)]
pub struct Output<T> {
    pub(super) place: Place,
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
    pub(super) const fn at(place: Place) -> Self {
        let of = PhantomData;
        Self { place, of }
    }
}

impl<T> Output<T> {
    pub(super) const fn at(place: Place) -> Self {
        let of = PhantomData;
        Self { place, of }
    }
}

/// Where an object lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The network that it is of.
    pub(super) network: u64,
    /// The position of its device.
    pub(super) device: usize,
    /// Its first bit in the image of its direction.
    pub(super) bit: usize,
    /// Bits that it takes, 1 to 64.
    pub(super) bits: usize,
}

impl Place {
    const fn is_whole_bytes(self) -> bool {
        self.bit.is_multiple_of(8) && self.bits.is_multiple_of(8)
    }

    /// Its bits, the lowest first.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub(super) fn read(self, image: &[u8]) -> u64 {
        if self.is_whole_bytes() {
            let mut word = [0; 8];
            let length = self.bits / 8;
            word[..length].copy_from_slice(&image[self.bit / 8..][..length]);
            return u64::from_le_bytes(word);
        }
        (0..self.bits).fold(0, |word, bit| {
            let from = self.bit + bit;
            word | u64::from(image[from / 8] >> (from % 8) & 1) << bit
        })
    }

    /// Changes its bits and no other.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub(super) fn write(self, image: &mut [u8], word: u64) {
        if self.is_whole_bytes() {
            let length = self.bits / 8;
            image[self.bit / 8..][..length].copy_from_slice(&word.to_le_bytes()[..length]);
            return;
        }
        for bit in 0..self.bits {
            let to = self.bit + bit;
            let mask = 1 << (to % 8);
            match word >> bit & 1 {
                0 => image[to / 8] &= !mask,
                _ => image[to / 8] |= mask,
            }
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that an object of the process data can have: `bool`, integers and floats.
pub trait ObjectValue: sealed::Sealed + Copy {
    /// Its name.
    const NAME: &'static str;
    /// Bits that it takes.
    const BITS: usize;
    /// Whether an object of that type of CoE (ETG.1000.6, table 64) is one.
    fn is_of(data_type: DataType) -> bool;
    /// Of its bits.
    fn from_bits(word: u64) -> Self;
    /// Its bits; those beyond [`BITS`](Self::BITS) mean nothing.
    fn to_bits(self) -> u64;
}

macro_rules! object_value {
    ($($type:ty, $bits:literal, $codes:pat, |$word:ident| $from:expr, |$value:ident| $to:expr;)+) => {$(
        impl sealed::Sealed for $type {}
        impl ObjectValue for $type {
            const NAME: &'static str = stringify!($type);
            const BITS: usize = $bits;
            fn is_of(data_type: DataType) -> bool {
                matches!(data_type.0, $codes)
            }
            fn from_bits($word: u64) -> Self {
                $from
            }
            fn to_bits(self) -> u64 {
                let $value = self;
                $to
            }
        }
    )+};
}

// Numbers of types: BOOLEAN 1, INTEGERs 2, 3, 4 and 0x15, UNSIGNEDs 5, 6, 7 and 0x1B, REAL32 8, REAL64 0x11, BYTE
// 0x1E, WORD 0x1F, DWORD 0x20, BIT1 0x30, BIT8 0x37.
object_value! {
    bool, 1, 0x01 | 0x30, |word| word & 1 != 0, |value| u64::from(value);
    u8, 8, 0x05 | 0x1E | 0x37, |word| word as u8, |value| u64::from(value);
    u16, 16, 0x06 | 0x1F, |word| word as u16, |value| u64::from(value);
    u32, 32, 0x07 | 0x20, |word| word as u32, |value| u64::from(value);
    u64, 64, 0x1B, |word| word, |value| value;
    i8, 8, 0x02, |word| word as i8, |value| value as u64;
    i16, 16, 0x03, |word| word as i16, |value| value as u64;
    i32, 32, 0x04, |word| word as i32, |value| value as u64;
    i64, 64, 0x15, |word| word as i64, |value| value as u64;
    f32, 32, 0x08, |word| f32::from_bits(word as u32), |value| u64::from(value.to_bits());
    f64, 64, 0x11, |word| f64::from_bits(word), |value| value.to_bits();
}

/// Whether an object of so many bits and of that type is read as `T`. Of a type that has no name here, as fields of
/// bits and a vendor's enumerations, the bits decide.
pub(super) fn fits<T: ObjectValue>(bits: usize, data_type: Option<DataType>) -> bool {
    bits == T::BITS && data_type.is_none_or(|it| T::is_of(it) || type_name(it).is_none())
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

    fn place(bit: usize, bits: usize) -> Place {
        Place {
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
                let place = place(bit, T::BITS);
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
        assert!(fits::<i32>(32, Some(integer32)) && fits::<i32>(32, None));
        assert!(!fits::<u32>(32, Some(integer32)) && !fits::<f32>(32, Some(integer32)));
        assert!(fits::<u8>(8, Some(bit_array8)) && fits::<u16>(16, Some(nothing)));
        assert!(!fits::<u16>(8, Some(bit_array8)) && !fits::<i32>(16, None));
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
    fn bytes_are_in_the_fieldbus_s_order() {
        let mut image = [0; 4];
        place(8, 16).write(&mut image, 0x1234);
        assert_eq!(image, [0, 0x34, 0x12, 0]);
    }
}
