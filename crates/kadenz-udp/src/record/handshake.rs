//! The handshake of a controller and a logging server.
//!
//! ```text
//! controller                         server
//! Hello, stamp 0              ─────>
//!                             <───── Cookie, stamp = cookie of address and run
//! Hello, stamp = the cookie   ─────>
//!                             <───── Welcome, or Refused
//! Batch 0                     ─────>
//!                             <───── BatchKept
//! ```
//!
//! A controller that returns the cookie receives at the address that it sends from. Until then the server keeps no
//! state of it, and afterwards it accepts batches only from that address and run. The server answers a batch of any
//! other sender with a cookie too, so that a server that was restarted, or has forgotten a silent controller,
//! accepts it again. No answer is longer than its question.

use crate::controller::DeviceKey;
use crate::wire::{
    Flags, HEADER_BYTES, Header, Kind, Packet, RunId, Sequence, Stamp, TAG_BYTES, Token, put,
    write_tag,
};

/// A logging server's answer to a [`Batch`](super::Batch) or a [`Kind::Hello`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerReply {
    /// To a batch: the server has kept it.
    Kept,
    /// The controller must send a hello with this stamp before the server takes its batches.
    Cookie(Stamp),
    /// To a hello with the right stamp: the server takes batches from now on.
    Welcome,
    /// The server has no room for another controller.
    Refused,
}

/// Writes the server's answer into the bytes of the question: its header with another kind, without a body, and
/// with a tag if the question had one. Returns the number of bytes to send back, or `None` if the bytes are not
/// a question to a logging server.
///
/// ```
/// use kadenz_udp::record::{Batcher, Position, ServerReply, server_reply};
/// use kadenz_udp::wire::{Kind, Packet, RunId, Stamp};
///
/// let mut batcher = Batcher::over([0; 1400], RunId(7), None)?;
/// let mut datagram = batcher.finish(Stamp(0), Position::Last).to_vec();
/// let length = server_reply(&mut datagram, ServerReply::Kept, None).ok_or("a batch")?;
/// assert_eq!(Packet::parse(&datagram[..length])?.kind(), Kind::BatchKept);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Real-time safe.
pub fn server_reply(
    question: &mut [u8],
    reply: ServerReply,
    token: Option<&Token>,
) -> Option<usize> {
    let mut header = Header::read(question).ok()?;
    header.kind = match (header.kind, reply) {
        (Kind::Batch, ServerReply::Kept) => Kind::BatchKept,
        (Kind::Hello, ServerReply::Welcome) => Kind::Welcome,
        (Kind::Hello | Kind::Batch, ServerReply::Cookie(_)) => Kind::Cookie,
        (Kind::Hello | Kind::Batch, ServerReply::Refused) => Kind::Refused,
        _ => return None,
    };
    if let ServerReply::Cookie(cookie) = reply {
        header.stamp = cookie;
    }
    // Never longer than the question, because it has a tag only if the question has one.
    let token = token.filter(|_| header.flags.token);
    header.flags = Flags::new(false, token);
    let length = header.flags.least_bytes();
    let answer = question.get_mut(..length)?;
    header.write(answer);
    write_tag(token, answer);
    Some(length)
}

/// The cookies of a logging server: 64 bits of HMAC-SHA256 over the controller's address and run, with a secret of
/// the server as the key. A peer that does not receive at an address cannot know its cookie, and the server keeps
/// no state to check it. The idea is that of DTLS (RFC 6347 section 4.2.1).
#[derive(Clone, Debug)]
pub struct Cookies(Token);

impl Cookies {
    /// Makes cookies from this secret, which only the server may know.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(Token::keyed(secret))
    }

    /// The cookie of a controller.
    ///
    /// # Real-time safety
    /// Real-time safe: one hash of 26 bytes.
    #[must_use]
    pub fn of(&self, controller: DeviceKey, run: RunId) -> Stamp {
        let mut bytes = [0; 26 + TAG_BYTES];
        let address = match controller.address() {
            core::net::IpAddr::V4(address) => address.to_ipv6_mapped(),
            core::net::IpAddr::V6(address) => address,
        };
        put(&mut bytes, 0, &address.octets());
        put(&mut bytes, 16, &controller.port().to_be_bytes());
        put(&mut bytes, 18, &controller.scope().to_be_bytes());
        put(&mut bytes, 22, &run.0.to_be_bytes());
        self.0.write_tag(&mut bytes);
        let cookie = bytes.get(26..).and_then(|tag| tag.first_chunk());
        // 0 stands for a hello without a cookie.
        Stamp(
            cookie
                .map_or(0, |cookie| u64::from_be_bytes(*cookie))
                .max(1),
        )
    }
}

/// The meaning of a server's datagram for a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeEvent {
    /// The datagram does not concern this run.
    Nothing,
    /// The server requires a hello: send [`Handshake::hello`].
    AskedAgain,
    /// The server takes batches from now on.
    Welcome,
    /// The server has no room for this controller.
    Refused,
    /// The server has kept the batch of this number.
    Kept(Sequence),
}

/// The controller's side of the handshake, which runs beside its batches: a server may require it again.
///
/// ```
/// use kadenz_udp::controller::DeviceKey;
/// use kadenz_udp::record::{Cookies, HandshakeEvent, Handshake, ServerReply, server_reply};
/// use kadenz_udp::wire::{Packet, RunId};
///
/// let own: std::net::SocketAddr = "10.0.0.1:4000".parse()?;
/// let cookies = Cookies::new(&[7; 32]);
/// let mut handshake = Handshake::new(RunId(7), None);
///
/// let mut datagram = handshake.hello().to_vec();
/// let cookie = cookies.of(own.into(), RunId(7));
/// server_reply(&mut datagram, ServerReply::Cookie(cookie), None).ok_or("a hello")?;
/// assert_eq!(handshake.receive(&datagram), HandshakeEvent::AskedAgain);
///
/// let mut datagram = handshake.hello().to_vec();
/// assert_eq!(Packet::parse(&datagram)?.stamp(), cookie);
/// server_reply(&mut datagram, ServerReply::Welcome, None).ok_or("a hello")?;
/// assert_eq!(handshake.receive(&datagram), HandshakeEvent::Welcome);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Handshake {
    run: RunId,
    token: Option<Token>,
    cookie: Stamp,
    bytes: [u8; HEADER_BYTES + TAG_BYTES],
}

impl Handshake {
    /// Makes the handshake of a run that the server has not answered yet.
    #[must_use]
    pub fn new(run: RunId, token: Option<Token>) -> Self {
        Self {
            run,
            token,
            cookie: Stamp(0),
            bytes: [0; HEADER_BYTES + TAG_BYTES],
        }
    }

    /// The hello to send: with the last received cookie, or 0.
    pub fn hello(&mut self) -> &[u8] {
        let header = Header {
            kind: Kind::Hello,
            flags: Flags::new(false, self.token.as_ref()),
            run: self.run,
            sequence: Sequence(0),
            stamp: self.cookie,
        };
        let length = header.flags.least_bytes();
        let hello = self.bytes.get_mut(..length).unwrap_or_default();
        header.write(hello);
        write_tag(self.token.as_ref(), hello);
        hello
    }

    /// Interprets a datagram of the server.
    pub fn receive(&mut self, datagram: &[u8]) -> HandshakeEvent {
        let Ok(packet) = Packet::open(datagram, self.token.as_ref()) else {
            return HandshakeEvent::Nothing;
        };
        if packet.run() != self.run {
            return HandshakeEvent::Nothing;
        }
        match packet.kind() {
            Kind::Cookie => {
                self.cookie = packet.stamp();
                HandshakeEvent::AskedAgain
            }
            Kind::Welcome => HandshakeEvent::Welcome,
            Kind::Refused => HandshakeEvent::Refused,
            Kind::BatchKept => HandshakeEvent::Kept(packet.sequence()),
            _ => HandshakeEvent::Nothing,
        }
    }
}
