//! The set of peers to which outlets publish.
//!
//! A thread of its own accepts peers, reads their requests and sends the bytes that a full socket did not
//! take; publishing writes to the peers' sockets itself, under a lock that inherits priority, so that no
//! second thread stands between a message and the kernel.

mod connection;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::watch::{Interest, Waker, Watch};

use super::acceptor::Acceptor;
use super::connection_slots::{
    Budget, ConnectionId, ConnectionSlots, HANDSHAKE_TIMEOUT, IDLE_TIMEOUT, PeerState,
};
use super::outgoing::{Outgoing, PARTS};
use super::socket::{Socket, SocketAddress};
use super::{ProtocolError, RETRY};
use crate::provider::Wait;
use crate::sync::Lock;
use connection::PeerSetConnection;

/// A peers that is closed waits so long for peers to take what was published.
const LINGER: Duration = Duration::from_secs(1);

/// The maximum number of peers.
const MAX_PEERS: usize = 1024;

/// Memory for all peers together, in bytes: messages that wait for them, their incomplete requests, and their
/// subscriptions.
const MEMORY: usize = 256 << 20;

/// The number of peers that are accepted between two looks at the connected ones.
const BATCH: usize = 16;

/// Sends a message to one peer.
pub(in crate::provider) type SendMessage<'a> = dyn FnMut([&[u8]; PARTS]) -> io::Result<()> + 'a;

/// The protocol of one peer of a set, sans-IO.
pub(in crate::provider) trait PeerSetProtocol: Send + 'static {
    /// Reads the front of the received bytes; returns how many it used, or none while the front is
    /// incomplete. Answers go to `reply`.
    fn receive(&mut self, bytes: &[u8], reply: &mut Vec<u8>) -> Result<usize, ProtocolError>;

    /// Returns the peer's state.
    fn peer_state(&self) -> PeerState;

    /// Whether what the peer sends first has yet to come. If it came to a closed socket, the system would discard
    /// what the peer has not read.
    fn is_awaited(&self) -> bool {
        false
    }

    /// Sends the peer's first messages, before all that is published, after the handshake.
    fn send_latched(&self, _send: &mut SendMessage<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Returns the memory that is held for the peer's requests, in bytes.
    fn held(&self) -> usize {
        0
    }
}

/// The way in which a set gets its connections.
pub(in crate::provider) enum Side {
    /// The peers connect to this listening socket.
    Listen(Acceptor),
    /// This set connects to that address.
    Connect(SocketAddress),
}

impl Side {
    /// A connection has ended, and its descriptor is free.
    fn resume(&mut self) {
        if let Self::Listen(acceptor) = self {
            acceptor.resume();
        }
    }
}

/// The outcome of a message, by peers.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::provider) struct Sent {
    pub(in crate::provider) taken: usize,
    /// Peers whose buffers were full.
    pub(in crate::provider) dropped: usize,
}

/// Makes the protocol of a new peer, and writes its first bytes.
type MakePeer<P> = Box<dyn Fn(&mut Vec<u8>) -> P + Send>;

pub(in crate::provider) struct PeerSet<P> {
    shared: Arc<PeerSetContext<P>>,
    thread: Option<JoinHandle<()>>,
    /// Whether its thread connects, which takes long where a host does not answer.
    connects: bool,
}

/// The state that a set of peers and its thread share.
struct PeerSetContext<P> {
    connections: Lock<Vec<PeerSetConnection<P>>>,
    waker: Waker,
    ends: AtomicBool,
}

impl<P> fmt::Debug for PeerSet<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PeerSet").finish_non_exhaustive()
    }
}

impl<P: PeerSetProtocol> PeerSet<P> {
    /// Starts the thread. At most `limit` bytes wait for one peer.
    pub(in crate::provider) fn start(
        side: Side,
        limit: usize,
        make: MakePeer<P>,
    ) -> io::Result<Self> {
        Self::start_with(None, side, limit, make)
    }

    /// As `start`, with a connection to that address from the beginning.
    ///
    /// # Errors
    /// If no peer accepts the first connection; a later one is tried again.
    pub(in crate::provider) fn connect(
        address: SocketAddress,
        limit: usize,
        make: MakePeer<P>,
    ) -> io::Result<Self> {
        let socket = address.connect()?;
        Self::start_with(Some(socket), Side::Connect(address), limit, make)
    }

    fn start_with(
        first: Option<Socket>,
        side: Side,
        limit: usize,
        make: MakePeer<P>,
    ) -> io::Result<Self> {
        let memory = match side {
            Side::Listen(_) => MEMORY.max(limit.saturating_mul(4)),
            // The one peer is a known program, and its queue is bounded.
            Side::Connect(_) => usize::MAX,
        };
        let watch = Watch::new()?;
        let shared = Arc::new(PeerSetContext {
            connections: Lock::new(Vec::new()),
            waker: watch.waker(),
            ends: AtomicBool::new(false),
        });
        let mut keeper = PeerSetThread {
            shared: Arc::clone(&shared),
            watch,
            side,
            limit,
            make,
            slots: ConnectionSlots::new(MAX_PEERS, HANDSHAKE_TIMEOUT),
            memory: Budget::new(memory),
        };
        if let Some(socket) = first {
            keeper.add(socket);
        }
        let connects = matches!(keeper.side, Side::Connect(_));
        let thread = thread::Builder::new()
            .name("kadenz-peers".to_owned())
            .spawn(move || keeper.keep())?;
        Ok(Self {
            shared,
            thread: Some(thread),
            connects,
        })
    }

    /// Applies `says` to the first peer, if there is one.
    pub(in crate::provider) fn first_peer<R>(&self, says: impl Fn(&P) -> R) -> Option<R> {
        let connections = &self.shared.connections;
        connections.with(|connections| connections.first().map(|first| says(&first.peer)))
    }

    /// Sends to every peer for which `parts` gives something.
    pub(in crate::provider) fn publish<'a>(
        &self,
        parts: impl Fn(&P) -> Option<[&'a [u8]; PARTS]>,
    ) -> Sent {
        self.publish_after(|| (), parts)
    }

    /// As `publish`, after `first` was done; between the two no peer is welcomed.
    pub(in crate::provider) fn publish_after<'a>(
        &self,
        first: impl FnOnce(),
        parts: impl Fn(&P) -> Option<[&'a [u8]; PARTS]>,
    ) -> Sent {
        let now = clock::now();
        let (sent, wakes) = self.shared.connections.with(|connections| {
            first();
            let (mut sent, mut wakes) = (Sent::default(), false);
            let mut lacks = None;
            for connection in connections.iter_mut().filter(|it| !it.is_lost) {
                let Some(parts) = parts(&connection.peer) else {
                    continue;
                };
                match connection.outgoing.send(&mut connection.socket, parts) {
                    Ok(true) => {
                        sent.taken += 1;
                        let waits = !connection.outgoing.is_empty();
                        wakes |= waits;
                        if !waits {
                            connection.last = now;
                        }
                    }
                    Ok(false) => {
                        sent.dropped += 1;
                        let is_empty = connection.outgoing.is_empty();
                        lacks = lacks.or(is_empty.then(|| connection.held()));
                    }
                    Err(_) => {
                        connection.is_lost = true;
                        wakes = true;
                    }
                }
            }
            // Not even the first message could be kept: the peer that holds the most gives up its memory for
            // the next.
            if let Some(held) = lacks {
                wakes |= evict_greediest(connections, held);
            }
            (sent, wakes)
        });
        if wakes {
            self.shared.waker.wake();
        }
        sent
    }
}

impl<P> Drop for PeerSet<P> {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Release);
        self.shared.waker.wake();
        // Without a peer nothing waits to be sent, and the thread may be about to connect: it ends by itself.
        let has_peers = self.shared.connections.with(|it| !it.is_empty());
        if let Some(thread) = self.thread.take().filter(|_| has_peers || !self.connects) {
            // The thread ends by itself; after a panic there would be nothing to repair.
            let _ = thread.join();
        }
    }
}

/// The thread of the peers. It alone adds and removes connections, so that places keep their meaning while it
/// waits.
struct PeerSetThread<P> {
    shared: Arc<PeerSetContext<P>>,
    watch: Watch,
    side: Side,
    limit: usize,
    make: MakePeer<P>,
    slots: ConnectionSlots,
    memory: Arc<Budget>,
}

impl<P: PeerSetProtocol> PeerSetThread<P> {
    fn keep(mut self) {
        let mut room = vec![0; 1 << 16];
        while !self.shared.ends.load(Ordering::Acquire) {
            let (count, unprocessed) = self.prepare();
            let retry = matches!(self.side, Side::Connect(_)) && count == 0;
            let retried = retry.then(|| clock::now() + RETRY);
            let until = retried.or_else(|| self.deadline());
            let wait = match unprocessed.is_empty() {
                true => until.map_or(Wait::Forever, Wait::Until),
                false => Wait::Poll,
            };
            if self.watch.wait(wait).is_err() {
                thread::sleep(RETRY);
            }
            self.process(&mut room, count, &unprocessed);
            if retry {
                self.connect();
            } else {
                self.disconnect_silent();
                self.accept_peers();
            }
        }
        self.linger(&mut room);
    }

    /// Returns the time of the next step that needs no input.
    fn deadline(&self) -> Option<MonotonicTime> {
        let accepts = match &self.side {
            Side::Listen(acceptor) => acceptor.deadline(),
            Side::Connect(_) => None,
        };
        [self.slots.deadline(), accepts].into_iter().flatten().min()
    }

    /// Gives up lost connections and watches the others; returns their number, and the places of those whose
    /// received bytes were not all processed.
    fn prepare(&mut self) -> (usize, Vec<usize>) {
        let Self {
            shared,
            watch,
            side,
            slots,
            ..
        } = self;
        watch.clear();
        let mut unprocessed = Vec::new();
        let count = shared.connections.with(|connections| {
            connections.retain(|connection| {
                if connection.is_lost {
                    slots.leave(connection.id);
                    side.resume();
                }
                !connection.is_lost
            });
            for (index, connection) in connections.iter().enumerate() {
                if connection.has_unprocessed {
                    unprocessed.push(index);
                }
                let interest = match connection.outgoing.is_empty() {
                    true => Interest::Read,
                    false => Interest::ReadAndWrite,
                };
                connection.socket.watch(watch, interest);
            }
            connections.len()
        });
        if let Side::Listen(acceptor) = side {
            acceptor.watch(watch);
        }
        (count, unprocessed)
    }

    /// Reads and sends for the peers that the wait has found, and continues those whose turn was not enough.
    /// Between two peers others may publish.
    fn process(&mut self, room: &mut [u8], count: usize, unprocessed: &[usize]) {
        let Self {
            shared,
            watch,
            slots,
            ..
        } = self;
        let mut unprocessed = unprocessed.iter().copied().peekable();
        for index in 0..count {
            let has_unprocessed = unprocessed.next_if_eq(&index).is_some();
            let (readable, writable) = (watch.readable(index), watch.writable(index));
            if !readable && !writable && !has_unprocessed {
                continue;
            }
            shared.connections.with(|connections| {
                let Some(connection) = connections.get_mut(index) else {
                    return;
                };
                let outcome = connection.process(room, readable || has_unprocessed, writable);
                slots.note(connection.id, connection.peer.peer_state());
                connection.is_lost |= outcome.is_err();
                let held = connection.held();
                if !connection.is_lost && !connection.claim() {
                    // A peer that holds more gives up memory; this peer waits until there is memory again.
                    let has_room = evict_greediest(connections, held);
                    connections[index].is_lost |= !has_room;
                }
            });
        }
    }

    fn accept_peers(&mut self) {
        for _ in 0..BATCH {
            let Side::Listen(acceptor) = &mut self.side else {
                return;
            };
            match acceptor.accept(clock::now()) {
                Some(socket) => self.add(socket),
                None => {
                    // No descriptor is left for the next peer: a silent peer gives up its own, if there is
                    // one.
                    if acceptor.deadline().is_some() {
                        self.evict_one();
                    }
                    return;
                }
            }
        }
    }

    fn disconnect_silent(&mut self) {
        if let Some(id) = self.slots.overdue(clock::now()) {
            self.remove_peer(id);
        }
    }

    /// Disconnects the peer of the lowest state, or else the one that has been idle for the longest;
    /// returns whether there was one.
    fn evict_one(&mut self) -> bool {
        let now = clock::now();
        let id = self.slots.least_needed(now, self.idle(now));
        id.map(|id| self.remove_peer(id)).is_some()
    }

    /// The peer that has been idle for the longest, where that is long enough.
    fn idle(&self, now: MonotonicTime) -> Option<ConnectionId> {
        self.shared.connections.with(|connections| {
            let longest_idle = connections.iter().min_by_key(|it| it.last);
            let idle = longest_idle.filter(|it| now > it.last + IDLE_TIMEOUT);
            idle.map(|it| it.id)
        })
    }

    fn remove_peer(&mut self, id: ConnectionId) {
        self.shared.connections.with(|connections| {
            connections.retain(|connection| connection.id != id);
        });
        self.slots.leave(id);
        self.side.resume();
    }

    fn connect(&mut self) {
        let Side::Connect(address) = &self.side else {
            return;
        };
        if let Ok(socket) = address.connect() {
            self.add(socket);
        }
    }

    fn add(&mut self, socket: Socket) {
        if !self.slots.has_room() && !self.evict_one() {
            return;
        }
        let now = clock::now();
        let id = self.slots.take(now);
        if matches!(self.side, Side::Connect(_)) {
            // This set opened the connection itself, so the peer is not unknown.
            self.slots.note(id, PeerState::Active);
        }
        let mut buffer = Vec::new();
        let peer = (self.make)(&mut buffer);
        let mut connection = PeerSetConnection {
            id,
            socket,
            peer,
            outgoing: Outgoing::new(self.limit, Some(self.memory.share())),
            received: Vec::new(),
            has_unprocessed: false,
            memory: self.memory.share(),
            last: now,
            is_lost: false,
        };
        let sent = connection.reply(&buffer);
        connection.is_lost = sent.is_err();
        let connections = &self.shared.connections;
        connections.with(|connections| connections.push(connection));
    }

    /// Gives peers time to take what was published before the end.
    fn linger(&mut self, room: &mut [u8]) {
        let end = clock::now() + LINGER;
        while clock::now() < end {
            let is_done = self.shared.connections.with(|connections| {
                let finished = connections.iter_mut().map(|it| it.finish(room));
                finished.fold(true, |all, it| all & it)
            });
            if is_done {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Gives up the peer that holds the most, if that is more than another one holds; returns whether there was
/// one.
fn evict_greediest<P: PeerSetProtocol>(
    connections: &mut [PeerSetConnection<P>],
    than: usize,
) -> bool {
    let kept = connections.iter_mut().filter(|it| !it.is_lost);
    let greediest = kept.max_by_key(|it| it.held());
    let greedier = greediest.filter(|it| it.held() > than);
    greedier.map(|it| it.is_lost = true).is_some()
}

#[cfg(test)]
mod tests;
