//! The publisher's side of a connection: what the peer subscribes to. Sans-IO.

use super::zmtp::{self, Command, GREETING};
use crate::provider::stream::Broken;
use crate::provider::stream::hub::Peer;
use crate::provider::stream::seats::Standing;

/// A subscription is no longer, and one peer has no more of them.
const LONGEST_TOPIC: usize = 4096;
const MOST_TOPICS: usize = 4096;

/// How far the handshake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    Handshake,
    Ready,
}

/// A subscriber.
#[derive(Debug)]
pub(in crate::provider) struct Subscriber {
    stage: Stage,
    topics: Vec<Vec<u8>>,
    /// Whether it understands our third frame.
    pub(in crate::provider) is_ours: bool,
}

impl Subscriber {
    pub(in crate::provider) fn greet(words: &mut Vec<u8>) -> Self {
        words.extend_from_slice(&GREETING);
        zmtp::ready(words, "PUB");
        Self {
            stage: Stage::Greeting,
            topics: Vec::new(),
            is_ours: false,
        }
    }

    /// Whether it has subscribed to a prefix of this.
    pub(in crate::provider) fn wants(&self, channel: &str) -> bool {
        let channel = channel.as_bytes();
        let mut topics = self.topics.iter();
        self.stage == Stage::Ready && topics.any(|topic| channel.starts_with(topic))
    }

    fn subscribe(&mut self, topic: &[u8]) -> Result<(), Broken> {
        if self.topics.len() == MOST_TOPICS {
            return Err(Broken);
        }
        self.topics.push(topic.to_vec());
        Ok(())
    }

    /// A subscription counts as often as it was made.
    fn cancel(&mut self, topic: &[u8]) {
        if let Some(at) = self.topics.iter().position(|it| it == topic) {
            self.topics.swap_remove(at);
        }
    }

    fn obey(&mut self, body: &[u8], reply: &mut Vec<u8>) -> Result<(), Broken> {
        match zmtp::read_command(body)? {
            Command::Ready { socket, is_ours } if self.stage == Stage::Handshake => {
                if !matches!(socket, b"SUB" | b"XSUB") {
                    return Err(Broken);
                }
                self.is_ours = is_ours;
                self.stage = Stage::Ready;
            }
            Command::Ready { .. } => return Err(Broken),
            Command::Subscribe(topic) => self.subscribe(topic)?,
            Command::Cancel(topic) => self.cancel(topic),
            Command::Ping(context) => zmtp::pong(reply, context),
            Command::Other => {}
        }
        Ok(())
    }
}

impl Peer for Subscriber {
    fn hear(&mut self, bytes: &[u8], reply: &mut Vec<u8>) -> Result<usize, Broken> {
        if self.stage == Stage::Greeting {
            let used = zmtp::greeting(bytes)?.unwrap_or(0);
            if used > 0 {
                self.stage = Stage::Handshake;
            }
            return Ok(used);
        }
        let Some(frame) = zmtp::frame(bytes, LONGEST_TOPIC)? else {
            return Ok(0);
        };
        match (frame.is_command, frame.body.split_first()) {
            (true, _) => self.obey(frame.body, reply)?,
            (false, Some((1, topic))) => self.subscribe(topic)?,
            (false, Some((0, topic))) => self.cancel(topic),
            // What an XSUB socket sends upstream is for nobody here.
            (false, _) => {}
        }
        Ok(frame.length)
    }

    fn standing(&self) -> Standing {
        match self.stage {
            Stage::Greeting | Stage::Handshake => Standing::Stranger,
            Stage::Ready if self.topics.is_empty() => Standing::Greeted,
            Stage::Ready => Standing::Active,
        }
    }

    /// Each topic counts as the longest, for each is compared with every message's.
    fn held(&self) -> usize {
        self.topics.len() * LONGEST_TOPIC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready() -> (Subscriber, Vec<u8>) {
        let mut words = Vec::new();
        let mut subscriber = Subscriber::greet(&mut words);
        let mut reply = Vec::new();
        assert_eq!(subscriber.hear(&GREETING, &mut reply), Ok(64));
        let mut words = Vec::new();
        zmtp::ready(&mut words, "SUB");
        assert_eq!(subscriber.hear(&words, &mut reply), Ok(words.len()));
        (subscriber, reply)
    }

    #[test]
    fn a_subscription_is_a_prefix_and_counts_as_often_as_it_was_made() {
        let (mut subscriber, mut reply) = ready();
        assert!(!subscriber.wants("ARM"));
        for body in [&b"\x01AR"[..], b"\x01AR"] {
            let mut words = Vec::new();
            zmtp::say(&mut words, &[body]);
            subscriber.hear(&words, &mut reply).unwrap();
        }
        assert!(subscriber.wants("ARM") && !subscriber.wants("A"));
        for still in [true, false] {
            subscriber.hear(&[0, 3, 0, b'A', b'R'], &mut reply).unwrap();
            assert_eq!(subscriber.wants("ARM"), still);
        }
    }

    #[test]
    fn version_3_1_subscribes_by_command() {
        let (mut subscriber, mut reply) = ready();
        let body = b"\x09SUBSCRIBEARM";
        let words = [&[4, body.len() as u8][..], body].concat();
        subscriber.hear(&words, &mut reply).unwrap();
        assert!(subscriber.wants("ARM_LEFT"));
    }

    #[test]
    fn who_is_no_subscriber_is_refused() {
        let mut words = Vec::new();
        let mut subscriber = Subscriber::greet(&mut words);
        subscriber.hear(&GREETING, &mut Vec::new()).unwrap();
        let mut words = Vec::new();
        zmtp::ready(&mut words, "REQ");
        assert_eq!(subscriber.hear(&words, &mut Vec::new()), Err(Broken));
    }
}
