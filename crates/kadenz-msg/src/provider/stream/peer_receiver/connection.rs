//! A connected peer.

use std::io;
use std::sync::Arc;

use kadenz_rt::clock::MonotonicTime;

use super::super::connection_slots::{Budget, ConnectionId, Share};
use super::super::outgoing::Outgoing;
use super::super::page_buffer::PageBuffer;
use super::super::socket::Socket;
use super::{FIRST_ROOM, MakeProtocol, PeerProtocol};

/// The connection to a peer, and the bytes that have arrived on it.
pub(super) struct PeerReceiverConnection<T> {
    pub(super) id: ConnectionId,
    pub(super) socket: Socket,
    pub(super) protocol: T,
    pub(super) outgoing: Outgoing,
    pub(super) room: PageBuffer,
    /// The part of the memory budget that `room` takes.
    pub(super) memory: Share,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Received bytes were discarded: nothing that follows makes sense.
    pub(super) is_given_up: bool,
    pub(super) target: Option<u64>,
    /// The time since which no more of a begun message has arrived.
    pub(super) stalled_since: Option<MonotonicTime>,
}

impl<T: PeerProtocol> PeerReceiverConnection<T> {
    /// Sends the first bytes of the protocol; `None` if the connection is lost already.
    pub(super) fn begin_handshake(
        socket: Socket,
        make: &mut MakeProtocol<T>,
        target: Option<u64>,
        id: ConnectionId,
        memory: &Arc<Budget>,
    ) -> Option<Self> {
        let mut buffer = Vec::new();
        let protocol = make(&mut buffer);
        let mut connection = Self {
            id,
            socket,
            protocol,
            outgoing: Outgoing::new(0, Some(memory.share())),
            room: PageBuffer::to_receive(),
            memory: memory.share(),
            start: 0,
            end: 0,
            is_given_up: false,
            target,
            stalled_since: None,
        };
        connection.reply(&buffer).is_ok().then_some(connection)
    }

    pub(super) fn reply(&mut self, buffer: &[u8]) -> io::Result<()> {
        self.outgoing.reply(buffer)?;
        self.flush()
    }

    /// Sends what waits, as far as there is room.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.outgoing.flush(&mut self.socket)?;
        self.outgoing.trim();
        Ok(())
    }

    /// Returns the memory that it takes from others.
    pub(super) fn held(&self) -> usize {
        self.memory.amount() + self.outgoing.held()
    }

    /// Returns whether a message has begun.
    pub(super) fn is_within(&self) -> bool {
        self.start < self.end
    }

    /// Releases its memory. If that loses data, nothing that follows makes sense, and the peer is given up.
    pub(super) fn empty(&mut self, memory: &Arc<Budget>) {
        self.is_given_up |= self.is_within() || !self.outgoing.is_empty();
        self.room = PageBuffer::to_receive();
        (self.start, self.end) = (0, 0);
        self.memory.resize(0);
        self.outgoing = Outgoing::new(0, Some(memory.share()));
    }

    /// Makes what is there stand where more can follow; how long the room must be for that.
    pub(super) fn make_room(&mut self, longest: usize) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.room.len() {
            self.room.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end < self.room.len() {
            return Ok(self.room.len());
        }
        if self.end >= longest.max(FIRST_ROOM) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok((self.room.len() * 2).min(longest).max(FIRST_ROOM))
    }

    /// Reads as much as is there and there is room for, in a room of that length.
    pub(super) fn fill(&mut self, room: usize) -> io::Result<()> {
        if self.is_given_up {
            return Ok(());
        }
        self.room.grow(room);
        if let Some(count) = self.socket.read(&mut self.room[self.end..])? {
            self.end += count;
            self.stalled_since = None;
        }
        Ok(())
    }
}
