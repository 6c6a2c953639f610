//! HTTP in the form of XML-RPC: one request and one answer a connection.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::xmlrpc::{Call, XmlRpcValue, answer_to_xml, parse_answer};
use crate::provider::stream::socket::SocketAddress;

/// The maximum duration of a call, from the first byte of the request to the last one of the answer.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(3);
/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(1);
/// The interval at which a call checks whether it is still wanted.
const SLICE: Duration = Duration::from_millis(50);
/// The maximum length of a head, in bytes.
const MAX_HEAD: usize = 16 << 10;
/// The maximum length of an answer to this node's calls, in bytes.
const MAX_ANSWER: usize = 8 << 20;

/// A request or an answer while it arrives, sans-IO. No byte is searched twice for the end of the head.
#[derive(Debug)]
pub(in crate::provider) struct HttpMessageReader {
    bytes: Vec<u8>,
    /// No head ends before this offset.
    looked_at: usize,
    body: Option<Body>,
    max_body: usize,
}

/// The offset of the body, and its length if it is stated.
#[derive(Debug, Clone, Copy)]
struct Body {
    start: usize,
    length: Option<usize>,
}

impl HttpMessageReader {
    /// Returns a reader of messages whose body is no longer than that, in bytes.
    pub(in crate::provider) fn new(max_body: usize) -> Self {
        Self {
            bytes: Vec::new(),
            looked_at: 0,
            body: None,
            max_body,
        }
    }

    /// Returns the memory that it holds, in bytes.
    pub(in crate::provider) fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// Adds received bytes; returns whether the body is complete.
    ///
    /// # Errors
    /// If the body is longer than the maximum.
    pub(in crate::provider) fn push(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.bytes.extend_from_slice(bytes);
        let body = match self.body {
            Some(body) => body,
            None => match self.find_body()? {
                Some(body) => *self.body.insert(body),
                None => return Ok(false),
            },
        };
        let came = self.bytes.len() - body.start;
        if body.length.unwrap_or(came) > self.max_body {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(body.length.is_some_and(|length| came >= length))
    }

    fn find_body(&mut self) -> io::Result<Option<Body>> {
        let new = &self.bytes[self.looked_at..];
        let Some(end) = new.windows(4).position(|four| four == b"\r\n\r\n") else {
            if self.bytes.len() > MAX_HEAD {
                return Err(ErrorKind::InvalidData.into());
            }
            self.looked_at = self.bytes.len().saturating_sub(3);
            return Ok(None);
        };
        let end = self.looked_at + end;
        if end > MAX_HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
        let head = String::from_utf8_lossy(&self.bytes[..end]).to_ascii_lowercase();
        let mut lines = head.lines();
        let length = lines.find_map(|line| line.strip_prefix("content-length:"));
        let length = length.map(|length| length.trim().parse().unwrap_or(usize::MAX));
        Ok(Some(Body {
            start: end + 4,
            length,
        }))
    }

    /// Returns the body, of a connection that has ended or when it is complete; without a length it ends with
    /// the connection.
    ///
    /// # Errors
    /// If the body is incomplete, or no text.
    pub(in crate::provider) fn body(self) -> io::Result<String> {
        let body = self.body.ok_or(ErrorKind::UnexpectedEof)?;
        let rest = &self.bytes[body.start..];
        let length = body.length.unwrap_or(rest.len());
        let bytes = rest.get(..length).ok_or(ErrorKind::UnexpectedEof)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| ErrorKind::InvalidData.into())
    }
}

/// The request for a call.
pub(super) fn request(address: &str, call: &Call) -> String {
    let body = call.to_xml();
    let length = body.len();
    format!(
        "POST /RPC2 HTTP/1.0\r\nHost: {address}\r\nUser-Agent: kadenz\r\nContent-Type: text/xml\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// The answer to a call.
pub(super) fn response(value: &XmlRpcValue) -> String {
    let body = answer_to_xml(value);
    let length = body.len();
    format!(
        "HTTP/1.0 200 OK\r\nServer: kadenz\r\nContent-Type: text/xml\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Calls a method and returns the third part of its result, which is the value. Ends within that span, with
/// connecting, and soon after it is no longer `wanted`.
pub(super) fn call(
    address: &str,
    call: &Call,
    timeout: Duration,
    wanted: &dyn Fn() -> bool,
) -> io::Result<XmlRpcValue> {
    let until = clock::now() + timeout;
    let mut stream = connect(address, timeout)?;
    stream.set_read_timeout(Some(SLICE))?;
    stream.set_write_timeout(Some(timeout.max(SLICE)))?;
    stream.write_all(request(address, call).as_bytes())?;
    let body = read_body(&mut stream, until, wanted)?;
    let answer = parse_answer(&body).ok_or(ErrorKind::InvalidData)?;
    let parts = answer.as_list().ok_or(ErrorKind::InvalidData)?;
    match parts {
        [XmlRpcValue::Int(1), _, value] => Ok(value.clone()),
        [_, XmlRpcValue::Text(reason), ..] => Err(io::Error::other(reason.clone())),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

fn read_body(
    stream: &mut TcpStream,
    until: MonotonicTime,
    wanted: &dyn Fn() -> bool,
) -> io::Result<String> {
    let mut incoming = HttpMessageReader::new(MAX_ANSWER);
    let mut room = [0; 4096];
    loop {
        match stream.read(&mut room) {
            Ok(0) => return incoming.body(),
            Ok(count) => {
                if incoming.push(&room[..count])? {
                    return incoming.body();
                }
            }
            Err(error) => pass(error)?,
        }
        if clock::now() >= until {
            return Err(ErrorKind::TimedOut.into());
        }
        if !wanted() {
            return Err(ErrorKind::Interrupted.into());
        }
    }
}

/// Passes the errors after which the caller checks the time again.
pub(super) fn pass(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// Returns the address of this host that reaches the other one.
pub(super) fn own_address(address: &str) -> io::Result<IpAddr> {
    connect(address, CONNECTING)?
        .local_addr()
        .map(|address| address.ip())
}

/// Returns `host:port` of `http://host:port/`.
pub(super) fn address_of(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix("http://")?;
    rest.split('/')
        .next()
        .filter(|address| address.contains(':'))
}

/// Returns the address of a listener on that host.
pub(super) fn socket_address(host: IpAddr, port: u16) -> SocketAddress {
    SocketAddress::Tcp(SocketAddr::new(host, port).to_string())
}

/// Returns whether a call was answered, with a refusal.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Other
}

/// Connects within that span, or the usual one if it is shorter.
pub(super) fn connect(address: &str, timeout: Duration) -> io::Result<TcpStream> {
    let timeout = timeout.clamp(Duration::from_millis(1), CONNECTING);
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for resolved in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&resolved, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn answer() -> String {
        response(&XmlRpcValue::List(vec![
            XmlRpcValue::Int(1),
            XmlRpcValue::text(""),
            XmlRpcValue::Int(7),
        ]))
    }

    #[test]
    fn however_it_is_cut_the_body_is_the_same() {
        let whole = answer();
        for most in [1, 3, 1000] {
            let mut incoming = HttpMessageReader::new(1000);
            let parts: Vec<&[u8]> = whole.as_bytes().chunks(most).collect();
            let (last, first) = parts.split_last().unwrap();
            for part in first {
                assert!(!incoming.push(part).unwrap());
            }
            assert!(incoming.push(last).unwrap());
            let body = incoming.body().unwrap();
            assert!(body.starts_with("<?xml") && whole.ends_with(&body));
        }
    }

    #[test]
    fn a_head_without_end_and_a_body_that_is_too_long_are_refused() {
        let mut incoming = HttpMessageReader::new(1000);
        let until = (0..MAX_HEAD + 2).find(|_| incoming.push(b"x").is_err());
        assert_eq!(until, Some(MAX_HEAD));
        for long in [
            "content-length: 1001\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n",
        ] {
            assert!(
                HttpMessageReader::new(1000).push(long.as_bytes()).is_err(),
                "{long}"
            );
        }
        let mut endless = HttpMessageReader::new(1000);
        assert!(!endless.push(b"\r\n\r\n").unwrap());
        assert!(!endless.push(&[b'x'; 1000]).unwrap());
        assert!(endless.push(b"x").is_err());
    }

    /// A peer that sends a byte every few milliseconds, and never finishes.
    fn dripping() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        address
    }

    #[test]
    fn a_peer_that_answers_a_byte_at_a_time_ends_no_later_than_its_timeout() {
        let method = "getPid".to_owned();
        let asked = Call {
            method,
            arguments: Vec::new(),
        };
        let soon = Duration::from_millis(200);
        let error = call(&dripping(), &asked, soon, &|| true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let error = call(&dripping(), &asked, CALL_TIMEOUT * 1000, &|| false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
}
