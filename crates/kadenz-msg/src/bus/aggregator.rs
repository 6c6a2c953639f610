use std::time::Duration;

use kadenz_rt::clock;

use super::SubscribeError;
use super::delivery::{Delivery, RecvError};
use super::mailbox::Counters;
use super::subscription::CounterWatcher;
use super::subscription_core::SubscriptionCore;
use crate::arrival::Stamps;
use crate::channel::{Channel, Pattern};
use crate::message::{Fingerprint, Message};

/// Receives the messages of many channels in the order of arrival, as bytes: LCM's message aggregator, and
/// the base of tools that have no types.
///
/// ```
/// use std::time::Duration;
/// use kadenz_msg::bus::Bus;
///
/// let bus = Bus::open("memq://")?;
/// let mut aggregator = bus.aggregator("FEEDBACK|COMMAND")?;
/// bus.publish_bytes("FEEDBACK", &[1, 2, 3])?;
/// let message = aggregator.next_message(Duration::from_secs(5))?.expect("one was published");
/// assert_eq!((message.channel.as_str(), message.payload), ("FEEDBACK", &[1, 2, 3][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// [`Aggregator::next_message`] is real-time safe as [`Subscription::recv_into`](super::Subscription::recv_into), and
/// the counters as those of a subscription. [`Aggregator::add`] is not: it allocates, and may wait for the provider.
#[derive(Debug)]
pub struct Aggregator {
    core: SubscriptionCore,
}

/// A message as bytes.
///
/// # Real-time safety
/// Real-time safe, except for [`Raw::decode`], which allocates what the type of the message needs.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// The channel it was published to.
    pub channel: Channel,
    /// The whole encoded message.
    pub payload: &'a [u8],
    /// Its sender and its times.
    pub delivery: Delivery,
}

impl Aggregator {
    pub(super) fn new(core: SubscriptionCore) -> Self {
        Self { core }
    }

    /// Subscribes to further channels: a name, or a regular expression that matches whole names.
    ///
    /// # Errors
    /// If the pattern is invalid, or the provider cannot reach its peer.
    pub fn add(&mut self, pattern: &str) -> Result<(), SubscribeError> {
        Ok(self.core.add(Pattern::new(pattern)?)?)
    }

    /// Waits for the next message of any of its channels; `None` after the timeout. The message is
    /// lent until the next call.
    ///
    /// [`Subscription::recv_into`]: super::Subscription::recv_into
    ///
    /// # Errors
    /// If nothing can be received, or a log has ended.
    ///
    /// # Real-time safety
    /// Real-time safe as [`Subscription::recv_into`].
    pub fn next_message(&mut self, timeout: Duration) -> Result<Option<Raw<'_>>, RecvError> {
        if !self.core.next(timeout)? {
            return Ok(None);
        }
        self.core.mailbox.tallies.received.add_one();
        let message = &self.core.message;
        Ok(Some(Raw {
            channel: message.envelope.channel,
            payload: &message.payload,
            delivery: Delivery::decoded_now(&message.envelope, clock::now()),
        }))
    }

    /// Returns the counters of its messages.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.core.mailbox.tallies.read()
    }

    /// A way to read its counters from another thread.
    #[must_use]
    pub fn watcher(&self) -> CounterWatcher {
        CounterWatcher::of(&self.core.mailbox)
    }
}

impl Raw<'_> {
    /// The fingerprint of its type; `None` for fewer than eight bytes, which no LCM message has.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        Fingerprint::of(self.payload)
    }

    /// Returns the times at which the message passed the kernel and this program.
    #[must_use]
    pub fn stamps(&self) -> Stamps {
        self.delivery.info.stamps
    }

    /// Decodes the payload as a message of that type.
    ///
    /// # Errors
    /// If the payload is of another type.
    pub fn decode<M: Message + Default>(&self) -> Result<M, RecvError> {
        let channel = self.channel;
        M::decode(self.payload).map_err(|source| RecvError::Decode { channel, source })
    }
}
