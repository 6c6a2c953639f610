//! Messages of RTSP 1.0 and the interleaved frames between them (RFC 2326, section 10.12), out of one stream of bytes.

use std::fmt::Write as _;

use super::super::head::{Head, HeadTooLong};

/// The longest body, in bytes.
const MAX_BODY: usize = 64 << 10;
/// Header of an interleaved frame: `$`, channel, length.
pub(crate) const FRAME_HEADER: usize = 4;
/// An interleaved frame at its longest, and room for one read behind it.
const CAPACITY: usize = 2 * (FRAME_HEADER + 65_535 + 1);

/// The bytes are not valid RTSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Bytes that begin neither a message nor a frame.
    #[error("bytes that are not valid RTSP")]
    NotRtsp,
    /// A head is too long.
    #[error(transparent)]
    Head(#[from] HeadTooLong),
    /// A body is too long.
    #[error("a message with a body of more than {MAX_BODY} bytes")]
    Body,
}

/// A message of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A frame on a channel: a packet of RTP or RTCP.
    Frame {
        /// The number of the channel that the frame came on.
        channel: u8,
        /// The bytes of the packet, without the frame's header.
        bytes: &'a [u8],
    },
    /// An answer to a request of the client.
    Response {
        /// The status code, such as 200.
        status: u16,
        /// Status line and fields.
        head: Head,
        /// The body of the answer; empty where there is none.
        body: &'a [u8],
    },
    /// A request of the server.
    Request(Head),
}

/// Cuts a stream of bytes into messages. It holds at most some 128 KiB, allocated at the start.
#[derive(Debug)]
pub struct MessageReader {
    bytes: Box<[u8]>,
    begin: usize,
    end: usize,
}

impl Default for MessageReader {
    fn default() -> Self {
        Self {
            bytes: vec![0; CAPACITY].into(),
            begin: 0,
            end: 0,
        }
    }
}

impl MessageReader {
    /// Room for the next bytes; never empty, once [`MessageReader::message`] has returned `None`.
    pub fn room(&mut self) -> &mut [u8] {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < CAPACITY / 2 {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        &mut self.bytes[self.end..]
    }

    /// Notes that so many bytes of the room were filled.
    ///
    /// # Panics
    /// Where the room was shorter.
    pub fn filled(&mut self, count: usize) {
        assert!(
            count <= self.bytes.len() - self.end,
            "more than there was room"
        );
        self.end += count;
    }

    /// Takes the next complete message out of the stream.
    ///
    /// # Errors
    /// [`MessageError`]; the rest of the stream cannot be read.
    pub fn message(&mut self) -> Result<Option<Message<'_>>, MessageError> {
        while self.begin < self.end && matches!(self.bytes[self.begin], b'\r' | b'\n' | b' ' | 0) {
            self.begin += 1;
        }
        match self.bytes[self.begin..self.end] {
            [] => Ok(None),
            [b'$', ..] => Ok(self.frame()),
            [letter, ..] if letter.is_ascii_alphabetic() => self.text(),
            _ => Err(MessageError::NotRtsp),
        }
    }

    fn frame(&mut self) -> Option<Message<'_>> {
        let waiting = &self.bytes[self.begin..self.end];
        let (header, rest) = waiting.split_first_chunk::<FRAME_HEADER>()?;
        let [_, channel, high, low] = *header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let bytes = rest.get(..length)?;
        self.begin += FRAME_HEADER + length;
        Some(Message::Frame { channel, bytes })
    }

    fn text(&mut self) -> Result<Option<Message<'_>>, MessageError> {
        let waiting = &self.bytes[self.begin..self.end];
        let Some((head, head_length)) = Head::parse(waiting)? else {
            return Ok(None);
        };
        let length = head.content_length().unwrap_or(0);
        if length > MAX_BODY {
            return Err(MessageError::Body);
        }
        let Some(body) = waiting.get(head_length..head_length + length) else {
            return Ok(None);
        };
        self.begin += head_length + length;
        if let Some(status) = head.status("RTSP/") {
            return Ok(Some(Message::Response { status, head, body }));
        }
        let is_request = head.first_line().split_ascii_whitespace().nth(2);
        match is_request.is_some_and(|version| version.starts_with("RTSP/")) {
            true => Ok(Some(Message::Request(head))),
            false => Err(MessageError::NotRtsp),
        }
    }
}

/// The header of an interleaved frame of so many bytes.
pub(crate) fn frame_header(channel: u8, length: u16) -> [u8; FRAME_HEADER] {
    let [high, low] = length.to_be_bytes();
    [b'$', channel, high, low]
}

/// A request of the client in the wire format, without body.
pub(super) fn request(method: &str, uri: &str, sequence: u32, fields: &[(&str, &str)]) -> String {
    let mut text = format!("{method} {uri} RTSP/1.0\r\nCSeq: {sequence}\r\n");
    for (name, value) in fields {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text + "User-Agent: Kadenz\r\n\r\n"
}

/// The client's answer to a request of the server: `OPTIONS` is answered, anything else is not implemented.
pub(super) fn answer(request: &Head) -> String {
    let is_known = ["OPTIONS ", "REDIRECT "];
    let is_known = is_known
        .iter()
        .any(|method| request.first_line().starts_with(method));
    let status = if is_known {
        "200 OK"
    } else {
        "501 Not Implemented"
    };
    let sequence = request.field("CSeq").unwrap_or("0");
    format!("RTSP/1.0 {status}\r\nCSeq: {sequence}\r\nPublic: OPTIONS\r\n\r\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], pieces: &[usize]) -> Result<Vec<String>, MessageError> {
        let (mut reader, mut seen, mut rest) = (MessageReader::default(), Vec::new(), bytes);
        for piece in pieces.iter().copied().chain([usize::MAX]) {
            let mut now;
            (now, rest) = rest.split_at(piece.min(rest.len()));
            while !now.is_empty() {
                let room = reader.room();
                let count = room.len().min(now.len());
                room[..count].copy_from_slice(&now[..count]);
                reader.filled(count);
                now = &now[count..];
                while let Some(message) = reader.message()? {
                    seen.push(format!("{message:?}"));
                }
            }
        }
        Ok(seen)
    }

    fn stream() -> Vec<u8> {
        let mut bytes =
            b"$\x00\x00\x03abc\r\nRTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 4\r\n\r\n$bod"
                .to_vec();
        bytes.extend_from_slice(b"$\x01\xff\xff");
        bytes.extend_from_slice(&[7; 65_535]);
        bytes.extend_from_slice(
            b"OPTIONS * RTSP/1.0\nCSeq: 9\n\n$\x02\x00\x00RTSP/1.0 404 Not\r\n\r\n",
        );
        bytes
    }

    proptest! {
        #[test]
        fn the_same_messages_come_however_the_stream_is_split(pieces in prop::collection::vec(1_usize..40_000, 0..40)) {
            let whole = all(&stream(), &[]).unwrap();
            prop_assert_eq!(whole.len(), 6);
            prop_assert_eq!(all(&stream(), &pieces).unwrap(), whole);
        }

        #[test]
        fn any_bytes_are_messages_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = all(&bytes, &[3, 5, 7]);
        }
    }

    #[test]
    fn what_is_not_rtsp_or_too_long_is_an_error() {
        assert_eq!(all(b"\x16\x03\x01", &[]), Err(MessageError::NotRtsp));
        assert_eq!(
            all(b"HTTP/1.1 400 Bad Request\r\n\r\n", &[]),
            Err(MessageError::NotRtsp)
        );
        let long = b"RTSP/1.0 200 OK\r\nContent-Length: 99999999\r\n\r\n";
        assert_eq!(all(long, &[]), Err(MessageError::Body));
        let endless = b"RTSP/1.0 200 OK\r\nX: y\r\n".repeat(10_000);
        assert_eq!(all(&endless, &[]), Err(MessageError::Head(HeadTooLong)));
    }

    #[test]
    fn a_request_of_the_server_is_answered_with_its_number() {
        let (head, _) = Head::parse(b"SET_PARAMETER rtsp://h RTSP/1.0\r\nCSeq: 31\r\n\r\n")
            .unwrap()
            .unwrap();
        assert!(answer(&head).starts_with("RTSP/1.0 501 Not Implemented\r\nCSeq: 31\r\n"));
    }
}
