//! How long does a message take from one program to another?
//!
//! A publisher keeps the beat; each message carries its beat and the time at which it was published, and each
//! subscriber records when it had decoded the message. Publisher and subscribers run on one host, whose processes share
//! `CLOCK_MONOTONIC`.
//!
//! # Series
//!
//! | series | value |
//! |---|---|
//! | `one-way` | when the message was there, decoded, less its beat: no stall of the publisher is hidden |
//! | `one-way-from-send` | the same, less when it was published |
//! | `kernel-to-inlet` | from the kernel's stamp until the message was there whole, where the kernel stamps |
//! | `queue` | from there until the subscriber's thread took it out of its queue |
//! | `decode` | decoding |
//! | `publish-lateness` | when it was published, less its beat |
//! | `publish` | duration of the publish call, carried by the next message |
//!
//! With several subscribers each has its own: `subscriber-2.one-way`. What was lost, doubled,
//! reordered or dropped is counted in the run's `messages`.

mod arrivals;
mod experiment;
mod latency_probe;
mod listener;
pub mod program;
mod publisher;
mod series;

use std::time::Duration;

use kadenz_msg::bus::{AdvertiseError, SendError, SubscribeError};
use kadenz_msg::provider::ProviderError;

use crate::measuring::ExperimentError;
use crate::probes::{ProbeCommand, ProbeFailed};

pub(crate) use experiment::{LatencySetup, PubSubConnection};
pub use experiment::{can_spin, latency, run_number};
pub use latency_probe::{LatencyProbe, MIN};
pub use publisher::Source;
pub use publisher::{PublishPlan, Published, greet, publish_on_beat};

// The plan of a measurement, and why it may fail.

/// The channel of the measurement, unless another is named.
pub const CHANNEL: &str = "KADENZ_LATENCY";

/// What a latency experiment measures.
#[derive(Clone, Debug)]
pub struct LatencyPlan {
    /// The URL of the bus.
    pub url: String,
    /// The channel that is published to.
    pub channel: String,
    /// The messages to publish.
    pub publish: PublishPlan,
    /// How many subscribers there are, each with a bus and a thread of its own; at least one.
    pub subscribers: usize,
    /// A probe that subscribes, started once per subscriber; without it, each subscriber has a bus in this process.
    pub subscriber: Option<ProbeCommand>,
    /// How the subscribers wait.
    pub receiving: Receiving,
    /// How many messages may wait for each of them.
    pub queue: usize,
    /// How long it may take until a message has come to every subscriber.
    pub timeout: Duration,
}

/// How a subscriber waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiving {
    /// The kernel, or the publisher's thread, wakes it.
    Blocking,
    /// It polls, and keeps its CPU busy.
    Spinning,
}

/// Why messages could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MessagesError {
    /// The bus cannot be opened.
    #[error(transparent)]
    Open(#[from] ProviderError),
    /// The bus cannot receive.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// The bus cannot publish.
    #[error(transparent)]
    Advertise(#[from] AdvertiseError),
    /// The provider refused the first message.
    #[error("the first message was not published: {0}")]
    Greeting(#[from] SendError),
    /// A probe does not fit into a message of this size.
    #[error(
        "a message of {0} bytes cannot be measured: it carries its times, so it has at least {least} \
         and less than 2 GiB",
        least = MIN
    )]
    Size(usize),
    /// There is no subscriber.
    #[error("there is no subscriber to measure; take one at least")]
    NoSubscriber,
    /// Messages leave and do not arrive.
    #[error(
        "{published} messages were published on {url}, and none of them came to subscriber {subscriber} \
         within {waited:?}: see `kadenz msg doctor --url '{url}'`; over udpm:// it is mostly a missing \
         route (ip route add 224.0.0.0/4 dev lo) or a firewall"
    )]
    Unheard {
        /// The URL of the bus.
        url: String,
        /// The subscriber without a message, counted from 1.
        subscriber: usize,
        /// How many were published; 0 where another process publishes.
        published: u64,
        /// How long the measurement waited.
        waited: Duration,
    },
    /// The publishing process failed.
    #[error("the publisher failed: {0}")]
    Source(String),
    /// A probe failed before anything was measured.
    #[error(transparent)]
    Probe(#[from] ProbeFailed),
}

impl From<MessagesError> for ExperimentError {
    fn from(error: MessagesError) -> Self {
        Self::Messages(Box::new(error))
    }
}

#[cfg(test)]
mod tests;
