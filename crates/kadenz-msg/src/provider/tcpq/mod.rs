//! `tcpq://`: LCM's central server, over TCP, for networks that do not carry multicast.
//!
//! `tcpq://127.0.0.1:7700` is LCM's default. Order is kept, and nothing is lost while both ends and the
//! server live and no client is slow: a server drops messages for a client that does not read them
//! ([`TcpqServer`] counts them; LCM's own server lets all clients wait for the slowest). A message passes two
//! connections, which costs latency; senders are not distinguished, and messages carry no number. A client
//! tries ten times a second to connect again to a server that has gone, and seldom to a host that does not answer. A thread of an outlet sends what the socket
//! did not take at once; an outlet that is dropped waits for it, up to a second.
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `queue` | bytes that may wait to be sent to the server | 4MB |
//! | `send_wait` | how long publishing waits for room in that queue | 100ms |
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
use super::stream::connection_slots::{HANDSHAKE_TIMEOUT, IDLE_TIMEOUT};
use super::stream::note::PeerInlet;
use super::stream::peer_receiver::PeerReceiver;
use super::stream::socket::SocketAddress;
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError,
};
use client::TcpqSubscriber;
pub use counters::{ClientCounters, ServerCounters};
use outlet::TcpqOutlet;
pub use server::TcpqServer;

/// The TCP port that LCM's programs use by default.
pub const PORT: u16 = 7700;
/// The number of the server's connection.
const SERVER: u64 = 0;
/// Header and channel of a message.
const AROUND: usize = 12 + 64;

/// A client of LCM's TCP server.
#[derive(Debug)]
pub struct Tcpq {
    address: Address,
    server_address: String,
    queue: usize,
    send_wait: Duration,
    longest: usize,
}

impl Tcpq {
    /// Opens the client that a URL describes. It connects nothing yet.
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
    /// If the port is invalid, or a parameter is unknown or invalid.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let mut given = address.parameters();
        let tcpq = Self {
            server_address: address.endpoint("127.0.0.1", PORT)?,
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
            format!("no server answers at {}{reason}", self.server_address),
            "start one: `kadenz msg server`, or LCM's `java -cp lcm.jar lcm.lcm.TCPService`",
        )
    }
}

impl Provider for Tcpq {
    fn guarantees(&self) -> Guarantees {
        let wait_ms = u32::try_from(self.send_wait.as_millis()).unwrap_or(u32::MAX);
        Guarantees {
            order: DeliveryOrder::Kept,
            // A server does not report to the client what it drops for a slow client.
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
        let server_address = SocketAddress::Tcp(self.server_address.clone());
        let outlet = TcpqOutlet::connect(server_address, self.queue, self.send_wait);
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
        let make = move |buffer: &mut Vec<u8>| TcpqSubscriber::begin(longest, buffer);
        receiver.connect(
            SERVER,
            SocketAddress::Tcp(self.server_address.clone()),
            Box::new(make),
        );
        // Later the client waits for the server; at the start the caller can still take the error.
        if !receiver.is_connected(SERVER) {
            return Err(self.no_server(""));
        }
        Ok(Box::new(PeerInlet {
            receiver,
            expected: None,
        }))
    }
}

/// The limits of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// The address at which it listens; port 0 lets the kernel choose.
    pub address: SocketAddr,
    /// Bytes that may wait for a client that does not read. Once a message does not fit, all are dropped and
    /// counted until the client has taken half of what waits.
    pub queue: usize,
    /// The longest message, in bytes; a client that sends a longer one is disconnected.
    pub longest: usize,
    /// The maximum number of clients. A client that connects when all slots are taken gets that of a client
    /// without a handshake, or else of one that has neither subscribed nor published, or else of the one
    /// that has been idle for the longest; if there is none, the server refuses it.
    pub clients: usize,
    /// Memory for all clients together, in bytes: parts of messages, messages that wait, patterns. If it is
    /// not enough, the server disconnects a client that has stalled, or else the one that holds the most. At
    /// least twice `longest` and 1 MiB.
    pub memory: usize,
    /// How long a client may take to complete the handshake before it is disconnected; LCM's do so at once.
    pub handshake_timeout: Duration,
    /// A client that has sent and taken nothing for so long is idle: another may get its slot. One that has
    /// taken nothing of its waiting messages for so long, or is so far behind 64 KiB a second with a message
    /// that it sends, has stalled: another may get its memory.
    pub idle_timeout: Duration,
}

impl ServerOptions {
    /// Returns the minimum of [`ServerOptions::memory`]: for a received message and its copy for clients that
    /// do not read it at once.
    #[must_use]
    pub fn least_memory(&self) -> usize {
        self.longest.saturating_mul(2).saturating_add(1 << 20)
    }
}

impl Default for ServerOptions {
    /// LCM's port on the loopback address, so that no other host is served unless the caller sets another
    /// address.
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], PORT)),
            queue: 4_000_000,
            longest: 64 << 20,
            clients: 16_384,
            memory: 256 << 20,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
        }
    }
}
