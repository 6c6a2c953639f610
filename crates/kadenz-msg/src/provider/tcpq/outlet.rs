//! Publishing through a server.

use std::io::{self, ErrorKind};
use std::thread;
use std::time::Duration;

use kadenz_rt::clock;

use crate::channel::Channel;
use crate::provider::PublishError;
use crate::provider::stream::connection_slots::PeerState;
use crate::provider::stream::peer_set::{PeerSet, PeerSetProtocol};
use crate::provider::stream::socket::SocketAddress;
use crate::provider::stream::{ProtocolError, Publish};
use crate::wire::tcpq::{MAGIC_CLIENT, greeting, message_header};

/// The pause between two attempts to send to a server whose queue is full.
const PAUSE: Duration = Duration::from_millis(1);

/// A connection of its own.
#[derive(Debug)]
pub(super) struct TcpqOutlet {
    server: PeerSet<TcpqPublisher>,
    send_wait: Duration,
}

impl TcpqOutlet {
    pub(super) fn connect(
        server_address: SocketAddress,
        queue: usize,
        send_wait: Duration,
    ) -> io::Result<Self> {
        let make = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(&greeting(MAGIC_CLIENT));
            TcpqPublisher { is_greeted: false }
        };
        let server = PeerSet::connect(server_address, queue, Box::new(make))?;
        Ok(Self { server, send_wait })
    }
}

impl Publish for TcpqOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        let channel = *channel;
        // No longer than the provider's longest, of 1 GiB at most.
        let header = message_header(&channel, payload.len() as u32);
        let mut end = None;
        loop {
            let sent = self
                .server
                .publish(|_| Some([header.bytes(), payload, &[]]));
            if sent.taken > 0 {
                return Ok(());
            }
            if sent.dropped == 0 {
                let reason = ErrorKind::NotConnected;
                return Err(PublishError::Refused { channel, reason });
            }
            let now = clock::now();
            if now >= *end.get_or_insert(now + self.send_wait) {
                let reason = "the server does not read, and the queue to it is full";
                return Err(PublishError::Full { channel, reason });
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The server, as a client that only publishes sees it: what the server sends is discarded.
#[derive(Debug)]
struct TcpqPublisher {
    is_greeted: bool,
}

impl PeerSetProtocol for TcpqPublisher {
    fn receive(&mut self, bytes: &[u8], _reply: &mut Vec<u8>) -> Result<usize, ProtocolError> {
        self.is_greeted = true;
        Ok(bytes.len())
    }

    fn peer_state(&self) -> PeerState {
        match self.is_greeted {
            true => PeerState::Active,
            false => PeerState::Connected,
        }
    }

    fn is_awaited(&self) -> bool {
        !self.is_greeted
    }
}
