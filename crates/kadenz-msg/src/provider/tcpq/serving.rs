//! The thread of a server.
//!
//! Sockets tell it of changes alone, so that clients that do nothing cost nothing. What a client has
//! to be served for is done in turns of bounded work, and between turns newcomers are heard of.

use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSlice};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::poller::{Change, Poller};
use kadenz_rt::net::port::Wait;
use kadenz_rt::net::watch::Waker;

use super::books::{Books, count};
use super::client::Client;
use super::queue::Message;
use super::routes::{Refusal, Routes};
use super::server::ServerOptions;
use crate::channel::Channel;
use crate::provider::stream::budget::{Budget, Share};
use crate::provider::stream::seats::{Seat, Seats, Standing};
use crate::provider::stream::socket::{Door, Place, Socket};
use crate::provider::stream::turns::Turns;
use crate::wire::tcpq::{Broken, Decoder, Frame, MAGIC_SERVER, MessageHeader, Peer, greeting};

/// A turn begins no further frame after so long.
const TURN: Duration = Duration::from_micros(50);
/// The sockets are asked for changes at least so often.
const ROUND: Duration = Duration::from_micros(100);
/// Connections that are let in, or hung up on for silence, between two rounds.
const BATCH: usize = 16;
/// After what the system refused, until it is asked again.
const REST: Duration = Duration::from_millis(10);
/// The door's number, where clients have their seats'.
const DOOR: u64 = u64::MAX - 1;

pub(super) struct Serving {
    options: ServerOptions,
    books: Arc<Books>,
    door: Door,
    poller: Poller,
    clients: HashMap<Seat, Client>,
    seats: Seats,
    turns: Turns,
    routes: Routes,
    memory: Arc<Budget>,
    /// What all decoders read into that hold nothing.
    room: Vec<u8>,
    room_memory: Share,
    /// Who wants the message that is passed on.
    found: Vec<Seat>,
    /// Whose connection failed while a message was passed on.
    lost: Vec<Seat>,
    /// Somebody may stand at the door.
    knocks: bool,
    /// The system refuses connections until then.
    rests_until: Option<MonotonicTime>,
}

/// The copy of a message for those that do not take all of it at once.
enum Copy {
    NotMade,
    Made(Arc<Message>),
    /// There is no memory for it.
    Refused,
}

/// Why a client is hung up on.
enum Leaves {
    /// It has gone.
    Gone,
    /// It said what it may not say, or there is no memory for it.
    Refused,
}

impl From<Broken> for Leaves {
    fn from(_: Broken) -> Self {
        Self::Refused
    }
}

impl From<io::Error> for Leaves {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Serving {
    pub(super) fn begin(options: &ServerOptions, books: Arc<Books>) -> io::Result<Self> {
        let door = Place::Tcp(options.address.to_string()).listen()?;
        let mut poller = Poller::new()?;
        door.register(&mut poller, DOOR)?;
        let memory = Budget::new(options.memory);
        Ok(Self {
            options: options.clone(),
            books,
            door,
            poller,
            clients: HashMap::new(),
            seats: Seats::new(options.clients, options.greeting),
            turns: Turns::default(),
            routes: Routes::new(),
            room: Vec::new(),
            room_memory: memory.share(),
            memory,
            found: Vec::new(),
            lost: Vec::new(),
            knocks: true,
            rests_until: None,
        })
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.door.port()
    }

    pub(super) fn waker(&self) -> Waker {
        self.poller.waker()
    }

    pub(super) fn run(mut self) {
        while !self.books.ends.load(Ordering::Acquire) {
            let wait = self.wait();
            if self.poller.wait(wait).is_err() {
                // The kernel has no memory for it now.
                std::thread::sleep(REST);
            }
            self.hear_of_changes();
            let until = clock::now() + ROUND;
            while let Some(seat) = self.turns.next() {
                self.serve(seat);
                if clock::now() >= until {
                    break;
                }
            }
            self.let_in();
            self.hang_up_on_the_silent();
        }
    }

    fn wait(&self) -> Wait {
        let may_let_in = self.knocks && self.rests_until.is_none();
        if may_let_in || !self.turns.is_empty() {
            return Wait::Poll;
        }
        let until = self.rests_until.into_iter().chain(self.seats.deadline());
        until.min().map_or(Wait::Forever, Wait::Until)
    }

    fn hear_of_changes(&mut self) {
        let Self {
            poller,
            clients,
            turns,
            knocks,
            ..
        } = self;
        for change in poller.changes() {
            let Change { token, .. } = change;
            if token == DOOR {
                *knocks = true;
            } else if let Some(client) = clients.get_mut(&Seat(token)) {
                client.readable |= change.readable;
                client.writable |= change.writable;
                client.ended |= change.ended;
                if client.has_work() {
                    turns.wait(Seat(token), &mut client.waits);
                }
            }
        }
    }

    /// Gives a client its turn.
    fn serve(&mut self, seat: Seat) {
        let Some(client) = self.clients.get_mut(&seat) else {
            return;
        };
        let empty = Decoder::new(Peer::Client, 0);
        let mut decoder = mem::replace(&mut client.decoder, empty);
        let outcome = self.hear(seat, &mut decoder, clock::now() + TURN);
        for lost in mem::take(&mut self.lost) {
            self.leave(lost);
        }
        match outcome {
            Ok(()) => self.end_turn(seat, decoder),
            Err(Leaves::Gone) => self.leave(seat),
            Err(Leaves::Refused) => self.refuse(seat),
        }
    }

    fn end_turn(&mut self, seat: Seat, mut decoder: Decoder) {
        decoder.give_back(&mut self.room);
        // First, so that a buffer which the decoder keeps counts once.
        if !self.room_memory.resize(self.room.len()) {
            self.give_room_back();
        }
        if !self.claim(seat, decoder.held()) {
            return self.refuse(seat);
        }
        // It may have been hung up on for what another one needs.
        let Some(client) = self.clients.get_mut(&seat) else {
            return;
        };
        client.decoder = decoder;
        let is_enough = !client.has_work();
        self.turns.done(seat, &mut client.waits, is_enough);
    }

    /// Sends to a client, and hears it, no longer than until then.
    fn hear(
        &mut self,
        seat: Seat,
        decoder: &mut Decoder,
        until: MonotonicTime,
    ) -> Result<(), Leaves> {
        decoder.lend(&mut self.room);
        if !self.claim(seat, decoder.needed()) {
            return Err(Leaves::Refused);
        }
        let Some(client) = self.clients.get_mut(&seat) else {
            return Ok(());
        };
        client.flush()?;
        if client.readable && !client.unheard {
            client.read(decoder)?;
        }
        let was = client.standing;
        let (mut standing, mut unheard) = (was, false);
        while let Some(frame) = decoder.next()? {
            standing = Standing::Active;
            self.obey(seat, frame)?;
            // It may have been hung up on for what another one needs, and is heard no more.
            if !self.clients.contains_key(&seat) {
                return Ok(());
            }
            unheard = clock::now() >= until;
            if unheard {
                break;
            }
        }
        if decoder.is_greeted() {
            standing = standing.max(Standing::Greeted);
        }
        if let Some(client) = self.clients.get_mut(&seat) {
            client.unheard = unheard;
            client.standing = standing;
            if standing > was {
                self.seats.note(seat, standing);
            }
        }
        Ok(())
    }

    fn obey(&mut self, seat: Seat, frame: Frame<'_>) -> Result<(), Leaves> {
        match frame {
            Frame::Publish { channel, payload } => {
                let channel = channel.parse().map_err(|_| Broken::Name)?;
                count(&self.books.messages);
                self.pass_on(&channel, payload);
            }
            Frame::Subscribe { pattern } => self.subscribe(seat, pattern)?,
            Frame::Unsubscribe { pattern } => {
                let client = self.clients.get_mut(&seat);
                if let Some(client) = client.filter(|it| it.wants(pattern)) {
                    let kind = self.routes.unsubscribe(seat, pattern);
                    client.forget(pattern, kind);
                }
            }
        }
        Ok(())
    }

    fn subscribe(&mut self, seat: Seat, pattern: &str) -> Result<(), Leaves> {
        let kind = loop {
            match self.routes.subscribe(seat, pattern) {
                Ok(kind) => break kind,
                Err(Refusal::NoPattern) => return Err(Leaves::Refused),
                Err(Refusal::NoRoom) => {
                    let own = self.clients.get(&seat).map_or(0, |it| it.expressions);
                    if !self.hang_up_on_the_greediest(own + 1, |it| it.expressions) {
                        return Err(Leaves::Refused);
                    }
                }
            }
        };
        let client = self.clients.get_mut(&seat).ok_or(Leaves::Gone)?;
        if client.note(pattern, kind) {
            Ok(())
        } else {
            Err(Leaves::Refused)
        }
    }

    fn pass_on(&mut self, channel: &Channel, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let header = MessageHeader::new(channel, length);
        let parts = [header.bytes(), payload];
        let mut found = mem::take(&mut self.found);
        self.routes.route(channel, &mut found);
        let mut copy = Copy::NotMade;
        for seat in &found {
            self.deliver(*seat, &parts, &mut copy);
        }
        self.found = found;
    }

    fn deliver(&mut self, seat: Seat, parts: &[&[u8]; 2], copy: &mut Copy) {
        // A frame behind a part of another one would be taken for its end.
        if self.lost.contains(&seat) {
            return;
        }
        let Some(client) = self.clients.get_mut(&seat) else {
            return;
        };
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut written = 0;
        let mut is_lost = false;
        if client.queue.is_empty() {
            match client.socket.write(&parts.map(IoSlice::new)) {
                Ok(count) => written = count,
                Err(_) => is_lost = true,
            }
        } else if client.queue.bytes() + length > self.options.queue {
            return self.books.dropped(&client.books);
        }
        if written == length {
            return self.books.delivered(&client.books);
        }
        let kept = !is_lost && self.keep(seat, parts, copy, written);
        let Some(client) = self.clients.get_mut(&seat) else {
            return;
        };
        if kept {
            self.books.delivered(&client.books);
        } else {
            self.books.dropped(&client.books);
            // A part of a message is no message.
            if is_lost || written > 0 {
                self.lost.push(seat);
            }
        }
    }

    /// Keeps a message for a client that has not taken all of it; whether there is memory for it.
    fn keep(&mut self, seat: Seat, parts: &[&[u8]; 2], copy: &mut Copy, written: usize) -> bool {
        if matches!(copy, Copy::NotMade) {
            let length = parts.iter().map(|part| part.len()).sum();
            *copy = match self.take_memory(Message::cost(length)) {
                Some(memory) => Copy::Made(Message::new(parts, memory)),
                None => Copy::Refused,
            };
        }
        let (Copy::Made(message), Some(client)) = (copy, self.clients.get_mut(&seat)) else {
            return false;
        };
        client.writable = false;
        client.keep(Arc::clone(message), written)
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

    /// Takes memory for a client whose decoder holds so much; whether it was there.
    fn claim(&mut self, seat: Seat, decoder: usize) -> bool {
        loop {
            let Some(client) = self.clients.get_mut(&seat) else {
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

    /// Frees memory for one that holds so much; whether there was any to be freed.
    fn make_room(&mut self, held: usize) -> bool {
        if !self.room.is_empty() && self.room_memory.amount() > 0 {
            self.give_room_back();
            return true;
        }
        self.hang_up_on_the_greediest(held, Client::held)
    }

    fn give_room_back(&mut self) {
        self.room = Vec::new();
        self.room_memory.resize(0);
    }

    /// Hangs up on the client that has the most of something, where that is more than another one has.
    fn hang_up_on_the_greediest(&mut self, than: usize, has: impl Fn(&Client) -> usize) -> bool {
        let all = self
            .clients
            .iter()
            .map(|(seat, client)| (has(client), *seat));
        let greediest = all.max().filter(|(most, _)| *most > than);
        greediest.map(|(_, seat)| self.refuse(seat)).is_some()
    }

    fn let_in(&mut self) {
        if self.rests_until.is_some_and(|until| clock::now() < until) {
            return;
        }
        self.rests_until = None;
        for _ in 0..BATCH {
            if !self.knocks {
                return;
            }
            match self.door.accept() {
                Ok(Some(socket)) => self.admit(socket),
                Ok(None) => self.knocks = false,
                // Who knocked has gone.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => return self.find_a_descriptor(),
            }
        }
    }

    /// The system has no descriptor left: a silent client's is taken, or one is waited for.
    fn find_a_descriptor(&mut self) {
        match self.seats.least_known(clock::now()) {
            Some(seat) => self.refuse(seat),
            None => self.rests_until = Some(clock::now() + REST),
        }
    }

    fn admit(&mut self, mut socket: Socket) {
        let now = clock::now();
        if !self.seats.has_room() {
            match self.seats.least_known(now) {
                Some(seat) => self.refuse(seat),
                None => return count(&self.books.refused),
            }
        }
        // A new socket has room for eight bytes, or is gone already.
        let greeting = greeting(MAGIC_SERVER);
        let greeted = socket.write(&[IoSlice::new(&greeting)]);
        if !greeted.is_ok_and(|count| count == greeting.len()) {
            return;
        }
        let seat = self.seats.take(now);
        if socket.register(&mut self.poller, seat.0).is_err() {
            count(&self.books.refused);
            return self.seats.leave(seat);
        }
        let books = self.books.remember(seat, socket.peer());
        let memory = self.memory.share();
        let client = Client::new(socket, self.options.longest, memory, books);
        self.clients.insert(seat, client);
    }

    fn hang_up_on_the_silent(&mut self) {
        let now = clock::now();
        for _ in 0..BATCH {
            match self.seats.overdue(now) {
                Some(seat) => self.refuse(seat),
                None => return,
            }
        }
    }

    fn refuse(&mut self, seat: Seat) {
        if self.clients.contains_key(&seat) {
            count(&self.books.refused);
            self.leave(seat);
        }
    }

    fn leave(&mut self, seat: Seat) {
        let Some(client) = self.clients.remove(&seat) else {
            return;
        };
        for pattern in &client.wanted {
            self.routes.unsubscribe(seat, pattern);
        }
        self.seats.leave(seat);
        self.poller.remove(seat.0);
        self.books.forget(seat);
    }
}
