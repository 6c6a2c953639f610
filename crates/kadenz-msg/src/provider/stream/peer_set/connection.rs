//! One peer of a set: its bytes are processed in turns, and waiting messages are sent.

use std::io;

use kadenz_rt::clock::{self, MonotonicTime};

use super::PeerSetProtocol;
use crate::provider::stream::ProtocolError;
use crate::provider::stream::connection_slots::{ConnectionId, PeerState, Share};
use crate::provider::stream::outgoing::Outgoing;
use crate::provider::stream::socket::Socket;

/// The number of frames of a peer in one turn: publishing waits for one turn at most.
pub(super) const TURN: usize = 64;

/// The connection to a peer of a set.
pub(super) struct PeerSetConnection<P> {
    pub(super) id: ConnectionId,
    pub(super) socket: Socket,
    pub(super) peer: P,
    pub(super) outgoing: Outgoing,
    pub(super) received: Vec<u8>,
    /// A turn ended before all received bytes were processed.
    pub(super) has_unprocessed: bool,
    /// The memory for its requests.
    pub(super) memory: Share,
    /// The time at which it last sent or took bytes.
    pub(super) last: MonotonicTime,
    pub(super) is_lost: bool,
}

impl<P: PeerSetProtocol> PeerSetConnection<P> {
    /// Reads and sends as much as one turn allows.
    pub(super) fn process(&mut self, room: &mut [u8], hears: bool, sends: bool) -> io::Result<()> {
        if hears {
            self.receive(room)?;
        }
        if sends {
            self.outgoing.flush(&mut self.socket)?;
            self.outgoing.trim();
            if self.outgoing.is_empty() {
                self.last = clock::now();
            }
        }
        Ok(())
    }

    /// Reads and sends before the connection is closed; returns whether it may be. If bytes stayed unread, the
    /// kernel would reset the connection and discard what it has not sent.
    pub(super) fn finish(&mut self, room: &mut [u8]) -> bool {
        let received = match self.peer.is_awaited() {
            true => self.receive(room),
            false => self.socket.read(room).map(drop),
        };
        let flushed = self.outgoing.flush(&mut self.socket);
        self.is_lost |= flushed.is_err();
        // A peer that has closed its side sends nothing more.
        let is_awaited = self.peer.is_awaited() && received.is_ok();
        self.is_lost || (self.outgoing.is_empty() && !is_awaited)
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        if !self.has_unprocessed {
            let Some(count) = self.socket.read(room)? else {
                return Ok(());
            };
            self.received.extend_from_slice(&room[..count]);
            self.last = clock::now();
        }
        let was = self.peer.peer_state();
        let mut reply = Vec::new();
        let mut used = 0;
        self.has_unprocessed = true;
        for _ in 0..TURN {
            let received = self.peer.receive(&self.received[used..], &mut reply);
            let count =
                received.map_err(|ProtocolError| io::Error::from(io::ErrorKind::InvalidData))?;
            used += count;
            self.has_unprocessed = count > 0;
            if count == 0 {
                break;
            }
        }
        self.received.drain(..used);
        if !self.has_unprocessed && self.received.len() > room.len() {
            // No valid request of a peer of a set is that long.
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.received.shrink_to_fit();
        let is_new = was == PeerState::Connected && self.peer.peer_state() > was;
        if is_new {
            self.outgoing.reserve();
        }
        self.reply(&reply)?;
        match is_new {
            true => self.send_latched(),
            false => Ok(()),
        }
    }

    fn send_latched(&mut self) -> io::Result<()> {
        let Self {
            socket,
            peer,
            outgoing,
            ..
        } = self;
        // Without it the peer would miss its first messages: better that it connects again.
        peer.send_latched(&mut |parts| match outgoing.send(socket, parts)? {
            true => Ok(()),
            false => Err(io::ErrorKind::QuotaExceeded.into()),
        })
    }

    pub(super) fn reply(&mut self, buffer: &[u8]) -> io::Result<()> {
        self.outgoing.reply(buffer)?;
        self.outgoing.flush(&mut self.socket)
    }

    /// Returns the memory that it takes from others.
    pub(super) fn held(&self) -> usize {
        self.outgoing.held() + self.requests_held()
    }

    fn requests_held(&self) -> usize {
        self.received.capacity() + self.peer.held()
    }

    /// Claims memory for its requests; returns whether there was enough.
    pub(super) fn claim(&mut self) -> bool {
        let requests_held = self.requests_held();
        self.memory.resize(requests_held)
    }
}
