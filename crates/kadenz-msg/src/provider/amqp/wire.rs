//! AMQP 0-9-1 in RabbitMQ's form: frames, methods and their fields. Sans-IO.

use crate::provider::stream::ProtocolError;
use crate::provider::stream::note::NOTE;

/// The first bytes of a client.
pub(super) const PROTOCOL: &[u8; 8] = b"AMQP\0\0\x09\x01";

/// The kinds of frames.
pub(super) const METHOD: u8 = 1;
pub(super) const HEADER: u8 = 2;
pub(super) const BODY: u8 = 3;

/// The last byte of a frame.
pub(super) const END: u8 = 0xce;

/// The bytes around a frame's payload.
pub(super) const AROUND: usize = 8;

/// The one AMQP channel that each connection uses.
const CHANNEL: u16 = 1;

/// The name of the message header that holds our note.
const OURS: &[u8] = b"kadenz";

/// A method, by its class and its own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) struct Method(pub(super) u16, pub(super) u16);

impl Method {
    pub(super) const START: Self = Self(10, 10);
    pub(super) const START_OK: Self = Self(10, 11);
    pub(super) const TUNE: Self = Self(10, 30);
    pub(super) const TUNE_OK: Self = Self(10, 31);
    pub(super) const OPEN: Self = Self(10, 40);
    pub(super) const OPEN_OK: Self = Self(10, 41);
    pub(super) const CLOSE: Self = Self(10, 50);
    pub(super) const CLOSE_OK: Self = Self(10, 51);
    pub(super) const CHANNEL_OPEN: Self = Self(20, 10);
    pub(super) const CHANNEL_OPEN_OK: Self = Self(20, 11);
    pub(super) const CHANNEL_CLOSE: Self = Self(20, 40);
    pub(super) const CHANNEL_CLOSE_OK: Self = Self(20, 41);
    pub(super) const EXCHANGE_DECLARE: Self = Self(40, 10);
    pub(super) const EXCHANGE_DECLARE_OK: Self = Self(40, 11);
    pub(super) const QUEUE_DECLARE: Self = Self(50, 10);
    pub(super) const QUEUE_DECLARE_OK: Self = Self(50, 11);
    pub(super) const QUEUE_BIND: Self = Self(50, 20);
    pub(super) const QUEUE_UNBIND: Self = Self(50, 50);
    pub(super) const CONSUME: Self = Self(60, 20);
    pub(super) const CONSUME_OK: Self = Self(60, 21);
    pub(super) const PUBLISH: Self = Self(60, 40);
    pub(super) const DELIVER: Self = Self(60, 60);
}

/// A frame in the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AmqpFrame<'a> {
    pub(super) kind: u8,
    pub(super) payload: &'a [u8],
    /// The length with all fields around the payload, in bytes.
    pub(super) length: usize,
}

/// Returns the frame at the front; `None` while it is incomplete.
pub(super) fn frame(bytes: &[u8], longest: usize) -> Result<Option<AmqpFrame<'_>>, ProtocolError> {
    let Some((head, rest)) = bytes.split_first_chunk::<7>() else {
        return Ok(None);
    };
    let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]) as usize;
    // A server without this version sends its own version instead of a frame.
    if !matches!(head[0], 1..=3 | 8) || size > longest {
        return Err(ProtocolError);
    }
    let Some(payload) = rest.get(..=size) else {
        return Ok(None);
    };
    let (end, payload) = payload.split_last().ok_or(ProtocolError)?;
    if *end != END {
        return Err(ProtocolError);
    }
    Ok(Some(AmqpFrame {
        kind: head[0],
        payload,
        length: AROUND + size,
    }))
}

/// Returns the bytes before a frame's payload.
pub(super) fn frame_head(kind: u8, channel: u16, size: usize) -> [u8; 7] {
    let [c0, c1] = channel.to_be_bytes();
    let [s0, s1, s2, s3] = (size as u32).to_be_bytes();
    [kind, c0, c1, s0, s1, s2, s3]
}

/// Writes one frame: a method's, or that of a content header.
pub(super) struct AmqpFrameWriter<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> AmqpFrameWriter<'a> {
    /// Begins a method, on the connection itself or on our channel.
    pub(super) fn method(buffer: &'a mut Vec<u8>, method: Method) -> Self {
        let channel = if method.0 == 10 { 0 } else { CHANNEL };
        Self::frame(buffer, METHOD, channel)
            .u16(method.0)
            .u16(method.1)
    }

    fn frame(buffer: &'a mut Vec<u8>, kind: u8, channel: u16) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&frame_head(kind, channel, 0));
        Self { buffer, start }
    }

    pub(super) fn u8(self, value: u8) -> Self {
        self.buffer.push(value);
        self
    }

    pub(super) fn u16(self, value: u16) -> Self {
        self.buffer.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn u32(self, value: u32) -> Self {
        self.buffer.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn u64(self, value: u64) -> Self {
        self.buffer.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// A text of at most 255 bytes; what is longer is cut.
    pub(super) fn short(self, text: &[u8]) -> Self {
        let text = &text[..text.len().min(255)];
        self.buffer.push(text.len() as u8);
        self.buffer.extend_from_slice(text);
        self
    }

    pub(super) fn long(self, text: &[u8]) -> Self {
        let this = self.u32(text.len() as u32);
        this.buffer.extend_from_slice(text);
        this
    }

    pub(super) fn end(self) {
        let size = self.buffer.len() - self.start - 7;
        self.buffer[self.start + 3..self.start + 7].copy_from_slice(&(size as u32).to_be_bytes());
        self.buffer.push(END);
    }
}

/// Adds the frames that publish a message, except for its body.
pub(super) fn publish(
    buffer: &mut Vec<u8>,
    exchange: &str,
    key: &str,
    size: usize,
    note: &[u8; NOTE],
) {
    let writer = AmqpFrameWriter::method(buffer, Method::PUBLISH).u16(0);
    writer
        .short(exchange.as_bytes())
        .short(key.as_bytes())
        .u8(0)
        .end();
    let table = 1 + OURS.len() + 1 + 4 + NOTE;
    // Class 60, no weight, the size, and of the properties the table of headers alone.
    let writer = AmqpFrameWriter::frame(buffer, HEADER, CHANNEL)
        .u16(60)
        .u16(0)
        .u64(size as u64);
    let writer = writer.u16(1 << 13).u32(table as u32).short(OURS);
    writer.u8(b'S').long(note).end();
}

/// Returns the bytes before the payload of a body's frame.
pub(super) fn body_head(size: usize) -> [u8; 7] {
    frame_head(BODY, CHANNEL, size)
}

/// Reads the fields of a method or of a content header off the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct AmqpFieldReader<'a>(pub(super) &'a [u8]);

impl<'a> AmqpFieldReader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (front, rest) = self.0.split_first_chunk().ok_or(ProtocolError)?;
        self.0 = rest;
        Ok(*front)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(ProtocolError)?;
        self.0 = rest;
        Ok(front)
    }

    pub(super) fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.take().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.take().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, ProtocolError> {
        self.take().map(u64::from_be_bytes)
    }

    pub(super) fn short(&mut self) -> Result<&'a [u8], ProtocolError> {
        let count = self.u8()?;
        self.bytes(count.into())
    }

    pub(super) fn long(&mut self) -> Result<&'a [u8], ProtocolError> {
        let count = self.u32()?;
        self.bytes(count as usize)
    }

    pub(super) fn method(&mut self) -> Result<Method, ProtocolError> {
        Ok(Method(self.u16()?, self.u16()?))
    }
}

/// Reads a message's header: the size of its body, and Kadenz's note if there is one.
pub(super) fn read_header(payload: &[u8]) -> Result<(u64, Option<&[u8]>), ProtocolError> {
    let mut reader = AmqpFieldReader(payload);
    let _class_and_weight = reader.u32()?;
    let size = reader.u64()?;
    let flags = reader.u16()?;
    // The content's type and encoding precede the headers.
    for property in [15, 14] {
        if flags & (1 << property) != 0 {
            reader.short()?;
        }
    }
    if flags & (1 << 13) == 0 {
        return Ok((size, None));
    }
    Ok((size, note_in(reader.long()?)))
}

/// Returns Kadenz's note, if it is the first in a table of headers; the tables of others may be anything.
fn note_in(table: &[u8]) -> Option<&[u8]> {
    let mut reader = AmqpFieldReader(table);
    let is_ours = reader.short().ok()? == OURS && reader.u8().ok()? == b'S';
    is_ours.then(|| reader.long().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_published_is_read_again() {
        let mut buffer = Vec::new();
        publish(&mut buffer, "amq.topic", "ARM", 5, &[7; NOTE]);
        let method = frame(&buffer, 1000).unwrap().unwrap();
        assert_eq!(method.kind, METHOD);
        let mut fields = AmqpFieldReader(method.payload);
        assert_eq!(fields.method(), Ok(Method::PUBLISH));
        fields.u16().unwrap();
        assert_eq!(fields.short(), Ok(&b"amq.topic"[..]));
        assert_eq!(fields.short(), Ok(&b"ARM"[..]));
        let header = frame(&buffer[method.length..], 1000).unwrap().unwrap();
        assert_eq!(header.kind, HEADER);
        assert_eq!(read_header(header.payload), Ok((5, Some(&[7; NOTE][..]))));
        assert_eq!(method.length + header.length, buffer.len());
    }

    #[test]
    fn a_server_of_another_version_and_a_frame_without_its_end_are_refused() {
        assert_eq!(frame(b"AMQP\0\x01\0\0", 1000), Err(ProtocolError));
        assert_eq!(frame(&[8, 0, 0, 0, 0, 0, 0, 0], 1000), Err(ProtocolError));
        assert_eq!(frame(&[1, 0, 0, 0xff, 0, 0, 0], 1000), Err(ProtocolError));
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_beyond_their_end(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(Some(frame)) = frame(&bytes, 1 << 20) {
                prop_assert!(frame.length <= bytes.len());
            }
            let _ = read_header(&bytes);
        }
    }
}
