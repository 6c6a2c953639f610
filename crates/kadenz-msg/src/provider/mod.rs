//! What moves messages, chosen by URL; a file each.
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

/// What moves messages between the programs that open the same URL.
pub trait Provider: Send + Sync + fmt::Debug {
    /// What it promises.
    fn guarantees(&self) -> Guarantees;

    /// A way to publish, for one thread at a time.
    ///
    /// # Errors
    /// Where there is no socket, memory or peer to be had.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError>;

    /// The way to receive, for one thread at a time; a bus asks for one.
    ///
    /// # Errors
    /// Where there is no socket, memory or peer to be had, or it can only publish.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError>;

    /// What was asked of the system and what it granted, as far as something was opened.
    fn measures(&self) -> Vec<Measure> {
        Vec::new()
    }
}

/// Publishes.
///
/// # Real-time safety
/// Real-time safety is the provider's, and stands in its [`Guarantees`].
pub trait Outlet: Send + fmt::Debug {
    /// Hands one message to whoever subscribes. Never waits longer than the provider says.
    ///
    /// # Errors
    /// Where it was not handed over. The outlet stays usable.
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError>;

    /// Lets `fill` write a message of that length right where it is sent from; for large messages.
    /// Providers without such memory fill a buffer of their own, which they keep.
    ///
    /// # Errors
    /// As [`Outlet::publish`]; nothing is sent where `fill` returns `false`.
    fn publish_in_place(
        &mut self,
        channel: &Channel,
        length: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, PublishError>;
}

/// Receives what was published to the channels that are wanted.
pub trait Inlet: Send + fmt::Debug {
    /// Says which channels are wanted from now on, all of them. A provider may still deliver others.
    ///
    /// # Errors
    /// Where the provider cannot reach its peer.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError>;

    /// Waits for messages and hands each to `take`, until that says that it is enough or the first
    /// batch is at its end. What is left of a batch comes first at the next call, before anything is
    /// waited for. Allocates nothing but what a message larger than all before needs.
    ///
    /// # Errors
    /// Where nothing can be received now. The inlet stays usable, and the next call tries again.
    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError>;

    /// A way to end its wait from another thread.
    fn waker(&self) -> Arc<dyn Wake>;

    /// What became of messages before anybody could take them, since the inlet was opened.
    fn counters(&self) -> InletCounters {
        InletCounters::default()
    }

    /// What the senders' numbers tell, where it follows them itself, since it sees messages that it does
    /// not hand over; else the bus does.
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
    /// Ends the wait.
    fn wake(&self);
}

/// What ended an inlet's wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// That many messages were handed over, at least one.
    Messages(usize),
    /// Nothing came until the deadline, or what came is no whole message yet.
    Nothing,
    /// It was woken, or a signal arrived.
    Woken,
    /// Nothing will come any more: the end of a log.
    Ended,
}

/// Whether another message of a batch can be taken now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Go on.
    GoOn,
    /// Keep what is left for the next call.
    Enough,
}

/// What became of messages that nobody could take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InletCounters {
    /// Datagrams or messages that the kernel or the transport threw away because nobody fetched them.
    pub overrun: u64,
    /// Messages of which parts came and others never did, or came too late.
    pub incomplete: u64,
    /// What came and was no message at all.
    pub malformed: u64,
    /// Messages that senders numbered and that never came, on whatever channel; of which `overrun` and
    /// `incomplete` may tell the cause.
    pub lost: u64,
    /// Messages that came once more, and were handed over again.
    pub duplicated: u64,
    /// Messages that came after later ones of their sender.
    pub reordered: u64,
    /// How often senders began to number anew.
    pub restarted: u64,
    /// How often the network or the peer was gone and was found again.
    pub rejoined: u64,
}

/// What a provider promises; printed by `kadenz msg list --providers` and held by the conformance suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantees {
    /// In which order one sender's messages arrive.
    pub order: DeliveryOrder,
    /// What may be lost.
    pub loss: Loss,
    /// What publishing does when a subscriber is slow.
    pub back_pressure: BackPressure,
    /// What a late subscriber still gets.
    pub history: History,
    /// How programs find each other.
    pub discovery: Discovery,
    /// The longest payload, in bytes.
    pub longest_payload: usize,
    /// Whether publishing allocates nothing and waits for nothing after the outlet's first messages.
    pub real_time: bool,
    /// Whether a large message can be received without being copied.
    pub zero_copy: bool,
}

/// In which order one sender's messages arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// As they were published.
    Kept,
    /// As they were published to each channel, where every channel has a connection of its own.
    KeptPerChannel,
    /// As the network delivers them.
    AsDelivered,
}

/// What may be lost, while the subscriber's own queue has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing, while both ends live.
    None,
    /// What a slow inlet does not fetch; counted as overrun.
    WhenSlow,
    /// What a slow inlet does not fetch and what the network loses; told by sequence numbers.
    Network,
}

/// What publishing does when a subscriber is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackPressure {
    /// Nothing: the subscriber loses.
    None,
    /// It waits, at most that many milliseconds, and then gives up the message.
    Bounded(u32),
}

/// What a subscriber gets that came too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// Nothing.
    None,
    /// The last message of each channel, where its publisher still lives.
    LastOfEachChannel,
    /// Everything: it is a log.
    Everything,
}

/// How programs find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// They are one process.
    Process,
    /// By a multicast group.
    Multicast,
    /// By shared memory of one host.
    Host,
    /// By a server that must be running.
    Server,
    /// By asking each other.
    Peers,
    /// It is a file.
    File,
}

/// Why a provider gave no outlet or inlet.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {reason}; {remedy}")]
pub struct ProviderError {
    /// What was opened.
    pub url: String,
    /// What went wrong.
    pub reason: String,
    /// What mends it.
    pub remedy: String,
}

/// Why a message was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The wire cannot carry it.
    #[error("the message on {channel} has {length} bytes; this provider carries {longest}")]
    TooLong {
        /// The channel.
        channel: Channel,
        /// How long the message is, in bytes.
        length: usize,
        /// How long one may be.
        longest: usize,
    },
    /// A buffer is full and the provider waits no longer.
    #[error("no room to send on {channel}: {reason}")]
    Full {
        /// The channel.
        channel: Channel,
        /// Whose buffer.
        reason: &'static str,
    },
    /// The network or the peer refused.
    #[error("the message on {channel} was not sent: {reason}")]
    Refused {
        /// The channel.
        channel: Channel,
        /// What was said.
        reason: std::io::ErrorKind,
    },
}

/// Why nothing can be received now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// The network interface is gone or down; the inlet joins again when it is back.
    #[error("the network interface is gone or down: {0}")]
    Interface(std::io::ErrorKind),
    /// The peer has gone; the inlet connects again.
    #[error("the connection to {peer} is lost: {reason}")]
    Disconnected {
        /// Who.
        peer: String,
        /// What was said.
        reason: std::io::ErrorKind,
    },
    /// Peers wait to be let in, and this process or the system has no descriptor left. Those that are connected
    /// are heard as before; the others are let in once a descriptor is free.
    #[error(
        "no file descriptor is left, so new connections wait; raise the limit (`ulimit -n`), or end some of them"
    )]
    NoDescriptor,
}
