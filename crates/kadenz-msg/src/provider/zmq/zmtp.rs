//! ZMTP 3.0, the wire of ZeroMQ (RFC 23), as far as publishing and subscribing need it. Sans-IO.

use crate::provider::stream::ProtocolError;
use crate::provider::stream::connection_slots::PeerState;

/// The greeting of each side: signature, version 3.0, the mechanism NULL, no server, filler.
pub(in crate::provider) const GREETING: [u8; 64] = {
    let mut greeting = [0; 64];
    greeting[0] = 0xff;
    greeting[8] = 1;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    let mechanism = *b"NULL";
    let mut at = 0;
    while at < mechanism.len() {
        greeting[12 + at] = mechanism[at];
        at += 1;
    }
    greeting
};

/// The progress of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Greeting,
    Handshake,
    Ready,
}

impl Stage {
    /// Returns the state of a peer that has, or has not, subscribed or published.
    pub(super) fn peer_state(self, is_active: bool) -> PeerState {
        match self {
            Self::Greeting | Self::Handshake => PeerState::Connected,
            Self::Ready if is_active => PeerState::Active,
            Self::Ready => PeerState::HandshakeDone,
        }
    }
}

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// The longest header of a frame, in bytes.
pub(in crate::provider) const MAX_HEADER: usize = 9;

/// The property by which Kadenz programs recognise each other, and then number their messages in a frame that
/// others do not get. Names that begin with `X-` are free for every program (RFC 23).
pub(in crate::provider) const OURS: &str = "X-Kadenz";

/// A frame in the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider) struct ZmtpFrame<'a> {
    pub(in crate::provider) is_command: bool,
    pub(in crate::provider) has_more: bool,
    pub(in crate::provider) body: &'a [u8],
    /// The length with its header, in bytes.
    pub(in crate::provider) length: usize,
}

/// Returns the frame at the front; `None` while it is incomplete.
pub(in crate::provider) fn frame(
    bytes: &[u8],
    longest: usize,
) -> Result<Option<ZmtpFrame<'_>>, ProtocolError> {
    let Some((&flags, rest)) = bytes.split_first() else {
        return Ok(None);
    };
    if flags & !(MORE | LONG | COMMAND) != 0 || flags & (MORE | COMMAND) == MORE | COMMAND {
        return Err(ProtocolError);
    }
    let (header, size) = if flags & LONG == 0 {
        let Some(&size) = rest.first() else {
            return Ok(None);
        };
        (2, usize::from(size))
    } else {
        let Some((size, _)) = rest.split_first_chunk::<8>() else {
            return Ok(None);
        };
        (
            9,
            usize::try_from(u64::from_be_bytes(*size)).unwrap_or(usize::MAX),
        )
    };
    if size > longest {
        return Err(ProtocolError);
    }
    let length = header + size;
    Ok(bytes.get(header..length).map(|body| ZmtpFrame {
        is_command: flags & COMMAND != 0,
        has_more: flags & MORE != 0,
        body,
        length,
    }))
}

/// Writes a frame's header to the front of `room` and returns its length.
pub(in crate::provider) fn header(
    room: &mut [u8; MAX_HEADER],
    size: usize,
    has_more: bool,
) -> usize {
    let more = if has_more { MORE } else { 0 };
    if let Ok(short) = u8::try_from(size) {
        room[..2].copy_from_slice(&[more, short]);
        return 2;
    }
    room[0] = more | LONG;
    room[1..].copy_from_slice(&(size as u64).to_be_bytes());
    9
}

/// Adds a short frame.
pub(in crate::provider) fn write_frame(buffer: &mut Vec<u8>, parts: &[&[u8]]) {
    let size: usize = parts.iter().map(|part| part.len()).sum();
    let mut room = [0; MAX_HEADER];
    let length = header(&mut room, size, false);
    buffer.extend_from_slice(&room[..length]);
    for part in parts {
        buffer.extend_from_slice(part);
    }
}

/// Adds a short command.
fn command(buffer: &mut Vec<u8>, body: &[u8]) {
    let at = buffer.len();
    write_frame(buffer, &[body]);
    buffer[at] |= COMMAND;
}

/// Adds the command that ends the handshake: the type of this socket, and the property of a Kadenz program.
pub(in crate::provider) fn ready(buffer: &mut Vec<u8>, socket: &str) {
    let mut body = b"\x05READY".to_vec();
    for (name, value) in [("Socket-Type", socket), (OURS, "1")] {
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    command(buffer, &body);
}

/// A command of the peer.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider) enum Command<'a> {
    /// The peer's socket, and whether the peer is a Kadenz program.
    Ready { socket: &'a [u8], is_ours: bool },
    /// The peer subscribes, in the form of version 3.1.
    Subscribe(&'a [u8]),
    /// The peer cancels a subscription.
    Cancel(&'a [u8]),
    /// The peer requests these bytes back.
    Ping(&'a [u8]),
    /// A command that needs no answer.
    Other,
}

/// Reads a command's body.
pub(in crate::provider) fn read_command(body: &[u8]) -> Result<Command<'_>, ProtocolError> {
    let (name, rest) = counted(body).ok_or(ProtocolError)?;
    Ok(match name {
        b"READY" => read_ready(rest)?,
        b"SUBSCRIBE" => Command::Subscribe(rest),
        b"CANCEL" => Command::Cancel(rest),
        // Two bytes of time to live, then the bytes to be returned.
        b"PING" => Command::Ping(rest.get(2..).ok_or(ProtocolError)?),
        b"ERROR" => return Err(ProtocolError),
        _ => Command::Other,
    })
}

pub(in crate::provider) fn pong(buffer: &mut Vec<u8>, context: &[u8]) {
    let body = [b"\x04PONG", context].concat();
    command(buffer, &body);
}

fn read_ready(mut rest: &[u8]) -> Result<Command<'_>, ProtocolError> {
    let (mut socket, mut is_ours) = (&[][..], false);
    while !rest.is_empty() {
        let (name, after) = counted(rest).ok_or(ProtocolError)?;
        let (size, after) = after.split_first_chunk::<4>().ok_or(ProtocolError)?;
        let size = usize::try_from(u32::from_be_bytes(*size)).map_err(|_| ProtocolError)?;
        let value = after.get(..size).ok_or(ProtocolError)?;
        rest = &after[size..];
        if name.eq_ignore_ascii_case(b"Socket-Type") {
            socket = value;
        }
        is_ours |= name.eq_ignore_ascii_case(OURS.as_bytes());
    }
    Ok(Command::Ready { socket, is_ours })
}

/// Returns a text after its length in one byte, and the bytes behind it.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(length))
}

/// Checks that this is the greeting of a compatible peer; `None` while it is incomplete.
pub(in crate::provider) fn greeting(bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
    let wrong = |at: usize, good: fn(u8) -> bool| bytes.get(at).is_some_and(|byte| !good(*byte));
    if wrong(0, |it| it == 0xff) || wrong(9, |it| it & 1 == 1) || wrong(10, |it| it >= 3) {
        return Err(ProtocolError);
    }
    let Some(whole) = bytes.get(..GREETING.len()) else {
        return Ok(None);
    };
    let is_null = whole[12..32] == GREETING[12..32];
    if is_null {
        Ok(Some(GREETING.len()))
    } else {
        Err(ProtocolError)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_is_short_up_to_255_bytes() {
        let mut room = [0; MAX_HEADER];
        assert_eq!(header(&mut room, 255, true), 2);
        assert_eq!(room[..2], [1, 255]);
        assert_eq!(header(&mut room, 256, false), 9);
        assert_eq!(room, [2, 0, 0, 0, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn a_frame_longer_than_allowed_breaks_before_it_is_read() {
        let bytes = [2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(frame(&bytes, 1000), Err(ProtocolError));
        assert_eq!(frame(&bytes[..8], 1000), Ok(None));
    }

    #[test]
    fn our_ready_says_that_it_is_ours() {
        let mut buffer = Vec::new();
        ready(&mut buffer, "SUB");
        let frame = frame(&buffer, 1000).unwrap().unwrap();
        assert!(frame.is_command && frame.length == buffer.len());
        let read = read_command(frame.body).unwrap();
        let socket = &b"SUB"[..];
        let is_ours = true;
        assert_eq!(read, Command::Ready { socket, is_ours });
    }

    #[test]
    fn greetings_of_old_versions_and_other_mechanisms_are_refused() {
        assert_eq!(greeting(&GREETING), Ok(Some(64)));
        assert_eq!(greeting(&GREETING[..63]), Ok(None));
        for (at, byte) in [(0, 1), (10, 1), (12, b'P')] {
            let mut other = GREETING;
            other[at] = byte;
            assert_eq!(greeting(&other), Err(ProtocolError), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_beyond_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(Some(frame)) = frame(&bytes, 1 << 20) {
                prop_assert!(frame.length <= bytes.len());
                let _ = read_command(frame.body);
            }
            let _ = greeting(&bytes);
        }
    }
}
