//! Subscribing to topics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kadenz_rt::net::watch::Waker;

use super::node::RosNode;
use super::tcpros::TcprosPublisher;
use crate::arrival::{SenderId, random_number};
use crate::channel::Pattern;
use crate::provider::parameters::Address;
use crate::provider::stream::note::PeerInlet;
use crate::provider::stream::peer_receiver::PeerReceiver;
use crate::provider::stream::socket::SocketAddress;
use crate::provider::{
    Inlet, InletCounters, ProviderError, ReceiveError, Received, Take, Wait, Wake,
};

#[derive(Debug)]
pub(super) struct RosInlet {
    address: Address,
    node: RosNode,
    peers: PeerInlet<TcprosPublisher>,
    longest: usize,
    woken: Arc<AtomicBool>,
}

impl RosInlet {
    pub(super) fn new(
        address: &Address,
        node: RosNode,
        receiver: PeerReceiver<TcprosPublisher>,
        longest: usize,
    ) -> Self {
        Self {
            address: address.clone(),
            node,
            peers: PeerInlet::numbered(receiver),
            longest,
            woken: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Connects to the publishers that the node knows by now, and disconnects from others.
    fn follow(&mut self) {
        let sources = self.node.sources();
        let Self { peers, node, .. } = self;
        let receiver = &mut peers.receiver;
        receiver.keep(|id| sources.iter().any(|source| source.id == id));
        for source in sources {
            if receiver.has(source.id) {
                continue;
            }
            let (caller, longest) = (node.caller(), self.longest);
            let channel = source.topic.trim_start_matches('/').to_owned();
            let sender = SenderId(random_number().into());
            let begin_handshake = move |buffer: &mut Vec<u8>| {
                TcprosPublisher::begin_handshake(buffer, &caller, &channel, sender, longest)
            };
            receiver.add_target(
                source.id,
                SocketAddress::Tcp(source.address),
                Box::new(begin_handshake),
            );
        }
    }
}

impl Inlet for RosInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        self.peers.want(patterns)?;
        let outcome = self.node.want(patterns, self.peers.receiver.waker());
        outcome.map_err(|error| super::no_master(&self.address, &error))
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        loop {
            let outcome = self.peers.receive(wait, take);
            if !matches!(outcome, Ok(Received::Woken)) {
                return outcome;
            }
            // The user's waker, or news of publishers from the node.
            self.follow();
            if self.woken.swap(false, Ordering::AcqRel) {
                return outcome;
            }
        }
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::new(RosWaker {
            woken: Arc::clone(&self.woken),
            waker: self.peers.receiver.waker(),
        })
    }

    fn counters(&self) -> InletCounters {
        self.peers.counters()
    }
}

#[derive(Debug)]
struct RosWaker {
    woken: Arc<AtomicBool>,
    waker: Waker,
}

impl Wake for RosWaker {
    fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.waker.wake();
    }
}
