//! The common part of every subscription: a mailbox, its route, and the way to wait for a message.

use std::cell::Cell;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::delivery::RecvError;
use super::leader_followers::{LeaderFollowers, Leadership};
use super::mailbox::{Envelope, Mailbox, QueuedMessage};
use super::routes::{Route, RouteId, Visit, Visitor};
use super::subscription::{Contract, Judgement, SubscriptionOptions};
use crate::channel::Pattern;
use crate::provider::{ProviderError, Received, Wait};
use crate::sync::{Arc, thread};

/// One receiving end of the bus. Dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct SubscriptionCore {
    leader_followers: Arc<LeaderFollowers>,
    id: RouteId,
    patterns: Vec<Pattern>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// The message that was taken last.
    pub(crate) message: QueuedMessage,
    /// The message that was collected last; it replaces `message` once the contract accepts it.
    incoming: QueuedMessage,
    contract: Contract,
    last_taken: Option<MonotonicTime>,
}

/// Reads a message, and gets the time at which it was taken out of the queue.
pub(crate) type ReadCallback<'a> = dyn FnMut(&Envelope, &[u8], MonotonicTime) + 'a;

/// The maximum number of batches for others that one look passes on.
const MAX_BATCHES: u32 = 1000;

/// The outcome of a wait for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// A message is in `message`.
    Message,
    /// The visitor received it in place.
    Visited,
    /// The time is over.
    Nothing,
    /// A message may have arrived.
    GoOn,
}

impl SubscriptionCore {
    pub(crate) fn open(
        leader_followers: Arc<LeaderFollowers>,
        id: RouteId,
        patterns: Vec<Pattern>,
        options: &SubscriptionOptions,
    ) -> Result<Self, ProviderError> {
        let mailbox = Mailbox::new(options.queue, options.room, options.when_full);
        let message = || QueuedMessage {
            payload: Vec::with_capacity(options.room),
            ..QueuedMessage::default()
        };
        let core = Self {
            leader_followers,
            id,
            patterns,
            mailbox: Arc::new(mailbox),
            message: message(),
            incoming: message(),
            contract: options.contract,
            last_taken: None,
        };
        core.set_route()?;
        Ok(core)
    }

    pub(crate) fn add(&mut self, pattern: Pattern) -> Result<(), ProviderError> {
        self.patterns.push(pattern);
        let result = self.set_route();
        if result.is_err() {
            self.patterns.pop();
        }
        result
    }

    fn set_route(&self) -> Result<(), ProviderError> {
        self.leader_followers.set(Route {
            id: self.id,
            mailbox: Arc::clone(&self.mailbox),
            patterns: self.patterns.clone(),
        })
    }

    /// Waits for a message that keeps the contract and puts it into the message. `false` after the timeout; a
    /// timeout of zero looks once, and [`Duration::MAX`] waits forever. If there is none, or an error, the
    /// message stays the one that was taken last.
    pub(crate) fn next(&mut self, timeout: Duration) -> Result<bool, RecvError> {
        let until = Deadline::after(timeout);
        while self.wait(until, None)? == Waited::Message {
            if self.takes_incoming() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As [`SubscriptionCore::next`], but shows the message to `read`: in place if the queue is empty, which
    /// spares the way through the queue.
    pub(crate) fn read(
        &mut self,
        timeout: Duration,
        read: &mut ReadCallback<'_>,
    ) -> Result<bool, RecvError> {
        let in_place: &mut Visit<'_> =
            &mut |envelope, payload| read(envelope, payload, envelope.info.stamps.taken);
        match self.next_in_place(timeout, in_place)? {
            Waited::Message => {
                let QueuedMessage { envelope, payload } = &self.message;
                read(envelope, payload, clock::now());
                Ok(true)
            }
            Waited::Visited => Ok(true),
            Waited::Nothing | Waited::GoOn => Ok(false),
        }
    }

    /// As [`SubscriptionCore::next`], and shows a message in place if the queue is empty. A message that is
    /// too old is not shown.
    pub(crate) fn next_in_place(
        &mut self,
        timeout: Duration,
        visit: &mut Visit<'_>,
    ) -> Result<Waited, RecvError> {
        let until = Deadline::after(timeout);
        loop {
            let (contract, last) = (self.contract, self.last_taken);
            let mut judgement = None;
            let judging: &mut Visit<'_> = &mut |envelope, payload| {
                let judged =
                    contract.judge(last, &envelope.info.stamps, envelope.info.stamps.taken);
                judgement = Some(judged);
                if !judged.is_too_old {
                    visit(envelope, payload);
                }
            };
            let waited = self.wait(until, Some(judging))?;
            let keeps = match (waited, judgement) {
                (Waited::Message, _) => self.takes_incoming(),
                (_, Some(judgement)) => self.keeps_contract(judgement),
                (_, None) => return Ok(waited),
            };
            if keeps {
                return Ok(waited);
            }
        }
    }

    /// Takes the collected message, if it keeps the contract.
    fn takes_incoming(&mut self) -> bool {
        let stamps = &self.incoming.envelope.info.stamps;
        let judgement = self.contract.judge(self.last_taken, stamps, clock::now());
        let keeps = self.keeps_contract(judgement);
        if keeps {
            std::mem::swap(&mut self.message, &mut self.incoming);
        }
        keeps
    }

    fn wait(
        &mut self,
        until: Deadline,
        mut visit: Option<&mut Visit<'_>>,
    ) -> Result<Waited, RecvError> {
        let mut waiting = false;
        let ended = loop {
            if self.mailbox.collect(&mut self.incoming) {
                break Ok(Waited::Message);
            }
            match self.lead_or_park(until, &mut waiting, visit.as_deref_mut()) {
                Ok(Waited::GoOn) => {}
                Ok(Waited::Nothing) if self.mailbox.collect(&mut self.incoming) => {
                    break Ok(Waited::Message);
                }
                ended => break ended,
            }
        };
        if waiting {
            self.leader_followers.leave();
        }
        ended
    }

    fn lead_or_park(
        &self,
        until: Deadline,
        waiting: &mut bool,
        visit: Option<&mut Visit<'_>>,
    ) -> Result<Waited, RecvError> {
        if until == Deadline::Now {
            return match self.leader_followers.try_lead() {
                Some(lead) => self.lead(lead, until, visit),
                None => Ok(Waited::Nothing),
            };
        }
        if let Some(lead) = self.leader_followers.lead_or_follow() {
            return self.lead(lead, until, visit);
        }
        *waiting = true;
        if until.is_over() {
            return Ok(Waited::Nothing);
        }
        if !self.mailbox.wait_for_message() {
            until.park();
        }
        Ok(Waited::GoOn)
    }

    /// Receives for the whole bus until a message has arrived for this end.
    fn lead(
        &self,
        mut lead: Leadership<'_>,
        until: Deadline,
        mut visit: Option<&mut Visit<'_>>,
    ) -> Result<Waited, RecvError> {
        // The last leader may have posted between the look into the mailbox and this lead.
        if self.mailbox.waiting() > 0 {
            return Ok(Waited::GoOn);
        }
        for look in 0_u32.. {
            let visited = Cell::new(false);
            let visitor = visit.as_deref_mut().map(|visit| Visitor {
                of: self.id,
                visit,
                visited: &visited,
            });
            let received = lead.receive_for(until.wait(), Some(&self.mailbox), visitor);
            match received? {
                _ if visited.get() => return Ok(Waited::Visited),
                _ if self.mailbox.waiting() > 0 => return Ok(Waited::GoOn),
                Received::Ended => return Err(RecvError::Ended),
                // A look that found messages for others looks again, but not forever in their flood.
                Received::Messages(_) if until == Deadline::Now && look < MAX_BATCHES => {}
                _ if until.is_over() => return Ok(Waited::Nothing),
                _ if lead.must_end() => return Ok(Waited::GoOn),
                _ => {}
            }
        }
        Ok(Waited::GoOn)
    }

    /// Counts what breaks the contract; whether the message is to be handed over.
    fn keeps_contract(&mut self, judgement: Judgement) -> bool {
        self.last_taken = Some(judgement.taken);
        let tallies = &self.mailbox.tallies;
        if judgement.is_missed {
            tallies.missed_deadlines.add_one();
        }
        if judgement.is_too_old {
            tallies.too_old.add_one();
        }
        !judgement.is_too_old
    }

    /// Returns the time since the last message; `None` before the first.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let last = self.last_taken?;
        Some(clock::now().remaining(last))
    }
}

impl Drop for SubscriptionCore {
    fn drop(&mut self) {
        // The thread that receives may wait for room here, and would wait for this one.
        self.mailbox.close();
        self.leader_followers.remove(self.id);
    }
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deadline {
    Now,
    At(MonotonicTime),
    Never,
}

impl Deadline {
    fn after(timeout: Duration) -> Self {
        match timeout {
            Duration::ZERO => Self::Now,
            Duration::MAX => Self::Never,
            timeout => Self::At(clock::now() + timeout),
        }
    }

    fn wait(self) -> Wait {
        match self {
            Self::Now => Wait::Poll,
            Self::At(until) => Wait::Until(until),
            Self::Never => Wait::Forever,
        }
    }

    fn is_over(self) -> bool {
        match self {
            Self::Now => true,
            Self::At(until) => clock::now() >= until,
            Self::Never => false,
        }
    }

    #[cfg(not(loom))]
    fn park(self) {
        match self {
            Self::Now => {}
            Self::At(until) => thread::park_timeout(until.remaining(clock::now())),
            Self::Never => thread::park(),
        }
    }

    #[cfg(loom)]
    fn park(self) {
        thread::park();
    }
}
