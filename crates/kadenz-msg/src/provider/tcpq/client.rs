//! One client of a server, as the server holds it.

use std::io;
use std::sync::Arc;

use super::books::ClientBooks;
use super::queue::{Message, Queue};
use super::routes::Kind;
use crate::provider::stream::budget::Share;
use crate::provider::stream::seats::Standing;
use crate::provider::stream::socket::Socket;
use crate::provider::stream::turns::Waits;
use crate::wire::tcpq::{Decoder, Peer};

/// Names and prefixes of one client, however many patterns they stand in.
const MAX_NAMES: usize = 1000;
/// Expressions of one client.
const MAX_EXPRESSIONS: usize = 16;
/// What a name in a pattern costs beside its text.
const AROUND_NAME: usize = 128;
/// Bytes that are read in one turn.
const READ_LIMIT: usize = 64 << 10;
/// Bytes that are sent in one turn, or one message.
const SEND_LIMIT: usize = 256 << 10;

/// A connection, with what it may need to be served for next.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) socket: Socket,
    pub(super) decoder: Decoder,
    pub(super) queue: Queue,
    /// Patterns, as they came.
    pub(super) wanted: Vec<Box<str>>,
    names: usize,
    pub(super) expressions: usize,
    /// What its patterns take.
    patterns: usize,
    /// For its decoder, its patterns and its queue, without the messages there.
    memory: Share,
    pub(super) standing: Standing,
    pub(super) waits: Waits,
    /// Something came, as far as is known.
    pub(super) readable: bool,
    /// There is room to send, as far as is known.
    pub(super) writable: bool,
    /// The peer sends no more: reading goes on to its end.
    pub(super) ended: bool,
    /// A turn ended before all that was read was heard.
    pub(super) unheard: bool,
    pub(super) books: Arc<ClientBooks>,
}

impl Client {
    pub(super) fn new(
        socket: Socket,
        longest: usize,
        memory: Share,
        books: Arc<ClientBooks>,
    ) -> Self {
        Self {
            socket,
            decoder: Decoder::new(Peer::Client, longest),
            queue: Queue::default(),
            wanted: Vec::new(),
            names: 0,
            expressions: 0,
            patterns: 0,
            memory,
            standing: Standing::Stranger,
            waits: Waits::default(),
            readable: false,
            writable: true,
            ended: false,
            unheard: false,
            books,
        }
    }

    /// Whether another turn would do something.
    pub(super) fn has_work(&self) -> bool {
        self.unheard || self.readable || (self.writable && !self.queue.is_empty())
    }

    /// How much it keeps from others: its memory, and messages that wait for it, also where they wait
    /// for others as well.
    pub(super) fn held(&self) -> usize {
        self.memory.amount() + self.queue.bytes()
    }

    /// Takes memory for what it holds and a decoder that holds so much; whether it was there.
    pub(super) fn claim(&mut self, decoder: usize) -> bool {
        let queue = self.queue.own_bytes();
        self.memory.resize(decoder + self.patterns + queue)
    }

    /// Reads what is there, up to a limit.
    pub(super) fn read(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        let space = decoder.space();
        let asked = space.len().min(READ_LIMIT);
        match self.socket.read(&mut space[..asked])? {
            None => self.readable = false,
            Some(count) => {
                decoder.filled(count);
                self.readable = count == asked || self.ended;
            }
        }
        Ok(())
    }

    /// Sends what waits, up to a limit.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.writable && !self.queue.is_empty() {
            let Self { queue, socket, .. } = self;
            self.writable = queue.flush(SEND_LIMIT, |parts| socket.write(parts))?;
        }
        Ok(())
    }

    /// Keeps a message for later, of which so many bytes have gone; whether there is memory for it.
    pub(super) fn keep(&mut self, message: Arc<Message>, sent: usize) -> bool {
        self.queue.reserve();
        if !self.claim(self.decoder.held()) {
            return false;
        }
        self.queue.push(message, sent);
        true
    }

    /// Notes a pattern that it wants now; whether it may have so many.
    pub(super) fn note(&mut self, pattern: &str, kind: Kind) -> bool {
        self.wanted.push(pattern.into());
        self.patterns += cost(pattern, kind);
        match kind {
            Kind::Names(names) => self.names += names,
            Kind::Expression => self.expressions += 1,
        }
        self.names <= MAX_NAMES && self.expressions <= MAX_EXPRESSIONS
    }

    pub(super) fn wants(&self, pattern: &str) -> bool {
        self.wanted.iter().any(|it| **it == *pattern)
    }

    /// Notes that it wants a pattern once less.
    pub(super) fn forget(&mut self, pattern: &str, kind: Kind) {
        if let Some(at) = self.wanted.iter().position(|it| **it == *pattern) {
            self.wanted.swap_remove(at);
            self.patterns -= cost(pattern, kind);
            match kind {
                Kind::Names(names) => self.names -= names,
                Kind::Expression => self.expressions -= 1,
            }
        }
    }
}

fn cost(pattern: &str, kind: Kind) -> usize {
    pattern.len()
        + match kind {
            Kind::Names(names) => names * AROUND_NAME,
            Kind::Expression => super::filter::EXPRESSION_COST,
        }
}
