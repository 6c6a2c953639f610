//! The leader-followers pattern of the bus: one waiting thread receives for all, the others follow.
//!
//! A bus needs no thread of its own. A thread that waits for a message takes the inlet, waits in the call
//! that receives, and posts the messages to every mailbox; other waiting threads are woken by their mailbox,
//! or to take over the lead. So a message costs one wake-up, where a receiver thread that hands over to the
//! user's costs two.
//!
//! Assumed: the inlet's waker ends its wait. Guaranteed: the inlet and the routes belong to one thread at a
//! time; while any thread waits, one thread leads; a thread that changes the routes gets the lead as soon as
//! the leader's wait ends.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::mailbox::{AtomicCounter, Mailbox};
use super::routes::{Route, RouteId, Routes, Visitor};
use crate::arrival::SourceInfo;
use crate::loss::{LossMeter, SenderTally};
use crate::provider::{
    Inlet, InletCounters, More, ProviderError, ReceiveError, Received, Wait, Wake,
};
use crate::sync::{AtomicU64, Lock, Ordering, Thread, thread};

/// The number of senders, or of senders with channels, whose losses are counted apart.
const MAX_SENDERS: usize = if cfg!(loom) { 1 } else { 1024 };

/// The number of followers whose places are allocated in advance.
const PLACES: usize = 64;

/// The receiving side of a bus.
#[derive(Debug)]
pub(crate) struct LeaderFollowers {
    state: Lock<LeaderFollowersState>,
    waker: std::sync::Arc<dyn Wake>,
    /// The number of threads that wait for the lead to change the routes; the leader reads it without the
    /// lock.
    changers: AtomicU64,
    /// Messages on channels whose names LCM does not allow.
    pub(crate) misnamed: AtomicCounter,
}

/// The state that belongs to the leading thread.
#[derive(Debug)]
struct Receiving {
    inlet: Box<dyn Inlet>,
    routes: Routes,
    /// Counts losses if the inlet does not evaluate the senders' numbers.
    meter: Option<LossMeter>,
}

/// The leader, the followers, and the threads that change the routes.
#[derive(Debug)]
struct LeaderFollowersState {
    /// `None` while a thread leads.
    receiving: Option<Receiving>,
    followers: Vec<Thread>,
    /// The threads that wait for the lead to change the routes; they come first.
    changers: Vec<Thread>,
    counters: InletCounters,
}

/// The right to receive. Dropping it hands the lead to a follower.
pub(crate) struct Leadership<'a> {
    leader_followers: &'a LeaderFollowers,
    receiving: Option<Receiving>,
}

impl LeaderFollowers {
    pub(crate) fn new(inlet: Box<dyn Inlet>) -> Self {
        let waker = inlet.waker();
        let meter = inlet.losses().is_none();
        let meter = meter.then(|| LossMeter::new(MAX_SENDERS));
        let receiving = Receiving {
            inlet,
            routes: Routes::default(),
            meter,
        };
        Self {
            state: Lock::new(LeaderFollowersState {
                receiving: Some(receiving),
                followers: Vec::with_capacity(PLACES),
                changers: Vec::new(),
                counters: InletCounters::default(),
            }),
            waker,
            changers: AtomicU64::new(0),
            misnamed: AtomicCounter::default(),
        }
    }

    /// Returns the lead if it is free and no other thread has precedence. Otherwise the calling thread is
    /// unparked when its turn comes, until it calls [`LeaderFollowers::leave`].
    pub(crate) fn lead_or_follow(&self) -> Option<Leadership<'_>> {
        let receiving = self.state.with(|state| {
            if state.changers.is_empty()
                && let Some(receiving) = state.receiving.take()
            {
                return Some(receiving);
            }
            state.follow();
            None
        })?;
        Some(Leadership::of(self, receiving))
    }

    /// Returns the lead if it is free; otherwise nothing happens.
    pub(crate) fn try_lead(&self) -> Option<Leadership<'_>> {
        let receiving = self.state.with(|state| {
            let free = state.changers.is_empty();
            free.then(|| state.receiving.take()).flatten()
        })?;
        Some(Leadership::of(self, receiving))
    }

    /// Ends the wait of the calling thread. If the thread was to get the lead, the next one gets it.
    pub(crate) fn leave(&self) {
        let next = self.state.with(|state| {
            let me = thread::current().id();
            state.followers.retain(|it| it.id() != me);
            state.next()
        });
        if let Some(next) = next {
            next.unpark();
        }
    }

    /// Ends the present wait of the thread that leads, or the next one.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Sets a route and reports it to the inlet; if that fails, the route stays unchanged. Waits until the
    /// leader's wait ends, which the waker brings about.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub(crate) fn set(&self, route: Route) -> Result<(), ProviderError> {
        let id = route.id;
        self.change(|receiving| {
            let before = receiving.routes.set(route);
            let result = receiving.inlet.want(&receiving.routes.wanted());
            if result.is_err() {
                match before {
                    Some(before) => drop(receiving.routes.set(before)),
                    None => receiving.routes.remove(id),
                }
            }
            result
        })
    }

    /// Removes a route. Waits as [`LeaderFollowers::set`].
    pub(crate) fn remove(&self, id: RouteId) {
        self.change(|receiving| {
            receiving.routes.remove(id);
            // An unwanted message costs one comparison, and nothing else.
            let _ = receiving.inlet.want(&receiving.routes.wanted());
        });
    }

    /// Returns the counters of messages before their delivery, as of the last time a thread led.
    pub(crate) fn counters(&self) -> InletCounters {
        self.state.with(|state| match &state.receiving {
            Some(receiving) => receiving.inlet.counters(),
            None => state.counters,
        })
    }

    /// Returns the losses by each sender's numbers. Waits as [`LeaderFollowers::set`].
    pub(crate) fn losses(&self) -> Vec<SenderTally> {
        self.metered(|meter| meter.counters().copied().collect())
    }

    /// Returns the number of lost messages by all senders' numbers. Waits as [`LeaderFollowers::set`].
    pub(crate) fn lost(&self) -> u64 {
        self.metered(|meter| meter.total().lost)
    }

    fn metered<R: Default>(&self, read: impl FnOnce(&LossMeter) -> R) -> R {
        self.change(|receiving| {
            let meter = receiving.meter.as_ref().or(receiving.inlet.losses());
            meter.map(read).unwrap_or_default()
        })
    }

    fn change<R>(&self, change: impl FnOnce(&mut Receiving) -> R) -> R {
        let mut lead = self.lead_first();
        match &mut lead.receiving {
            Some(receiving) => change(receiving),
            None => unreachable!("a lead holds the inlet until it is dropped"),
        }
    }

    fn lead_first(&self) -> Leadership<'_> {
        self.changers.fetch_add(1, Ordering::SeqCst);
        let lead = self.wait_to_lead();
        self.changers.fetch_sub(1, Ordering::SeqCst);
        lead
    }

    fn wait_to_lead(&self) -> Leadership<'_> {
        loop {
            let receiving = self.state.with(|state| {
                let me = thread::current();
                let id = me.id();
                state.changers.retain(|it| it.id() != id);
                let receiving = state.receiving.take();
                if receiving.is_none() {
                    state.changers.push(me);
                }
                receiving
            });
            if let Some(receiving) = receiving {
                return Leadership::of(self, receiving);
            }
            self.waker.wake();
            park_briefly();
        }
    }
}

impl LeaderFollowersState {
    fn follow(&mut self) {
        let me = thread::current();
        if self.followers.iter().all(|it| it.id() != me.id()) {
            self.followers.push(me);
        }
    }

    /// Returns the thread that is to take the lead now, if the lead is free.
    fn next(&self) -> Option<Thread> {
        let free = self.receiving.is_some();
        let next = self.changers.first().or(self.followers.first());
        next.filter(|_| free).cloned()
    }
}

impl<'a> Leadership<'a> {
    fn of(leader_followers: &'a LeaderFollowers, receiving: Receiving) -> Self {
        let receiving = Some(receiving);
        Self {
            leader_followers,
            receiving,
        }
    }

    /// Returns whether another thread must have the lead now, to change the routes.
    pub(crate) fn must_end(&self) -> bool {
        self.leader_followers.changers.load(Ordering::SeqCst) > 0
    }

    /// Waits for messages and posts them to the mailboxes that want them, one batch, or until `collector` has
    /// a message: the leader must collect before more is posted, or a mailbox that blocks would wait for its
    /// own thread.
    pub(crate) fn receive(
        &mut self,
        wait: Wait,
        collector: Option<&Mailbox>,
    ) -> Result<Received, ReceiveError> {
        self.receive_for(wait, collector, None)
    }

    /// As [`Leadership::receive`], and shows the first message for one mailbox, in which nothing may wait,
    /// to a visitor in place instead of posting it there.
    pub(crate) fn receive_for(
        &mut self,
        wait: Wait,
        collector: Option<&Mailbox>,
        mut visitor: Option<Visitor<'_>>,
    ) -> Result<Received, ReceiveError> {
        let Some(Receiving {
            inlet,
            routes,
            meter,
        }) = &mut self.receiving
        else {
            return Ok(Received::Nothing);
        };
        let misnamed = &self.leader_followers.misnamed;
        // A thread that receives for others alone has no time of its own to keep.
        let until = collector.and_then(|_| until(wait));
        inlet.receive(wait, &mut |arrival| {
            let SourceInfo { sender, sequence } = arrival.info.source;
            if let (Some(meter), Some(sequence)) = (meter.as_mut(), sequence) {
                meter.note(sender, sequence, arrival.channel);
            }
            if !routes.post(arrival, until, visitor.as_mut()) {
                misnamed.add_one();
            }
            let visited = visitor.as_ref().is_some_and(|it| it.visited.get());
            if visited || collector.is_some_and(|it| it.waiting() > 0) {
                More::Enough
            } else {
                More::GoOn
            }
        })
    }
}

impl Drop for Leadership<'_> {
    fn drop(&mut self) {
        let receiving = self.receiving.take();
        let next = self.leader_followers.state.with(|state| {
            if let Some(receiving) = &receiving {
                state.counters = receiving.inlet.counters();
            }
            state.receiving = receiving;
            state.next()
        });
        if let Some(next) = next {
            next.unpark();
        }
    }
}

/// A change waits for the leader in steps, as another one may have used up its waker.
#[cfg(not(loom))]
fn park_briefly() {
    thread::park_timeout(Duration::from_millis(10));
}

#[cfg(loom)]
fn park_briefly() {
    let _: Duration = Duration::ZERO;
    thread::park();
}

fn until(wait: Wait) -> Option<MonotonicTime> {
    match wait {
        Wait::Poll => Some(MonotonicTime::from_ns(0)),
        Wait::Until(until) => Some(until),
        Wait::Forever => None,
    }
}
