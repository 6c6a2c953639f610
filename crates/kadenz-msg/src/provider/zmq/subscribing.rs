//! The subscriber's side of a connection: subscriptions, and messages of frames. Sans-IO.

use super::zmtp::{self, Command, GREETING, Stage, ZmtpFrame};
use crate::arrival::{SenderId, SourceInfo};
use crate::channel::{MAX_CHANNEL, Pattern};
use crate::provider::stream::connection_slots::PeerState;
use crate::provider::stream::note::read_note;
use crate::provider::stream::peer_receiver::PeerProtocol;
use crate::provider::stream::{ProtocolError, ReadOutcome, StreamMessage};

/// The maximum number of frames of one message, which are all read again whenever more of it arrives. Two are
/// a message, three are a message of a Kadenz program; more are another program's, and malformed here.
const MAX_FRAMES: usize = 1000;

/// A publisher, on its subscriber's side.
#[derive(Debug)]
pub(in crate::provider) struct ZmtpPublisher {
    stage: Stage,
    /// The source of all messages of a peer that is not a Kadenz program.
    source: SourceInfo,
    /// The prefixes that were subscribed to.
    asked: Vec<Vec<u8>>,
    longest: usize,
    has_published: bool,
}

impl ZmtpPublisher {
    pub(in crate::provider) fn begin_handshake(
        buffer: &mut Vec<u8>,
        sender: SenderId,
        longest: usize,
    ) -> Self {
        buffer.extend_from_slice(&GREETING);
        zmtp::ready(buffer, "SUB");
        Self {
            stage: Stage::Greeting,
            source: SourceInfo::new(sender, None),
            asked: Vec::new(),
            longest,
            has_published: false,
        }
    }

    fn handle(
        &mut self,
        body: &[u8],
        wanted: &[Pattern],
        buffer: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        match zmtp::read_command(body)? {
            Command::Ready { socket, .. } if self.stage == Stage::Handshake => {
                if !matches!(socket, b"PUB" | b"XPUB") {
                    return Err(ProtocolError);
                }
                self.stage = Stage::Ready;
                self.want(wanted, buffer);
            }
            Command::Ready { .. } => return Err(ProtocolError),
            Command::Ping(context) => zmtp::pong(buffer, context),
            Command::Subscribe(_) | Command::Cancel(_) | Command::Other => {}
        }
        Ok(())
    }

    /// Returns the message that begins at the front; `None` while it is incomplete.
    fn message<'a>(&self, bytes: &'a [u8]) -> Result<Option<ReadOutcome<'a>>, ProtocolError> {
        let mut bodies = [&[][..]; 3];
        let (mut used, mut count) = (0, 0);
        loop {
            let Some(frame) = zmtp::frame(&bytes[used..], self.longest)? else {
                // A peer that never ends a message must end somewhere.
                let is_endless = used > 2 * self.longest;
                return if is_endless {
                    Err(ProtocolError)
                } else {
                    Ok(None)
                };
            };
            let ZmtpFrame { body, length, .. } = frame;
            if let Some(slot) = bodies.get_mut(count) {
                *slot = body;
            }
            used += length;
            count += 1;
            if count > MAX_FRAMES {
                return Err(ProtocolError);
            }
            if !frame.has_more {
                break;
            }
        }
        let received = self.received(&bodies, count);
        Ok(Some(match received {
            Some(received) => ReadOutcome::Message(used, received),
            None => ReadOutcome::Malformed(used),
        }))
    }

    /// Returns the message of some frames: channel and payload, and from Kadenz programs sender and number.
    fn received<'a>(&self, bodies: &[&'a [u8]; 3], count: usize) -> Option<StreamMessage<'a>> {
        let [channel, payload, note] = bodies;
        let channel = std::str::from_utf8(channel).ok()?;
        let is_name = (1..=MAX_CHANNEL).contains(&channel.len());
        if !is_name || !(2..=3).contains(&count) {
            return None;
        }
        let source = match count {
            2 => self.source,
            _ => read_note(note)?,
        };
        Some(StreamMessage {
            channel,
            payload,
            source,
        })
    }
}

impl PeerProtocol for ZmtpPublisher {
    fn want(&mut self, wanted: &[Pattern], buffer: &mut Vec<u8>) {
        if self.stage != Stage::Ready {
            return;
        }
        let topics: Vec<Vec<u8>> = wanted.iter().map(prefix_of).collect();
        // New ones first, so that nothing is missed in between.
        for topic in &topics {
            if !self.asked.contains(topic) {
                zmtp::write_frame(buffer, &[&[1], topic]);
            }
        }
        for topic in &self.asked {
            if !topics.contains(topic) {
                zmtp::write_frame(buffer, &[&[0], topic]);
            }
        }
        self.asked = topics;
        self.asked.sort();
        self.asked.dedup();
    }

    fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
        wanted: &[Pattern],
        buffer: &mut Vec<u8>,
    ) -> Result<ReadOutcome<'a>, ProtocolError> {
        if self.stage == Stage::Greeting {
            return Ok(match zmtp::greeting(bytes)? {
                None => ReadOutcome::Short,
                Some(used) => {
                    self.stage = Stage::Handshake;
                    ReadOutcome::Other(used)
                }
            });
        }
        let Some(frame) = zmtp::frame(bytes, self.longest)? else {
            return Ok(ReadOutcome::Short);
        };
        if frame.is_command {
            self.handle(frame.body, wanted, buffer)?;
            return Ok(ReadOutcome::Other(frame.length));
        }
        if self.stage != Stage::Ready {
            return Err(ProtocolError);
        }
        let read = self.message(bytes)?;
        self.has_published |= read.is_some();
        Ok(read.unwrap_or(ReadOutcome::Short))
    }

    fn peer_state(&self) -> PeerState {
        self.stage.peer_state(self.has_published)
    }
}

/// Returns the common prefix of all channels that the pattern matches: the name, or the plain letters before
/// the first sign of an expression.
fn prefix_of(pattern: &Pattern) -> Vec<u8> {
    if let Some(name) = pattern.exactly() {
        return name.as_bytes().to_vec();
    }
    let text = pattern.as_str().as_bytes();
    if text.contains(&b'|') {
        return Vec::new();
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-/#:".contains(byte);
    let plain = text.iter().take_while(|byte| is_plain(byte)).count();
    // The last letter may be repeated any number of times, or none.
    let repeats = text.get(plain).is_some_and(|sign| b"*?{+".contains(sign));
    text[..plain.saturating_sub(usize::from(repeats))].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_asked_for_by_what_it_must_begin_with() {
        let prefixes = [
            ("ARM", "ARM"),
            ("ARM_.*", "ARM_"),
            ("ARMS?", "ARM"),
            ("ARM+", "AR"),
            ("A|BC", ""),
            (".*", ""),
            ("(a)b", ""),
        ];
        for (pattern, prefix) in prefixes {
            let pattern = Pattern::new(pattern).unwrap();
            assert_eq!(prefix_of(&pattern), prefix.as_bytes(), "{pattern:?}");
        }
    }

    fn ready(wanted: &[Pattern]) -> (ZmtpPublisher, Vec<u8>) {
        let mut publisher = ZmtpPublisher::begin_handshake(&mut Vec::new(), SenderId(7), 1000);
        let mut buffer = Vec::new();
        publisher.read(&GREETING, wanted, &mut buffer).unwrap();
        let mut peers = Vec::new();
        zmtp::ready(&mut peers, "PUB");
        publisher.read(&peers, wanted, &mut buffer).unwrap();
        (publisher, buffer)
    }

    #[test]
    fn what_is_wanted_is_asked_for_when_the_peer_is_ready_and_only_once() {
        let wanted = ["A", "A", "B"].map(|name| Pattern::new(name).unwrap());
        let (mut publisher, buffer) = ready(&wanted[..1]);
        assert_eq!(buffer, b"\x00\x02\x01A");
        let mut buffer = Vec::new();
        publisher.want(&wanted[1..], &mut buffer);
        assert_eq!(buffer, b"\x00\x02\x01B");
        let mut buffer = Vec::new();
        publisher.want(&wanted[2..], &mut buffer);
        assert_eq!(buffer, b"\x00\x02\x00A");
    }

    #[test]
    fn a_message_of_frames_without_end_is_given_up_before_it_costs_much() {
        let (publisher, _) = ready(&[]);
        let endless = [1, 0].repeat(MAX_FRAMES + 1);
        let some = publisher.message(&endless[..2 * MAX_FRAMES]);
        assert_eq!(some, Ok(None));
        assert_eq!(publisher.message(&endless), Err(ProtocolError));
    }

    #[test]
    fn two_frames_are_a_message_of_any_program_and_others_are_not() {
        let (publisher, _) = ready(&[]);
        let read = |bytes: &'static [u8]| {
            publisher
                .message(bytes)
                .map(|it| it.unwrap_or(ReadOutcome::Short))
        };
        let received = StreamMessage {
            channel: "A",
            payload: b"xy",
            source: SourceInfo::new(SenderId(7), None),
        };
        assert_eq!(
            read(b"\x01\x01A\x00\x02xy"),
            Ok(ReadOutcome::Message(7, received))
        );
        assert_eq!(read(b"\x01\x01A\x00\x02x"), Ok(ReadOutcome::Short));
        assert_eq!(read(b"\x00\x03Axy"), Ok(ReadOutcome::Malformed(5)));
        assert_eq!(
            read(b"\x01\x01A\x01\x00\x00\x01?"),
            Ok(ReadOutcome::Malformed(8))
        );
        let four = b"\x01\x01A\x01\x00\x01\x00\x00\x00";
        assert_eq!(read(four), Ok(ReadOutcome::Malformed(9)));
    }
}
