//! TCPROS, by which nodes send topics to each other: a header of fields, then messages after their
//! length, all little-endian. Sans-IO.

use std::io;
use std::sync::Arc;

use super::super::stream::connection_slots::PeerState;
use super::super::stream::note::{NOTE, read_note};
use super::super::stream::outgoing::PARTS;
use super::super::stream::peer_receiver::PeerProtocol;
use super::super::stream::peer_set::{PeerSetProtocol, SendMessage};
use super::super::stream::{ProtocolError, ReadOutcome, StreamMessage};
use super::Topics;
use crate::arrival::{SenderId, SourceInfo};
use crate::channel::{MAX_CHANNEL, Pattern};
use crate::sync::Lock;

/// The maximum length of a header, in bytes.
pub(super) const MAX_HEADER: usize = 1 << 16;

/// The field by which Kadenz programs recognise each other, and then add a note to their messages.
const OURS: &str = "kadenz";

/// The type of a topic's messages, as in a publisher's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::provider) struct TopicType {
    /// Such as `std_msgs/String`.
    pub(in crate::provider) name: String,
    pub(in crate::provider) md5: String,
    /// The text of the type, for programs that record it; may be empty.
    pub(in crate::provider) definition: String,
}

pub(in crate::provider) fn write_header(buffer: &mut Vec<u8>, fields: &[(&str, &str)]) {
    let lengths = fields
        .iter()
        .map(|(name, value)| 4 + name.len() + 1 + value.len());
    let total: usize = lengths.sum();
    buffer.extend_from_slice(&(total as u32).to_le_bytes());
    for (name, value) in fields {
        let length = name.len() + 1 + value.len();
        buffer.extend_from_slice(&(length as u32).to_le_bytes());
        buffer.extend_from_slice(name.as_bytes());
        buffer.push(b'=');
        buffer.extend_from_slice(value.as_bytes());
    }
}

/// Returns the bytes after their length; `None` while they are incomplete.
fn counted(bytes: &[u8], longest: usize) -> Result<Option<&[u8]>, ProtocolError> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > longest {
        return Err(ProtocolError);
    }
    Ok(rest.get(..length))
}

/// A header at the front, as fields, and its length with all.
type ConnectionHeader<'a> = (Vec<(&'a str, &'a str)>, usize);

/// Reads a header; `None` while it is incomplete.
pub(in crate::provider) fn read_header(
    bytes: &[u8],
) -> Result<Option<ConnectionHeader<'_>>, ProtocolError> {
    let Some(mut rest) = counted(bytes, MAX_HEADER)? else {
        return Ok(None);
    };
    let length = 4 + rest.len();
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let field = counted(rest, MAX_HEADER)?.ok_or(ProtocolError)?;
        rest = &rest[4 + field.len()..];
        let field = std::str::from_utf8(field).map_err(|_| ProtocolError)?;
        fields.push(field.split_once('=').ok_or(ProtocolError)?);
    }
    Ok(Some((fields, length)))
}

pub(super) fn field<'a>(fields: &[(&str, &'a str)], name: &str) -> &'a str {
    let mut found = fields.iter().filter(|field| field.0 == name);
    found.next().map_or("", |field| field.1)
}

/// A message between its length and, for Kadenz programs, its note.
pub(in crate::provider) struct Framed<'a> {
    /// With the note, and without.
    lengths: [[u8; 4]; 2],
    payload: &'a [u8],
    note: &'a [u8; NOTE],
}

impl<'a> Framed<'a> {
    pub(in crate::provider) fn new(payload: &'a [u8], note: &'a [u8; NOTE]) -> Self {
        let lengths = [payload.len() + NOTE, payload.len()];
        Self {
            lengths: lengths.map(|length| (length as u32).to_le_bytes()),
            payload,
            note,
        }
    }

    pub(in crate::provider) fn parts(&self, is_ours: bool) -> [&[u8]; PARTS] {
        let [ours, theirs] = &self.lengths;
        match is_ours {
            true => [ours, self.payload, self.note],
            false => [theirs, self.payload, &[]],
        }
    }
}

/// A subscriber, on its publisher's side.
#[derive(Debug)]
pub(in crate::provider) struct TcprosSubscriber {
    kind: Arc<TopicType>,
    caller: Arc<str>,
    /// The topics that are published here.
    topics: Arc<Lock<Topics>>,
    /// Empty until the header has arrived.
    topic: String,
    pub(in crate::provider) is_ours: bool,
}

impl TcprosSubscriber {
    pub(in crate::provider) fn new(
        kind: Arc<TopicType>,
        caller: Arc<str>,
        topics: Arc<Lock<Topics>>,
    ) -> Self {
        Self {
            kind,
            caller,
            topics,
            topic: String::new(),
            is_ours: false,
        }
    }

    /// Returns whether it has subscribed to the channel's topic.
    pub(in crate::provider) fn wants(&self, channel: &str) -> bool {
        self.channel() == Some(channel)
    }

    fn channel(&self) -> Option<&str> {
        self.topic.strip_prefix('/')
    }

    /// Returns the reason for which it cannot be served.
    fn refusal(&self, fields: &[(&str, &str)]) -> Option<&'static str> {
        let topic = field(fields, "topic");
        if !self.topics.with(|topics| topics.has(topic)) {
            return Some("this node does not publish that topic");
        }
        let md5 = field(fields, "md5sum");
        let fits = md5 == "*" || self.kind.md5 == "*" || md5 == self.kind.md5;
        (!fits).then_some("the message type has another md5sum here")
    }
}

impl PeerSetProtocol for TcprosSubscriber {
    fn receive(&mut self, bytes: &[u8], reply: &mut Vec<u8>) -> Result<usize, ProtocolError> {
        if !self.topic.is_empty() {
            // Bytes after the header have no meaning.
            return Ok(bytes.len());
        }
        let Some((fields, length)) = read_header(bytes)? else {
            return Ok(0);
        };
        if let Some(refusal) = self.refusal(&fields) {
            write_header(reply, &[("error", refusal)]);
            return Ok(length);
        }
        self.topic = field(&fields, "topic").to_owned();
        self.is_ours = field(&fields, OURS) == "1";
        let ours = if self.is_ours { "1" } else { "0" };
        let is_latched = self.topics.with(|topics| topics.is_latched());
        let TopicType {
            name,
            md5,
            definition,
        } = &*self.kind;
        let answer = [
            ("callerid", &*self.caller),
            ("topic", &self.topic),
            ("type", name),
            ("md5sum", md5),
            ("message_definition", definition),
            ("latching", if is_latched { "1" } else { "0" }),
            (OURS, ours),
        ];
        write_header(reply, &answer);
        Ok(length)
    }

    fn peer_state(&self) -> PeerState {
        match self.topic.as_str() {
            "" => PeerState::Connected,
            _ => PeerState::Active,
        }
    }

    /// Sends the topic's last message, if it is latched.
    fn send_latched(&self, send: &mut SendMessage<'_>) -> io::Result<()> {
        let channel = self.channel().unwrap_or_default();
        self.topics.with(|topics| match topics.last(channel) {
            Some((payload, note)) => send(Framed::new(payload, note).parts(self.is_ours)),
            None => Ok(()),
        })
    }
}

/// A publisher of one topic, on its subscriber's side.
#[derive(Debug)]
pub(in crate::provider) struct TcprosPublisher {
    channel: String,
    /// The source of all messages of a publisher that is not a Kadenz program.
    source: SourceInfo,
    longest: usize,
    /// `None` until the header has arrived, and then whether the peer is a Kadenz program.
    is_ours: Option<bool>,
}

impl TcprosPublisher {
    pub(in crate::provider) fn begin_handshake(
        buffer: &mut Vec<u8>,
        caller: &str,
        channel: &str,
        sender: SenderId,
        longest: usize,
    ) -> Self {
        let topic = format!("/{channel}");
        let fields = [
            ("callerid", caller),
            ("topic", &topic),
            ("type", "*"),
            ("md5sum", "*"),
            ("tcp_nodelay", "1"),
            (OURS, "1"),
        ];
        write_header(buffer, &fields);
        Self {
            channel: channel.to_owned(),
            source: SourceInfo::new(sender, None),
            longest,
            is_ours: None,
        }
    }
}

impl PeerProtocol for TcprosPublisher {
    fn want(&mut self, _wanted: &[Pattern], _words: &mut Vec<u8>) {}

    fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
        _wanted: &[Pattern],
        _words: &mut Vec<u8>,
    ) -> Result<ReadOutcome<'a>, ProtocolError> {
        let Some(is_ours) = self.is_ours else {
            let Some((fields, length)) = read_header(bytes)? else {
                return Ok(ReadOutcome::Short);
            };
            if fields.iter().any(|field| field.0 == "error") {
                return Err(ProtocolError);
            }
            self.is_ours = Some(field(&fields, OURS) == "1");
            return Ok(ReadOutcome::Other(length));
        };
        let Some(body) = counted(bytes, self.longest + NOTE)? else {
            return Ok(ReadOutcome::Short);
        };
        let used = 4 + body.len();
        let (mut payload, mut source) = (body, self.source);
        if is_ours {
            let Some((front, note)) = body.split_at_checked(body.len().saturating_sub(NOTE)) else {
                return Ok(ReadOutcome::Malformed(used));
            };
            let Some(noted) = read_note(note) else {
                return Ok(ReadOutcome::Malformed(used));
            };
            (payload, source) = (front, noted);
        }
        if self.channel.len() > MAX_CHANNEL {
            return Ok(ReadOutcome::Malformed(used));
        }
        let received = StreamMessage {
            channel: &self.channel,
            payload,
            source,
        };
        Ok(ReadOutcome::Message(used, received))
    }

    /// The inlet opened this connection itself, so the publisher is a known peer.
    fn peer_state(&self) -> PeerState {
        PeerState::Active
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::provider::stream::note::note;

    fn subscriber(md5: &str, topics: Topics) -> TcprosSubscriber {
        let kind = TopicType {
            name: "std_msgs/String".to_owned(),
            md5: md5.to_owned(),
            definition: String::new(),
        };
        TcprosSubscriber::new(Arc::new(kind), "/us".into(), Arc::new(Lock::new(topics)))
    }

    fn chatter(is_latched: bool) -> Topics {
        let mut topics = Topics::new(is_latched);
        topics.add("chatter");
        topics
    }

    #[test]
    fn a_subscriber_is_answered_with_the_type_and_served() {
        let mut buffer = Vec::new();
        let mut publisher =
            TcprosPublisher::begin_handshake(&mut buffer, "/me", "chatter", SenderId(1), 100);
        let mut subscriber = subscriber("abc", chatter(false));
        let mut reply = Vec::new();
        assert_eq!(subscriber.receive(&buffer[..9], &mut reply), Ok(0));
        assert_eq!(subscriber.receive(&buffer, &mut reply), Ok(buffer.len()));
        assert!(subscriber.wants("chatter") && !subscriber.wants("other"));
        assert!(subscriber.is_ours);
        let (fields, _) = read_header(&reply).unwrap().unwrap();
        assert_eq!(field(&fields, "type"), "std_msgs/String");
        let read = publisher.read(&reply, &[], &mut buffer);
        assert_eq!(read, Ok(ReadOutcome::Other(reply.len())));
        let message = [&[18, 0, 0, 0][..], b"hi", &note(9, 4)].concat();
        let read = publisher.read(&message, &[], &mut buffer).unwrap();
        let ReadOutcome::Message(22, received) = read else {
            panic!("{read:?}");
        };
        assert_eq!(
            (received.channel, received.payload),
            ("chatter", &b"hi"[..])
        );
        assert_eq!(received.source.sequence.unwrap().number, 4);
    }

    #[test]
    fn another_type_or_topic_is_refused_with_the_reason() {
        for fields in [
            [("topic", "/chatter"), ("md5sum", "xyz")],
            [("topic", "/other"), ("md5sum", "*")],
        ] {
            let mut buffer = Vec::new();
            write_header(&mut buffer, &fields);
            let mut subscriber = subscriber("abc", chatter(false));
            let mut reply = Vec::new();
            subscriber.receive(&buffer, &mut reply).unwrap();
            let (answer, _) = read_header(&reply).unwrap().unwrap();
            assert_eq!(answer[0].0, "error");
            assert!(!subscriber.wants("chatter"));
        }
    }

    #[test]
    fn a_subscriber_of_a_latched_topic_gets_its_last_message_first() {
        for (is_ours, is_latched) in [(true, true), (false, true), (true, false)] {
            let mut topics = chatter(is_latched);
            for number in 0..2 {
                topics.keep("chatter", &[number as u8; 3], &note(9, number));
            }
            let mut subscriber = subscriber("abc", topics);
            let mut buffer = Vec::new();
            let ours = if is_ours { "1" } else { "0" };
            write_header(
                &mut buffer,
                &[("topic", "/chatter"), ("md5sum", "*"), (OURS, ours)],
            );
            let mut reply = Vec::new();
            subscriber.receive(&buffer, &mut reply).unwrap();
            let (fields, _) = read_header(&reply).unwrap().unwrap();
            let mut sent = Vec::new();
            let welcomed = subscriber.send_latched(&mut |parts| {
                sent.push(parts.concat());
                Ok(())
            });
            welcomed.unwrap();
            let expected = match (is_ours, is_latched) {
                (true, true) => vec![[&[19, 0, 0, 0, 1, 1, 1][..], &note(9, 1)].concat()],
                (false, true) => vec![vec![3, 0, 0, 0, 1, 1, 1]],
                (_, false) => Vec::new(),
            };
            assert_eq!(sent, expected);
            let latching = if is_latched { "1" } else { "0" };
            assert_eq!(field(&fields, "latching"), latching);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_beyond_their_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((_, length))) = read_header(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }
    }
}
