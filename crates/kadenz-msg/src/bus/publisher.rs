use std::borrow::Cow;
use std::marker::PhantomData;

use crate::channel::Channel;
use crate::codec::EncodeError;
use crate::message::{Fingerprint, Message};
use crate::provider::{Outlet, PublishError};
use crate::sync::Lock;

/// Publishes messages of one type to one channel.
///
/// [`Guarantees::real_time`]: crate::provider::Guarantees::real_time
///
/// # Real-time safety
/// [`Publisher::publish`] allocates nothing, takes no lock and waits for nothing if the provider is real-time
/// safe ([`Guarantees::real_time`]); the message is encoded in the memory from which it is sent.
#[derive(Debug)]
pub struct Publisher<M> {
    channel: Channel,
    outlet: Box<dyn Outlet>,
    of: PhantomData<fn(&M)>,
}

/// The reason for which a message was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The message cannot be encoded.
    #[error("the message for {channel} cannot be encoded: {source}")]
    Encode {
        /// The channel that the message was to be sent on.
        channel: Channel,
        /// The error of the encoder.
        source: EncodeError,
    },
    /// The provider did not take it.
    #[error(transparent)]
    Provider(#[from] PublishError),
    /// The channel is invalid.
    #[error(transparent)]
    Channel(#[from] crate::channel::ChannelError),
    /// The provider gave no outlet.
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
    /// If the message cannot be encoded, or the provider does not take it. The publisher stays usable.
    pub fn publish(&mut self, message: &M) -> Result<(), SendError> {
        publish(&mut *self.outlet, &self.channel, message)
    }

    /// Publishes bytes that are encoded already.
    ///
    /// # Errors
    /// If the provider does not take them.
    pub fn publish_bytes(&mut self, payload: &[u8]) -> Result<(), SendError> {
        Ok(self.outlet.publish(&self.channel, payload)?)
    }

    /// Lets `fill` write an encoded message of that length into the memory from which the provider sends: for
    /// large messages, which are then written once and never copied if the provider shares memory. The
    /// message is not sent if `fill` returns `false`; returns whether it was sent.
    ///
    /// # Errors
    /// If the provider does not take it.
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

/// Encodes a message in the memory from which it is sent, and sends it.
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

// The types that a bus publishes, from which others can learn their descriptions.

/// The maximum number of types; a program has tens.
const MAX: usize = 1000;

/// The description of a published type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublishedType {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) name: Cow<'static, str>,
    pub(crate) text: Cow<'static, str>,
}

/// The types of a bus's publishers, as long as the bus lives.
#[derive(Debug)]
pub(crate) struct PublishedTypes {
    types: Lock<Vec<PublishedType>>,
}

impl Default for PublishedTypes {
    fn default() -> Self {
        let types = Lock::new(Vec::new());
        Self { types }
    }
}

impl PublishedTypes {
    /// Adds a type, once. A type without a text, such as raw bytes, is left out.
    pub(crate) fn add<M: Message>(&self) {
        if !M::DESCRIPTION.is_empty() {
            self.add_type(PublishedType {
                fingerprint: M::FINGERPRINT,
                name: Cow::Borrowed(M::NAME),
                text: Cow::Borrowed(M::DESCRIPTION),
            });
        }
    }

    /// Adds a type that is known only at run time, once.
    pub(crate) fn add_type(&self, published: PublishedType) {
        self.types.with(|types| {
            if types.len() < MAX && !types.contains(&published) {
                types.push(published);
            }
        });
    }

    /// Returns the type of a fingerprint.
    pub(crate) fn find(&self, fingerprint: Fingerprint) -> Option<PublishedType> {
        self.types.with(|types| {
            let mut types = types.iter();
            types.find(|it| it.fingerprint == fingerprint).cloned()
        })
    }
}
