//! Common parts of providers over streams: sockets that do not block, a set of peers from which outlets
//! publish to many peers, and a receiver of many peers. The protocol is the provider's, sans-IO.

pub(super) mod acceptor;
pub(super) mod connection_slots;
pub(super) mod note;
pub(super) mod outgoing;
pub(super) mod page_buffer;
pub(super) mod peer_receiver;
pub(super) mod peer_set;
pub(super) mod run_queue;
pub(super) mod socket;

use std::fmt::Debug;
use std::time::Duration;

use crate::arrival::{Arrival, MessageInfo, Payload, SourceInfo};
use crate::channel::Channel;
use crate::provider::{Outlet, PublishError};
use page_buffer::PageBuffer;

/// A connection that is lost or was refused is tried again after so long.
pub(super) const RETRY: Duration = Duration::from_millis(100);

/// A peer violated the protocol; the connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProtocolError;

/// A message in a peer's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamMessage<'a> {
    pub(super) channel: &'a str,
    pub(super) payload: &'a [u8],
    pub(super) source: SourceInfo,
}

impl<'a> StreamMessage<'a> {
    /// Returns the arrival to hand over, now.
    fn arrival(self) -> Arrival<'a> {
        Arrival {
            channel: self.channel,
            payload: Payload::Borrowed(self.payload),
            info: MessageInfo::now(self.source),
        }
    }
}

/// The item at the front of a peer's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadOutcome<'a> {
    /// The item is incomplete.
    Short,
    /// An item without a message, of that many bytes.
    Other(usize),
    /// Bytes in place of a message that are not a valid one, and their number.
    Malformed(usize),
    /// A message, of that many bytes.
    Message(usize, StreamMessage<'a>),
}

// Lengths and in-place payloads of outlets.

/// Refuses a message that is longer than allowed.
pub(in crate::provider) fn refuse_too_long(
    channel: &Channel,
    length: usize,
    longest: usize,
) -> Result<(), PublishError> {
    if length <= longest {
        return Ok(());
    }
    Err(PublishError::TooLong {
        channel: *channel,
        length,
        longest,
    })
}

/// The part of an outlet beside [`Buffered`].
pub(in crate::provider) trait Publish: Send + Debug {
    /// As [`Outlet::publish`], for a message that is not too long.
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError>;
}

/// An outlet that refuses long messages, and has a buffer for those that are written in place, which only
/// grows.
///
/// # Real-time safety
/// Real-time safe once it has held a message as long, if `fill` and publishing are.
#[derive(Debug)]
pub(in crate::provider) struct Buffered<P> {
    publish: P,
    longest: usize,
    buffer: PageBuffer,
}

impl<P: Publish + 'static> Buffered<P> {
    pub(in crate::provider) fn outlet(publish: P, longest: usize) -> Box<dyn Outlet> {
        Box::new(Self {
            publish,
            longest,
            buffer: PageBuffer::to_send(),
        })
    }
}

impl<P: Publish> Outlet for Buffered<P> {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        refuse_too_long(channel, payload.len(), self.longest)?;
        self.publish.publish(channel, payload)
    }

    fn publish_in_place(
        &mut self,
        channel: &Channel,
        length: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, PublishError> {
        refuse_too_long(channel, length, self.longest)?;
        let payload = self.buffer.front(length);
        if !fill(payload) {
            return Ok(false);
        }
        self.publish.publish(channel, payload).map(|()| true)
    }
}
