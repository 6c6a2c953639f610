//! One peer of a set: its bytes are processed in turns, and waiting messages are sent.

use std::io;

use kadenz_rt::clock::{self, MonotonicTime};

use super::PeerSetProtocol;
use crate::provider::stream::ProtocolError;
use crate::provider::stream::connection_slots::{ConnectionId, Share, Standing};
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
    pub(super) heard: Vec<u8>,
    /// A turn ended before all received bytes were processed.
    pub(super) is_unheard: bool,
    /// The memory for its requests.
    pub(super) memory: Share,
    /// The time at which it last sent or took bytes.
    pub(super) last: MonotonicTime,
    pub(super) is_lost: bool,
}

impl<P: PeerSetProtocol> PeerSetConnection<P> {
    /// Reads and sends as much as one turn allows.
    pub(super) fn tend(&mut self, room: &mut [u8], hears: bool, sends: bool) -> io::Result<()> {
        if hears {
            self.hear(room)?;
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

    fn hear(&mut self, room: &mut [u8]) -> io::Result<()> {
        if !self.is_unheard {
            let Some(count) = self.socket.read(room)? else {
                return Ok(());
            };
            self.heard.extend_from_slice(&room[..count]);
            self.last = clock::now();
        }
        let was = self.peer.standing();
        let mut reply = Vec::new();
        let mut used = 0;
        self.is_unheard = true;
        for _ in 0..TURN {
            let heard = self.peer.hear(&self.heard[used..], &mut reply);
            let count =
                heard.map_err(|ProtocolError| io::Error::from(io::ErrorKind::InvalidData))?;
            used += count;
            self.is_unheard = count > 0;
            if count == 0 {
                break;
            }
        }
        self.heard.drain(..used);
        if !self.is_unheard && self.heard.len() > room.len() {
            // No valid request of a peer of a set is that long.
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.heard.shrink_to_fit();
        let is_new = was == Standing::Ungreeted && self.peer.standing() > was;
        if is_new {
            self.outgoing.reserve();
        }
        self.say(&reply)?;
        match is_new {
            true => self.welcome(),
            false => Ok(()),
        }
    }

    fn welcome(&mut self) -> io::Result<()> {
        let Self {
            socket,
            peer,
            outgoing,
            ..
        } = self;
        // Without it the peer would miss its first messages: better that it connects again.
        peer.welcome(&mut |parts| match outgoing.send(socket, parts)? {
            true => Ok(()),
            false => Err(io::ErrorKind::QuotaExceeded.into()),
        })
    }

    pub(super) fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.outgoing.say(words)?;
        self.outgoing.flush(&mut self.socket)
    }

    /// Returns the memory that it takes from others.
    pub(super) fn held(&self) -> usize {
        self.outgoing.held() + self.said()
    }

    fn said(&self) -> usize {
        self.heard.capacity() + self.peer.held()
    }

    /// Claims memory for its requests; returns whether there was enough.
    pub(super) fn claim(&mut self) -> bool {
        let said = self.said();
        self.memory.resize(said)
    }
}
