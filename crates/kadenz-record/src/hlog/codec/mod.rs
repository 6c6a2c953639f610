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
//! V2 writes a count as a number of 1 to 9 bytes, ZigZag and LEB128, in which a negative one stands
//! for that many zeros; V0 and V1 write words of 2, 4 or 8 bytes. Counts stand in the order of
//! their values, whatever the normalizing offset is: that says only how the Java original keeps
//! them in memory.
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
mod number;

pub use decode::Decoder;
pub use encode::Encoder;
pub use header::DecodeError;

pub(super) use header::complete_length;
