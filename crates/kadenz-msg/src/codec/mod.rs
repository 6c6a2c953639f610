//! The encoding of messages: big-endian, in a caller's buffer.
//!
//! # Real-time safety
//! Nothing here allocates but [`Reader::string`] and the `read_` functions that fill vectors, and
//! those only where the vector is too short.

mod fingerprint;
mod primitive;
mod reader;
mod writer;

pub use fingerprint::Fingerprint;
pub use primitive::Primitive;
pub use reader::{DecodeError, Reader, View};
pub use writer::{EncodeError, Writer};
