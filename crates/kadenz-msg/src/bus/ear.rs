//! What every subscription has: a mailbox, its route, and the way to wait for a letter.

use std::cell::Cell;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::contract::Contract;
use super::delivery::{Delivery, RecvError};
use super::hub::{Hub, Lead, Visitor};
use super::mailbox::{Letter, Mailbox};
use super::routes::{Route, RouteId};
use super::subscription::{Place, SubscriptionOptions};
use crate::channel::Pattern;
use crate::provider::{Arrival, ProviderError, Received, Wait};
use crate::sync::{Arc, thread};

/// One end of the bus that hears. Dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct Ear {
    hub: Arc<Hub>,
    id: RouteId,
    patterns: Vec<Pattern>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// What was collected last.
    pub(crate) letter: Letter,
    contract: Contract,
    last_taken: Option<MonotonicTime>,
}

/// Sees a message in place; says whether it took it.
pub(crate) type Visit<'a> = dyn FnMut(&Arrival<'_>) -> bool + 'a;

/// How many batches for others one look passes on.
const MOST_LOOKS: u32 = 1000;

/// What a wait for a letter came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It is in the letter.
    Letter,
    /// The visitor saw it in place.
    Visited,
    /// The time is over.
    Nothing,
    /// Something may have come.
    GoOn,
}

impl Ear {
    pub(crate) fn open(
        hub: Arc<Hub>,
        id: RouteId,
        patterns: Vec<Pattern>,
        options: &SubscriptionOptions,
    ) -> Result<Self, ProviderError> {
        let mailbox = Mailbox::new(options.queue, options.room, options.when_full);
        let ear = Self {
            hub,
            id,
            patterns,
            mailbox: Arc::new(mailbox),
            letter: Letter {
                payload: Vec::with_capacity(options.room),
                ..Letter::default()
            },
            contract: options.contract,
            last_taken: None,
        };
        ear.tell()?;
        Ok(ear)
    }

    /// Hears another pattern too.
    pub(crate) fn add(&mut self, pattern: Pattern) -> Result<(), ProviderError> {
        self.patterns.push(pattern);
        let told = self.tell();
        if told.is_err() {
            self.patterns.pop();
        }
        told
    }

    fn tell(&self) -> Result<(), ProviderError> {
        self.hub.set(Route {
            id: self.id,
            mailbox: Arc::clone(&self.mailbox),
            patterns: self.patterns.clone(),
        })
    }

    /// Waits for a message that keeps the contract and puts it into the letter. `false` after the
    /// timeout; a timeout of zero looks once, and [`Duration::MAX`] waits for ever.
    pub(crate) fn next(&mut self, timeout: Duration) -> Result<bool, RecvError> {
        let until = Deadline::after(timeout);
        loop {
            if self.wait(until, None)? != Waited::Letter {
                return Ok(false);
            }
            let dequeued = clock::now();
            if self.keeps_contract(dequeued) {
                return Ok(true);
            }
        }
    }

    /// As [`Ear::next`], and shows a message in place where none waits already.
    pub(crate) fn next_in_place(
        &mut self,
        timeout: Duration,
        visit: &mut Visit<'_>,
    ) -> Result<Waited, RecvError> {
        self.wait(Deadline::after(timeout), Some(visit))
    }

    /// What is known of the message in the letter, now that it is decoded.
    pub(crate) fn delivery(&self, dequeued: MonotonicTime) -> Delivery {
        let letter = &self.letter;
        Delivery {
            channel: letter.channel,
            sender: letter.sender,
            sequence: letter.sequence,
            stamps: letter.stamps,
            dequeued,
            decoded: clock::now(),
        }
    }

    /// The message in the letter.
    pub(crate) fn place(&self) -> Place<'_> {
        let letter = &self.letter;
        Place {
            channel: letter.channel.as_str(),
            payload: &letter.payload,
            sender: letter.sender,
            sequence: letter.sequence,
            stamps: letter.stamps,
        }
    }

    fn wait(
        &mut self,
        until: Deadline,
        mut visit: Option<&mut Visit<'_>>,
    ) -> Result<Waited, RecvError> {
        let mut waiting = false;
        let ended = loop {
            if self.mailbox.collect(&mut self.letter) {
                break Ok(Waited::Letter);
            }
            match self.lead_or_park(until, &mut waiting, visit.as_deref_mut()) {
                Ok(Waited::GoOn) => {}
                Ok(Waited::Nothing) if self.mailbox.collect(&mut self.letter) => {
                    break Ok(Waited::Letter);
                }
                ended => break ended,
            }
        };
        if waiting {
            self.hub.leave();
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
            return match self.hub.try_lead() {
                Some(lead) => self.lead(lead, until, visit),
                None => Ok(Waited::Nothing),
            };
        }
        if let Some(lead) = self.hub.lead_or_follow() {
            return self.lead(lead, until, visit);
        }
        *waiting = true;
        if until.is_over() {
            return Ok(Waited::Nothing);
        }
        if !self.mailbox.wait_for_letter() {
            until.park();
        }
        Ok(Waited::GoOn)
    }

    /// Receives for the whole bus until something has come for this end.
    fn lead(
        &self,
        mut lead: Lead<'_>,
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
                mailbox: &self.mailbox,
                visit,
                visited: &visited,
            });
            let received = lead.receive_for(until.wait(), Some(&self.mailbox), visitor);
            match received? {
                _ if visited.get() => return Ok(Waited::Visited),
                _ if self.mailbox.waiting() > 0 => return Ok(Waited::GoOn),
                Received::Ended => return Err(RecvError::Ended),
                // A look that found messages for others looks again, but not for ever in their flood.
                Received::Messages(_) if until == Deadline::Now && look < MOST_LOOKS => {}
                _ if until.is_over() => return Ok(Waited::Nothing),
                _ if lead.must_end() => return Ok(Waited::GoOn),
                _ => {}
            }
        }
        Ok(Waited::GoOn)
    }

    fn keeps_contract(&mut self, now: MonotonicTime) -> bool {
        let taken = self.letter.stamps.taken;
        if self.contract.missed(self.last_taken.replace(taken), taken) {
            self.mailbox.tallies.missed_deadlines.add_one();
        }
        let came = self.letter.stamps.kernel.unwrap_or(taken);
        let fresh = !self.contract.too_old(came, now);
        if !fresh {
            self.mailbox.tallies.too_old.add_one();
        }
        fresh
    }

    /// How long ago the last message came; `None` before the first.
    pub(crate) fn silence(&self) -> Option<Duration> {
        let last = self.last_taken?;
        Some(clock::now().remaining(last))
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.hub.remove(self.id);
    }
}

/// When a wait ends.
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
