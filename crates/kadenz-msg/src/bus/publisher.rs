use std::marker::PhantomData;

use crate::channel::Channel;
use crate::codec::EncodeError;
use crate::message::Message;
use crate::provider::{Outlet, PublishError};

/// Publishes messages of one type to one channel.
///
/// Real-time safety: [`Publisher::publish`] allocates nothing, takes no lock and waits for nothing
/// where the provider is real-time safe ([`Guarantees::real_time`]); the message is encoded right
/// where it is sent from.
///
/// [`Guarantees::real_time`]: crate::provider::Guarantees::real_time
#[derive(Debug)]
pub struct Publisher<M> {
    channel: Channel,
    outlet: Box<dyn Outlet>,
    of: PhantomData<fn(&M)>,
}

/// Why a message was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It cannot be encoded.
    #[error("the message for {channel} cannot be encoded: {source}")]
    Encode {
        /// The channel.
        channel: Channel,
        /// What is wrong with it.
        source: EncodeError,
    },
    /// The provider did not take it.
    #[error(transparent)]
    Provider(#[from] PublishError),
    /// That is no channel.
    #[error(transparent)]
    Channel(#[from] crate::channel::ChannelError),
    /// There is no way to send.
    #[error("no way to send: {0}")]
    NoOutlet(String),
}

impl<M: Message> Publisher<M> {
    pub(super) fn new(channel: Channel, outlet: Box<dyn Outlet>) -> Self {
        Self {
            channel,
            outlet,
            of: PhantomData,
        }
    }

    /// Publishes one message.
    ///
    /// # Errors
    /// Where it cannot be encoded, or the provider does not take it. The publisher stays usable.
    pub fn publish(&mut self, message: &M) -> Result<(), SendError> {
        publish(&mut *self.outlet, &self.channel, message)
    }

    /// Publishes bytes that are encoded already.
    ///
    /// # Errors
    /// Where the provider does not take them.
    pub fn publish_bytes(&mut self, payload: &[u8]) -> Result<(), SendError> {
        Ok(self.outlet.publish(&self.channel, payload)?)
    }

    /// Lets `fill` write an encoded message of that length right where it is sent from: for large
    /// messages, which are then written once and never copied where the provider shares memory. Not
    /// sent where `fill` returns `false`; tells whether it was.
    ///
    /// # Errors
    /// Where the provider does not take it.
    pub fn publish_in_place(
        &mut self,
        length: usize,
        mut fill: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, SendError> {
        let channel = &self.channel;
        Ok(self.outlet.publish_in_place(channel, length, &mut fill)?)
    }

    /// The channel it publishes to.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }
}

/// Encodes a message where it is sent from, and sends it.
pub(crate) fn publish<M: Message>(
    outlet: &mut dyn Outlet,
    channel: &Channel,
    message: &M,
) -> Result<(), SendError> {
    let mut failed = None;
    let length = message.encoded_length();
    outlet.publish_in_place(channel, length, &mut |buffer| {
        failed = message.encode_into(buffer).err();
        failed.is_none()
    })?;
    match failed {
        None => Ok(()),
        Some(source) => Err(SendError::Encode {
            channel: *channel,
            source,
        }),
    }
}
