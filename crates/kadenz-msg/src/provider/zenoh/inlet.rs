//! Subscribing: Zenoh's thread puts samples into a bounded queue, from which the inlet takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use zenoh::Wait as _;
use zenoh::pubsub::Subscriber;
use zenoh::sample::Sample;

use super::{ZenohBus, channel_of, key_of};
use crate::arrival::{Arrival, MessageInfo, Payload};
use crate::channel::Pattern;
use crate::provider::notifier::Notifier;
use crate::provider::stream::note::{Expected, read_note};
use crate::provider::{
    Inlet, InletCounters, More, ProviderError, ReceiveError, Received, Take, Wait, Wake,
};
use crate::sync::lock;

/// Samples that wait until the inlet takes them.
#[derive(Default)]
struct SampleQueue {
    state: Mutex<SampleQueueState>,
    notifier: Arc<Notifier>,
}

/// The state under the lock of a sample queue.
#[derive(Default)]
struct SampleQueueState {
    samples: VecDeque<Sample>,
    /// Dropped samples of senders that do not count.
    uncounted: u64,
}

impl SampleQueue {
    /// Adds one; if there is no place, the oldest is dropped.
    fn push(&self, sample: Sample, places: usize) {
        let mut state = lock(&self.state);
        if state.samples.len() >= places {
            let lost = state.samples.pop_front();
            let counts = lost.as_ref().and_then(Sample::attachment).is_some();
            state.uncounted += u64::from(!counts);
        }
        state.samples.push_back(sample);
        drop(state);
        self.notifier.notify();
    }
}

pub(super) struct ZenohInlet {
    bus: Arc<ZenohBus>,
    queue: Arc<SampleQueue>,
    subscribers: Vec<(String, Subscriber<()>)>,
    wanted: Vec<Pattern>,
    expected: Expected,
    counters: InletCounters,
}

show_fields!(ZenohInlet: wanted);

impl ZenohInlet {
    pub(super) fn new(bus: &Arc<ZenohBus>) -> Self {
        Self {
            bus: Arc::clone(bus),
            queue: Arc::default(),
            subscribers: Vec::new(),
            wanted: Vec::new(),
            expected: Expected::default(),
            counters: InletCounters::default(),
        }
    }

    fn subscribe(&mut self, key: String) -> Result<(), ProviderError> {
        let (queue, places) = (Arc::clone(&self.queue), self.bus.places);
        let push = move |sample| queue.push(sample, places);
        let declared = self
            .bus
            .session
            .declare_subscriber(&key)
            .callback(push)
            .wait();
        let subscriber = declared.map_err(|error| self.bus.failed(&error))?;
        self.subscribers.push((key, subscriber));
        Ok(())
    }

    /// Hands one over; `None` if its channel is not wanted.
    fn hand(&mut self, sample: &Sample, take: Take<'_>) -> Option<More> {
        let Some(channel) = channel_of(&self.bus.prefix, sample.key_expr().as_str()) else {
            self.counters.malformed += 1;
            return None;
        };
        let payload = sample.payload().to_bytes();
        let note = sample.attachment().map(zenoh::bytes::ZBytes::to_bytes);
        let note = note.as_deref().and_then(read_note);
        let (sender, sequence) = note.unzip();
        let arrival = Arrival {
            channel: &channel,
            payload: Payload::Borrowed(&payload),
            info: MessageInfo::now(sender.unwrap_or_default(), sequence),
        };
        self.counters.overrun += self.expected.gap(&arrival);
        let is_wanted = self.wanted.iter().any(|wanted| wanted.matches(&channel));
        is_wanted.then(|| take(arrival))
    }
}

impl Inlet for ZenohInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        let prefix = self.bus.prefix.clone();
        let key = |pattern: &Pattern| match pattern.exactly() {
            Some(name) => key_of(&prefix, name),
            None => format!("{prefix}/**"),
        };
        let mut keys: Vec<String> = patterns.iter().map(key).collect();
        let all = format!("{prefix}/**");
        // An inlet that gets everything must not get some of it twice.
        if keys.contains(&all) {
            keys = vec![all];
        }
        keys.sort();
        keys.dedup();
        if self.wanted.is_empty() {
            // What waits is from before.
            lock(&self.queue.state).samples.clear();
        }
        self.wanted = patterns.to_vec();
        self.expected.clear();
        self.subscribers.retain(|(key, _)| keys.contains(key));
        keys.retain(|key| !self.subscribers.iter().any(|(known, _)| known == key));
        keys.into_iter().try_for_each(|key| self.subscribe(key))
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        let mut count = 0;
        while count == 0 {
            let waiting = lock(&self.queue.state).samples.len();
            if waiting == 0
                && let Some(ended) = self.queue.notifier.wait(wait)
            {
                return Ok(ended);
            }
            for _ in 0..waiting {
                let Some(sample) = lock(&self.queue.state).samples.pop_front() else {
                    break;
                };
                match self.hand(&sample, take) {
                    None => {}
                    Some(More::GoOn) => count += 1,
                    Some(More::Enough) => return Ok(Received::Messages(count + 1)),
                }
            }
        }
        Ok(Received::Messages(count))
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.queue.notifier) as Arc<dyn Wake>
    }

    fn counters(&self) -> InletCounters {
        let mut counters = self.counters;
        counters.overrun += lock(&self.queue.state).uncounted;
        counters
    }
}
