//! The publisher's side of a connection: what the peer subscribes to. Sans-IO.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::zmtp::{self, Command, GREETING, Stage};
use crate::provider::stream::ProtocolError;
use crate::provider::stream::connection_slots::PeerState;
use crate::provider::stream::peer_set::PeerSetProtocol;

/// The maximum length of a subscription, and the maximum number of different ones of one peer.
const MAX_TOPIC: usize = 4096;
const MAX_TOPICS: usize = 4096;
/// The memory of a topic beside its text, in bytes.
const AROUND_TOPIC: usize = 64;

/// A subscriber, on its publisher's side.
#[derive(Debug)]
pub(in crate::provider) struct ZmtpSubscriber {
    stage: Stage,
    /// With the number of subscriptions to each, less the cancelled ones.
    topics: BTreeMap<Box<[u8]>, u64>,
    /// The memory of the topics, in bytes.
    topic_bytes: usize,
    /// Whether it reads Kadenz's third frame.
    pub(in crate::provider) is_ours: bool,
}

impl ZmtpSubscriber {
    pub(in crate::provider) fn begin_handshake(buffer: &mut Vec<u8>) -> Self {
        buffer.extend_from_slice(&GREETING);
        zmtp::ready(buffer, "PUB");
        Self {
            stage: Stage::Greeting,
            topics: BTreeMap::new(),
            topic_bytes: 0,
            is_ours: false,
        }
    }

    /// Returns whether it has subscribed to a prefix of the channel.
    ///
    /// # Real-time safety
    /// Real-time safe: a few lookups, however many topics there are, and no allocation.
    pub(in crate::provider) fn wants(&self, channel: &str) -> bool {
        if self.stage != Stage::Ready {
            return false;
        }
        // The greatest topic that is not greater begins the channel, or no topic does that is longer
        // than what the two have in common.
        let mut rest = channel.as_bytes();
        loop {
            let until = (Bound::Unbounded, Bound::Included(rest));
            let Some((topic, _)) = self.topics.range::<[u8], _>(until).next_back() else {
                return false;
            };
            if rest.starts_with(topic) {
                return true;
            }
            let common = rest.iter().zip(topic).take_while(|(a, b)| a == b);
            rest = &rest[..common.count()];
        }
    }

    fn subscribe(&mut self, topic: &[u8]) -> Result<(), ProtocolError> {
        if let Some(times) = self.topics.get_mut(topic) {
            *times += 1;
            return Ok(());
        }
        if self.topics.len() == MAX_TOPICS {
            return Err(ProtocolError);
        }
        self.topics.insert(topic.into(), 1);
        self.topic_bytes += topic.len() + AROUND_TOPIC;
        Ok(())
    }

    /// A subscription ends after as many cancellations.
    fn cancel(&mut self, topic: &[u8]) {
        let Some(times) = self.topics.get_mut(topic) else {
            return;
        };
        *times -= 1;
        if *times == 0 {
            self.topics.remove(topic);
            self.topic_bytes -= topic.len() + AROUND_TOPIC;
        }
    }

    fn handle(&mut self, body: &[u8], reply: &mut Vec<u8>) -> Result<(), ProtocolError> {
        match zmtp::read_command(body)? {
            Command::Ready { socket, is_ours } if self.stage == Stage::Handshake => {
                if !matches!(socket, b"SUB" | b"XSUB") {
                    return Err(ProtocolError);
                }
                self.is_ours = is_ours;
                self.stage = Stage::Ready;
            }
            Command::Ready { .. } => return Err(ProtocolError),
            Command::Subscribe(topic) => self.subscribe(topic)?,
            Command::Cancel(topic) => self.cancel(topic),
            Command::Ping(context) => zmtp::pong(reply, context),
            Command::Other => {}
        }
        Ok(())
    }
}

impl PeerSetProtocol for ZmtpSubscriber {
    fn receive(&mut self, bytes: &[u8], reply: &mut Vec<u8>) -> Result<usize, ProtocolError> {
        if self.stage == Stage::Greeting {
            let used = zmtp::greeting(bytes)?.unwrap_or(0);
            if used > 0 {
                self.stage = Stage::Handshake;
            }
            return Ok(used);
        }
        let Some(frame) = zmtp::frame(bytes, MAX_TOPIC)? else {
            return Ok(0);
        };
        match (frame.is_command, frame.body.split_first()) {
            (true, _) => self.handle(frame.body, reply)?,
            (false, Some((1, topic))) => self.subscribe(topic)?,
            (false, Some((0, topic))) => self.cancel(topic),
            // Messages that an XSUB socket sends upstream have no receiver here.
            (false, _) => {}
        }
        Ok(frame.length)
    }

    fn peer_state(&self) -> PeerState {
        self.stage.peer_state(!self.topics.is_empty())
    }

    fn held(&self) -> usize {
        self.topic_bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ready() -> (ZmtpSubscriber, Vec<u8>) {
        let mut buffer = Vec::new();
        let mut subscriber = ZmtpSubscriber::begin_handshake(&mut buffer);
        let mut reply = Vec::new();
        assert_eq!(subscriber.receive(&GREETING, &mut reply), Ok(64));
        let mut buffer = Vec::new();
        zmtp::ready(&mut buffer, "SUB");
        assert_eq!(subscriber.receive(&buffer, &mut reply), Ok(buffer.len()));
        (subscriber, reply)
    }

    #[test]
    fn a_subscription_is_a_prefix_and_counts_as_often_as_it_was_made() {
        let (mut subscriber, mut reply) = ready();
        assert!(!subscriber.wants("ARM"));
        for body in [&b"\x01AR"[..], b"\x01AR"] {
            let mut buffer = Vec::new();
            zmtp::write_frame(&mut buffer, &[body]);
            subscriber.receive(&buffer, &mut reply).unwrap();
        }
        assert!(subscriber.wants("ARM") && !subscriber.wants("A"));
        for still in [true, false] {
            subscriber
                .receive(&[0, 3, 0, b'A', b'R'], &mut reply)
                .unwrap();
            assert_eq!(subscriber.wants("ARM"), still);
        }
    }

    #[test]
    fn version_3_1_subscribes_by_command() {
        let (mut subscriber, mut reply) = ready();
        let body = b"\x09SUBSCRIBEARM";
        let buffer = [&[4, body.len() as u8][..], body].concat();
        subscriber.receive(&buffer, &mut reply).unwrap();
        assert!(subscriber.wants("ARM_LEFT"));
    }

    #[test]
    fn a_peer_that_is_not_a_subscriber_is_refused() {
        let mut buffer = Vec::new();
        let mut subscriber = ZmtpSubscriber::begin_handshake(&mut buffer);
        subscriber.receive(&GREETING, &mut Vec::new()).unwrap();
        let mut buffer = Vec::new();
        zmtp::ready(&mut buffer, "REQ");
        assert_eq!(
            subscriber.receive(&buffer, &mut Vec::new()),
            Err(ProtocolError)
        );
    }

    #[test]
    fn a_topic_that_is_subscribed_to_again_takes_no_more_memory() {
        let (mut subscriber, _) = ready();
        subscriber.subscribe(b"ARM").unwrap();
        let held = subscriber.held();
        for _ in 0..2 * MAX_TOPICS {
            subscriber.subscribe(b"ARM").unwrap();
        }
        assert_eq!(subscriber.held(), held);
        for _ in 0..=2 * MAX_TOPICS {
            assert!(subscriber.wants("ARM"));
            subscriber.cancel(b"ARM");
        }
        subscriber.cancel(b"ARM");
        assert!(!subscriber.wants("ARM") && subscriber.held() == 0);
        for topic in 0..MAX_TOPICS {
            subscriber.subscribe(topic.to_string().as_bytes()).unwrap();
        }
        assert_eq!(subscriber.subscribe(b"MORE"), Err(ProtocolError));
    }

    proptest! {
        #[test]
        fn wanted_is_what_begins_with_a_topic(
            topics in prop::collection::vec("[ABC]{0,4}", 0..12),
            channel in "[ABC]{1,6}",
        ) {
            let (mut subscriber, _) = ready();
            for topic in &topics {
                subscriber.subscribe(topic.as_bytes()).unwrap();
            }
            let expected = topics.iter().any(|topic| channel.starts_with(topic));
            prop_assert_eq!(subscriber.wants(&channel), expected);
        }
    }
}
