//! Messages between a robot's programs: a small bus, chosen by a URL, that is LCM on the wire.
//!
//! A [`Bus`](bus::Bus) publishes to channels and subscribes to them; a [`provider`] moves the bytes, and
//! `udpm://` is LCM's own, so that every LCM program in any language takes part unchanged. Messages are
//! LCM's: described in `.lcm` files ([`types`]), encoded big-endian after a fingerprint of their description
//! ([`codec`], [`message`]).
//!
//! - [`message`]: the trait of every message type, and raw bytes as a message.
//! - [`codec`]: reading and writing the encoding in a caller's buffer.
//! - [`types`]: the `.lcm` language, fingerprints, and messages known only at run time.
//! - [`generate`]: code for `.lcm` files, in Rust and other languages.
//! - [`wire`]: LCM's datagrams and frames, sans-IO.
//! - [`channel`]: names of channels and patterns of them.
//! - [`arrival`]: a message as it arrives, with its sender and its times.
//! - [`provider`]: the transports of messages, a file each.
//! - [`bus`]: publishing, subscribing, and the ways to receive.
//! - [`bridge`]: carrying the messages of one bus to another.
//! - [`loss`]: how many messages of which sender were lost, from LCM's own sequence numbers.
//! - [`multicast`]: the reasons for which multicast fails on a host, and their remedies.
//! - [`service`]: requests, parameters, heartbeats, clock offsets and types on the wire.
//! - [`log`]: event logs and MCAP, recording and playing.
//! - [`playing`]: a log onto a bus.
//! - [`recording`]: a bus into a log.
//! - [`watch`]: rates, jitter, bandwidth and loss of the messages on a bus.
//!
//! Nothing here logs. Functions for a real-time path have a section on their real-time safety.

/// Shows the named fields of a type; the others cannot be shown, or are of no use.
macro_rules! show_fields {
    ($of:ident: $($field:ident),*) => {
        impl std::fmt::Debug for $of {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = formatter.debug_struct(stringify!($of));
                $(shown.field(stringify!($field), &self.$field);)*
                shown.finish_non_exhaustive()
            }
        }
    };
}

pub mod arrival;
pub mod bridge;
pub mod bus;
pub mod channel;
pub mod codec;
pub mod generate;
#[cfg(feature = "schema")]
mod json;
pub mod log;
pub mod loss;
pub mod message;
pub mod multicast;
pub mod playing;
pub mod provider;
pub mod recording;
pub mod service;
mod sync;
pub mod types;
pub mod watch;
pub mod wire;
