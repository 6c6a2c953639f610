//! Measurements on their way to a logging server.
//!
//! The measuring program must not wait for a disk, so it sends its measurements to a server, which may.
//! Measurements travel in batches ([`Batcher`], [`Batch`]); the server detects lost batches by their numbers
//! ([`BatchTracker`]). Before the server takes batches, the controller introduces itself ([`Handshake`],
//! [`Cookies`]).
//!
//! The body of a [`Kind::Batch`](crate::wire::Kind), numbers big-endian:
//!
//! | bytes | |
//! |---|---|
//! | 2 | how many measurements follow |
//! | 2 | 1 if this is the run's last batch, else 0 |
//! | each: 1 | bit 0 the address is IPv6, bit 1 answered, bit 2 device stamps; the others are 0 |
//! | 4 or 16 | address |
//! | 2 | port |
//! | 4 | scope, with IPv6 only |
//! | 4 | [`Sequence`](crate::wire::Sequence) of the probe |
//! | 8 | intended, ns |
//! | 8 | sent, ns |
//! | 8 | received, ns, if answered |
//! | 16 | device stamps, if there are any |

mod batch;
mod batcher;
mod handshake;
mod measurement;

pub use batch::{Batch, BatchTracker, Measurements};
pub use batcher::{Batcher, DEFAULT_BATCH_BYTES, Full, Position};
pub use handshake::{Cookies, Handshake, HandshakeEvent, ServerReply, server_reply};
pub use measurement::{Measurement, Outcome};
