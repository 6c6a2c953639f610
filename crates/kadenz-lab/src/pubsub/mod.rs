//! How long does a message take from one program to another?
//!
//! A publisher keeps the beat; each message carries its beat and when it was published, and each
//! subscriber records when it had it decoded. Publisher and subscribers are of one host, whose
//! processes share `CLOCK_MONOTONIC`.
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
//! | `publish` | how long the call that published took |
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

pub use arrivals::{ArrivalCounts, ArrivalKind};
pub(crate) use experiment::{LatencySetup, PubSubConnection};
pub use experiment::{can_spin, latency, run_number};
pub use latency_probe::{LatencyProbe, MIN};
pub use publisher::Source;
pub use publisher::{PublishPlan, Published, greet, publish_on_beat};

// The plan of a measurement, and why it may fail.

/// The channel that is measured on, unless another is named.
pub const CHANNEL: &str = "KADENZ_LATENCY";

/// What is measured.
#[derive(Clone, Debug)]
pub struct LatencyPlan {
    /// The bus.
    pub url: String,
    /// The channel.
    pub channel: String,
    /// What is published.
    pub publish: PublishPlan,
    /// How many subscribers there are, each with a bus and a thread of its own; at least one.
    pub subscribers: usize,
    /// A probe that subscribes, started as often as there are subscribers; a bus of this process without.
    pub subscriber: Option<ProbeCommand>,
    /// How they wait.
    pub receiving: Receiving,
    /// How many messages may wait for each of them.
    pub queue: usize,
    /// How long it may take until the way is open.
    pub patience: Duration,
}

/// How a subscriber waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiving {
    /// The kernel, or the publisher's thread, wakes it.
    Blocking,
    /// It looks again and again, and keeps its CPU busy.
    Spinning,
}

/// Why messages could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MessagesError {
    /// The bus cannot be opened.
    #[error(transparent)]
    Open(#[from] ProviderError),
    /// Nothing can be received.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// Nothing can be published.
    #[error(transparent)]
    Advertise(#[from] AdvertiseError),
    /// The first message was not taken.
    #[error("the first message was not published: {0}")]
    Greeting(#[from] SendError),
    /// A probe does not fit into a message that short, or that long.
    #[error(
        "a message of {0} bytes cannot be measured: it carries its times, so it has at least {least} \
         and less than 2 GiB",
        least = MIN
    )]
    Size(usize),
    /// Nobody subscribes.
    #[error("there is nobody to measure; take one subscriber at least")]
    NoSubscriber,
    /// Messages leave and do not come.
    #[error(
        "{published} messages were published on {url}, and none of them came to subscriber {subscriber} \
         within {waited:?}: see `kadenz msg doctor --url {url}`; over udpm:// it is mostly a missing \
         route (ip route add 224.0.0.0/4 dev lo) or a firewall"
    )]
    Unheard {
        /// The bus.
        url: String,
        /// Which one heard nothing, counted from 1.
        subscriber: usize,
        /// How many were published; 0 where another process publishes.
        published: u64,
        /// How long was waited.
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
