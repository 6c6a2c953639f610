//! Calling a service.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::super::http::{self, CALL_TIMEOUT, is_refusal, pass};
use super::super::tcpros::{field, read_header, write_header};
use super::super::xmlrpc::{Call, XmlRpcValue};
use super::protocol::{ANSWER_HEAD, header_length, read_answer_head};
use super::{ServiceError, ServiceType};

/// The number of bytes of one read: memory grows with the received bytes, not with the stated length.
const PART: usize = 64 << 10;

/// Calls one service, from one thread at a time. Made by [`Ros1::service_client`](super::super::Ros1::service_client).
pub struct ServiceClient {
    master: String,
    caller: String,
    service: String,
    md5: String,
    longest: usize,
    connection: Option<TcpStream>,
}

show_fields!(ServiceClient: service);

/// The kind of an error, before the service's name is added.
enum CallFailure {
    Io(io::Error),
    Refused(String),
    Failed(String),
    TooLong(usize),
}

impl From<io::Error> for CallFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl ServiceClient {
    pub(super) fn new(
        master: &str,
        caller: String,
        service: String,
        md5: &str,
        longest: usize,
    ) -> Self {
        Self {
            master: master.to_owned(),
            caller,
            service,
            md5: md5.to_owned(),
            longest,
            connection: None,
        }
    }

    /// Calls the service and waits for its answer. The connection is kept for the next call; if the server
    /// has closed it in the meantime, the client looks the service up at the master again. Only finding a host
    /// by its name may take longer than `timeout`.
    ///
    /// # Errors
    /// As [`ServiceError`] documents. After every one but [`Failed`](ServiceError::Failed) the next call
    /// reconnects.
    pub fn call(&mut self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, ServiceError> {
        let until = clock::now() + timeout;
        if request.len() > self.longest {
            return Err(self.error(CallFailure::TooLong(request.len())));
        }
        let kept = self.connection.take();
        let mut stream = match kept.filter(is_open) {
            Some(stream) => stream,
            None => self.connect("persistent", until)?.0,
        };
        let outcome = exchange(&mut stream, request, self.longest, until);
        if matches!(outcome, Ok(_) | Err(CallFailure::Failed(_))) {
            self.connection = Some(stream);
        }
        outcome.map_err(|failure| self.error(failure))
    }

    /// Queries the server for the service's type, as `rosservice type` does.
    ///
    /// # Errors
    /// As [`ServiceError`] documents.
    pub fn service_type(&self, timeout: Duration) -> Result<ServiceType, ServiceError> {
        let (_, kind) = self.connect("probe", clock::now() + timeout)?;
        Ok(kind)
    }

    /// Looks the service up at the master, connects to it and sends the header, with that field set.
    fn connect(
        &self,
        mode: &str,
        until: MonotonicTime,
    ) -> Result<(TcpStream, ServiceType), ServiceError> {
        let address = self.look_up(until)?;
        let fields = [
            ("callerid", self.caller.as_str()),
            ("service", &self.service),
            ("md5sum", &self.md5),
            (mode, "1"),
        ];
        let handshake = left(until).map_err(CallFailure::from).and_then(|left| {
            let mut stream = http::connect(&address, left)?;
            stream.set_nodelay(true)?;
            let kind = begin_handshake(&mut stream, &fields, until)?;
            Ok((stream, kind))
        });
        handshake.map_err(|failure| self.error(failure))
    }

    /// Returns the address of the service.
    fn look_up(&self, until: MonotonicTime) -> Result<String, ServiceError> {
        let arguments = vec![
            XmlRpcValue::text(&self.caller),
            XmlRpcValue::text(&self.service),
        ];
        let method = "lookupService".to_owned();
        let span = left(until).map_err(|error| self.error(error.into()))?;
        let call = Call { method, arguments };
        let answer = http::call(&self.master, &call, span.min(CALL_TIMEOUT), &|| true);
        let service = self.service.clone();
        let answer = answer.map_err(|reason| match is_refusal(&reason) {
            true => ServiceError::NotOffered { service },
            false => ServiceError::NoMaster {
                master: self.master.clone(),
                reason,
            },
        })?;
        let uri = answer.as_text().unwrap_or_default();
        let address = uri.strip_prefix("rosrpc://");
        let address = address.and_then(|rest| rest.split('/').next());
        address.map(str::to_owned).ok_or_else(|| {
            let reason = format!("the master names {uri:?} as its address");
            let reason = io::Error::new(ErrorKind::InvalidData, reason);
            self.error(reason.into())
        })
    }

    fn error(&self, failure: CallFailure) -> ServiceError {
        let service = self.service.clone();
        match failure {
            CallFailure::Io(error) if error.kind() == ErrorKind::TimedOut => {
                ServiceError::TimedOut { service }
            }
            CallFailure::Io(reason) => ServiceError::Lost { service, reason },
            CallFailure::Refused(reason) => ServiceError::Refused { service, reason },
            CallFailure::Failed(reason) => ServiceError::Failed { service, reason },
            CallFailure::TooLong(length) => ServiceError::TooLong {
                service,
                length,
                longest: self.longest,
            },
        }
    }
}

/// Returns whether a kept connection is usable. Unexpected bytes are as bad as its end.
fn is_open(stream: &TcpStream) -> bool {
    let peeked = stream
        .set_nonblocking(true)
        .and_then(|()| stream.peek(&mut [0]));
    let is_quiet = peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    is_quiet && stream.set_nonblocking(false).is_ok()
}

/// Sends a header and reads the server's.
fn begin_handshake(
    stream: &mut TcpStream,
    fields: &[(&str, &str)],
    until: MonotonicTime,
) -> Result<ServiceType, CallFailure> {
    let mut buffer = Vec::new();
    write_header(&mut buffer, fields);
    write(stream, &buffer, until)?;
    let broken = || io::Error::new(ErrorKind::InvalidData, "its header is not valid");
    let mut head = [0; 4];
    read(stream, &mut head, until)?;
    let length = header_length(head).map_err(|_| broken())?;
    let mut received = head.to_vec();
    read_more(stream, &mut received, length, until)?;
    let (fields, _) = read_header(&received).ok().flatten().ok_or_else(broken)?;
    if let Some((_, reason)) = fields.iter().find(|(name, _)| *name == "error") {
        return Err(CallFailure::Refused((*reason).to_owned()));
    }
    Ok(ServiceType::new(
        field(&fields, "type"),
        field(&fields, "md5sum"),
    ))
}

/// Sends a request and reads its answer.
fn exchange(
    stream: &mut TcpStream,
    request: &[u8],
    longest: usize,
    until: MonotonicTime,
) -> Result<Vec<u8>, CallFailure> {
    write(stream, &(request.len() as u32).to_le_bytes(), until)?;
    write(stream, request, until)?;
    let mut head = [0; ANSWER_HEAD];
    read(stream, &mut head, until)?;
    let (is_success, length) = read_answer_head(head);
    if length > longest {
        return Err(CallFailure::TooLong(length));
    }
    let mut answer = Vec::new();
    read_more(stream, &mut answer, length, until)?;
    match is_success {
        true => Ok(answer),
        false => Err(CallFailure::Failed(
            String::from_utf8_lossy(&answer).into_owned(),
        )),
    }
}

/// Adds that many bytes.
fn read_more(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    count: usize,
    until: MonotonicTime,
) -> io::Result<()> {
    let end = bytes.len() + count;
    while bytes.len() < end {
        let from = bytes.len();
        bytes.resize(end.min(from + PART), 0);
        read(stream, &mut bytes[from..], until)?;
    }
    Ok(())
}

fn read(stream: &mut TcpStream, mut room: &mut [u8], until: MonotonicTime) -> io::Result<()> {
    while !room.is_empty() {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(room) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => room = &mut room[count..],
            Err(error) => pass(error)?,
        }
    }
    Ok(())
}

fn write(stream: &mut TcpStream, mut bytes: &[u8], until: MonotonicTime) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) => pass(error)?,
        }
    }
    Ok(())
}

/// The time that is left.
fn left(until: MonotonicTime) -> io::Result<Duration> {
    let left = until.remaining(clock::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}
