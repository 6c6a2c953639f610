//! A call with an answer and a timeout.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//! use kadenz_msg::service::messages::Heartbeat;
//! use kadenz_rt::tuning::Tuning;
//!
//! let bus = Bus::open("memq://")?;
//! let _server = bus.serve("NEXT", Tuning::default(), |beat: &Heartbeat| match beat.number {
//!     i64::MAX => Err("there is no next number".to_owned()),
//!     number => Ok(Heartbeat { number: number + 1, ..beat.clone() }),
//! })?;
//!
//! let mut next = bus.client::<Heartbeat, Heartbeat>("NEXT")?;
//! let beat = Heartbeat { number: 41, ..Heartbeat::default() };
//! assert_eq!(next.call(&beat, Duration::from_secs(5))?.number, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A request is published to the channel of the service's name, its answer to a channel of the client alone,
//! `KADENZ/REPLY/` and the client's number. Nothing is sent twice: a loss in the network is a timeout, and
//! whether the server has done its work is not known then. A request that the network doubles is answered
//! once. If several servers have one name, the client takes the first answer.

mod client;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod server;

pub use client::{Answer, CallError, Client, ClientError};
pub use server::{RequestContext, ServeError, Server, ServiceCounters};

use crate::channel::{Channel, ChannelError};

/// The default maximum length of a request and of an answer: 1 MiB.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// The bounds of a service and its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceOptions {
    /// How many requests may wait at the server; the oldest makes room.
    pub queue: usize,
    /// The longest request and the longest answer, in bytes of the encoded message. Longer ones are
    /// refused.
    pub longest_payload: usize,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            queue: 30,
            longest_payload: MAX_PAYLOAD,
        }
    }
}

/// Returns the channel of a client's answers. It follows from the client's number, so that no request can
/// make a server publish to a channel of the client's choice.
fn reply_channel(client: i64) -> Result<Channel, ChannelError> {
    // 29 bytes.
    Channel::new(&format!("KADENZ/REPLY/{:016x}", client.cast_unsigned()))
}
