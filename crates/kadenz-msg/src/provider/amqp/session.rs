//! The handshake of both sides of the provider until the exchange is declared. Sans-IO.

use std::sync::Arc;

use super::wire::{self, AmqpFieldReader, AmqpFrameWriter, METHOD, Method, PROTOCOL};
use crate::provider::stream::ProtocolError;
use crate::provider::stream::connection_slots::PeerState;
use crate::provider::stream::peer_set::PeerSetProtocol;
use crate::sync::Lock;

/// The maximum length of a frame, which is RabbitMQ's default.
const MAX_FRAME: u32 = 1 << 17;

/// The reply code for an exchange that does not exist.
const NOT_FOUND: u16 = 404;

/// The address, the user and the exchange of a connection.
#[derive(Debug, Clone)]
pub(in crate::provider) struct Account {
    pub(in crate::provider) user: String,
    pub(in crate::provider) password: String,
    pub(in crate::provider) virtual_host: String,
    pub(in crate::provider) exchange: String,
}

/// The progress of a connection, for those that wait for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::provider) enum Status {
    /// The broker has not answered yet.
    #[default]
    Waiting,
    /// The exchange is declared: messages can be sent.
    Ready,
    /// The broker refused, with its reason.
    Refused(String),
}

/// A frame or method that the broker sent.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider) enum BrokerMessage<'a> {
    /// A frame that was answered or needs no answer.
    Nothing,
    /// The exchange is there.
    Ready,
    /// A method of the provider's side, with its fields.
    Method(Method, &'a [u8]),
}

/// A connection to a broker.
#[derive(Debug)]
pub(in crate::provider) struct Session {
    account: Arc<Account>,
    status: Arc<Lock<Status>>,
    /// Whether the exchange is known to be missing, so that it is made.
    makes_exchange: bool,
    /// The longest payload of a frame.
    pub(in crate::provider) frame: usize,
}

impl Session {
    pub(in crate::provider) fn begin_handshake(
        buffer: &mut Vec<u8>,
        account: &Arc<Account>,
        status: &Arc<Lock<Status>>,
    ) -> Self {
        buffer.extend_from_slice(PROTOCOL);
        Self {
            account: Arc::clone(account),
            status: Arc::clone(status),
            makes_exchange: false,
            frame: MAX_FRAME as usize - super::wire::AROUND,
        }
    }

    pub(in crate::provider) fn account(&self) -> &Account {
        &self.account
    }

    pub(in crate::provider) fn set_status(&self, status: Status) {
        self.status.with(|it| *it = status);
    }

    /// Reads a method and answers it if it belongs to the connection's handshake.
    pub(in crate::provider) fn handle<'a>(
        &mut self,
        payload: &'a [u8],
        buffer: &mut Vec<u8>,
    ) -> Result<BrokerMessage<'a>, ProtocolError> {
        let mut reader = AmqpFieldReader(payload);
        match reader.method()? {
            Method::START => self.start(buffer),
            Method::TUNE => self.tune(&mut reader, buffer)?,
            Method::OPEN_OK => open_channel(buffer),
            Method::CHANNEL_OPEN_OK => self.declare_exchange(buffer),
            Method::EXCHANGE_DECLARE_OK => return Ok(BrokerMessage::Ready),
            method @ (Method::CLOSE | Method::CHANNEL_CLOSE) => {
                let code = reader.u16()?;
                let is_missing = method == Method::CHANNEL_CLOSE && code == NOT_FOUND;
                if is_missing && !self.makes_exchange {
                    self.makes_exchange = true;
                    AmqpFrameWriter::method(buffer, Method::CHANNEL_CLOSE_OK).end();
                    open_channel(buffer);
                    return Ok(BrokerMessage::Nothing);
                }
                let reason = String::from_utf8_lossy(reader.short()?).into_owned();
                self.set_status(Status::Refused(format!("{code} {reason}")));
                AmqpFrameWriter::method(buffer, Method::CLOSE_OK).end();
                return Err(ProtocolError);
            }
            method => return Ok(BrokerMessage::Method(method, reader.0)),
        }
        Ok(BrokerMessage::Nothing)
    }

    /// Asks for the exchange as it is, which may be durable, and makes one only if there is none.
    fn declare_exchange(&self, buffer: &mut Vec<u8>) {
        const PASSIVE: u8 = 1;
        let writer = AmqpFrameWriter::method(buffer, Method::EXCHANGE_DECLARE).u16(0);
        let writer = writer
            .short(self.account.exchange.as_bytes())
            .short(b"topic");
        // Neither durable, deleted nor internal, and without arguments.
        let flags = if self.makes_exchange { 0 } else { PASSIVE };
        writer.u8(flags).u32(0).end();
    }

    fn start(&self, buffer: &mut Vec<u8>) {
        let Account { user, password, .. } = &*self.account;
        let response = format!("\0{user}\0{password}");
        // No client properties.
        let writer = AmqpFrameWriter::method(buffer, Method::START_OK)
            .u32(0)
            .short(b"PLAIN");
        writer.long(response.as_bytes()).short(b"en_US").end();
    }

    fn tune(
        &mut self,
        reader: &mut AmqpFieldReader<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let (_channels, offered, _heartbeat) = (reader.u16()?, reader.u32()?, reader.u16()?);
        let frame = match offered {
            0 => MAX_FRAME,
            offered => offered.min(MAX_FRAME),
        };
        if frame < 4096 {
            return Err(ProtocolError);
        }
        self.frame = frame as usize - super::wire::AROUND;
        // One channel, and no heartbeats, because a program that does not receive could not answer them.
        AmqpFrameWriter::method(buffer, Method::TUNE_OK)
            .u16(1)
            .u32(frame)
            .u16(0)
            .end();
        let writer = AmqpFrameWriter::method(buffer, Method::OPEN);
        let host = self.account.virtual_host.as_bytes();
        writer.short(host).short(b"").u8(0).end();
        Ok(())
    }
}

fn open_channel(buffer: &mut Vec<u8>) {
    AmqpFrameWriter::method(buffer, Method::CHANNEL_OPEN)
        .short(b"")
        .end();
}

// The publisher's side of a connection. Sans-IO.

/// A publisher's session with a broker.
#[derive(Debug)]
pub(in crate::provider) struct PublisherSession {
    session: Session,
    pub(in crate::provider) is_ready: bool,
}

impl PublisherSession {
    pub(in crate::provider) fn begin_handshake(
        buffer: &mut Vec<u8>,
        account: &Arc<Account>,
        status: &Arc<Lock<Status>>,
    ) -> Self {
        Self {
            session: Session::begin_handshake(buffer, account, status),
            is_ready: false,
        }
    }

    /// The longest payload of a frame.
    pub(in crate::provider) fn frame(&self) -> usize {
        self.session.frame
    }
}

impl PeerSetProtocol for PublisherSession {
    fn receive(&mut self, bytes: &[u8], reply: &mut Vec<u8>) -> Result<usize, ProtocolError> {
        let Some(frame) = wire::frame(bytes, self.session.frame)? else {
            return Ok(0);
        };
        if frame.kind == METHOD
            && self.session.handle(frame.payload, reply)? == BrokerMessage::Ready
        {
            self.is_ready = true;
            self.session.set_status(Status::Ready);
        }
        Ok(frame.length)
    }

    /// The inlet opened this connection itself, so the broker is a known peer.
    fn peer_state(&self) -> PeerState {
        PeerState::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The methods in a session's bytes, with their fields.
    fn methods(mut bytes: &[u8]) -> Vec<(Method, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(frame) = wire::frame(bytes, 1000).unwrap() {
            let mut fields = AmqpFieldReader(frame.payload);
            all.push((fields.method().unwrap(), fields.0.to_vec()));
            bytes = &bytes[frame.length..];
        }
        all
    }

    fn session() -> Session {
        let account = Account {
            user: String::new(),
            password: String::new(),
            virtual_host: String::new(),
            exchange: "robot".to_owned(),
        };
        let status = Arc::new(Lock::new(Status::Waiting));
        Session::begin_handshake(&mut Vec::new(), &Arc::new(account), &status)
    }

    /// Passes a method of the broker to the session; returns the answers.
    fn answers(session: &mut Session, method: Method, code: u16) -> Vec<(Method, Vec<u8>)> {
        let [class, id] = [method.0, method.1].map(u16::to_be_bytes);
        let payload = [&class[..], &id, &code.to_be_bytes(), b"\x04gone"].concat();
        let mut buffer = Vec::new();
        let _ = session.handle(&payload, &mut buffer);
        methods(&buffer)
    }

    fn declare(flags: u8) -> (Method, Vec<u8>) {
        let fields = [b"\0\0\x05robot\x05topic", &[flags][..], &[0; 4]].concat();
        (Method::EXCHANGE_DECLARE, fields)
    }

    #[test]
    fn an_exchange_is_taken_as_it_is_and_made_if_there_is_none() {
        const PASSIVE: u8 = 1;
        let mut session = session();
        let open = (Method::CHANNEL_OPEN, vec![0]);
        let answered = answers(&mut session, Method::OPEN_OK, 0);
        assert_eq!(answered, std::slice::from_ref(&open));
        let opened = answers(&mut session, Method::CHANNEL_OPEN_OK, 0);
        assert_eq!(opened, [declare(PASSIVE)]);
        let closed = answers(&mut session, Method::CHANNEL_CLOSE, NOT_FOUND);
        assert_eq!(closed, [(Method::CHANNEL_CLOSE_OK, Vec::new()), open]);
        let opened = answers(&mut session, Method::CHANNEL_OPEN_OK, 0);
        assert_eq!(opened, [declare(0)]);
        assert_eq!(session.status.with(|it| it.clone()), Status::Waiting);
        answers(&mut session, Method::CHANNEL_CLOSE, NOT_FOUND);
        let refused = Status::Refused("404 gone".to_owned());
        assert_eq!(session.status.with(|it| it.clone()), refused);
    }
}
