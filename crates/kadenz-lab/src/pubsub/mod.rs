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
mod listener;
mod plan;
mod probe;
mod publisher;
mod series;
mod source;

pub use arrivals::{ArrivalCounts, Heard};
pub(crate) use experiment::{Prepared, Ready};
pub use experiment::{can_spin, latency, run_number};
pub use plan::{CHANNEL, LatencyPlan, MessagesError, Receiving};
pub use probe::{MIN, Probe};
pub use publisher::{PublishPlan, Published, greet, publish_on_beat};
pub use source::Source;

#[cfg(test)]
mod tests;
