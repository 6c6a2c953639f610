//! How rustdds makes bytes of messages and messages of bytes.

use std::convert::Infallible;

use rustdds::RepresentationIdentifier;
use rustdds::bytes::Bytes;
use rustdds::no_key::{Decode, DeserializerAdapter, SerializerAdapter};

use super::wire::{self, Order};
use crate::channel::{Channel, Pattern};

/// What both ends are made with.
pub(super) struct Cdr;

/// A message that is written already, the lowest byte of a length first.
pub(super) struct Written(pub(super) Bytes);

impl SerializerAdapter<Written> for Cdr {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(message: &Written) -> Result<Bytes, Infallible> {
        Ok(message.0.clone())
    }
}

/// What a sample turned out to be.
pub(super) enum Came {
    /// A message that is wanted, copied.
    Message { channel: Channel, payload: Vec<u8> },
    /// One that nobody wants.
    Unwanted { channel: Channel },
    /// No message at all.
    Malformed,
}

impl DeserializerAdapter<Came> for Cdr {
    type Error = Infallible;
    type Decoded = Came;

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        &[
            RepresentationIdentifier::CDR_LE,
            RepresentationIdentifier::CDR_BE,
        ]
    }

    fn transform_decoded(came: Came) -> Came {
        came
    }
}

/// Copies those that are wanted alone.
#[derive(Clone, Copy)]
pub(super) struct Sieve<'a> {
    pub(super) wanted: &'a [Pattern],
    /// The longest payload that is taken.
    pub(super) largest: usize,
}

impl<'de> Decode<'de, Came> for Sieve<'_> {
    type Error = Infallible;

    fn decode_bytes(
        self,
        bytes: &'de [u8],
        encoding: RepresentationIdentifier,
    ) -> Result<Came, Infallible> {
        let order = if encoding == RepresentationIdentifier::CDR_BE {
            Order::Big
        } else {
            Order::Little
        };
        let heard = wire::read(bytes, order).filter(|heard| heard.payload.len() <= self.largest);
        let named =
            heard.and_then(|heard| Some((Channel::new(heard.channel).ok()?, heard.payload)));
        let Some((channel, payload)) = named else {
            return Ok(Came::Malformed);
        };
        if !self.wanted.iter().any(|it| it.matches(channel.as_str())) {
            return Ok(Came::Unwanted { channel });
        }
        let payload = payload.to_vec();
        Ok(Came::Message { channel, payload })
    }
}
