//! Leading, following and parking under every interleaving that loom finds. No wait has a timeout, so that a
//! lost wake-up is a deadlock, which loom reports.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::leader_followers::LeaderFollowers;
use super::routes::RouteId;
use super::subscription::SubscriptionOptions;
use super::subscription_core::SubscriptionCore;
use crate::arrival::{Arrival, MessageInfo, Payload};
use crate::channel::Pattern;
use crate::provider::{Inlet, ProviderError, ReceiveError, Received, Take, Wait, Wake};
use crate::sync::{Arc, Lock, Thread, thread};

/// A wire of names alone.
#[derive(Debug)]
struct Wire {
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    names: Vec<&'static str>,
    woken: bool,
    waiting: Option<Thread>,
}

/// The next step by the state under the lock, to be done outside of the lock.
enum Next {
    Hand(&'static str),
    Woken,
    Park,
}

impl Wire {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let waiting = self.state.with(|state| {
            change(state);
            state.waiting.take()
        });
        if let Some(waiting) = waiting {
            waiting.unpark();
        }
    }

    fn publish(&self, name: &'static str) {
        self.change(|state| state.names.push(name));
    }

    fn next(&self) -> Next {
        self.state.with(|state| {
            state.waiting = None;
            if !state.names.is_empty() {
                return Next::Hand(state.names.remove(0));
            }
            if std::mem::take(&mut state.woken) {
                return Next::Woken;
            }
            state.waiting = Some(thread::current());
            Next::Park
        })
    }
}

/// loom's `Arc` makes no trait objects, so the wire is shared by the standard one.
#[derive(Debug)]
struct End(std::sync::Arc<Wire>);

impl Wake for Wire {
    fn wake(&self) {
        self.change(|state| state.woken = true);
    }
}

impl Inlet for End {
    fn want(&mut self, _: &[Pattern]) -> Result<(), ProviderError> {
        Ok(())
    }

    fn receive(&mut self, _: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        loop {
            match self.0.next() {
                Next::Woken => return Ok(Received::Woken),
                Next::Park => thread::park(),
                Next::Hand(channel) => {
                    take(Arrival {
                        channel,
                        payload: Payload::Borrowed(&[]),
                        info: MessageInfo::default(),
                    });
                    return Ok(Received::Messages(1));
                }
            }
        }
    }

    fn waker(&self) -> std::sync::Arc<dyn Wake> {
        self.0.clone()
    }
}

fn wire() -> (std::sync::Arc<Wire>, Arc<LeaderFollowers>) {
    let state = Lock::new(State::default());
    let wire = std::sync::Arc::new(Wire { state });
    let leader_followers = LeaderFollowers::new(Box::new(End(wire.clone())));
    (wire, Arc::new(leader_followers))
}

fn core(leader_followers: &Arc<LeaderFollowers>, id: u64, name: &str) -> SubscriptionCore {
    let patterns = vec![Pattern::new(name).unwrap()];
    let options = SubscriptionOptions::with_queue(1);
    SubscriptionCore::open(leader_followers.clone(), RouteId(id), patterns, &options).unwrap()
}

fn try_all(model: impl Fn() + Sync + Send + 'static) {
    let tried = std::sync::Arc::new(AtomicU32::new(0));
    let counted = tried.clone();
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(6);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let tried = tried.load(Ordering::Relaxed);
    assert!(tried > 10, "loom tried {tried} interleavings");
    println!("{tried} interleavings");
}

#[test]
fn two_waiting_threads_get_their_messages() {
    try_all(|| {
        let (wire, leader_followers) = wire();
        let mut mine = core(&leader_followers, 0, "A");
        let mut yours = core(&leader_followers, 1, "B");
        let other = thread::spawn(move || {
            assert_eq!(yours.next(Duration::MAX), Ok(true));
            assert_eq!(yours.message.envelope.channel.as_str(), "B");
            // Ending a subscription is another test.
            yours
        });
        wire.publish("B");
        wire.publish("A");
        assert_eq!(mine.next(Duration::MAX), Ok(true));
        assert_eq!(mine.message.envelope.channel.as_str(), "A");
        other.join().unwrap();
    });
}

#[test]
fn one_subscribes_while_another_waits() {
    try_all(|| {
        let (wire, leader_followers) = wire();
        let mut waiting = core(&leader_followers, 0, "A");
        let waiter = thread::spawn(move || {
            assert_eq!(waiting.next(Duration::MAX), Ok(true));
            waiting
        });
        let late = core(&leader_followers, 1, "B");
        wire.publish("A");
        let waited = waiter.join().unwrap();
        drop((late, waited));
    });
}
