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
use crate::arrival::{Arrival, MessageInfo, Payload, Scope, SenderId, Sequence, SourceInfo};
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
    queues: Lock<Vec<Arc<InletQueue>>>,
}

impl Default for MemqExchange {
    fn default() -> Self {
        let queues = Lock::new(Vec::new());
        Self { queues }
    }
}

/// The messages that wait at one inlet.
#[derive(Debug)]
struct InletQueue {
    state: Lock<MemqInletState>,
    overrun: AtomicU64,
}

/// The patterns of an inlet, the ring of its messages, and the thread that waits for one.
#[derive(Debug)]
struct MemqInletState {
    wanted: Vec<Pattern>,
    slots: Vec<InletMessage>,
    first: usize,
    count: usize,
    woken: bool,
    waiting: Option<Thread>,
}

#[derive(Debug, Default)]
struct InletMessage {
    channel: Channel,
    payload: Vec<u8>,
    source: SourceInfo,
}

impl InletMessage {
    fn arrival(&mut self) -> Arrival<'_> {
        Arrival {
            channel: self.channel.as_str(),
            payload: Payload::Owned(&mut self.payload),
            info: MessageInfo::now(self.source),
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
        let queue = Arc::new(InletQueue {
            state: Lock::new(MemqInletState {
                wanted: Vec::new(),
                slots: std::iter::repeat_with(InletMessage::default)
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
            .queues
            .with(|all| all.push(Arc::clone(&queue)));
        Ok(Box::new(MemqInlet {
            exchange: Arc::clone(&self.exchange),
            queue,
            slot: InletMessage::default(),
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
        let sequence = Sequence {
            number: self.published,
            scope: Scope::Sender,
        };
        let source = SourceInfo::new(self.sender, Some(sequence));
        self.exchange.queues.with(|queues| {
            for queue in queues.iter() {
                queue.put(channel, payload, source);
            }
        });
        self.published = self.published.wrapping_add(1);
        Ok(())
    }
}

impl InletQueue {
    fn put(&self, channel: &Channel, payload: &[u8], source: SourceInfo) {
        let waiting = self.state.with(|state| {
            if !state.wanted.iter().any(|it| it.matches(channel.as_str())) {
                return None;
            }
            if state.count == state.slots.len() {
                self.overrun.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            let index = (state.first + state.count) % state.slots.len();
            let slot = &mut state.slots[index];
            slot.channel = *channel;
            slot.source = source;
            slot.payload.clear();
            slot.payload.extend_from_slice(payload);
            state.count += 1;
            state.waiting.take()
        });
        if let Some(waiting) = waiting {
            waiting.unpark();
        }
    }

    fn take(&self, into: &mut InletMessage) -> bool {
        self.state.with(|state| {
            if state.count == 0 {
                return false;
            }
            let first = state.first;
            std::mem::swap(&mut state.slots[first], into);
            state.first = (first + 1) % state.slots.len();
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

impl Wake for InletQueue {
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
    queue: Arc<InletQueue>,
    slot: InletMessage,
}

impl MemqInlet {
    fn wait(&self, wait: Wait) -> Received {
        loop {
            if let Some(received) = self.queue.wait() {
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
                    park_timeout(left);
                }
            }
        }
    }
}

#[cfg(not(loom))]
use std::thread::park_timeout;

#[cfg(loom)]
fn park_timeout(_: std::time::Duration) {
    thread::park();
}

impl Inlet for MemqInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        let mut wanted = patterns.to_vec();
        self.queue.state.with(|state| {
            if state.wanted.is_empty() {
                // What waits is from before.
                state.count = 0;
            }
            std::mem::swap(&mut state.wanted, &mut wanted);
        });
        Ok(())
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        let received = self.wait(wait);
        let Received::Messages(count) = received else {
            return Ok(received);
        };
        for taken in 1..=count {
            if !self.queue.take(&mut self.slot) || take(self.slot.arrival()) == More::Enough {
                return Ok(Received::Messages(taken));
            }
        }
        Ok(received)
    }

    fn waker(&self) -> Arc<dyn Wake> {
        self.queue.clone()
    }

    fn counters(&self) -> InletCounters {
        InletCounters {
            overrun: self.queue.overrun.load(Ordering::Relaxed),
            ..InletCounters::default()
        }
    }
}

impl Drop for MemqInlet {
    fn drop(&mut self) {
        self.exchange
            .queues
            .with(|all| all.retain(|it| !Arc::ptr_eq(it, &self.queue)));
    }
}
