//! The sender and the times of a received message, beside its content.

use kadenz_rt::clock::{self, MonotonicTime};

use super::mailbox::Envelope;
use crate::arrival::MessageInfo;
use crate::channel::Channel;
use crate::codec::DecodeError;
use crate::provider::ReceiveError;

/// The sender of a message, and the times at which the message passed the kernel and this program.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The channel it was published to.
    pub channel: Channel,
    /// Its sender and number, and when the kernel and the inlet had it.
    pub info: MessageInfo,
    /// When the user's thread took it out of the queue; the time of the inlet if it never waited in one.
    pub dequeued: MonotonicTime,
    /// When it was decoded.
    pub decoded: MonotonicTime,
}

/// How long a message took from hop to hop, in nanoseconds: its latency budget on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hops {
    /// From the kernel's stamp until the inlet held the message whole: the wake-up of the thread, and
    /// for long messages the time until the last fragment. `None` without a stamp.
    pub kernel_to_inlet_ns: Option<i64>,
    /// From there until the user's thread took it out of the queue.
    pub queue_ns: i64,
    /// Time that decoding took.
    pub decode_ns: i64,
}

impl Delivery {
    /// Returns the delivery of a message that has just been decoded.
    pub(super) fn decoded_now(envelope: &Envelope, dequeued: MonotonicTime) -> Self {
        Self {
            channel: envelope.channel,
            info: envelope.info,
            dequeued,
            decoded: clock::now(),
        }
    }

    /// Returns how long the message took from hop to hop.
    #[must_use]
    pub fn hops(&self) -> Hops {
        let taken = self.info.stamps.taken;
        Hops {
            kernel_to_inlet_ns: self.info.stamps.kernel.map(|kernel| taken.since(kernel)),
            queue_ns: self.dequeued.since(taken),
            decode_ns: self.decoded.since(self.dequeued),
        }
    }
}

/// A message with its sender and its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming<M> {
    /// The decoded message.
    pub message: M,
    /// Its sender and its times.
    pub delivery: Delivery,
}

/// The reason for which a receive gave no message. The subscription stays usable: the next call goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecvError {
    /// A message of another type than the subscribed one arrived; it is counted and skipped.
    #[error("on the channel {channel}: {source}")]
    Decode {
        /// The channel of the message.
        channel: Channel,
        /// The error of the decoder.
        source: DecodeError,
    },
    /// Nothing can be received now.
    #[error(transparent)]
    Provider(#[from] ReceiveError),
    /// No further message will arrive: the end of a log.
    #[error("nothing will come any more: the log is at its end")]
    Ended,
}
