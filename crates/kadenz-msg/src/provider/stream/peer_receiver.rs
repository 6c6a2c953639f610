//! Receiving from many peers on the waiting thread, without a second one between.

mod connection;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::watch::{Interest, WakeCause, Waker, Watch};

use super::acceptor::Acceptor;
use super::connection_slots::{Budget, ConnectionSlots, HANDSHAKE_TIMEOUT, PeerState};
use super::socket::{CONNECT_TIMEOUT, ListeningSocket, SocketAddress};
use super::{ProtocolError, RETRY, ReadOutcome};
use crate::channel::Pattern;
use crate::provider::{InletCounters, More, ReceiveError, Received, Take, Wait, Wake};
use connection::PeerReceiverConnection;

/// The initial room for received bytes; it grows with the messages.
const FIRST_ROOM: usize = 1 << 16;

/// The maximum number of peers.
const MAX_PEERS: usize = 1024;

/// Memory for all peers together, in bytes: their incomplete messages, and answers that they have not read.
/// More if messages are longer.
const MEMORY: usize = 256 << 20;

/// A peer that has begun a message must send more of it within that span.
const UNFINISHED: Duration = Duration::from_secs(30);

/// The pause after a failed attempt to connect, as a multiple of the attempt's duration and of the number of
/// peers that are not connected: attempts take less than a tenth of the time, however many peers do not answer.
const ATTEMPT_PAUSE: u32 = 10;

/// The number of peers that are accepted between two looks at the connected ones.
const BATCH: usize = 16;

/// The protocol of a receiver on one connection, sans-IO.
pub(in crate::provider) trait PeerProtocol: Send {
    /// Writes a request for these channels from now on, if the protocol allows it already.
    fn want(&mut self, wanted: &[Pattern], buffer: &mut Vec<u8>);

    /// Reads the front of the received bytes. Answers go to `buffer`.
    fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
        wanted: &[Pattern],
        buffer: &mut Vec<u8>,
    ) -> Result<ReadOutcome<'a>, ProtocolError>;

    /// Returns the peer's state.
    fn peer_state(&self) -> PeerState;
}

/// Makes the protocol of a new peer, and writes its first bytes.
type MakeProtocol<T> = Box<dyn FnMut(&mut Vec<u8>) -> T + Send>;

/// The address of a peer, and its protocol state.
struct Target<T> {
    /// The identifier by which the requesting code knows it.
    id: u64,
    address: SocketAddress,
    make: MakeProtocol<T>,
    /// `None` while it is connected.
    next_try: Option<MonotonicTime>,
}

pub(in crate::provider) struct PeerReceiver<T> {
    watch: Watch,
    listener: Option<(Acceptor, MakeProtocol<T>)>,
    targets: Vec<Target<T>>,
    connections: Vec<PeerReceiverConnection<T>>,
    slots: ConnectionSlots,
    memory: Arc<Budget>,
    wanted: Vec<Pattern>,
    /// The longest message, with all bytes around it.
    longest: usize,
    /// How long a message may make no progress.
    unfinished: Duration,
    pub(in crate::provider) counters: InletCounters,
}

impl<T> fmt::Debug for PeerReceiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("PeerReceiver");
        shown.field("connections", &self.connections.len());
        shown.field("wanted", &self.wanted);
        shown.finish_non_exhaustive()
    }
}

impl Wake for Waker {
    fn wake(&self) {
        Self::wake(self);
    }
}

impl<T: PeerProtocol> PeerReceiver<T> {
    pub(in crate::provider) fn new(longest: usize) -> io::Result<Self> {
        Ok(Self {
            watch: Watch::new()?,
            listener: None,
            targets: Vec::new(),
            connections: Vec::new(),
            slots: ConnectionSlots::new(MAX_PEERS, HANDSHAKE_TIMEOUT),
            memory: Budget::new(MEMORY.max(longest.saturating_mul(4))),
            wanted: Vec::new(),
            longest,
            unfinished: UNFINISHED,
            counters: InletCounters::default(),
        })
    }

    /// Accepts peers at a listening socket.
    pub(in crate::provider) fn open(&mut self, listener: ListeningSocket, make: MakeProtocol<T>) {
        self.listener = Some((Acceptor::new(listener), make));
    }

    /// Connects to an address at one of the next calls of `receive`, and again whenever the connection is lost.
    pub(in crate::provider) fn add_target(
        &mut self,
        id: u64,
        address: SocketAddress,
        make: MakeProtocol<T>,
    ) {
        self.targets.push(Target {
            id,
            address,
            make,
            next_try: Some(clock::now()),
        });
    }

    /// As `add_target`, with the first attempt at once.
    pub(in crate::provider) fn connect(
        &mut self,
        id: u64,
        address: SocketAddress,
        make: MakeProtocol<T>,
    ) {
        self.add_target(id, address, make);
        self.try_target(self.targets.len() - 1);
    }

    /// Returns whether a connection to that peer exists now.
    pub(in crate::provider) fn is_connected(&self, id: u64) -> bool {
        self.connections.iter().any(|it| it.target == Some(id))
    }

    /// Returns whether it connects to that peer.
    pub(in crate::provider) fn has(&self, id: u64) -> bool {
        self.targets.iter().any(|target| target.id == id)
    }

    /// Connects no more to those for which `keeps` returns `false`, and disconnects.
    pub(in crate::provider) fn keep(&mut self, keeps: impl Fn(u64) -> bool) {
        self.targets.retain(|target| keeps(target.id));
        let goes = |it: &PeerReceiverConnection<T>| it.target.is_some_and(|id| !keeps(id));
        self.slots.release(&mut self.connections, |it| it.id, goes);
    }

    pub(in crate::provider) fn waker(&self) -> Waker {
        self.watch.waker()
    }

    pub(in crate::provider) fn want(&mut self, wanted: &[Pattern]) {
        self.wanted = wanted.to_vec();
        for connection in &mut self.connections {
            let mut buffer = Vec::new();
            connection.protocol.want(wanted, &mut buffer);
            // A connection that is lost now is found lost by the next wait.
            let _ = connection.reply(&buffer);
        }
    }

    pub(in crate::provider) fn receive(
        &mut self,
        wait: Wait,
        take: Take<'_>,
    ) -> Result<Received, ReceiveError> {
        loop {
            let count = self.deliver(take)?;
            if count > 0 {
                return Ok(Received::Messages(count));
            }
            self.connect_again();
            match self.wait(wait) {
                WakeCause::Woken | WakeCause::Interrupted => return Ok(Received::Woken),
                WakeCause::Ready => self.read_ready()?,
                // Perhaps because a peer's time is over.
                WakeCause::Nothing => self.change_peers()?,
            }
            let count = self.deliver(take)?;
            if count > 0 {
                return Ok(Received::Messages(count));
            }
            let is_over = match wait {
                Wait::Poll => true,
                Wait::Until(end) => end.remaining(clock::now()) == Duration::ZERO,
                Wait::Forever => false,
            };
            if is_over {
                return Ok(Received::Nothing);
            }
        }
    }

    /// Hands over the complete messages.
    fn deliver(&mut self, take: Take<'_>) -> Result<usize, ReceiveError> {
        let mut count = 0;
        for index in 0..self.connections.len() {
            let mut buffer = Vec::new();
            let outcome = self.deliver_from(index, &mut buffer, &mut count, take);
            let is_lost = outcome.is_err() || (!buffer.is_empty() && !self.reply(index, &buffer));
            match (is_lost, outcome) {
                (true, _) if count == 0 => {
                    return Err(self.disconnect(index, io::ErrorKind::InvalidData));
                }
                (true, _) | (false, Ok(More::Enough)) => break,
                (false, _) => {}
            }
        }
        Ok(count)
    }

    /// Hands over the complete messages of one peer. Answers go to `buffer`.
    fn deliver_from(
        &mut self,
        index: usize,
        buffer: &mut Vec<u8>,
        count: &mut usize,
        take: Take<'_>,
    ) -> Result<More, ProtocolError> {
        let Self {
            connections,
            wanted,
            counters,
            ..
        } = self;
        let connection = &mut connections[index];
        loop {
            let bytes = &connection.room[connection.start..connection.end];
            match connection.protocol.read(bytes, wanted, buffer)? {
                ReadOutcome::Short => {
                    if connection.is_within() && connection.stalled_since.is_none() {
                        connection.stalled_since = Some(clock::now());
                    }
                    return Ok(More::GoOn);
                }
                ReadOutcome::Other(used) => connection.start += used,
                ReadOutcome::Malformed(used) => {
                    connection.start += used;
                    counters.malformed += 1;
                }
                ReadOutcome::Message(used, received) => {
                    connection.start += used;
                    if !wanted.iter().any(|wanted| wanted.matches(received.channel)) {
                        continue;
                    }
                    *count += 1;
                    if take(received.arrival()) == More::Enough {
                        return Ok(More::Enough);
                    }
                }
            }
        }
    }

    /// Answers a peer; returns whether that was possible. If there is no memory, a peer that holds more gives
    /// it up.
    fn reply(&mut self, index: usize, buffer: &[u8]) -> bool {
        loop {
            let connection = &mut self.connections[index];
            let Err(error) = connection.reply(buffer) else {
                return true;
            };
            let held = connection.held();
            let lacks_memory = error.kind() == io::ErrorKind::OutOfMemory;
            if !lacks_memory || !self.evict_greediest(index, held) {
                return false;
            }
        }
    }

    fn wait(&mut self, wait: Wait) -> WakeCause {
        self.watch.clear();
        for connection in &self.connections {
            let interest = match connection.outgoing.is_empty() {
                true => Interest::Read,
                false => Interest::ReadAndWrite,
            };
            connection.socket.watch(&mut self.watch, interest);
        }
        let mut pause = None;
        if let Some((acceptor, _)) = &self.listener {
            acceptor.watch(&mut self.watch);
            pause = acceptor.deadline();
        }
        let tries = self.targets.iter().filter_map(|target| target.next_try);
        let stalled = self.connections.iter().filter_map(|it| it.stalled_since);
        let stalled = stalled.map(|since| since + self.unfinished);
        let next = tries.chain(stalled);
        let next = next.chain(self.slots.deadline()).chain(pause).min();
        let until = match (wait, next) {
            (Wait::Until(end), Some(next)) => Wait::Until(end.min(next)),
            (Wait::Forever, Some(next)) => Wait::Until(next),
            (wait, _) => wait,
        };
        // Without memory the kernel cannot wait; the result is as of a signal.
        self.watch.wait(until).unwrap_or(WakeCause::Interrupted)
    }

    /// Reads from the peers that have sent something, and accepts new ones.
    fn read_ready(&mut self) -> Result<(), ReceiveError> {
        let mut lost = None;
        for index in 0..self.connections.len() {
            let mut outcome = Ok(());
            if self.watch.readable(index) {
                outcome = self.fill(index);
            }
            let connection = &mut self.connections[index];
            if outcome.is_ok() && self.watch.writable(index) {
                outcome = connection.flush();
            }
            if let Err(error) = outcome {
                lost = Some((index, error.kind()));
                break;
            }
        }
        match lost {
            // The bytes of the peers behind it are not read yet: none of these is too late.
            Some((index, kind)) => Err(self.disconnect(index, kind)),
            None => self.change_peers(),
        }
    }

    /// Disconnects peers whose time is over, and accepts others.
    fn change_peers(&mut self) -> Result<(), ReceiveError> {
        self.disconnect_silent();
        self.accept_peers();
        let news = self
            .listener
            .as_mut()
            .map(|(acceptor, _)| acceptor.take_news());
        match news {
            Some(true) => Err(ReceiveError::NoDescriptor),
            _ => Ok(()),
        }
    }

    /// Reads as much as has arrived and there is room for, and makes room if a message needs it.
    fn fill(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        let needed = connection.make_room(self.longest)?;
        while !self.connections[index].memory.resize(needed) {
            if !self.evict_greediest(index, needed) {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
        }
        self.connections[index].fill(needed)
    }

    /// Takes the memory of the peer that holds the most, if that is more than another one needs, and
    /// disconnects it later, if it loses data by that; returns whether there was one. Its index stays, so
    /// that the places of others do.
    fn evict_greediest(&mut self, but: usize, than: usize) -> bool {
        let others = self.connections.iter_mut().enumerate();
        let others = others.filter(|(index, it)| *index != but && it.held() > than);
        let Some((_, greediest)) = others.max_by_key(|(_, it)| it.held()) else {
            return false;
        };
        self.counters.incomplete += u64::from(greediest.is_within());
        greediest.empty(&self.memory);
        true
    }

    /// Disconnects peers that have not completed the handshake in time or do not continue a message that they
    /// have begun, and those that were given up.
    fn disconnect_silent(&mut self) {
        let Self {
            connections, slots, ..
        } = self;
        for connection in &*connections {
            slots.note(connection.id, connection.protocol.peer_state());
        }
        let now = clock::now();
        for index in (0..self.connections.len()).rev() {
            let connection = &self.connections[index];
            let stalled = connection.stalled_since;
            let is_stalled = stalled.is_some_and(|since| since + self.unfinished <= now);
            let is_overdue = self.slots.is_overdue(connection.id, now);
            if connection.is_given_up || is_stalled || is_overdue {
                let _ = self.disconnect(index, io::ErrorKind::TimedOut);
            }
        }
    }

    fn accept_peers(&mut self) {
        for _ in 0..BATCH {
            let Some((acceptor, make)) = &mut self.listener else {
                return;
            };
            let Some(socket) = acceptor.accept(clock::now()) else {
                return;
            };
            if !self.slots.has_room() {
                let id = self.slots.least_needed(clock::now(), None);
                let mut connections = self.connections.iter();
                let Some(index) = connections.position(|it| Some(it.id) == id) else {
                    continue;
                };
                self.slots.leave(self.connections.remove(index).id);
            }
            let id = self.slots.take(clock::now());
            match PeerReceiverConnection::begin_handshake(socket, make, None, id, &self.memory) {
                Some(connection) => self.connections.push(connection),
                None => self.slots.leave(id),
            }
        }
    }

    fn disconnect(&mut self, index: usize, reason: io::ErrorKind) -> ReceiveError {
        let connection = self.connections.remove(index);
        self.slots.leave(connection.id);
        self.counters.incomplete += u64::from(connection.is_within());
        if let Some((acceptor, _)) = &mut self.listener {
            acceptor.resume();
        }
        let mut peer = "a sender that came".to_owned();
        let mut targets = self.targets.iter_mut();
        if let Some(target) = targets.find(|target| Some(target.id) == connection.target) {
            target.next_try = Some(clock::now() + RETRY);
            peer = target.address.to_string();
        }
        ReceiveError::Disconnected { peer, reason }
    }

    /// Connects to the peer whose attempt has been due for the longest. Only to one, because a host that does not
    /// answer holds the caller up.
    fn connect_again(&mut self) {
        let now = clock::now();
        let tries = self.targets.iter().enumerate();
        let tries = tries.filter_map(|(index, target)| Some((target.next_try?, index)));
        if let Some((_, index)) = tries.min().filter(|(next, _)| *next <= now) {
            self.try_target(index);
        }
    }

    fn try_target(&mut self, index: usize) {
        let missing = self.targets.iter().filter(|it| it.next_try.is_some());
        let missing = missing.count() as u32;
        let target = &mut self.targets[index];
        let begin = clock::now();
        let socket = target.address.connect();
        let end = clock::now();
        let target_id = Some(target.id);
        let id = self.slots.take(end);
        // This receiver opened the connection itself, so the peer is not unknown.
        self.slots.note(id, PeerState::Active);
        let (make, memory) = (&mut target.make, &self.memory);
        let connected = socket.ok();
        let connected = connected.and_then(|it| {
            PeerReceiverConnection::begin_handshake(it, make, target_id, id, memory)
        });
        target.next_try = None;
        if connected.is_none() {
            self.slots.leave(id);
            // Of a name that a server looked up for longer, only so much counts.
            let took = end.remaining(begin).min(CONNECT_TIMEOUT);
            let pause = took * ATTEMPT_PAUSE * missing;
            target.next_try = Some(end + pause.max(RETRY));
        }
        self.connections.extend(connected);
    }
}

#[cfg(test)]
mod tests;
