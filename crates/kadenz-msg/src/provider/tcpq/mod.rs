//! `tcpq://`: LCM's server in the middle, over TCP, for where multicast does not go.
//!
//! `tcpq://127.0.0.1:7700` is what LCM takes without being told otherwise. Order is kept, and nothing is
//! lost while both ends and the server live and nobody is slow: a server gives up messages for a client
//! that does not fetch them ([`TcpqServer`] counts them; LCM's own server lets all clients wait for the
//! slowest). A message passes two connections, which costs latency; senders are not told apart, and
//! messages carry no number. A server that goes is looked for ten times a second.
//!
//! | parameter | what it is | without it |
//! |---|---|---|
//! | `queue` | bytes that may wait to be sent to the server | 4MB |
//! | `send_wait` | how long publishing waits for a server that does not read | 100ms |
//! | `longest` | the longest message, in bytes | 64MiB |

mod client;
mod counters;
mod filter;
mod outlet;
mod progress;
mod queue;
mod routes;
mod server;
mod serving;

use std::net::SocketAddr;
use std::time::Duration;

use super::parameters::Address;
use super::stream::Buffered;
use super::stream::connection_slots::{GREETING, IDLE};
use super::stream::note::PeerInlet;
use super::stream::peer_receiver::PeerReceiver;
use super::stream::socket::SocketAddress;
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError,
};
use client::Listening;
pub use counters::{ClientCounters, ServerCounters};
use outlet::TcpqOutlet;
pub use server::TcpqServer;

/// LCM's port.
pub const PORT: u16 = 7700;
/// The number of the one whom a client connects to.
const SERVER: u64 = 0;
/// Header and channel of a message.
const AROUND: usize = 12 + 64;

/// A client of LCM's TCP server.
#[derive(Debug)]
pub struct Tcpq {
    address: Address,
    place: String,
    queue: usize,
    send_wait: Duration,
    longest: usize,
}

impl Tcpq {
    /// The client that a URL describes. Connects nothing yet.
    ///
    /// ```
    /// use kadenz_msg::provider::parameters::Address;
    /// use kadenz_msg::provider::tcpq::Tcpq;
    ///
    /// Tcpq::open(&Address::parse("tcpq://10.0.0.2:7700?queue=1MB")?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the port is none, or a parameter is unknown or cannot be.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let (host, port) = address.host_and_port()?;
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        let mut given = address.parameters();
        let tcpq = Self {
            place: format!("{host}:{}", port.unwrap_or(PORT)),
            queue: given.bytes("queue")?.unwrap_or(4_000_000),
            send_wait: given
                .span("send_wait")?
                .unwrap_or(Duration::from_millis(100)),
            longest: given.bytes("longest")?.unwrap_or(64 << 20).min(1 << 30),
            address: address.clone(),
        };
        given.finish()?;
        Ok(tcpq)
    }

    fn no_server(&self, reason: &str) -> ProviderError {
        self.address.wrong(
            format!("no server answers at {}{reason}", self.place),
            "start one: `kadenz msg server`, or LCM's `java -cp lcm.jar lcm.lcm.TCPService`",
        )
    }
}

impl Provider for Tcpq {
    fn guarantees(&self) -> Guarantees {
        let wait_ms = u32::try_from(self.send_wait.as_millis()).unwrap_or(u32::MAX);
        Guarantees {
            order: DeliveryOrder::Kept,
            // What a server drops for a slow client it does not tell the client.
            loss: Loss::Network,
            back_pressure: BackPressure::Bounded(wait_ms),
            history: History::None,
            discovery: Discovery::Server,
            longest_payload: self.longest,
            real_time: false,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        let place = SocketAddress::Tcp(self.place.clone());
        let outlet = TcpqOutlet::connect(place, self.queue, self.send_wait);
        outlet
            .map(|it| Buffered::outlet(it, self.longest))
            .map_err(|error| self.no_server(&format!(": {error}")))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        let failed = |error: std::io::Error| {
            let remedy = "close other files or raise the limit with `ulimit -n`";
            self.address.wrong(error.to_string(), remedy)
        };
        let mut receiver = PeerReceiver::new(self.longest + AROUND).map_err(failed)?;
        let longest = self.longest;
        let make = move |words: &mut Vec<u8>| Listening::begin(longest, words);
        receiver.connect(
            SERVER,
            SocketAddress::Tcp(self.place.clone()),
            Box::new(make),
        );
        // Later it is waited for; at the start somebody is there to be told.
        if !receiver.is_connected(SERVER) {
            return Err(self.no_server(""));
        }
        Ok(Box::new(PeerInlet {
            receiver,
            expected: None,
        }))
    }
}

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
            address: SocketAddr::from(([127, 0, 0, 1], PORT)),
            queue: 4_000_000,
            longest: 64 << 20,
            clients: 16_384,
            memory: 256 << 20,
            greeting: GREETING,
            idle: IDLE,
        }
    }
}
