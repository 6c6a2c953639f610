//! The binary form of one histogram: encodes V2, decodes V0, V1 and V2, compressed or not.
//!
//! All numbers are big-endian. The compressed form is a cookie, the length of what follows, and a
//! zlib stream of the plain form. The plain form of V1 and V2 is
//!
//! | bytes | content |
//! |---|---|
//! | 4 | cookie: version and word size |
//! | 4 | length of the counts in bytes |
//! | 4 | normalizing index offset |
//! | 4 | significant digits |
//! | 8 | lowest value |
//! | 8 | highest value |
//! | 8 | ratio of integer to double values, a double |
//! | .. | counts |
//!
//! and that of V0 has cookie, digits, lowest, highest and total count before the counts, 32 bytes.
//! V2 writes a count as a number of 1 to 9 bytes, ZigZag and LEB128, in which a negative number stands for that
//! many zeros; V0 and V1 write words of 2, 4 or 8 bytes. Counts are in the order of their values, whatever the
//! normalizing offset is: the offset only says how the Java original keeps them in memory.
//!
//! ```
//! use kadenz_record::{histogram::Histogram, hlog::codec::{Decoder, Encoder}};
//!
//! let mut lateness = Histogram::new();
//! lateness.record_n(52_000, 1000);
//! let bytes = Encoder::new().compressed(&lateness).to_vec();
//! assert_eq!(Decoder::new().decode(&bytes)?, lateness);
//! # Ok::<(), kadenz_record::hlog::codec::DecodeError>(())
//! ```

mod decode;
mod encode;
mod header;

pub use decode::Decoder;
pub use encode::Encoder;
pub use header::DecodeError;

pub(super) use header::complete_length;

// Numbers as V2 writes them: ZigZag, so that small magnitudes are short whatever their sign, and
// LEB128 with a ninth byte that carries eight bits, so that 64 bits fit.

/// Most bytes a number takes.
const MAX_BYTES: usize = 9;

fn put(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    for _ in 1..MAX_BYTES {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The number at the front of `bytes` and the rest; `None` if the bytes end within the number.
#[inline(always)]
fn take(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    // Most counts of a histogram are small.
    if first < 0x80 {
        return Some((unzigzag(u64::from(first)), rest));
    }
    take_long(bytes)
}

#[inline(never)]
fn take_long(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0_u64;
    for (position, &byte) in bytes.iter().enumerate().take(MAX_BYTES) {
        let shift = 7 * position as u32;
        if position == MAX_BYTES - 1 || byte < 0x80 {
            value |= u64::from(byte) << shift;
            return Some((unzigzag(value), &bytes[position + 1..]));
        }
        value |= u64::from(byte & 0x7f) << shift;
    }
    None
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::{put, take};
    use proptest::prelude::*;

    #[test]
    fn known_forms() {
        let forms: [(i64, &[u8]); 5] = [
            (0, &[0]),
            (-1, &[1]),
            (1, &[2]),
            (64, &[0x80, 0x01]),
            (
                i64::MIN,
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            ),
        ];
        for (value, form) in forms {
            let mut out = Vec::new();
            put(value, &mut out);
            assert_eq!(out, form, "{value}");
        }
    }

    #[test]
    fn ends_within_a_number() {
        for bytes in [&[][..], &[0x80], &[0xff; 8]] {
            assert_eq!(take(bytes), None);
        }
    }

    proptest! {
        #[test]
        fn round_trip(value: i64, tail: Vec<u8>) {
            let mut out = Vec::new();
            put(value, &mut out);
            out.extend(&tail);
            prop_assert_eq!(take(&out), Some((value, &tail[..])));
        }
    }
}
