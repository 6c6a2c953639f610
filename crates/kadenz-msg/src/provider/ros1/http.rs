//! HTTP as XML-RPC needs it: one request and one answer a connection.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use super::xmlrpc::{Call, Value, answer_to_xml, parse_answer};

/// How long a peer may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// No request or answer is longer, in bytes.
const LONGEST: u64 = 8 << 20;

/// Calls a method and gives the third part of what it returned, which is the value.
pub(super) fn call(place: &str, method: &str, arguments: Vec<Value>) -> io::Result<Value> {
    let method = method.to_owned();
    let body = Call { method, arguments }.to_xml();
    let mut stream = connect(place)?;
    let length = body.len();
    let request = format!(
        "POST /RPC2 HTTP/1.0\r\nHost: {place}\r\nUser-Agent: kadenz\r\nContent-Type: text/xml\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let body = read_body(&mut stream)?;
    let answer = parse_answer(&body).ok_or(ErrorKind::InvalidData)?;
    let parts = answer.as_list().ok_or(ErrorKind::InvalidData)?;
    match parts {
        [Value::Int(1), _, value] => Ok(value.clone()),
        [_, Value::Text(reason), ..] => Err(io::Error::other(reason.clone())),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

/// The address of this host by which that one is reached.
pub(super) fn own_address(place: &str) -> io::Result<IpAddr> {
    connect(place)?.local_addr().map(|address| address.ip())
}

/// `host:port` of `http://host:port/`.
pub(super) fn place_of(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix("http://")?;
    rest.split('/').next().filter(|place| place.contains(':'))
}

fn connect(place: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in place.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return patient(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn patient(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Answers one call.
pub(super) fn serve(stream: TcpStream, answer: impl FnOnce(&Call) -> Value) -> io::Result<()> {
    let mut stream = patient(stream)?;
    let body = read_body(&mut stream)?;
    let call = Call::parse(&body).ok_or(ErrorKind::InvalidData)?;
    let body = answer_to_xml(&answer(&call));
    let length = body.len();
    let head = format!(
        "HTTP/1.0 200 OK\r\nServer: kadenz\r\nContent-Type: text/xml\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// What stands behind the head of a request or an answer.
fn read_body(stream: &mut TcpStream) -> io::Result<String> {
    let mut all = Vec::new();
    let mut room = [0; 4096];
    loop {
        if let Some((head, start)) = head_of(&all) {
            let length = length_of(&head).unwrap_or(LONGEST);
            if length > LONGEST {
                return Err(ErrorKind::InvalidData.into());
            }
            let end = start + length as usize;
            if all.len() >= end {
                all.truncate(end);
                return text(all.split_off(start));
            }
        }
        match stream.read(&mut room)? {
            0 => break,
            count => all.extend_from_slice(&room[..count]),
        }
        if all.len() as u64 > 2 * LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    // Without a length it ends with the connection.
    match head_of(&all) {
        Some((head, start)) if length_of(&head).is_none() => text(all.split_off(start)),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}

/// The head in lower case, and where the body begins.
fn head_of(all: &[u8]) -> Option<(String, usize)> {
    let end = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
    Some((head, end + 4))
}

fn length_of(head: &str) -> Option<u64> {
    let mut lines = head.lines();
    let line = lines.find_map(|line| line.strip_prefix("content-length:"))?;
    line.trim().parse().ok()
}
