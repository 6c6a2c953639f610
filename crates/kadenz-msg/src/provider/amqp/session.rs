//! The handshake of both sides of the provider until the exchange is declared. Sans-IO.

use std::sync::Arc;

use super::wire::{self, AmqpFieldReader, AmqpFrameWriter, METHOD, Method, PROTOCOL};
use crate::provider::stream::ProtocolError;
use crate::provider::stream::connection_slots::PeerState;
use crate::provider::stream::peer_set::PeerSetProtocol;
use crate::sync::Lock;

/// The maximum length of a frame, which is RabbitMQ's default.
const LARGEST_FRAME: u32 = 1 << 17;

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
    /// Messages can go.
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
            frame: LARGEST_FRAME as usize - super::wire::AROUND,
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
            Method::OPEN_OK => AmqpFrameWriter::method(buffer, Method::CHANNEL_OPEN)
                .short(b"")
                .end(),
            Method::CHANNEL_OPEN_OK => {
                let writer = AmqpFrameWriter::method(buffer, Method::EXCHANGE_DECLARE).u16(0);
                let writer = writer
                    .short(self.account.exchange.as_bytes())
                    .short(b"topic");
                // Neither passive, durable, deleted nor internal, and without arguments.
                writer.u8(0).u32(0).end();
            }
            Method::EXCHANGE_DECLARE_OK => return Ok(BrokerMessage::Ready),
            Method::CLOSE | Method::CHANNEL_CLOSE => {
                let code = reader.u16()?;
                let reason = String::from_utf8_lossy(reader.short()?).into_owned();
                self.set_status(Status::Refused(format!("{code} {reason}")));
                AmqpFrameWriter::method(buffer, Method::CLOSE_OK).end();
                return Err(ProtocolError);
            }
            method => return Ok(BrokerMessage::Method(method, reader.0)),
        }
        Ok(BrokerMessage::Nothing)
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
            0 => LARGEST_FRAME,
            offered => offered.min(LARGEST_FRAME),
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

    /// The inlet opened this connection itself, so the broker is no unknown peer.
    fn peer_state(&self) -> PeerState {
        PeerState::Active
    }
}
