//! One connection with a service's client: a request at a time, with bounded memory.

use std::io::{self, ErrorKind, IoSlice};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::watch::{Interest, Watch};

use super::protocol::{ClientInput, ClientSession, write_answer};
use crate::provider::stream::ProtocolError;
use crate::provider::stream::connection_slots::{ConnectionId, PeerState, Share};
use crate::provider::stream::socket::Socket;

/// The time within which a client must continue a request that it has begun, or take its answer.
const STALLED: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct ClientConnection {
    pub(super) id: ConnectionId,
    socket: Socket,
    protocol: ClientSession,
    received: Vec<u8>,
    memory: Share,
    reply: Vec<u8>,
    sent: usize,
    /// Its request is being answered; until then nothing more is read.
    pub(super) is_busy: bool,
    /// The connection closes once its answer is sent.
    is_last: bool,
    pub(super) is_done: bool,
    /// The time at which it last sent or took bytes.
    pub(super) last: MonotonicTime,
    /// Its index among the watched sockets.
    watch_index: Option<usize>,
}

impl ClientConnection {
    pub(super) fn new(
        id: ConnectionId,
        socket: Socket,
        protocol: ClientSession,
        memory: Share,
    ) -> Self {
        Self {
            id,
            socket,
            protocol,
            received: Vec::new(),
            memory,
            reply: Vec::new(),
            sent: 0,
            is_busy: false,
            is_last: false,
            is_done: false,
            last: clock::now(),
            watch_index: None,
        }
    }

    pub(super) fn peer_state(&self) -> PeerState {
        match self.protocol.has_handshake() {
            true => PeerState::Active,
            false => PeerState::Connected,
        }
    }

    pub(super) fn watch(&mut self, watch: &mut Watch) {
        let interest = match self.reply.is_empty() {
            true => Interest::Read,
            false => Interest::ReadAndWrite,
        };
        let index = (!self.is_busy).then(|| self.socket.watch(watch, interest));
        self.watch_index = index;
    }

    /// Returns the time at which it has stalled for too long.
    pub(super) fn deadline(&self) -> Option<MonotonicTime> {
        let is_amid = !self.received.is_empty() || !self.reply.is_empty();
        (is_amid && !self.is_busy).then(|| self.last + STALLED)
    }

    /// Reads and sends what the wait has found; a request that is there whole.
    pub(super) fn process(&mut self, watch: &Watch, room: &mut [u8]) -> Option<Vec<u8>> {
        let index = self.watch_index?;
        let outcome = match (watch.readable(index), watch.writable(index)) {
            (false, false) => return None,
            (true, _) => self.read(room),
            (false, true) => Ok(()),
        };
        let outcome = outcome.and_then(|()| self.go_on());
        self.settle(outcome)
    }

    /// Sends the answer to its request; the next request, where that is there whole.
    pub(super) fn answer(&mut self, answer: &Result<Vec<u8>, String>) -> Option<Vec<u8>> {
        self.is_busy = false;
        self.is_last |= !self.protocol.is_persistent();
        match answer {
            Ok(answer) => write_answer(&mut self.reply, true, answer),
            Err(reason) => write_answer(&mut self.reply, false, reason.as_bytes()),
        }
        self.last = clock::now();
        let outcome = self.go_on();
        self.settle(outcome)
    }

    /// A client that disconnects in the middle harms only itself.
    fn settle(&mut self, outcome: io::Result<Option<Vec<u8>>>) -> Option<Vec<u8>> {
        self.is_done |= outcome.is_err();
        outcome.ok().flatten()
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<()> {
        let Some(count) = self.socket.read(room)? else {
            return Ok(());
        };
        self.last = clock::now();
        if self.is_last {
            // Bytes from now on have no meaning.
            return Ok(());
        }
        // A client sends one request at a time, and the next one after its answer.
        if !self.reply.is_empty() && self.received.len() > room.len() {
            return Err(ErrorKind::InvalidData.into());
        }
        self.received.extend_from_slice(&room[..count]);
        Ok(())
    }

    /// Sends the waiting bytes, then reads received ones.
    fn go_on(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            self.send()?;
            if self.is_busy || self.is_last || !self.reply.is_empty() {
                return Ok(None);
            }
            let said = self.protocol.receive(&self.received, &mut self.reply);
            let used = match said.map_err(|ProtocolError| ErrorKind::InvalidData)? {
                ClientInput::Short => return Ok(None),
                ClientInput::Last => {
                    self.is_last = true;
                    self.received = Vec::new();
                    continue;
                }
                ClientInput::Header(used) => used,
                ClientInput::Request(used, request) => {
                    let request = request.to_vec();
                    self.is_busy = true;
                    self.forget(used);
                    return Ok(Some(request));
                }
            };
            self.forget(used);
        }
    }

    /// Removes the front of the received bytes, and releases their memory.
    fn forget(&mut self, used: usize) {
        self.received.drain(..used);
        self.received.shrink_to_fit();
    }

    fn send(&mut self) -> io::Result<()> {
        while self.sent < self.reply.len() {
            let rest = &self.reply[self.sent..];
            match self.socket.write(&[IoSlice::new(rest)])? {
                0 => return Ok(()),
                count => self.sent += count,
            }
            self.last = clock::now();
        }
        (self.reply, self.sent) = (Vec::new(), 0);
        self.is_done |= self.is_last;
        Ok(())
    }

    /// Returns the memory that it holds, in bytes.
    pub(super) fn held(&self) -> usize {
        self.received.capacity() + self.reply.capacity()
    }

    /// Claims memory for its bytes; returns whether there was enough.
    pub(super) fn claim(&mut self) -> bool {
        self.memory.resize(self.held())
    }

    /// Gives the connection up, with its bytes.
    pub(super) fn give_up(&mut self) {
        self.is_done = true;
        (self.received, self.reply, self.sent) = (Vec::new(), Vec::new(), 0);
        self.memory.resize(0);
    }
}
