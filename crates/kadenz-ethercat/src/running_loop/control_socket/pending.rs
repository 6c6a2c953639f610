//! Clients without a thread of their own: those that have not asked yet, and those that ask about stops of the axes.
//!
//! One thread reads what each client has sent and waits for none, so a stop is heard at once however many clients are
//! connected. Their number is bounded: when there are too many, the client that has been silent for longest goes,
//! judged by what lies in its socket.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use super::axes::Order;
use super::client_slots::ClientLimits;
use super::lines::{LineEvent, LineStream};
use super::question::{Answer, Question, Reply};
use super::server::MAX_QUESTION;

/// The most clients that are served so at one time.
pub(super) const MAX_PENDING: usize = 128;
/// The most bytes of a question that are read here. A longer question has nothing to do with axes.
const MAX_BYTES: usize = 4_096;

/// A client that has no thread of its own.
#[derive(Debug)]
struct PendingClient {
    lines: LineStream,
    /// When the client connected, or asked last.
    since: Instant,
    has_asked: bool,
    /// Its order to the loop that is not answered yet.
    order: Option<Order>,
}

/// A client's message.
#[derive(Debug)]
pub(super) enum ClientMessage {
    /// A valid question, not answered yet.
    Asked(Question),
    /// A line that is not a valid question.
    Nonsense(String),
    /// The beginning of a long line.
    Long,
}

/// What the server does next with a client.
pub(super) enum Next {
    /// It answers the client, and goes on reading.
    Answer(Reply),
    /// It answers the client when the loop has heard this order.
    Order(Order),
    /// It gives the client to a thread.
    Leave,
}

/// The result of an order; `None` while the loop may still hear it.
pub(super) type OrderOutcome = Option<Result<Answer, String>>;

/// All clients without a thread.
#[derive(Debug)]
pub(super) struct Pending {
    limits: ClientLimits,
    clients: Vec<PendingClient>,
}

impl Pending {
    pub(super) const fn new(limits: ClientLimits) -> Self {
        Self {
            limits,
            clients: Vec::new(),
        }
    }

    /// Whether there is room for one more client, if need be in the place of another one. There is none while every
    /// client has sent a question that is not [read](Self::hear) yet.
    pub(super) fn has_room(&mut self) -> bool {
        self.clients.len() < MAX_PENDING || self.idlest().is_some()
    }

    /// Serves a client from now on. Where there are too many, another one goes.
    pub(super) fn add(&mut self, stream: UnixStream) -> io::Result<()> {
        let lines = LineStream::of(stream, MAX_QUESTION)?;
        lines.set_waiting(false)?;
        if self.clients.len() >= MAX_PENDING {
            self.evict();
        }
        self.clients.push(PendingClient {
            lines,
            since: Instant::now(),
            has_asked: false,
            order: None,
        });
        Ok(())
    }

    /// Closes the client that has been silent for longest, if there is one.
    pub(super) fn evict(&mut self) {
        if let Some(place) = self.idlest() {
            let client = self.clients.swap_remove(place);
            client.leave(&format!(
                "{MAX_PENDING} others are connected, and nothing was asked"
            ));
        }
    }

    /// The client that has been silent for longest; clients that asked come after all that never did. A client whose
    /// question lies in the socket does not count: its question is read first.
    fn idlest(&mut self) -> Option<usize> {
        let mut idle: Vec<usize> = (0..self.clients.len()).collect();
        idle.retain(|place| self.clients[*place].order.is_none());
        idle.sort_by_key(|place| {
            let client = &self.clients[*place];
            (client.has_asked, client.since)
        });
        idle.into_iter().find(|place| {
            let has_line = self.clients[*place].lines.has_line();
            !has_line.unwrap_or(false)
        })
    }

    /// Closes all connections; the clients are to connect again.
    pub(super) fn close_all(&mut self, why: &str) {
        self.clients.drain(..).for_each(|it| it.leave(why));
    }

    /// Whether an order is to be answered soon.
    pub(super) fn is_awaiting(&self) -> bool {
        self.clients.iter().any(|it| it.order.is_some())
    }

    /// Reads what each client has sent, answers it by `answer`, or by `outcome` once the loop has heard its order, and
    /// closes clients that are gone or silent for too long. Gives clients that need a thread to `leave`, with their
    /// question.
    pub(super) fn poll(
        &mut self,
        outcome: impl Fn(Order) -> OrderOutcome,
        mut answer: impl FnMut(&ClientMessage) -> Next,
        mut leave: impl FnMut(LineStream, ClientMessage),
    ) {
        let mut place = 0;
        while place < self.clients.len() {
            let client = &mut self.clients[place];
            let kept = client.look(&outcome, &self.limits, &mut answer);
            match kept {
                ClientState::Stays => place += 1,
                ClientState::Gone => drop(self.clients.swap_remove(place)),
                ClientState::Leaves(received) => {
                    let client = self.clients.swap_remove(place);
                    if client.lines.set_waiting(true).is_ok() {
                        leave(client.lines, received);
                    }
                }
                ClientState::Silent => {
                    let span = self.limits.of(client.has_asked);
                    let client = self.clients.swap_remove(place);
                    client.leave(&format!("nothing was asked for {span:?}"));
                }
            }
        }
    }
}

/// What the server does with a client that was polled.
enum ClientState {
    Stays,
    Gone,
    Silent,
    Leaves(ClientMessage),
}

impl PendingClient {
    fn look(
        &mut self,
        outcome: &impl Fn(Order) -> OrderOutcome,
        limits: &ClientLimits,
        answer: &mut impl FnMut(&ClientMessage) -> Next,
    ) -> ClientState {
        if let Some(order) = self.order {
            return match outcome(order) {
                None => ClientState::Stays,
                Some(outcome) => {
                    self.order = None;
                    self.answer(&outcome.map_or_else(Reply::Error, Reply::Ok))
                }
            };
        }
        let received = match self.lines.next_now() {
            Ok(LineEvent::Whole(line)) => match serde_json::from_slice(&line) {
                Ok(question) => ClientMessage::Asked(question),
                Err(error) => {
                    ClientMessage::Nonsense(format!("this is not a valid request: {error}"))
                }
            },
            Ok(LineEvent::Nothing) if self.lines.is_longer_than(MAX_BYTES) => ClientMessage::Long,
            Ok(LineEvent::Nothing) if self.since.elapsed() >= limits.of(self.has_asked) => {
                return ClientState::Silent;
            }
            Ok(LineEvent::Nothing) => return ClientState::Stays,
            Ok(LineEvent::Ended | LineEvent::TooLong) | Err(_) => return ClientState::Gone,
        };
        match answer(&received) {
            Next::Answer(reply) => self.answer(&reply),
            Next::Order(order) => {
                self.order = Some(order);
                ClientState::Stays
            }
            Next::Leave => ClientState::Leaves(received),
        }
    }

    /// Sends a reply. A client that does not take this short reply at once counts as gone.
    fn answer(&mut self, reply: &Reply) -> ClientState {
        (self.since, self.has_asked) = (Instant::now(), true);
        match self.lines.send(reply) {
            Ok(()) => ClientState::Stays,
            Err(_) => ClientState::Gone,
        }
    }

    fn leave(mut self, why: &str) {
        // The client goes, whether or not it gets the reply.
        let _ = self
            .lines
            .send(&Reply::Closed(format!("{why}; connect again")));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Adds a client; returns the other end of its socket.
    fn come(pending: &mut Pending) -> UnixStream {
        let (far, near) = UnixStream::pair().unwrap();
        pending.add(near).unwrap();
        far
    }

    /// As many clients as there may be.
    fn full() -> (Pending, Vec<UnixStream>) {
        let mut pending = Pending::new(ClientLimits::default());
        let far = (0..MAX_PENDING).map(|_| come(&mut pending)).collect();
        (pending, far)
    }

    #[test]
    fn a_client_that_asked_is_not_evicted_before_that_was_read() {
        let (mut pending, mut far) = full();
        far[0].write_all(b"{\"ask\":\"stop\"}\n").unwrap();
        far[1].write_all(b"{\"ask\":").unwrap();
        let mut more = Vec::new();
        for _ in 1..MAX_PENDING {
            assert!(pending.has_room());
            more.push(come(&mut pending));
        }
        let mut asking = pending.clients.iter_mut();
        assert!(asking.any(|it| matches!(it.lines.next_now(), Ok(LineEvent::Whole(_)))));
    }

    #[test]
    fn newcomers_wait_while_all_have_asked() {
        let (mut pending, mut far) = full();
        for far in &mut far {
            far.write_all(b"{}\n").unwrap();
        }
        assert!(!pending.has_room());
        far.truncate(MAX_PENDING - 1);
        // A client that asked and closed its end is heard first too.
        assert!(!pending.has_room());
        for client in &mut pending.clients {
            client.lines.next_now().unwrap();
        }
        assert!(pending.has_room());
    }
}
