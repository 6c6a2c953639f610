//! The server's state of one client.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::counters::AtomicClientCounters;
use super::progress::Progress;
use super::queue::{SendQueue, WireMessage};
use super::routes::{ClientRoutes, ForwardingMode, PatternKind};
use crate::arrival::SourceInfo;
use crate::channel::Pattern;
use crate::provider::stream::connection_slots::{ConnectionId, PeerState, Share};
use crate::provider::stream::peer_receiver::PeerProtocol;
use crate::provider::stream::run_queue::QueueState;
use crate::provider::stream::socket::Socket;
use crate::provider::stream::{ProtocolError, ReadOutcome, StreamMessage};
use crate::wire::tcpq::{
    Decoder, Frame, MAGIC_CLIENT, Peer, greeting, push_subscription, read_frame, read_greeting,
};

/// The maximum number of names and prefixes in all patterns of one client.
const MAX_NAMES: usize = 1000;
/// The maximum number of expressions of one client.
const MAX_EXPRESSIONS: usize = 16;
/// The memory of a name in a pattern beside its text: its places in the maps of client and routes.
const AROUND_NAME: usize = 384;
/// The maximum number of bytes that are read in one turn.
const READ_LIMIT: usize = 64 << 10;
/// The maximum number of bytes that are sent in one turn, except for one longer message.
const SEND_LIMIT: usize = 256 << 10;

/// A client of the server: its connection, its patterns, and its waiting messages.
#[derive(Debug)]
pub(super) struct TcpqClient {
    pub(super) socket: Socket,
    pub(super) decoder: Decoder,
    pub(super) queue: SendQueue,
    /// By pattern, as received.
    pub(super) wanted: HashMap<Box<str>, WantedPattern>,
    pub(super) forwarding: ForwardingMode,
    names: usize,
    expressions: usize,
    /// The memory of its patterns.
    patterns: usize,
    /// For its decoder, its patterns and its queue, without the messages there.
    memory: Share,
    pub(super) peer_state: PeerState,
    pub(super) progress: Progress,
    pub(super) waits: QueueState,
    /// The socket may have bytes to read.
    pub(super) readable: bool,
    /// The socket may have room to send.
    pub(super) writable: bool,
    /// The peer sends no more: its last bytes are still read.
    pub(super) ended: bool,
    /// A turn ended before all received bytes were processed.
    pub(super) unprocessed: bool,
    pub(super) counters: Arc<AtomicClientCounters>,
}

/// A pattern of a client.
#[derive(Debug)]
pub(super) struct WantedPattern {
    /// Subscribed as often, less the times that it was unsubscribed.
    times: u64,
    kind: PatternKind,
}

impl TcpqClient {
    pub(super) fn new(
        socket: Socket,
        longest: usize,
        memory: Share,
        counters: Arc<AtomicClientCounters>,
        now: MonotonicTime,
    ) -> Self {
        Self {
            socket,
            decoder: Decoder::new(Peer::Client, longest),
            queue: SendQueue::default(),
            wanted: HashMap::new(),
            forwarding: ForwardingMode::Served,
            names: 0,
            expressions: 0,
            patterns: 0,
            memory,
            peer_state: PeerState::Connected,
            progress: Progress::new(now),
            waits: QueueState::default(),
            readable: false,
            writable: true,
            ended: false,
            unprocessed: false,
            counters,
        }
    }

    /// Returns whether another turn would do something.
    pub(super) fn has_work(&self) -> bool {
        self.unprocessed || self.readable || (self.writable && !self.queue.is_empty())
    }

    /// Returns the memory that it takes from others: its own, and messages that wait for it, also if they
    /// wait for others as well.
    pub(super) fn held(&self) -> usize {
        self.memory.amount() + self.queue.bytes()
    }

    /// Claims memory for its state and a decoder that holds so much; returns whether there was enough.
    pub(super) fn claim(&mut self, decoder: usize) -> bool {
        let queue = self.queue.own_bytes();
        self.memory.resize(decoder + self.patterns + queue)
    }

    /// Reads what is there, up to a limit.
    pub(super) fn read(&mut self, decoder: &mut Decoder, now: MonotonicTime) -> io::Result<()> {
        let space = decoder.space();
        let asked = space.len().min(READ_LIMIT);
        match self.socket.read(&mut space[..asked])? {
            None => self.readable = false,
            Some(count) => {
                decoder.filled(count);
                self.progress.sent(now);
                self.readable = count == asked || self.ended;
            }
        }
        Ok(())
    }

    /// Sends what waits, up to a limit.
    pub(super) fn flush(&mut self, now: MonotonicTime) -> io::Result<()> {
        if self.writable && !self.queue.is_empty() {
            let Self { queue, socket, .. } = self;
            let before = queue.bytes();
            self.writable = queue.flush(SEND_LIMIT, |parts| socket.write(parts))?;
            if queue.bytes() < before {
                self.progress.taken(now);
            }
        }
        Ok(())
    }

    /// Keeps a message for later, of which so many bytes are sent; returns whether there is memory for it.
    pub(super) fn keep(
        &mut self,
        message: Arc<WireMessage>,
        sent: usize,
        now: MonotonicTime,
    ) -> bool {
        self.queue.reserve();
        if !self.claim(self.decoder.held()) {
            return false;
        }
        if self.queue.is_empty() {
            self.progress.taken(now);
        }
        self.queue.push(message, sent);
        true
    }

    /// Returns whether it has the pattern already; if so, counts it once more.
    pub(super) fn wants_again(&mut self, pattern: &str) -> bool {
        let wanted = self.wanted.get_mut(pattern);
        wanted.map(|it| it.times += 1).is_some()
    }

    /// Adds a new pattern; returns whether it may have so many.
    pub(super) fn note(
        &mut self,
        pattern: &str,
        kind: PatternKind,
        routes: &mut ClientRoutes,
    ) -> bool {
        if self.forwarding == ForwardingMode::Skipped {
            self.counters.skip(routes.messages(pattern));
        }
        self.wanted
            .insert(pattern.into(), WantedPattern { times: 1, kind });
        self.patterns += cost(pattern, kind);
        match kind {
            PatternKind::Names(names) => self.names += names,
            PatternKind::Expression => self.expressions += 1,
        }
        self.names <= MAX_NAMES && self.expressions <= MAX_EXPRESSIONS
    }

    /// Counts a pattern once less; returns whether none is left.
    pub(super) fn forget(&mut self, pattern: &str) -> bool {
        let Some(wanted) = self.wanted.get_mut(pattern) else {
            return false;
        };
        wanted.times -= 1;
        if wanted.times > 0 {
            return false;
        }
        let kind = wanted.kind;
        self.wanted.remove(pattern);
        self.patterns -= cost(pattern, kind);
        match kind {
            PatternKind::Names(names) => self.names -= names,
            PatternKind::Expression => self.expressions -= 1,
        }
        true
    }

    /// Excludes the client from the messages that are passed on.
    pub(super) fn skip(&mut self, id: ConnectionId, routes: &mut ClientRoutes) {
        self.change(id, routes, ForwardingMode::Skipped);
    }

    /// Serves the client again.
    pub(super) fn resume(&mut self, id: ConnectionId, routes: &mut ClientRoutes) {
        self.change(id, routes, ForwardingMode::Served);
    }

    fn change(&mut self, id: ConnectionId, routes: &mut ClientRoutes, to: ForwardingMode) {
        let from = mem::replace(&mut self.forwarding, to);
        if from != to {
            for pattern in self.wanted.keys() {
                routes.change(id, pattern, from, to);
            }
            self.count_skipped(routes);
        }
    }

    /// Counts the messages that are dropped for it from now on, while it is skipped, by its present patterns.
    pub(super) fn count_skipped(&mut self, routes: &mut ClientRoutes) {
        self.counters.resume();
        if self.forwarding == ForwardingMode::Skipped {
            for pattern in self.wanted.keys() {
                self.counters.skip(routes.messages(pattern));
            }
        }
    }

    /// Returns whether it has used none of its memory for longer than `idle`.
    pub(super) fn is_stalled(&self, idle: Duration, now: MonotonicTime) -> bool {
        let something_waits = !self.queue.is_empty();
        self.progress.is_stalled(idle, something_waits, now)
    }
}

fn cost(pattern: &str, kind: PatternKind) -> usize {
    let text = 2 * pattern.len();
    text + match kind {
        PatternKind::Names(names) => names * AROUND_NAME,
        PatternKind::Expression => super::filter::EXPRESSION_COST,
    }
}

// The client's protocol on its connection.

/// One connection to a server.
#[derive(Debug)]
pub(super) struct TcpqSubscriber {
    longest: usize,
    has_handshake: bool,
    /// The patterns that the server has received.
    subscribed: Vec<String>,
}

impl TcpqSubscriber {
    /// Writes the greeting.
    pub(super) fn begin(longest: usize, buffer: &mut Vec<u8>) -> Self {
        buffer.extend_from_slice(&greeting(MAGIC_CLIENT));
        Self {
            longest,
            has_handshake: false,
            subscribed: Vec::new(),
        }
    }
}

impl PeerProtocol for TcpqSubscriber {
    fn want(&mut self, wanted: &[Pattern], buffer: &mut Vec<u8>) {
        // The server filters by expressions alone.
        let both = |it: &Pattern| [Some(it.as_str().to_owned()), it.own_name()];
        let wanted: Vec<String> = wanted.iter().flat_map(both).flatten().collect();
        // New patterns first, so that the channels of both old and new patterns have no gap. A pattern that
        // the wire cannot carry has no effect.
        for text in &wanted {
            let is_new = !self.subscribed.contains(text);
            if is_new && push_subscription(buffer, text, true).is_ok() {
                self.subscribed.push(text.clone());
            }
        }
        for gone in self
            .subscribed
            .iter()
            .filter(|subscribed| !wanted.contains(subscribed))
        {
            let _ = push_subscription(buffer, gone, false);
        }
        self.subscribed.retain(|it| wanted.contains(it));
    }

    fn read<'a>(
        &mut self,
        bytes: &'a [u8],
        wanted: &[Pattern],
        buffer: &mut Vec<u8>,
    ) -> Result<ReadOutcome<'a>, ProtocolError> {
        if !self.has_handshake {
            // After the connection was lost the server needs the patterns again.
            self.want(wanted, buffer);
            let Some(length) = read_greeting(bytes, Peer::Server).map_err(|_| ProtocolError)?
            else {
                return Ok(ReadOutcome::Short);
            };
            self.has_handshake = true;
            return Ok(ReadOutcome::Other(length));
        }
        match read_frame(bytes, Peer::Server, self.longest).map_err(|_| ProtocolError)? {
            None => Ok(ReadOutcome::Short),
            Some((length, Frame::Publish { channel, payload })) => {
                let received = StreamMessage {
                    channel,
                    payload,
                    source: SourceInfo::default(),
                };
                Ok(ReadOutcome::Message(length, received))
            }
            Some((length, _)) => Ok(ReadOutcome::Malformed(length)),
        }
    }

    /// The client opened this connection itself, so the server is a known peer.
    fn peer_state(&self) -> PeerState {
        PeerState::Active
    }
}
