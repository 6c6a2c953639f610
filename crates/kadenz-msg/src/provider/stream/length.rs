//! What outlets over streams do about lengths.

use crate::channel::Channel;
use crate::provider::PublishError;

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

/// The first bytes of a buffer that only grows.
pub(in crate::provider) fn front(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    &mut buffer[..length]
}
