//! Requests of RTSP (RFC 2326) and HTTP, with their authentication.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Duration;

use kadenz_rt::clock::{MonotonicTime, now};

use super::SimContext;
use crate::wire::auth::Algorithm;
use crate::wire::head::Head;

/// How long a read waits before it looks whether the camera has ended.
const READ_PART: Duration = Duration::from_millis(50);
/// The first request, and each one before pictures flow, must come within this time.
const MAX_ASKING: Duration = Duration::from_secs(10);
/// A client that gets pictures must send a request or a report within this time, a little more than the session's
/// minute.
const MAX_SILENCE: Duration = Duration::from_secs(75);

/// The realm and the nonce of all challenges. A simulator guards nothing, so that a nonce that never changes will do.
const REALM: &str = "kadenz camera sim";
const NONCE: &str = "2026";

/// The head of a request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) uri: String,
    head: Head,
}

impl Request {
    fn of(head: Head) -> Option<Self> {
        let mut words = head.first_line().split(' ');
        let (method, uri) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { method, uri, head })
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.head.field(name)
    }

    /// Whether the request answers the [`challenge`] correctly.
    pub(super) fn is_authorized(&self, (user, password): &(String, String)) -> bool {
        let Some(answer) = self
            .field("authorization")
            .and_then(|it| it.strip_prefix("Digest "))
        else {
            return false;
        };
        let value = |name: &str| {
            let mut parts = answer
                .split(',')
                .filter_map(|part| part.trim().split_once('='));
            parts
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.trim_matches('"'))
        };
        let secret = Algorithm::Md5.hex(&format!("{user}:{REALM}:{password}"));
        let request = Algorithm::Md5.hex(&format!(
            "{}:{}",
            self.method,
            value("uri").unwrap_or_default()
        ));
        let expected = Algorithm::Md5.hex(&format!("{secret}:{NONCE}:{request}"));
        value("username") == Some(user) && value("response") == Some(&expected)
    }
}

/// The field that asks for a password.
pub(super) fn challenge() -> String {
    format!("WWW-Authenticate: Digest realm=\"{REALM}\", nonce=\"{NONCE}\"\r\n")
}

/// Reads requests from a connection.
pub(super) struct Requests<'a> {
    shared: &'a SimContext,
    stream: &'a TcpStream,
    buffer: Vec<u8>,
    /// Bytes of a body or a packet that are still to be passed over.
    skip: usize,
    /// The client gets pictures.
    pub(super) plays: bool,
}

impl<'a> Requests<'a> {
    pub(super) fn new(shared: &'a SimContext, stream: &'a TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(READ_PART))?;
        Ok(Self {
            shared,
            stream,
            buffer: Vec::new(),
            skip: 0,
            plays: false,
        })
    }

    /// Reads the next request; `None` at the end of the connection or of the camera. Passes over interleaved packets
    /// and bodies.
    ///
    /// # Errors
    /// The connection's errors; bytes that are not a request, or one that comes too slowly.
    pub(super) fn next(&mut self) -> io::Result<Option<Request>> {
        let mut until = now() + MAX_ASKING;
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, "no request");
        loop {
            let passed_over = self.skip.min(self.buffer.len());
            self.buffer.drain(..passed_over);
            self.skip -= passed_over;
            let is_packet = self.buffer.first() == Some(&b'$');
            if let [b'$', _, high, low, ..] = self.buffer[..] {
                self.skip = 4 + usize::from(u16::from_be_bytes([high, low]));
                continue;
            }
            // Empty lines may stand before a request.
            let is_blank = |byte: &&u8| matches!(byte, b'\r' | b'\n');
            let blank = self.buffer.iter().take_while(is_blank).count();
            self.buffer.drain(..blank);
            let head = match is_packet {
                true => None,
                false => Head::parse(&self.buffer).map_err(|_| malformed())?,
            };
            if let Some((head, length)) = head {
                self.buffer.drain(..length);
                self.skip = head.content_length().unwrap_or(0);
                return Request::of(head).ok_or_else(malformed).map(Some);
            }
            if self.plays {
                until = now() + MAX_SILENCE;
            }
            if !self.read(until)? {
                return Ok(None);
            }
        }
    }

    /// Reads more bytes; returns whether the connection goes on.
    fn read(&mut self, until: MonotonicTime) -> io::Result<bool> {
        let mut part = [0; 4096];
        while !self.shared.is_over() {
            if now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match (&mut &*self.stream).read(&mut part) {
                Ok(0) => return Ok(false),
                Ok(length) => {
                    self.buffer.extend(&part[..length]);
                    return Ok(true);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(false)
    }
}
