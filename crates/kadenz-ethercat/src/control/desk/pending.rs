//! Clients that are heard without a thread of their own: who has not asked yet, and who asks for what stops axes.
//!
//! One thread reads what has come of each and waits for none, so a stop is heard at once however many hold a
//! connection. Their number is bounded: when there are too many, who has said nothing for longest goes.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::axes::Order;
use super::lines::{Line, Lines};
use super::question::{Question, Reply};
use super::seats::Limits;
use super::server::{Counter, LONGEST_QUESTION};

/// Clients that are heard so at one time.
pub(super) const MAX_PENDING: usize = 128;
/// Bytes of a question that are waited for here. One that is longer has nothing to do with axes.
const MAX_BYTES: usize = 4_096;

/// A client.
#[derive(Debug)]
struct Client {
    lines: Lines,
    /// When it came, or asked last.
    since: Instant,
    has_asked: bool,
    /// What it asked of the loop, and is not answered yet.
    order: Option<Order>,
}

/// What came of a client.
#[derive(Debug)]
pub(super) enum Heard {
    /// A question.
    Asked(Question),
    /// A line that is no question.
    Nonsense(String),
    /// The beginning of a long line.
    Long,
}

/// What becomes of a client that was heard.
pub(super) enum Next {
    /// It is answered, and heard again.
    Answer(Reply),
    /// It is answered when the loop has heard this.
    Order(Order),
    /// A thread hears it.
    Leave,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Pending {
    limits: Limits,
    clients: Vec<Client>,
}

impl Pending {
    pub(super) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            clients: Vec::new(),
        }
    }

    /// Hears a client from now on. Where there are too many, another one goes.
    pub(super) fn add(&mut self, stream: UnixStream) -> io::Result<()> {
        let lines = Lines::of(stream, LONGEST_QUESTION)?;
        lines.set_waiting(false)?;
        if self.clients.len() >= MAX_PENDING {
            self.evict();
        }
        self.clients.push(Client {
            lines,
            since: Instant::now(),
            has_asked: false,
            order: None,
        });
        Ok(())
    }

    /// Lets the client go that has said nothing for longest; who asked goes after all that never did. Whether there
    /// was one.
    pub(super) fn evict(&mut self) -> bool {
        let all = self.clients.iter().enumerate();
        let idle = all.filter(|(_, it)| it.order.is_none());
        let Some((place, _)) = idle.min_by_key(|(_, it)| (it.has_asked, it.since)) else {
            return false;
        };
        let client = self.clients.swap_remove(place);
        client.leave(&format!(
            "{MAX_PENDING} others are connected, and nothing was asked"
        ));
        true
    }

    /// Whether an order is to be answered soon.
    pub(super) fn is_awaiting(&self) -> bool {
        self.clients.iter().any(|it| it.order.is_some())
    }

    /// Reads what has come of each, answers it by `answer`, and lets go who is gone or silent for too long. Gives those
    /// that are to leave to `leave`, with the question that they asked.
    pub(super) fn hear(
        &mut self,
        counter: &Counter<'_>,
        halt: &AtomicBool,
        mut answer: impl FnMut(&Heard) -> Next,
        mut leave: impl FnMut(Lines, Heard),
    ) {
        let mut place = 0;
        while place < self.clients.len() {
            let client = &mut self.clients[place];
            let kept = client.look(counter, halt, &self.limits, &mut answer);
            match kept {
                Kept::Stays => place += 1,
                Kept::Gone => drop(self.clients.swap_remove(place)),
                Kept::Leaves(heard) => {
                    let client = self.clients.swap_remove(place);
                    if client.lines.set_waiting(true).is_ok() {
                        leave(client.lines, heard);
                    }
                }
                Kept::Silent => {
                    let span = self.limits.of(client.has_asked);
                    let client = self.clients.swap_remove(place);
                    client.leave(&format!("nothing was asked for {span:?}"));
                }
            }
        }
    }
}

/// What becomes of a client.
enum Kept {
    Stays,
    Gone,
    Silent,
    Leaves(Heard),
}

impl Client {
    fn look(
        &mut self,
        counter: &Counter<'_>,
        halt: &AtomicBool,
        limits: &Limits,
        answer: &mut impl FnMut(&Heard) -> Next,
    ) -> Kept {
        if let Some(order) = self.order {
            return match order.outcome(counter, halt) {
                None => Kept::Stays,
                Some(outcome) => {
                    self.order = None;
                    self.answer(&outcome.map_or_else(Reply::Error, Reply::Ok))
                }
            };
        }
        let heard = match self.lines.next_now() {
            Ok(Line::Whole(line)) => match serde_json::from_slice(&line) {
                Ok(question) => Heard::Asked(question),
                Err(error) => Heard::Nonsense(format!("this is no question: {error}")),
            },
            Ok(Line::Nothing) if self.lines.is_longer_than(MAX_BYTES) => Heard::Long,
            Ok(Line::Nothing) if self.since.elapsed() >= limits.of(self.has_asked) => {
                return Kept::Silent;
            }
            Ok(Line::Nothing) => return Kept::Stays,
            Ok(Line::Ended | Line::TooLong) | Err(_) => return Kept::Gone,
        };
        match answer(&heard) {
            Next::Answer(reply) => self.answer(&reply),
            Next::Order(order) => {
                self.order = Some(order);
                Kept::Stays
            }
            Next::Leave => Kept::Leaves(heard),
        }
    }

    /// Sends a reply. Who does not take it at once, though it is short, is gone.
    fn answer(&mut self, reply: &Reply) -> Kept {
        (self.since, self.has_asked) = (Instant::now(), true);
        match self.lines.send(reply) {
            Ok(()) => Kept::Stays,
            Err(_) => Kept::Gone,
        }
    }

    fn leave(mut self, why: &str) {
        // It is gone either way.
        let _ = self
            .lines
            .send(&Reply::Bye(format!("{why}; connect again")));
    }
}
