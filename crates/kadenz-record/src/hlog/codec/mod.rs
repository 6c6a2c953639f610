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
//! and V0 has cookie, digits, lowest, highest and the total count, 32 bytes in all. V2 writes a
//! count as a [ZigZag LEB128](self) number of up to 9 bytes, where a negative one stands for that
//! many zeros; V0 and V1 write words of 2, 4 or 8 bytes.

mod encode;
mod number;

pub use encode::Encoder;

/// The plain form.
const PLAIN_V2: u32 = 0x1c84_9303;
/// The compressed form.
const COMPRESSED_V2: u32 = 0x1c84_9304;
/// Where a cookie tells the size of a word; V2 writes 1 for "see the numbers themselves".
const WORD_SIZE_V2: u32 = 0x10;
