//! The transports of messages, chosen by URL; a file each.
//!
//! A provider gives *outlets*, one for each publisher, and one *inlet* for a bus. Both belong to one
//! thread at a time, so that neither needs a lock of its own.

pub mod amqp;
mod choose;
#[cfg(feature = "dds")]
pub mod dds;
pub mod file;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod memq;
mod notifier;
pub mod parameters;
pub mod ros1;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub mod shm;
mod stream;
pub mod tcpq;
pub mod udpm;
#[cfg(feature = "zenoh")]
pub mod zenoh;
pub mod zmq;

use std::fmt;
use std::sync::Arc;

pub use choose::{DEFAULT_URL, SCHEMES, default_url, open};

pub use kadenz_rt::net::port::Wait;
use kadenz_rt::tuning::Measure;

use crate::arrival::Arrival;
use crate::channel::{Channel, Pattern};
use crate::loss::LossMeter;

/// A transport of messages between the programs that open the same URL.
pub trait Provider: Send + Sync + fmt::Debug {
    /// Returns what the provider guarantees: order, loss, history and the longest payload.
    fn guarantees(&self) -> Guarantees;

    /// Returns a way to publish, for one thread at a time.
    ///
    /// # Errors
    /// If a socket, memory or the peer is missing.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError>;

    /// Returns the way to receive, for one thread at a time; a bus requests one.
    ///
    /// # Errors
    /// If a socket, memory or the peer is missing, or the provider can only publish.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError>;

    /// Returns the settings that were requested of the system and those granted, of all that was opened.
    fn measures(&self) -> Vec<Measure> {
        Vec::new()
    }
}

/// The end of a provider that publishes messages.
///
/// # Real-time safety
/// Real-time safety is the provider's; see its [`Guarantees`].
pub trait Outlet: Send + fmt::Debug {
    /// Hands one message to the subscribers. Never waits longer than the provider documents.
    ///
    /// # Errors
    /// If the message was not handed over. The outlet stays usable.
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError>;

    /// Lets `fill` write a message of that length into the memory from which the provider sends; for large
    /// messages. Providers without such memory fill a buffer of their own, which they keep.
    ///
    /// # Errors
    /// As [`Outlet::publish`]; nothing is sent if `fill` returns `false`.
    fn publish_in_place(
        &mut self,
        channel: &Channel,
        length: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, PublishError>;
}

/// Receives messages of the wanted channels.
pub trait Inlet: Send + fmt::Debug {
    /// Sets the wanted channels from now on, all of them. A provider may still deliver others.
    ///
    /// # Errors
    /// If the provider cannot reach its peer.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError>;

    /// Waits for messages and hands each to `take`, until `take` ends the batch or the first batch is at its
    /// end. The rest of a batch comes first at the next call, before any wait. Allocates only for a message
    /// larger than all before.
    ///
    /// # Errors
    /// If nothing can be received now. The inlet stays usable, and the next call tries again.
    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError>;

    /// A way to end its wait from another thread.
    fn waker(&self) -> Arc<dyn Wake>;

    /// Returns the counters of messages before their delivery, since the inlet was opened.
    fn counters(&self) -> InletCounters {
        InletCounters::default()
    }

    /// Returns the losses by the senders' numbers, if the inlet follows these itself, since it also reads
    /// messages that it does not hand over; else the bus follows them.
    fn losses(&self) -> Option<&LossMeter> {
        None
    }
}

/// Takes messages, one after another.
pub type Take<'t> = &'t mut dyn FnMut(Arrival<'_>) -> More;

/// Ends an inlet's wait. Using it while the inlet does not wait ends its next wait.
///
/// # Real-time safety
/// Real-time safe.
pub trait Wake: Send + Sync + fmt::Debug {
    /// Ends the inlet's wait, or its next one; callable from any thread.
    fn wake(&self);
}

/// The event that ended an inlet's wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// That many messages were handed over, at least one.
    Messages(usize),
    /// No message arrived until the deadline, or only incomplete ones.
    Nothing,
    /// The waker or a signal ended the wait.
    Woken,
    /// No further message will arrive: the end of a log.
    Ended,
}

/// Whether another message of a batch can be taken now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// The caller takes another message now.
    GoOn,
    /// Keep the rest for the next call.
    Enough,
}

/// Counters of messages that could not be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InletCounters {
    /// Datagrams or messages that the kernel or the transport discarded because no inlet took them.
    pub overrun: u64,
    /// Messages of which parts arrived and others never did, or arrived too late.
    pub incomplete: u64,
    /// Received data that was not a message at all.
    pub malformed: u64,
    /// Messages that senders numbered and that never arrived, on whatever channel; `overrun` and `incomplete`
    /// may give the cause of some.
    pub lost: u64,
    /// Messages that arrived once more, and were handed over again.
    pub duplicated: u64,
    /// Messages that arrived after later ones of their sender.
    pub reordered: u64,
    /// How often senders restarted their numbers.
    pub restarted: u64,
    /// The number of times that the network or the peer was gone and was found again.
    pub rejoined: u64,
}

/// The guarantees of a provider; `kadenz msg list --providers` prints them and the conformance suite tests
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantees {
    /// The order in which one sender's messages arrive.
    pub order: DeliveryOrder,
    /// The messages that may be lost.
    pub loss: Loss,
    /// The behaviour of publishing if a subscriber is slow.
    pub back_pressure: BackPressure,
    /// The earlier messages that a late subscriber gets.
    pub history: History,
    /// The way in which programs find each other.
    pub discovery: Discovery,
    /// The longest payload, in bytes.
    pub longest_payload: usize,
    /// Whether publishing allocates nothing and waits for nothing after the outlet's first messages.
    pub real_time: bool,
    /// Whether a large message can be received without being copied.
    pub zero_copy: bool,
}

/// The order in which one sender's messages arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// The order of publishing.
    Kept,
    /// The order of publishing on each channel, if every channel has a connection of its own.
    KeptPerChannel,
    /// The order in which the network delivers.
    AsDelivered,
}

/// The messages that may be lost, while the subscriber's own queue has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing, while both ends live.
    None,
    /// Messages that a slow inlet does not take; counted as overrun.
    WhenSlow,
    /// Messages that a slow inlet does not take and those that the network loses; sequence numbers show them.
    Network,
}

/// The behaviour of publishing if a subscriber is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackPressure {
    /// None: the subscriber loses messages.
    None,
    /// Publishing waits, at most that many milliseconds, and then gives up the message.
    Bounded(u32),
}

/// The messages that a late subscriber gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// A late subscriber gets no earlier message.
    None,
    /// The last message of each channel, where its publisher still lives.
    LastOfEachChannel,
    /// Everything: it is a log.
    Everything,
}

/// The way in which programs find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// By being one process.
    Process,
    /// By a multicast group.
    Multicast,
    /// By shared memory of one host.
    Host,
    /// By a server that must be running.
    Server,
    /// By asking each other.
    Peers,
    /// By the path of a file.
    File,
}

/// The reason for which a provider gave no outlet or inlet.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {reason}; {remedy}")]
pub struct ProviderError {
    /// The URL that was to be opened.
    pub url: String,
    /// What failed, in words.
    pub reason: String,
    /// What the user can do about it.
    pub remedy: String,
}

/// The reason for which a message was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The wire cannot carry it.
    #[error("the message on {channel} has {length} bytes; this provider carries {longest}")]
    TooLong {
        /// The channel of the message.
        channel: Channel,
        /// How long the message is, in bytes.
        length: usize,
        /// The longest message that this provider carries, in bytes.
        longest: usize,
    },
    /// A buffer is full and the provider waits no longer.
    #[error("no room to send on {channel}: {reason}")]
    Full {
        /// The channel of the message.
        channel: Channel,
        /// Which buffer is full, in words.
        reason: &'static str,
    },
    /// The network or the peer refused.
    #[error("the message on {channel} was not sent: {reason}")]
    Refused {
        /// The channel of the message.
        channel: Channel,
        /// The system's error.
        reason: std::io::ErrorKind,
    },
}

/// The reason for which nothing can be received now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// The network interface is gone or down; the inlet joins again when it is back.
    #[error("the network interface is gone or down: {0}")]
    Interface(std::io::ErrorKind),
    /// The peer has gone; the inlet connects again.
    #[error("the connection to {peer} is lost: {reason}")]
    Disconnected {
        /// The peer's address.
        peer: String,
        /// The system's error.
        reason: std::io::ErrorKind,
    },
    /// Peers wait to be accepted, and this process or the system has no descriptor left. Connected peers are
    /// received as before; the others are accepted once a descriptor is free.
    #[error(
        "no file descriptor is left, so new connections wait; raise the limit (`ulimit -n`), or end some of them"
    )]
    NoDescriptor,
}
