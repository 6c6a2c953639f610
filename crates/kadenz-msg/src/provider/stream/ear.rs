//! Hearing many peers from the thread that waits, without a second one between.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::watch::{Interest, Waker, Watch, Woke};

use super::budget::{Budget, Share};
use super::outgoing::Outgoing;
use super::seats::{GREETING, Seat, Seats, Standing};
use super::socket::{Door, Place, Socket};
use super::{Broken, Read};
use crate::channel::Pattern;
use crate::provider::{Arrival, InletCounters, More, ReceiveError, Received, Wait, Wake};

/// A connection that is lost or was refused is tried again after so long.
const RETRY: Duration = Duration::from_millis(100);

/// Room for what comes, at first; it grows with the messages.
const FIRST_ROOM: usize = 1 << 16;

/// Seats for peers.
const MAX_PEERS: usize = 1024;

/// Memory for what all peers together have sent of messages that are not whole yet, in bytes; more
/// where messages are longer.
const MEMORY: usize = 256 << 20;

/// Peers that are let in between two looks at those that are there.
const BATCH: usize = 16;

/// What an ear says and hears on one connection, sans-IO.
pub(in crate::provider) trait Talk: Send {
    /// Says that these are wanted from now on, where it can be said already.
    fn want(&mut self, wanted: &[Pattern], words: &mut Vec<u8>);

    /// Reads the front of what came. What is to be answered goes to `words`.
    fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
        wanted: &[Pattern],
        words: &mut Vec<u8>,
    ) -> Result<Read<'a>, Broken>;

    /// How well the peer is known.
    fn standing(&self) -> Standing;
}

/// Makes the talk with a new peer, and says what is said first.
type Make<T> = Box<dyn FnMut(&mut Vec<u8>) -> T + Send>;

/// Where a peer is, and what to say to it.
struct Target<T> {
    /// By which whoever asked for it knows it.
    id: u64,
    place: Place,
    make: Make<T>,
    /// `None` while it is connected.
    next_try: Option<MonotonicTime>,
}

struct Connection<T> {
    seat: Seat,
    socket: Socket,
    talk: T,
    outgoing: Outgoing,
    room: Vec<u8>,
    /// For the room.
    memory: Share,
    start: usize,
    end: usize,
    /// What it had sent is gone: nothing that follows makes sense.
    is_given_up: bool,
    target: Option<u64>,
}

pub(in crate::provider) struct Ear<T> {
    watch: Watch,
    door: Option<(Door, Make<T>)>,
    targets: Vec<Target<T>>,
    connections: Vec<Connection<T>>,
    seats: Seats,
    memory: Arc<Budget>,
    wanted: Vec<Pattern>,
    /// The longest message, with all that is around it.
    longest: usize,
    pub(in crate::provider) counters: InletCounters,
}

impl<T> fmt::Debug for Ear<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Ear");
        shown.field("connections", &self.connections.len());
        shown.field("wanted", &self.wanted);
        shown.finish_non_exhaustive()
    }
}

/// Ends an ear's wait.
#[derive(Debug)]
pub(in crate::provider) struct EarWaker(pub(in crate::provider) Waker);

impl Wake for EarWaker {
    fn wake(&self) {
        self.0.wake();
    }
}

impl<T: Talk> Ear<T> {
    pub(in crate::provider) fn new(longest: usize) -> io::Result<Self> {
        Ok(Self {
            watch: Watch::new()?,
            door: None,
            targets: Vec::new(),
            connections: Vec::new(),
            seats: Seats::new(MAX_PEERS, GREETING),
            memory: Budget::new(MEMORY.max(longest.saturating_mul(4))),
            wanted: Vec::new(),
            longest,
            counters: InletCounters::default(),
        })
    }

    /// Lets peers in.
    pub(in crate::provider) fn open(&mut self, door: Door, make: Make<T>) {
        self.door = Some((door, make));
    }

    /// Connects there, and again whenever it is lost.
    pub(in crate::provider) fn connect(&mut self, id: u64, place: Place, make: Make<T>) {
        self.targets.push(Target {
            id,
            place,
            make,
            next_try: Some(clock::now()),
        });
        self.connect_again();
    }

    /// Whether a connection to that one stands now.
    pub(in crate::provider) fn is_connected(&self, id: u64) -> bool {
        self.connections.iter().any(|it| it.target == Some(id))
    }

    /// Whether it connects to that one.
    pub(in crate::provider) fn has(&self, id: u64) -> bool {
        self.targets.iter().any(|target| target.id == id)
    }

    /// Connects no more to those for which it says `false`, and hangs up.
    pub(in crate::provider) fn keep(&mut self, keeps: impl Fn(u64) -> bool) {
        self.targets.retain(|target| keeps(target.id));
        let Self {
            connections, seats, ..
        } = self;
        connections.retain(|it| {
            let kept = it.target.is_none_or(&keeps);
            if !kept {
                seats.leave(it.seat);
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
        take: &mut dyn FnMut(Arrival<'_>) -> More,
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
                // Perhaps because a greeting's time is over.
                Woke::Nothing => self.hang_up_on_the_silent(),
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

    /// Hands over what is there whole.
    fn hand_over(
        &mut self,
        take: &mut dyn FnMut(Arrival<'_>) -> More,
    ) -> Result<usize, ReceiveError> {
        let Self {
            connections,
            wanted,
            counters,
            ..
        } = self;
        let mut count = 0;
        let mut lost = None;
        'all: for (place, connection) in connections.iter_mut().enumerate() {
            let mut words = Vec::new();
            let mut is_enough = false;
            while !is_enough {
                let bytes = &connection.room[connection.start..connection.end];
                let Ok(read) = connection.talk.read(bytes, wanted, &mut words) else {
                    lost = Some(place);
                    break 'all;
                };
                match read {
                    Read::Short => break,
                    Read::Other(used) => connection.start += used,
                    Read::Malformed(used) => {
                        connection.start += used;
                        counters.malformed += 1;
                    }
                    Read::Message(used, heard) => {
                        connection.start += used;
                        if !wanted.iter().any(|wanted| wanted.matches(heard.channel)) {
                            continue;
                        }
                        count += 1;
                        is_enough = take(heard.arrival()) == More::Enough;
                    }
                }
            }
            if !words.is_empty() && connection.say(&words).is_err() {
                lost = Some(place);
            }
            if is_enough || lost.is_some() {
                break;
            }
        }
        match lost {
            Some(place) if count == 0 => Err(self.hang_up(place, io::ErrorKind::InvalidData)),
            _ => Ok(count),
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
        if let Some((door, _)) = &self.door {
            door.watch(&mut self.watch);
        }
        let tries = self.targets.iter().filter_map(|target| target.next_try);
        let next = tries.chain(self.seats.deadline()).min();
        let until = match (wait, next) {
            (Wait::Until(end), Some(next)) => Wait::Until(end.min(next)),
            (Wait::Forever, Some(next)) => Wait::Until(next),
            (wait, _) => wait,
        };
        // Without memory in the kernel nothing can be waited for; it looks like a signal.
        self.watch.wait(until).unwrap_or(Woke::Interrupted)
    }

    /// Reads from whoever has something, and lets in who stands at the door.
    fn hear(&mut self) -> Result<(), ReceiveError> {
        let mut lost = None;
        for place in 0..self.connections.len() {
            let mut outcome = Ok(());
            if self.watch.readable(place) {
                outcome = self.fill(place);
            }
            let connection = &mut self.connections[place];
            if outcome.is_ok() && self.watch.writable(place) {
                outcome = connection.outgoing.flush(&mut connection.socket);
            }
            if let Err(error) = outcome {
                lost = Some((place, error.kind()));
                break;
            }
        }
        let outcome = match lost {
            Some((place, kind)) => Err(self.hang_up(place, kind)),
            None => Ok(()),
        };
        self.hang_up_on_the_silent();
        self.let_in();
        outcome
    }

    /// Reads as much as is there and there is room for, and makes room where a message needs it.
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

    /// Empties the room of the peer that holds the most, where that is more than another one needs, and
    /// hangs up on it; whether there was one. Its place stays, so that others' do.
    fn give_up_the_greediest(&mut self, but: usize, than: usize) -> bool {
        let others = self.connections.iter_mut().enumerate();
        let others = others.filter(|(place, it)| *place != but && it.memory.amount() > than);
        let Some((_, greediest)) = others.max_by_key(|(_, it)| it.memory.amount()) else {
            return false;
        };
        if greediest.start == greediest.end {
            // Nothing is lost but room that was needed once.
            greediest.room = Vec::new();
        } else {
            greediest.is_given_up = true;
            greediest.room = Vec::new();
            self.counters.incomplete += 1;
        }
        (greediest.start, greediest.end) = (0, 0);
        greediest.memory.resize(0)
    }

    /// Hangs up on those who have not greeted in time, and those who were given up.
    fn hang_up_on_the_silent(&mut self) {
        let Self {
            connections, seats, ..
        } = self;
        for connection in &*connections {
            seats.note(connection.seat, connection.talk.standing());
        }
        let now = clock::now();
        for place in (0..self.connections.len()).rev() {
            let connection = &self.connections[place];
            if connection.is_given_up || self.seats.is_overdue(connection.seat, now) {
                let _ = self.hang_up(place, io::ErrorKind::TimedOut);
            }
        }
    }

    fn let_in(&mut self) {
        for _ in 0..BATCH {
            let Some((door, make)) = &mut self.door else {
                return;
            };
            let Ok(Some(socket)) = door.accept() else {
                return;
            };
            if !self.seats.has_room() {
                let seat = self.seats.least_known(clock::now());
                let mut seated = self.connections.iter();
                let Some(place) = seated.position(|it| Some(it.seat) == seat) else {
                    continue;
                };
                self.seats.leave(self.connections.remove(place).seat);
            }
            let seat = self.seats.take(clock::now());
            match Connection::greet(socket, make, None, seat, self.memory.share()) {
                Some(connection) => self.connections.push(connection),
                None => self.seats.leave(seat),
            }
        }
    }

    fn hang_up(&mut self, place: usize, reason: io::ErrorKind) -> ReceiveError {
        let connection = self.connections.remove(place);
        self.seats.leave(connection.seat);
        if connection.end > connection.start {
            self.counters.incomplete += 1;
        }
        let mut peer = "a sender that came".to_owned();
        let mut targets = self.targets.iter_mut();
        if let Some(target) = targets.find(|target| Some(target.id) == connection.target) {
            target.next_try = Some(clock::now() + RETRY);
            peer = format!("{:?}", target.place);
        }
        ReceiveError::Disconnected { peer, reason }
    }

    /// Connects to whom it is time for.
    fn connect_again(&mut self) {
        let now = clock::now();
        for target in &mut self.targets {
            if target.next_try.is_none_or(|next| next > now) {
                continue;
            }
            let socket = target.place.connect();
            let id = Some(target.id);
            let seat = self.seats.take(now);
            // Who was asked for is no stranger.
            self.seats.note(seat, Standing::Active);
            let memory = self.memory.share();
            let greeted = socket.ok();
            let greeted =
                greeted.and_then(|it| Connection::greet(it, &mut target.make, id, seat, memory));
            if greeted.is_none() {
                self.seats.leave(seat);
                target.next_try = Some(clock::now() + RETRY);
            } else {
                target.next_try = None;
            }
            self.connections.extend(greeted);
        }
    }
}

impl<T: Talk> Connection<T> {
    /// Says the first words; `None` where it is lost already.
    fn greet(
        socket: Socket,
        make: &mut Make<T>,
        target: Option<u64>,
        seat: Seat,
        memory: Share,
    ) -> Option<Self> {
        let mut words = Vec::new();
        let talk = make(&mut words);
        let mut connection = Self {
            seat,
            socket,
            talk,
            outgoing: Outgoing::new(0, None),
            room: Vec::new(),
            memory,
            start: 0,
            end: 0,
            is_given_up: false,
            target,
        };
        connection.say(&words).is_ok().then_some(connection)
    }

    fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.outgoing.say(words)?;
        self.outgoing.flush(&mut self.socket)
    }

    /// Makes what is there stand where more can follow; how long the room must be for that.
    fn make_room(&mut self, longest: usize) -> io::Result<usize> {
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
    fn fill(&mut self, room: usize) -> io::Result<()> {
        if self.is_given_up {
            return Ok(());
        }
        if self.room.len() < room {
            self.room.reserve_exact(room - self.room.len());
            self.room.resize(room, 0);
        }
        if let Some(count) = self.socket.read(&mut self.room[self.end..])? {
            self.end += count;
        }
        Ok(())
    }
}
