//! The thread of a server.
//!
//! Sockets report only changes, so that idle clients cost nothing. The work for a client is done in turns of
//! bounded length, and between turns the thread accepts new clients.

mod forwarding;

use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSlice};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::poller::{Poller, Readiness};
use kadenz_rt::net::port::Wait;
use kadenz_rt::net::watch::Waker;

use super::ServerOptions;
use super::client::TcpqClient;
use super::counters::{AtomicServerCounters, count};
use super::routes::{ClientRoutes, Recipients};
use crate::provider::stream::connection_slots::{
    Budget, ConnectionId, ConnectionSlots, PeerState, Share,
};
use crate::provider::stream::run_queue::RunQueue;
use crate::provider::stream::socket::{ListeningSocket, Socket, SocketAddress};
use crate::wire::tcpq::{Decoder, Frame, MAGIC_SERVER, Peer, TcpqError, greeting};

/// A turn begins no further frame after so long.
const TURN: Duration = Duration::from_micros(50);
/// The maximum time between two looks at the sockets' changes.
const ROUND: Duration = Duration::from_micros(100);
/// The number of connections that are accepted, or closed for silence, between two rounds.
const BATCH: usize = 16;
/// The pause after the system refused a connection.
const REST: Duration = Duration::from_millis(10);
/// An idle client that holds more than this loses its memory to others, in bytes.
const MAX_IDLE_MEMORY: usize = 64 << 10;
/// The number of the listening socket, where clients have their slots' numbers.
const LISTENER: u64 = u64::MAX - 1;

pub(super) struct Serving {
    options: ServerOptions,
    counters: Arc<AtomicServerCounters>,
    listener: ListeningSocket,
    poller: Poller,
    clients: HashMap<ConnectionId, TcpqClient>,
    slots: ConnectionSlots,
    turns: RunQueue,
    routes: ClientRoutes,
    memory: Arc<Budget>,
    /// The buffer into which all decoders read that hold no bytes.
    room: Vec<u8>,
    room_memory: Share,
    /// The clients that get the present message, and those that others wait for already.
    found: Recipients,
    behind: Vec<ConnectionId>,
    /// The clients whose connection failed while a message was passed on.
    lost: Vec<ConnectionId>,
    /// The listening socket may have a new connection.
    accept_pending: bool,
    /// The system refuses connections until then.
    paused_until: Option<MonotonicTime>,
}

/// The reason for which a client is disconnected.
enum DisconnectReason {
    /// The client has disconnected.
    Gone,
    /// The client violated the protocol, or there is no memory for it.
    Refused,
}

impl From<TcpqError> for DisconnectReason {
    fn from(_: TcpqError) -> Self {
        Self::Refused
    }
}

impl From<io::Error> for DisconnectReason {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Serving {
    pub(super) fn begin(
        options: &ServerOptions,
        counters: Arc<AtomicServerCounters>,
    ) -> io::Result<Self> {
        let listener = SocketAddress::Tcp(options.address.to_string()).listen()?;
        let mut poller = Poller::new()?;
        listener.register(&mut poller, LISTENER)?;
        let memory = Budget::new(options.memory);
        Ok(Self {
            options: options.clone(),
            counters,
            listener,
            poller,
            clients: HashMap::new(),
            slots: ConnectionSlots::new(options.clients, options.handshake_timeout),
            turns: RunQueue::default(),
            routes: ClientRoutes::new(),
            room: Vec::new(),
            room_memory: memory.share(),
            memory,
            found: Recipients::default(),
            behind: Vec::new(),
            lost: Vec::new(),
            accept_pending: true,
            paused_until: None,
        })
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.listener.port()
    }

    pub(super) fn waker(&self) -> Waker {
        self.poller.waker()
    }

    pub(super) fn run(mut self) {
        while !self.counters.ends.load(Ordering::Acquire) {
            let wait = self.wait();
            if self.poller.wait(wait).is_err() {
                // The kernel has no memory for it now.
                std::thread::sleep(REST);
            }
            self.note_changes();
            let until = clock::now() + ROUND;
            while let Some(id) = self.turns.next() {
                self.serve(id);
                if clock::now() >= until {
                    break;
                }
            }
            self.accept_peers();
            self.disconnect_silent();
        }
    }

    fn wait(&self) -> Wait {
        let may_accept = self.accept_pending && self.paused_until.is_none();
        if may_accept || !self.turns.is_empty() {
            return Wait::Poll;
        }
        let until = self.paused_until.into_iter().chain(self.slots.deadline());
        until.min().map_or(Wait::Forever, Wait::Until)
    }

    fn note_changes(&mut self) {
        let Self {
            poller,
            clients,
            turns,
            accept_pending,
            ..
        } = self;
        for change in poller.changes() {
            let Readiness { token, .. } = change;
            if token == LISTENER {
                *accept_pending = true;
            } else if let Some(client) = clients.get_mut(&ConnectionId(token)) {
                client.readable |= change.readable;
                client.writable |= change.writable;
                client.ended |= change.ended;
                if client.has_work() {
                    turns.wait(ConnectionId(token), &mut client.waits);
                }
            }
        }
    }

    /// Gives a client its turn.
    fn serve(&mut self, id: ConnectionId) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let empty = Decoder::new(Peer::Client, 0);
        let mut decoder = mem::replace(&mut client.decoder, empty);
        let outcome = self.receive(id, &mut decoder, clock::now());
        for lost in mem::take(&mut self.lost) {
            self.leave(lost);
        }
        match outcome {
            Ok(()) => self.end_turn(id, decoder),
            Err(DisconnectReason::Gone) => self.leave(id),
            Err(DisconnectReason::Refused) => self.refuse(id),
        }
    }

    fn end_turn(&mut self, id: ConnectionId, mut decoder: Decoder) {
        decoder.give_back(&mut self.room);
        // First, so that a buffer which the decoder keeps counts once.
        if !self.room_memory.resize(self.room.len()) {
            self.give_room_back();
        }
        if !self.claim(id, decoder.held()) {
            return self.refuse(id);
        }
        // The client may have been disconnected to give its memory to another one.
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        client.decoder = decoder;
        let is_enough = !client.has_work();
        self.turns.done(id, &mut client.waits, is_enough);
    }

    /// Sends to a client, and reads its frames, for a turn from now.
    fn receive(
        &mut self,
        id: ConnectionId,
        decoder: &mut Decoder,
        now: MonotonicTime,
    ) -> Result<(), DisconnectReason> {
        decoder.lend(&mut self.room);
        if !self.claim(id, decoder.needed()) {
            return Err(DisconnectReason::Refused);
        }
        let Some(client) = self.clients.get_mut(&id) else {
            return Ok(());
        };
        client.flush(now)?;
        if client.queue.bytes() <= self.options.queue / 2 {
            client.resume(id, &mut self.routes);
        }
        if client.readable && !client.unprocessed {
            client.read(decoder, now)?;
        }
        let (mut received, mut unprocessed) = (false, false);
        while let Some(frame) = decoder.next()? {
            received = true;
            self.handle(id, frame)?;
            // The client may have been disconnected to give its memory to another one; its frames end here.
            if !self.clients.contains_key(&id) {
                return Ok(());
            }
            unprocessed = clock::now() >= now + TURN;
            if unprocessed {
                break;
            }
        }
        if let Some(client) = self.clients.get_mut(&id) {
            client.unprocessed = unprocessed;
            client.progress.part(decoder.pending(), received, now);
            let peer_state = match (received, decoder.has_handshake()) {
                (true, _) => PeerState::Active,
                (false, true) => PeerState::HandshakeDone,
                (false, false) => PeerState::Connected,
            };
            if peer_state > client.peer_state {
                client.peer_state = peer_state;
                self.slots.note(id, peer_state);
            }
        }
        Ok(())
    }

    fn handle(&mut self, id: ConnectionId, frame: Frame<'_>) -> Result<(), DisconnectReason> {
        match frame {
            Frame::Publish { channel, payload } => {
                let channel = channel.parse().map_err(|_| TcpqError::Name)?;
                count(&self.counters.messages);
                self.forward(&channel, payload);
            }
            Frame::Subscribe { pattern } => self.subscribe(id, pattern)?,
            Frame::Unsubscribe { pattern } => self.unsubscribe(id, pattern),
        }
        Ok(())
    }

    fn take_memory(&mut self, bytes: usize) -> Option<Share> {
        loop {
            if let Some(share) = self.memory.take(bytes) {
                return Some(share);
            }
            if !self.make_room(bytes) {
                return None;
            }
        }
    }

    /// Claims memory for a client whose decoder holds so much; returns whether there was enough.
    fn claim(&mut self, id: ConnectionId, decoder: usize) -> bool {
        loop {
            let Some(client) = self.clients.get_mut(&id) else {
                return true;
            };
            if client.claim(decoder) {
                return true;
            }
            let would_hold = client.held() + decoder;
            if !self.make_room(would_hold) {
                return false;
            }
        }
    }

    /// Frees memory for a client that holds so much; returns whether any could be freed.
    fn make_room(&mut self, held: usize) -> bool {
        if !self.room.is_empty() && self.room_memory.amount() > 0 {
            self.give_room_back();
            return true;
        }
        let (now, idle) = (clock::now(), self.options.idle_timeout);
        let stalled = |it: &TcpqClient| it.is_stalled(idle, now);
        self.disconnect_greediest(MAX_IDLE_MEMORY, stalled)
            || self.disconnect_greediest(held, |_| true)
    }

    fn give_room_back(&mut self) {
        self.room = Vec::new();
        self.room_memory.resize(0);
    }

    /// Disconnects the one of some clients that holds the most memory, if that exceeds `than`.
    fn disconnect_greediest(&mut self, than: usize, of: impl Fn(&TcpqClient) -> bool) -> bool {
        let some = self.clients.iter().filter(|(_, client)| of(client));
        let all = some.map(|(id, client)| (client.held(), *id));
        let greediest = all.max().filter(|(most, _)| *most > than);
        greediest.map(|(_, id)| self.refuse(id)).is_some()
    }

    fn accept_peers(&mut self) {
        if self.paused_until.is_some_and(|until| clock::now() < until) {
            return;
        }
        self.paused_until = None;
        for _ in 0..BATCH {
            if !self.accept_pending {
                return;
            }
            match self.listener.accept() {
                Ok(Some(socket)) => self.admit(socket),
                Ok(None) => self.accept_pending = false,
                // That peer has disconnected.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => return self.find_a_descriptor(),
            }
        }
    }

    /// Finds a descriptor when the system has none left: a silent client's, or a later one.
    fn find_a_descriptor(&mut self) {
        match self.least_needed(clock::now()) {
            Some(id) => self.refuse(id),
            None => self.paused_until = Some(clock::now() + REST),
        }
    }

    /// Returns the client whose slot a new client gets if there is no other.
    fn least_needed(&mut self, now: MonotonicTime) -> Option<ConnectionId> {
        let Self { slots, clients, .. } = self;
        let last = |id: ConnectionId| clients.get(&id).map_or(now, |it| it.progress.last());
        let longest_idle = slots.longest_idle(last);
        let idle = longest_idle.filter(|(_, last)| now > *last + self.options.idle_timeout);
        slots.least_needed(now, idle.map(|(id, _)| id))
    }

    fn admit(&mut self, mut socket: Socket) {
        let now = clock::now();
        if !self.slots.has_room() {
            match self.least_needed(now) {
                Some(id) => self.refuse(id),
                None => return count(&self.counters.refused),
            }
        }
        // A new socket has room for eight bytes, or is gone already.
        let greeting = greeting(MAGIC_SERVER);
        let written = socket.write(&[IoSlice::new(&greeting)]);
        if !written.is_ok_and(|count| count == greeting.len()) {
            return;
        }
        let id = self.slots.take(now);
        if socket.register(&mut self.poller, id.0).is_err() {
            count(&self.counters.refused);
            return self.slots.leave(id);
        }
        let counters = self.counters.remember(id, socket.peer());
        let memory = self.memory.share();
        let client = TcpqClient::new(socket, self.options.longest, memory, counters, now);
        self.clients.insert(id, client);
    }

    fn disconnect_silent(&mut self) {
        let now = clock::now();
        for _ in 0..BATCH {
            match self.slots.overdue(now) {
                Some(id) => self.refuse(id),
                None => return,
            }
        }
    }

    fn refuse(&mut self, id: ConnectionId) {
        if self.clients.contains_key(&id) {
            count(&self.counters.refused);
            self.leave(id);
        }
    }

    fn leave(&mut self, id: ConnectionId) {
        let Some(client) = self.clients.remove(&id) else {
            return;
        };
        for pattern in client.wanted.keys() {
            self.routes.unsubscribe(id, pattern, client.forwarding);
        }
        self.slots.leave(id);
        self.poller.remove(id.0);
        self.counters.forget(id);
    }
}
