//! Bytes of unknown peers on a stream, for fuzzing: every reader of them, fed with any bytes.
//!
//! Each function panics if a reader takes more than there is, goes on without taking anything, or returns an
//! impossible message. Compiled only with `cfg(fuzzing)` or for tests.

use std::sync::Arc;

use super::ros1::services::protocol::{ClientInput, ClientSession, Offer};
use super::stream::peer_receiver;
use super::stream::peer_set::PeerSetProtocol;
use super::stream::{ProtocolError, ReadOutcome};
use super::{amqp, ros1, zmq};
use crate::arrival::SenderId;
use crate::channel::{MAX_CHANNEL, Pattern};
use crate::sync::Lock;

/// The longest payload that is allowed here.
const MAX: usize = 10_000;

/// Both sides of `zmq://`.
pub fn zmq(bytes: &[u8]) {
    let mut buffer = Vec::new();
    let publisher = zmq::subscribing::ZmtpPublisher::begin_handshake(&mut buffer, SenderId(1), MAX);
    read_all(publisher, bytes);
    receive_all(
        zmq::publishing::ZmtpSubscriber::begin_handshake(&mut buffer),
        bytes,
    );
}

/// Both sides of a topic of `ros1://`, and a service's clients.
pub fn ros1(bytes: &[u8]) {
    let mut buffer = Vec::new();
    let sender = SenderId(1);
    let publisher =
        ros1::tcpros::TcprosPublisher::begin_handshake(&mut buffer, "/us", "A", sender, MAX);
    read_all(publisher, bytes);
    let kind = ros1::tcpros::TopicType {
        name: "std_msgs/String".to_owned(),
        md5: "*".to_owned(),
        definition: String::new(),
    };
    let mut topics = ros1::Topics::new(true);
    topics.add("A");
    let topics = Arc::new(Lock::new(topics));
    receive_all(
        ros1::tcpros::TcprosSubscriber::new(Arc::new(kind), "/us".into(), topics),
        bytes,
    );
    ros1_service(bytes);
}

/// The bytes of a service's client.
fn ros1_service(mut bytes: &[u8]) {
    let mut protocol = ClientSession::new(Arc::new(Offer {
        service: "/A".to_owned(),
        kind: ros1::ServiceType::new("std_srvs/Empty", "*"),
        caller: "/us".into(),
        longest: MAX,
    }));
    let mut reply = Vec::new();
    loop {
        let used = match protocol.receive(bytes, &mut reply) {
            Err(ProtocolError) | Ok(ClientInput::Short | ClientInput::Last) => return,
            Ok(ClientInput::Header(used)) => used,
            Ok(ClientInput::Request(used, request)) => {
                assert!(request.len() <= MAX && request.len() + 4 == used);
                used
            }
        };
        bytes = &bytes[used..];
        assert!(reply.len() <= 1000);
        reply.clear();
    }
}

/// The calls and answers of a ROS master and its nodes.
pub fn xml_rpc(bytes: &[u8]) {
    let mut incoming = ros1::http::HttpMessageReader::new(MAX);
    for part in bytes.chunks(7) {
        match incoming.push(part) {
            Ok(false) => {}
            Ok(true) => break,
            Err(_) => return,
        }
    }
    if let Ok(body) = incoming.body() {
        assert!(body.len() <= MAX);
        let _ = ros1::xmlrpc::Call::parse(&body);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(call) = ros1::xmlrpc::Call::parse(text) {
        // A written call must be readable again.
        assert!(ros1::xmlrpc::Call::parse(&call.to_xml()).is_some());
    }
    let _ = ros1::xmlrpc::parse_answer(text);
}

/// Both sides of `amqp://`.
pub fn amqp(bytes: &[u8]) {
    let account = amqp::session::Account {
        user: "guest".to_owned(),
        password: "guest".to_owned(),
        virtual_host: "/".to_owned(),
        exchange: "kadenz".to_owned(),
    };
    let (account, status) = (Arc::new(account), Arc::new(Lock::new(Default::default())));
    let mut buffer = Vec::new();
    let broker = amqp::subscribing::ConsumerSession::begin_handshake(
        &mut buffer,
        &account,
        &status,
        10,
        MAX,
    );
    read_all(broker, bytes);
    receive_all(
        amqp::session::PublisherSession::begin_handshake(&mut buffer, &account, &status),
        bytes,
    );
}

fn read_all<T: peer_receiver::PeerProtocol>(mut protocol: T, mut bytes: &[u8]) {
    let wanted: Vec<Pattern> = ["A", "B.*"]
        .iter()
        .flat_map(|it| Pattern::new(it))
        .collect();
    let mut buffer = Vec::new();
    loop {
        let used = match protocol.read(bytes, &wanted, &mut buffer) {
            Err(ProtocolError) | Ok(ReadOutcome::Short) => return,
            Ok(ReadOutcome::Other(used) | ReadOutcome::Malformed(used)) => used,
            Ok(ReadOutcome::Message(used, received)) => {
                assert!((1..=MAX_CHANNEL).contains(&received.channel.len()));
                assert!(received.payload.len() <= MAX + 16);
                used
            }
        };
        assert!((1..=bytes.len()).contains(&used));
        bytes = &bytes[used..];
        // A peer cannot make this side send much more than the peer sent.
        assert!(buffer.len() <= 1000 + 200 * 64);
        buffer.clear();
    }
}

fn receive_all<P: PeerSetProtocol>(mut peer: P, mut bytes: &[u8]) {
    let mut reply = Vec::new();
    while !bytes.is_empty() {
        match peer.receive(bytes, &mut reply) {
            Err(ProtocolError) | Ok(0) => return,
            Ok(used) => bytes = &bytes[used..],
        }
        assert!(reply.len() <= 1 << 18);
        reply.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            super::zmq(&bytes);
            super::ros1(&bytes);
            super::amqp(&bytes);
            super::xml_rpc(&bytes);
        }

        #[test]
        fn frames_may_hold_anything(
            kinds in prop::collection::vec((0_u8..9, prop::collection::vec(any::<u8>(), 0..60)), 1..8),
        ) {
            let (mut zmq, mut amqp) = (super::super::zmq::zmtp::GREETING.to_vec(), Vec::new());
            for (kind, body) in &kinds {
                zmq.extend_from_slice(&[*kind, body.len() as u8]);
                zmq.extend_from_slice(body);
                amqp.extend_from_slice(&[*kind, 0, 1, 0, 0, 0, body.len() as u8]);
                amqp.extend_from_slice(body);
                amqp.push(0xce);
            }
            super::zmq(&zmq);
            super::amqp(&amqp);
        }
    }
}
