//! Receiving from many peers on the waiting thread, without a second one between.

mod connection;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::watch::{Interest, Waker, Watch, Woke};

use super::acceptor::Acceptor;
use super::connection_slots::{Budget, ConnectionSlots, GREETING, Standing};
use super::socket::{Door, SocketAddress};
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

/// The number of peers that are accepted between two looks at the connected ones.
const BATCH: usize = 16;

/// The protocol of a receiver on one connection, sans-IO.
pub(in crate::provider) trait PeerProtocol: Send {
    /// Writes a request for these channels from now on, if the protocol allows it already.
    fn want(&mut self, wanted: &[Pattern], words: &mut Vec<u8>);

    /// Reads the front of the received bytes. Answers go to `words`.
    fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
        wanted: &[Pattern],
        words: &mut Vec<u8>,
    ) -> Result<ReadOutcome<'a>, ProtocolError>;

    /// Returns the peer's standing.
    fn standing(&self) -> Standing;
}

/// Makes the protocol of a new peer, and writes its first bytes.
type MakeProtocol<T> = Box<dyn FnMut(&mut Vec<u8>) -> T + Send>;

/// The address of a peer, and its protocol state.
struct Target<T> {
    /// The identifier by which the requesting code knows it.
    id: u64,
    place: SocketAddress,
    make: MakeProtocol<T>,
    /// `None` while it is connected.
    next_try: Option<MonotonicTime>,
}

pub(in crate::provider) struct PeerReceiver<T> {
    watch: Watch,
    door: Option<(Acceptor, MakeProtocol<T>)>,
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

/// Ends a receiver's wait.
#[derive(Debug)]
pub(in crate::provider) struct ReceiverWaker(pub(in crate::provider) Waker);

impl Wake for ReceiverWaker {
    fn wake(&self) {
        self.0.wake();
    }
}

impl<T: PeerProtocol> PeerReceiver<T> {
    pub(in crate::provider) fn new(longest: usize) -> io::Result<Self> {
        Ok(Self {
            watch: Watch::new()?,
            door: None,
            targets: Vec::new(),
            connections: Vec::new(),
            slots: ConnectionSlots::new(MAX_PEERS, GREETING),
            memory: Budget::new(MEMORY.max(longest.saturating_mul(4))),
            wanted: Vec::new(),
            longest,
            unfinished: UNFINISHED,
            counters: InletCounters::default(),
        })
    }

    /// Accepts peers at a listening socket.
    pub(in crate::provider) fn open(&mut self, door: Door, make: MakeProtocol<T>) {
        self.door = Some((Acceptor::new(door), make));
    }

    /// Connects to an address, and again whenever the connection is lost.
    pub(in crate::provider) fn connect(
        &mut self,
        id: u64,
        place: SocketAddress,
        make: MakeProtocol<T>,
    ) {
        self.targets.push(Target {
            id,
            place,
            make,
            next_try: Some(clock::now()),
        });
        self.connect_again();
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
        let Self {
            connections, slots, ..
        } = self;
        connections.retain(|it| {
            let kept = it.target.is_none_or(&keeps);
            if !kept {
                slots.leave(it.id);
            }
            kept
        });
    }

    pub(in crate::provider) fn waker(&self) -> Waker {
        self.watch.waker()
    }

    pub(in crate::provider) fn want(&mut self, wanted: &[Pattern]) {
        self.wanted = wanted.to_vec();
        for connection in &mut self.connections {
            let mut words = Vec::new();
            connection.talk.want(wanted, &mut words);
            // A connection that is lost now is found lost by the next wait.
            let _ = connection.say(&words);
        }
    }

    pub(in crate::provider) fn receive(
        &mut self,
        wait: Wait,
        take: Take<'_>,
    ) -> Result<Received, ReceiveError> {
        loop {
            let count = self.hand_over(take)?;
            if count > 0 {
                return Ok(Received::Messages(count));
            }
            self.connect_again();
            match self.wait(wait) {
                Woke::Woken | Woke::Interrupted => return Ok(Received::Woken),
                Woke::Ready => self.hear()?,
                // Perhaps because a peer's time is over.
                Woke::Nothing => self.change_peers()?,
            }
            let count = self.hand_over(take)?;
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
    fn hand_over(&mut self, take: Take<'_>) -> Result<usize, ReceiveError> {
        let mut count = 0;
        for place in 0..self.connections.len() {
            let mut words = Vec::new();
            let outcome = self.hand_over_of(place, &mut words, &mut count, take);
            let is_lost = outcome.is_err() || (!words.is_empty() && !self.say(place, &words));
            match (is_lost, outcome) {
                (true, _) if count == 0 => {
                    return Err(self.hang_up(place, io::ErrorKind::InvalidData));
                }
                (true, _) | (false, Ok(More::Enough)) => break,
                (false, _) => {}
            }
        }
        Ok(count)
    }

    /// Hands over the complete messages of one peer. Answers go to `words`.
    fn hand_over_of(
        &mut self,
        place: usize,
        words: &mut Vec<u8>,
        count: &mut usize,
        take: Take<'_>,
    ) -> Result<More, ProtocolError> {
        let Self {
            connections,
            wanted,
            counters,
            ..
        } = self;
        let connection = &mut connections[place];
        loop {
            let bytes = &connection.room[connection.start..connection.end];
            match connection.talk.read(bytes, wanted, words)? {
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
                ReadOutcome::Message(used, heard) => {
                    connection.start += used;
                    if !wanted.iter().any(|wanted| wanted.matches(heard.channel)) {
                        continue;
                    }
                    *count += 1;
                    if take(heard.arrival()) == More::Enough {
                        return Ok(More::Enough);
                    }
                }
            }
        }
    }

    /// Answers a peer; returns whether that was possible. If there is no memory, a peer that holds more gives
    /// it up.
    fn say(&mut self, place: usize, words: &[u8]) -> bool {
        loop {
            let connection = &mut self.connections[place];
            let Err(error) = connection.say(words) else {
                return true;
            };
            let held = connection.held();
            let lacks_memory = error.kind() == io::ErrorKind::OutOfMemory;
            if !lacks_memory || !self.give_up_the_greediest(place, held) {
                return false;
            }
        }
    }

    fn wait(&mut self, wait: Wait) -> Woke {
        self.watch.clear();
        for connection in &self.connections {
            let interest = match connection.outgoing.is_empty() {
                true => Interest::Read,
                false => Interest::ReadAndWrite,
            };
            connection.socket.watch(&mut self.watch, interest);
        }
        let mut pause = None;
        if let Some((acceptor, _)) = &self.door {
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
        self.watch.wait(until).unwrap_or(Woke::Interrupted)
    }

    /// Reads from the peers that have sent something, and accepts new ones.
    fn hear(&mut self) -> Result<(), ReceiveError> {
        let mut lost = None;
        for place in 0..self.connections.len() {
            let mut outcome = Ok(());
            if self.watch.readable(place) {
                outcome = self.fill(place);
            }
            let connection = &mut self.connections[place];
            if outcome.is_ok() && self.watch.writable(place) {
                outcome = connection.flush();
            }
            if let Err(error) = outcome {
                lost = Some((place, error.kind()));
                break;
            }
        }
        match lost {
            // The bytes of the peers behind it are not read yet: none of these is too late.
            Some((place, kind)) => Err(self.hang_up(place, kind)),
            None => self.change_peers(),
        }
    }

    /// Disconnects peers whose time is over, and accepts others.
    fn change_peers(&mut self) -> Result<(), ReceiveError> {
        self.hang_up_on_the_silent();
        self.let_in();
        let news = self.door.as_mut().map(|(acceptor, _)| acceptor.take_news());
        match news {
            Some(true) => Err(ReceiveError::NoDescriptor),
            _ => Ok(()),
        }
    }

    /// Reads as much as has arrived and there is room for, and makes room if a message needs it.
    fn fill(&mut self, place: usize) -> io::Result<()> {
        let connection = &mut self.connections[place];
        let needed = connection.make_room(self.longest)?;
        while !self.connections[place].memory.resize(needed) {
            if !self.give_up_the_greediest(place, needed) {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
        }
        self.connections[place].fill(needed)
    }

    /// Takes the memory of the peer that holds the most, if that is more than another one needs, and
    /// disconnects it later, if it loses data by that; returns whether there was one. Its place stays, so
    /// that the places of others do.
    fn give_up_the_greediest(&mut self, but: usize, than: usize) -> bool {
        let others = self.connections.iter_mut().enumerate();
        let others = others.filter(|(place, it)| *place != but && it.held() > than);
        let Some((_, greediest)) = others.max_by_key(|(_, it)| it.held()) else {
            return false;
        };
        self.counters.incomplete += u64::from(greediest.is_within());
        greediest.empty(&self.memory);
        true
    }

    /// Disconnects peers that have not greeted in time or do not continue a message that they have begun, and
    /// those that were given up.
    fn hang_up_on_the_silent(&mut self) {
        let Self {
            connections, slots, ..
        } = self;
        for connection in &*connections {
            slots.note(connection.id, connection.talk.standing());
        }
        let now = clock::now();
        for place in (0..self.connections.len()).rev() {
            let connection = &self.connections[place];
            let stalled = connection.stalled_since;
            let is_stalled = stalled.is_some_and(|since| since + self.unfinished <= now);
            let is_overdue = self.slots.is_overdue(connection.id, now);
            if connection.is_given_up || is_stalled || is_overdue {
                let _ = self.hang_up(place, io::ErrorKind::TimedOut);
            }
        }
    }

    fn let_in(&mut self) {
        for _ in 0..BATCH {
            let Some((acceptor, make)) = &mut self.door else {
                return;
            };
            let Some(socket) = acceptor.accept(clock::now()) else {
                return;
            };
            if !self.slots.has_room() {
                let id = self.slots.least_known(clock::now());
                let mut connections = self.connections.iter();
                let Some(place) = connections.position(|it| Some(it.id) == id) else {
                    continue;
                };
                self.slots.leave(self.connections.remove(place).id);
            }
            let id = self.slots.take(clock::now());
            match PeerReceiverConnection::greet(socket, make, None, id, &self.memory) {
                Some(connection) => self.connections.push(connection),
                None => self.slots.leave(id),
            }
        }
    }

    fn hang_up(&mut self, place: usize, reason: io::ErrorKind) -> ReceiveError {
        let connection = self.connections.remove(place);
        self.slots.leave(connection.id);
        self.counters.incomplete += u64::from(connection.is_within());
        if let Some((acceptor, _)) = &mut self.door {
            acceptor.resume();
        }
        let mut peer = "a sender that came".to_owned();
        let mut targets = self.targets.iter_mut();
        if let Some(target) = targets.find(|target| Some(target.id) == connection.target) {
            target.next_try = Some(clock::now() + RETRY);
            peer = format!("{:?}", target.place);
        }
        ReceiveError::Disconnected { peer, reason }
    }

    /// Connects to the peers whose next attempt is due.
    fn connect_again(&mut self) {
        let now = clock::now();
        for target in &mut self.targets {
            if target.next_try.is_none_or(|next| next > now) {
                continue;
            }
            let socket = target.place.connect();
            let target_id = Some(target.id);
            let id = self.slots.take(now);
            // This receiver opened the connection itself, so the peer is not unknown.
            self.slots.note(id, Standing::Active);
            let (make, memory) = (&mut target.make, &self.memory);
            let greeted = socket.ok();
            let greeted = greeted
                .and_then(|it| PeerReceiverConnection::greet(it, make, target_id, id, memory));
            if greeted.is_none() {
                self.slots.leave(id);
                target.next_try = Some(clock::now() + RETRY);
            } else {
                target.next_try = None;
            }
            self.connections.extend(greeted);
        }
    }
}

#[cfg(test)]
mod tests;
