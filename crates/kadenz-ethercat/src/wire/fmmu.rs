//! FMMUs: the mapping of logical memory to a SubDevice's memory (ETG.1000.4, table 56).

use std::ops::Range;

/// A fieldbus memory management unit, as in its sixteen bytes of registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fmmu {
    /// First byte of the logical memory.
    pub logical: u32,
    /// Bytes of the logical memory that it maps, whole or in part.
    pub length: u16,
    /// First bit in the first byte, 0 to 7.
    pub first_bit: u8,
    /// Last bit in the last byte, 0 to 7.
    pub last_bit: u8,
    /// First byte in the SubDevice's memory.
    pub physical: u16,
    /// The first bit's place in that byte, 0 to 7.
    pub physical_bit: u8,
    /// The MainDevice may read through it.
    pub reads: bool,
    /// The MainDevice may write through it.
    pub writes: bool,
    /// The FMMU is active.
    pub active: bool,
}

impl Fmmu {
    /// Makes an active FMMU that maps whole bytes.
    #[must_use]
    pub const fn bytes(logical: u32, length: u16, physical: u16) -> Self {
        Self {
            logical,
            length,
            first_bit: 0,
            last_bit: 7,
            physical,
            physical_bit: 0,
            reads: false,
            writes: false,
            active: true,
        }
    }

    /// The same for inputs: the MainDevice reads.
    #[must_use]
    pub const fn reading(self) -> Self {
        Self {
            reads: true,
            ..self
        }
    }

    /// The same for outputs: the MainDevice writes.
    #[must_use]
    pub const fn writing(self) -> Self {
        Self {
            writes: true,
            ..self
        }
    }

    /// Reads the registers; bits without a meaning are dropped.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self {
            logical: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            length: u16::from_le_bytes([bytes[4], bytes[5]]),
            first_bit: bytes[6] & 7,
            last_bit: bytes[7] & 7,
            physical: u16::from_le_bytes([bytes[8], bytes[9]]),
            physical_bit: bytes[10] & 7,
            reads: bytes[11] & 1 != 0,
            writes: bytes[11] & 2 != 0,
            active: bytes[12] & 1 != 0,
        }
    }

    /// The contents of the registers.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.logical.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.length.to_le_bytes());
        bytes[6] = self.first_bit;
        bytes[7] = self.last_bit;
        bytes[8..10].copy_from_slice(&self.physical.to_le_bytes());
        bytes[10] = self.physical_bit;
        bytes[11] = u8::from(self.reads) | u8::from(self.writes) << 1;
        bytes[12] = u8::from(self.active);
        bytes
    }

    /// How many bits it maps; 0 where the last bit is before the first.
    #[must_use]
    pub fn bits(self) -> u32 {
        let end = u32::from(self.length) * 8;
        let left_out = u32::from(self.first_bit) + 7 - u32::from(self.last_bit);
        end.saturating_sub(left_out)
    }

    /// Whether it maps whole bytes onto whole bytes.
    #[must_use]
    pub(crate) const fn whole_bytes(self) -> bool {
        self.first_bit == 0 && self.last_bit == 7 && self.physical_bit == 0
    }

    /// The logical bytes that it maps, whole or in part. In 64 bits, since the range may end at the memory's end.
    #[must_use]
    pub(crate) fn logical_range(self) -> Range<u64> {
        let start = u64::from(self.logical);
        start..start + u64::from(self.length)
    }

    /// The bytes of the SubDevice's memory that it maps, whole or in part.
    #[must_use]
    pub(crate) fn physical_length(self) -> u32 {
        (u32::from(self.physical_bit) + self.bits()).div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn registers_lie_where_the_standard_says() {
        let fmmu = Fmmu {
            last_bit: 3,
            ..Fmmu::bytes(0x0001_0000, 2, 0x0F00).writing()
        };
        assert_eq!(
            fmmu.to_bytes(),
            [0, 0, 1, 0, 2, 0, 0, 3, 0x00, 0x0F, 0, 2, 1, 0, 0, 0]
        );
        assert_eq!((fmmu.bits(), fmmu.whole_bytes()), (12, false));
        assert_eq!(fmmu.physical_length(), 2);
    }

    #[test]
    fn one_bit_is_one_bit_also_over_a_byte_s_border() {
        let one = Fmmu {
            first_bit: 5,
            last_bit: 5,
            ..Fmmu::bytes(0, 1, 0)
        };
        assert_eq!((one.bits(), one.physical_length()), (1, 1));
        let two = Fmmu {
            first_bit: 7,
            last_bit: 0,
            physical_bit: 7,
            ..Fmmu::bytes(0, 2, 0)
        };
        assert_eq!((two.bits(), two.physical_length()), (2, 2));
    }

    #[test]
    fn bits_in_the_wrong_order_are_none() {
        let none = Fmmu {
            first_bit: 4,
            last_bit: 3,
            ..Fmmu::bytes(0, 1, 0)
        };
        assert_eq!(none.bits(), 0);
        assert_eq!(Fmmu::default().bits(), 0);
    }

    #[test]
    fn it_may_end_where_the_logical_memory_does() {
        let last = Fmmu::bytes(u32::MAX, 1, 0);
        assert_eq!(last.logical_range(), 0xFFFF_FFFF..0x1_0000_0000);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_the_same(bytes: [u8; 16]) {
            let fmmu = Fmmu::from_bytes(bytes);
            prop_assert_eq!(Fmmu::from_bytes(fmmu.to_bytes()), fmmu);
            prop_assert!(fmmu.bits() <= u32::from(fmmu.length) * 8);
        }
    }
}
