//! The subscriber's side of a connection: a queue of its own, and messages of frames. Sans-IO.

use std::sync::Arc;

use super::session::{Account, BrokerMessage, Session, Status};
use super::wire::{self, AmqpFieldReader, AmqpFrameWriter, BODY, HEADER, METHOD, Method};
use crate::arrival::SourceInfo;
use crate::channel::{MAX_CHANNEL, Pattern};
use crate::provider::stream::connection_slots::PeerState;
use crate::provider::stream::note::read_note;
use crate::provider::stream::peer_receiver::PeerProtocol;
use crate::provider::stream::{ProtocolError, ReadOutcome, StreamMessage};
use crate::sync::Lock;

/// A consumer's session with a broker: its queue, its bindings and the incoming message.
#[derive(Debug)]
pub(in crate::provider) struct ConsumerSession {
    session: Session,
    /// How many messages the queue holds before the oldest go.
    depth: u32,
    longest: usize,
    /// The queue's name, once there is one.
    queue: Option<Vec<u8>>,
    bound: Vec<Vec<u8>>,
    incoming: IncomingContent,
}

/// The incoming message.
#[derive(Debug, Default)]
struct IncomingContent {
    /// Empty if the key was not the name of a channel.
    channel: String,
    /// The default for messages of other programs: the broker hides their sender.
    source: SourceInfo,
    size: usize,
    /// Parts of a body that has more than one.
    body: Vec<u8>,
}

impl ConsumerSession {
    pub(in crate::provider) fn begin_handshake(
        buffer: &mut Vec<u8>,
        account: &Arc<Account>,
        status: &Arc<Lock<Status>>,
        depth: u32,
        longest: usize,
    ) -> Self {
        Self {
            session: Session::begin_handshake(buffer, account, status),
            depth,
            longest,
            queue: None,
            bound: Vec::new(),
            incoming: IncomingContent::default(),
        }
    }

    fn handle(
        &mut self,
        payload: &[u8],
        wanted: &[Pattern],
        buffer: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        match self.session.handle(payload, buffer)? {
            BrokerMessage::Nothing => {}
            BrokerMessage::Ready => self.declare(buffer),
            BrokerMessage::Method(Method::QUEUE_DECLARE_OK, fields) => {
                self.queue = Some(AmqpFieldReader(fields).short()?.to_vec());
                self.want(wanted, buffer);
                self.consume(buffer);
            }
            BrokerMessage::Method(Method::CONSUME_OK, _) => self.session.set_status(Status::Ready),
            BrokerMessage::Method(Method::DELIVER, fields) => self.begin(fields)?,
            BrokerMessage::Method(..) => {}
        }
        Ok(())
    }

    /// Declares a queue without a name, for this connection alone, which drops its oldest messages.
    fn declare(&self, buffer: &mut Vec<u8>) {
        const EXCLUSIVE_AND_DELETED: u8 = 1 << 2 | 1 << 3;
        const LIMIT: &[u8] = b"x-max-length";
        let table = 1 + LIMIT.len() + 1 + 4;
        let writer = AmqpFrameWriter::method(buffer, Method::QUEUE_DECLARE)
            .u16(0)
            .short(b"");
        let writer = writer
            .u8(EXCLUSIVE_AND_DELETED)
            .u32(table as u32)
            .short(LIMIT);
        writer.u8(b'I').u32(self.depth).end();
    }

    fn consume(&self, buffer: &mut Vec<u8>) {
        const NO_ACKNOWLEDGEMENT_AND_EXCLUSIVE: u8 = 1 << 1 | 1 << 2;
        let queue = self.queue.as_deref().unwrap_or_default();
        let writer = AmqpFrameWriter::method(buffer, Method::CONSUME)
            .u16(0)
            .short(queue)
            .short(b"");
        writer.u8(NO_ACKNOWLEDGEMENT_AND_EXCLUSIVE).u32(0).end();
    }

    fn bind(&self, buffer: &mut Vec<u8>, key: &[u8], method: Method) {
        let queue = self.queue.as_deref().unwrap_or_default();
        let exchange = self.session.account().exchange.as_bytes();
        let writer = AmqpFrameWriter::method(buffer, method).u16(0);
        let writer = writer.short(queue).short(exchange).short(key);
        // Binding has a flag for no answer, unbinding has none.
        let writer = match method {
            Method::QUEUE_BIND => writer.u8(1),
            _ => writer,
        };
        writer.u32(0).end();
    }

    /// A message begins: its key is the channel.
    fn begin(&mut self, fields: &[u8]) -> Result<(), ProtocolError> {
        let mut reader = AmqpFieldReader(fields);
        let _consumer = reader.short()?;
        let _delivery = reader.u64()?;
        let _again = reader.u8()?;
        let _exchange = reader.short()?;
        let key = std::str::from_utf8(reader.short()?).unwrap_or_default();
        self.incoming.channel.clear();
        if key.len() <= MAX_CHANNEL {
            self.incoming.channel.push_str(key);
        }
        Ok(())
    }

    fn header(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        let (size, note) = wire::read_header(payload)?;
        let size = usize::try_from(size).map_err(|_| ProtocolError)?;
        if size > self.longest {
            return Err(ProtocolError);
        }
        self.incoming.size = size;
        self.incoming.source = note.and_then(read_note).unwrap_or_default();
        self.incoming.body.clear();
        Ok(())
    }
}

impl IncomingContent {
    /// The message, where its body is whole.
    fn received<'a>(&'a self, body: &'a [u8], used: usize) -> ReadOutcome<'a> {
        if self.channel.is_empty() {
            return ReadOutcome::Malformed(used);
        }
        let received = StreamMessage {
            channel: &self.channel,
            payload: body,
            source: self.source,
        };
        ReadOutcome::Message(used, received)
    }

    /// Takes a part of the body; hands the body on when it is complete, without a copy if it is one part.
    fn part<'a>(
        &'a mut self,
        part: &'a [u8],
        used: usize,
    ) -> Result<ReadOutcome<'a>, ProtocolError> {
        if self.body.is_empty() && part.len() == self.size {
            return Ok(self.received(part, used));
        }
        if self.body.len() + part.len() > self.size {
            return Err(ProtocolError);
        }
        self.body.extend_from_slice(part);
        if self.body.len() < self.size {
            return Ok(ReadOutcome::Other(used));
        }
        Ok(self.received(&self.body, used))
    }
}

impl PeerProtocol for ConsumerSession {
    fn want(&mut self, wanted: &[Pattern], buffer: &mut Vec<u8>) {
        if self.queue.is_none() {
            return;
        }
        // The broker's patterns are of words between dots; other expressions are sorted out here.
        let key = |pattern: &Pattern| pattern.exactly().unwrap_or("#").as_bytes().to_vec();
        let mut keys: Vec<Vec<u8>> = wanted.iter().map(key).collect();
        keys.sort();
        keys.dedup();
        // An inlet that gets everything must not get some of it twice; a topic exchange ensures that.
        for key in keys.iter().filter(|key| !self.bound.contains(key)) {
            self.bind(buffer, key, Method::QUEUE_BIND);
        }
        for key in self.bound.iter().filter(|key| !keys.contains(key)) {
            self.bind(buffer, key, Method::QUEUE_UNBIND);
        }
        self.bound = keys;
    }

    fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
        wanted: &[Pattern],
        buffer: &mut Vec<u8>,
    ) -> Result<ReadOutcome<'a>, ProtocolError> {
        let Some(frame) = wire::frame(bytes, self.session.frame)? else {
            return Ok(ReadOutcome::Short);
        };
        let used = frame.length;
        match frame.kind {
            METHOD => self.handle(frame.payload, wanted, buffer)?,
            HEADER => {
                self.header(frame.payload)?;
                if self.incoming.size == 0 {
                    return Ok(self.incoming.received(&[], used));
                }
            }
            BODY => return self.incoming.part(frame.payload, used),
            _ => {}
        }
        Ok(ReadOutcome::Other(used))
    }

    /// The inlet opened this connection itself, so the broker is a known peer.
    fn peer_state(&self) -> PeerState {
        PeerState::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::stream::note::{NOTE, note};

    fn broker() -> ConsumerSession {
        let account = Account {
            user: String::new(),
            password: String::new(),
            virtual_host: String::new(),
            exchange: String::new(),
        };
        let (account, status) = (Arc::new(account), Arc::new(Lock::new(Status::Waiting)));
        ConsumerSession::begin_handshake(&mut Vec::new(), &account, &status, 10, 1000)
    }

    /// A delivery without its body.
    fn delivery(size: usize, note: &[u8; NOTE]) -> Vec<u8> {
        let mut buffer = Vec::new();
        let writer = AmqpFrameWriter::method(&mut buffer, Method::DELIVER)
            .short(b"c")
            .u64(1)
            .u8(0);
        writer.short(b"x").short(b"ARM").end();
        let mut published = Vec::new();
        wire::publish(&mut published, "", "", size, note);
        let method = wire::frame(&published, 1000).unwrap().unwrap().length;
        buffer.extend_from_slice(&published[method..]);
        buffer
    }

    fn read_all(broker: &mut ConsumerSession, bytes: &[u8]) -> Vec<(String, Vec<u8>, u32)> {
        let (mut at, mut all) = (0, Vec::new());
        while at < bytes.len() {
            match broker.read(&bytes[at..], &[], &mut Vec::new()).unwrap() {
                ReadOutcome::Message(used, received) => {
                    let number = received.source.sequence.unwrap().number;
                    all.push((
                        received.channel.to_owned(),
                        received.payload.to_vec(),
                        number,
                    ));
                    at += used;
                }
                ReadOutcome::Other(used) => at += used,
                other => panic!("{other:?}"),
            }
        }
        all
    }

    #[test]
    fn a_body_may_come_in_parts_or_be_empty() {
        let mut broker = broker();
        let mut bytes = delivery(3, &note(1, 5));
        for part in [&b"ab"[..], b"c"] {
            bytes.extend_from_slice(&wire::body_head(part.len()));
            bytes.extend_from_slice(part);
            bytes.push(wire::END);
        }
        bytes.extend_from_slice(&delivery(0, &note(1, 6)));
        let arm = "ARM".to_owned();
        let expected = [(arm.clone(), b"abc".to_vec(), 5), (arm, Vec::new(), 6)];
        assert_eq!(read_all(&mut broker, &bytes), expected);
    }

    #[test]
    fn a_body_that_is_longer_than_said_or_allowed_is_refused() {
        let mut broker = broker();
        read_all(&mut broker, &delivery(1, &note(1, 5)));
        let body = [&wire::body_head(2)[..], b"ab", &[wire::END]].concat();
        assert_eq!(broker.read(&body, &[], &mut Vec::new()), Err(ProtocolError));
        let long = delivery(1001, &note(1, 5));
        let method = wire::frame(&long, 1000).unwrap().unwrap().length;
        assert_eq!(
            broker.read(&long[method..], &[], &mut Vec::new()),
            Err(ProtocolError)
        );
    }
}
