use std::net::SocketAddr;
use std::time::Duration;

use crate::provider::stream::seats::{GREETING, IDLE};

/// What a server allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// Where it listens; port 0 lets the kernel choose.
    pub address: SocketAddr,
    /// Bytes that may wait for a client that does not read. Once a message does not fit, all are dropped and
    /// counted until the client has taken half of what waits.
    pub queue: usize,
    /// The longest message, in bytes; a client that sends a longer one is hung up on.
    pub longest: usize,
    /// The most clients. Whoever comes when all seats are taken gets that of a client that has not
    /// greeted, or else of one that has neither subscribed nor published, or else of the one that has been
    /// idle for the longest; where there is none, it is turned away.
    pub clients: usize,
    /// Memory for all clients together, in bytes: parts of messages, messages that wait, patterns. Where
    /// it is not enough, a client that has stalled is hung up on, or else the one that holds the most. At
    /// least twice `longest` and 1 MiB.
    pub memory: usize,
    /// How long a client may take to greet before it is hung up on; LCM's do so at once.
    pub greeting: Duration,
    /// A client that has sent and taken nothing for so long is idle: its seat may be another's. One that
    /// has taken nothing of what waits for it for so long, or is so far behind 64 KiB a second with a message
    /// that it sends, has stalled: its memory may be another's.
    pub idle: Duration,
}

impl ServerOptions {
    /// The least [`ServerOptions::memory`]: for a message that comes and its copy for those that do not
    /// read it at once.
    #[must_use]
    pub fn least_memory(&self) -> usize {
        self.longest.saturating_mul(2).saturating_add(1 << 20)
    }
}

impl Default for ServerOptions {
    /// LCM's port on the loopback address, so that nobody outside is served unless that is asked for.
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], super::PORT)),
            queue: 4_000_000,
            longest: 64 << 20,
            clients: 16_384,
            memory: 256 << 20,
            greeting: GREETING,
            idle: IDLE,
        }
    }
}
