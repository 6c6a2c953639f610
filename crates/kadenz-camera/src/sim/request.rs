//! Requests of RTSP (RFC 2326) and HTTP, and whether they know the password.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Duration;

use kadenz_rt::clock::{MonotonicTime, now};
use md5::{Digest, Md5};

use super::Shared;

/// The longest head that is read.
const MAX_HEAD: usize = 16 << 10;
/// How long a read waits before it looks whether all is over.
const READ_PART: Duration = Duration::from_millis(50);
/// A request comes within this time, and the next one, until there are pictures.
const MAX_ASKING: Duration = Duration::from_secs(10);
/// Who gets pictures says something, be it a report, within this time: some more than the session's minute.
const MAX_SILENCE: Duration = Duration::from_secs(75);

/// The realm and the nonce of all challenges. A simulator guards nothing, so that a nonce that never changes will do.
const REALM: &str = "kadenz camera sim";
const NONCE: &str = "2026";

/// The head of a request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) uri: String,
    fields: Vec<(String, String)>,
}

impl Request {
    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, uri) = (words.next()?.to_owned(), words.next()?.to_owned());
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        };
        let fields = lines.filter_map(field).collect();
        Some(Self {
            method,
            uri,
            fields,
        })
    }

    /// A field by its name in lower case.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|field| field.0 == name);
        field.map(|field| field.1.as_str())
    }

    /// Whether it carries the right answer to [`challenge`].
    pub(super) fn knows(&self, (user, password): &(String, String)) -> bool {
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
        let secret = md5_hex(&format!("{user}:{REALM}:{password}"));
        let request = md5_hex(&format!(
            "{}:{}",
            self.method,
            value("uri").unwrap_or_default()
        ));
        let expected = md5_hex(&format!("{secret}:{NONCE}:{request}"));
        value("username") == Some(user) && value("response") == Some(&expected)
    }
}

/// The field that asks for a password.
pub(super) fn challenge() -> String {
    format!("WWW-Authenticate: Digest realm=\"{REALM}\", nonce=\"{NONCE}\"\r\n")
}

fn md5_hex(text: &str) -> String {
    let hash = Md5::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads requests from a connection.
pub(super) struct Requests<'a> {
    shared: &'a Shared,
    stream: &'a TcpStream,
    buffer: Vec<u8>,
    /// Bytes of a body or a packet that are of no interest.
    skip: usize,
    /// The client gets pictures.
    pub(super) plays: bool,
}

impl<'a> Requests<'a> {
    pub(super) fn new(shared: &'a Shared, stream: &'a TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(READ_PART))?;
        Ok(Self {
            shared,
            stream,
            buffer: Vec::new(),
            skip: 0,
            plays: false,
        })
    }

    /// The next request; `None` at the end of the connection or of the camera. Interleaved packets and bodies are
    /// passed over.
    ///
    /// # Errors
    /// The connection's, and for what is no request, or comes too slowly.
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
            let end = self.buffer.windows(4).position(|it| it == b"\r\n\r\n");
            if let Some(end) = end.filter(|_| !is_packet) {
                let head: Vec<u8> = self.buffer.drain(..end + 4).take(end).collect();
                let head = String::from_utf8_lossy(&head);
                let request = Request::parse(head.trim_start()).ok_or_else(malformed)?;
                let length = request
                    .field("content-length")
                    .and_then(|it| it.parse().ok());
                self.skip = length.unwrap_or(0);
                return Ok(Some(request));
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(malformed());
            }
            if self.plays {
                until = now() + MAX_SILENCE;
            }
            if !self.read(until)? {
                return Ok(None);
            }
        }
    }

    /// Whether there may be more.
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
