//! `memq://`: within one process, from clone to clone of one bus.
//!
//! Order is kept, and nothing is lost while an inlet takes its messages before 1024 of them wait; beyond that
//! the newest is dropped and counted as overrun. Publishing waits for no receiver: it copies the message to
//! each inlet under a priority-inheriting lock, and allocates only if a message is longer than its place has
//! held before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kadenz_rt::clock;

use super::stream::{Buffered, Publish};
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, InletCounters, Loss, More,
    Outlet, Provider, ProviderError, PublishError, ReceiveError, Received, Take, Wait, Wake,
};
use crate::arrival::{Arrival, Payload, Scope, SenderId, Sequence, Stamps};
use crate::channel::{Channel, Pattern};
use crate::sync::{Lock, Thread, thread};

/// Messages that may wait at an inlet.
const PLACES: usize = 1024;

/// A bus within this process.
#[derive(Debug, Default)]
pub struct Memq {
    exchange: Arc<MemqExchange>,
    senders: AtomicU64,
}

/// All inlets of a bus, to each of which an outlet copies its messages.
#[derive(Debug)]
struct MemqExchange {
    baskets: Lock<Vec<Arc<Basket>>>,
}

impl Default for MemqExchange {
    fn default() -> Self {
        let baskets = Lock::new(Vec::new());
        Self { baskets }
    }
}

/// The messages that wait at one inlet.
#[derive(Debug)]
struct Basket {
    state: Lock<MemqInletState>,
    overrun: AtomicU64,
}

/// The patterns of an inlet, the ring of its messages, and the thread that waits for one.
#[derive(Debug)]
struct MemqInletState {
    wanted: Vec<Pattern>,
    parcels: Vec<Parcel>,
    first: usize,
    count: usize,
    woken: bool,
    waiting: Option<Thread>,
}

#[derive(Debug, Default)]
struct Parcel {
    channel: Channel,
    payload: Vec<u8>,
    sender: SenderId,
    number: u32,
}

impl Parcel {
    fn arrival(&mut self) -> Arrival<'_> {
        Arrival {
            channel: self.channel.as_str(),
            payload: Payload::Owned(&mut self.payload),
            sender: self.sender,
            sequence: Some(Sequence {
                number: self.number,
                scope: Scope::Sender,
            }),
            stamps: Stamps::now(),
        }
    }
}

impl Provider for Memq {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: Loss::WhenSlow,
            back_pressure: BackPressure::None,
            history: History::None,
            discovery: Discovery::Process,
            longest_payload: usize::MAX,
            real_time: true,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        let sender = self.senders.fetch_add(1, Ordering::Relaxed);
        let outlet = MemqOutlet {
            exchange: Arc::clone(&self.exchange),
            sender: SenderId(u128::from(sender)),
            published: 0,
        };
        Ok(Buffered::outlet(outlet, usize::MAX))
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        let basket = Arc::new(Basket {
            state: Lock::new(MemqInletState {
                wanted: Vec::new(),
                parcels: std::iter::repeat_with(Parcel::default)
                    .take(PLACES)
                    .collect(),
                first: 0,
                count: 0,
                woken: false,
                waiting: None,
            }),
            overrun: AtomicU64::new(0),
        });
        self.exchange
            .baskets
            .with(|all| all.push(Arc::clone(&basket)));
        Ok(Box::new(MemqInlet {
            exchange: Arc::clone(&self.exchange),
            basket,
            parcel: Parcel::default(),
        }))
    }
}

#[derive(Debug)]
struct MemqOutlet {
    exchange: Arc<MemqExchange>,
    sender: SenderId,
    published: u32,
}

impl Publish for MemqOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        self.exchange.baskets.with(|baskets| {
            for basket in baskets.iter() {
                basket.put(channel, payload, self.sender, self.published);
            }
        });
        self.published = self.published.wrapping_add(1);
        Ok(())
    }
}

impl Basket {
    fn put(&self, channel: &Channel, payload: &[u8], sender: SenderId, number: u32) {
        let waiting = self.state.with(|state| {
            if !state.wanted.iter().any(|it| it.matches(channel.as_str())) {
                return None;
            }
            if state.count == state.parcels.len() {
                self.overrun.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            let place = (state.first + state.count) % state.parcels.len();
            let parcel = &mut state.parcels[place];
            parcel.channel = *channel;
            parcel.sender = sender;
            parcel.number = number;
            parcel.payload.clear();
            parcel.payload.extend_from_slice(payload);
            state.count += 1;
            state.waiting.take()
        });
        if let Some(waiting) = waiting {
            waiting.unpark();
        }
    }

    fn take(&self, into: &mut Parcel) -> bool {
        self.state.with(|state| {
            if state.count == 0 {
                return false;
            }
            let first = state.first;
            std::mem::swap(&mut state.parcels[first], into);
            state.first = (first + 1) % state.parcels.len();
            state.count -= 1;
            true
        })
    }

    /// Returns whether there is something to do; if not, the calling thread is unparked when there is.
    fn wait(&self) -> Option<Received> {
        self.state.with(|state| {
            state.waiting = None;
            if state.count > 0 {
                return Some(Received::Messages(state.count));
            }
            if std::mem::take(&mut state.woken) {
                return Some(Received::Woken);
            }
            state.waiting = Some(thread::current());
            None
        })
    }
}

impl Wake for Basket {
    fn wake(&self) {
        let waiting = self.state.with(|state| {
            state.woken = true;
            state.waiting.take()
        });
        if let Some(waiting) = waiting {
            waiting.unpark();
        }
    }
}

#[derive(Debug)]
struct MemqInlet {
    exchange: Arc<MemqExchange>,
    basket: Arc<Basket>,
    parcel: Parcel,
}

impl MemqInlet {
    fn wait(&self, wait: Wait) -> Received {
        loop {
            if let Some(received) = self.basket.wait() {
                return received;
            }
            match wait {
                Wait::Poll => return Received::Nothing,
                Wait::Forever => thread::park(),
                Wait::Until(until) => {
                    let left = until.remaining(clock::now());
                    if left.is_zero() {
                        return Received::Nothing;
                    }
                    park_for(left);
                }
            }
        }
    }
}

#[cfg(not(loom))]
use std::thread::park_timeout as park_for;

#[cfg(loom)]
fn park_for(_: std::time::Duration) {
    thread::park();
}

impl Inlet for MemqInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        let mut wanted = patterns.to_vec();
        let state = &self.basket.state;
        state.with(|state| std::mem::swap(&mut state.wanted, &mut wanted));
        Ok(())
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        let received = self.wait(wait);
        let Received::Messages(count) = received else {
            return Ok(received);
        };
        for taken in 1..=count {
            if !self.basket.take(&mut self.parcel) || take(self.parcel.arrival()) == More::Enough {
                return Ok(Received::Messages(taken));
            }
        }
        Ok(received)
    }

    fn waker(&self) -> Arc<dyn Wake> {
        self.basket.clone()
    }

    fn counters(&self) -> InletCounters {
        InletCounters {
            overrun: self.basket.overrun.load(Ordering::Relaxed),
            ..InletCounters::default()
        }
    }
}

impl Drop for MemqInlet {
    fn drop(&mut self) {
        self.exchange
            .baskets
            .with(|all| all.retain(|it| !Arc::ptr_eq(it, &self.basket)));
    }
}
