//! Subscribing: Zenoh's thread puts samples into a bounded queue, from which the inlet takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use zenoh::Wait as _;
use zenoh::bytes::ZBytes;
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

/// The longest wait for the calls of an undeclared subscriber, each of which adds one sample to the queue.
const MAX_CALL: Duration = Duration::from_millis(100);

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
    /// Whether subscribers are declared and undeclared, so that two may get one sample.
    is_changing: bool,
    /// The last sample of each thread during a change, and the number of the subscriber that got it.
    last: Vec<(ThreadId, u64, Sample)>,
    /// The end of the calls for samples of the last change, when `last` is cleared.
    last_until: MonotonicTime,
}

impl SampleQueueState {
    /// Whether another subscriber has got this sample. Zenoh calls the subscribers of a sample one after the
    /// other, on one thread.
    fn is_repeated(&mut self, subscriber: u64, sample: &Sample) -> bool {
        if !self.is_changing {
            if self.last.is_empty() {
                return false;
            }
            if clock::now() > self.last_until {
                self.last.clear();
                return false;
            }
        }
        let thread = thread::current().id();
        let known = self.last.iter().position(|it| it.0 == thread);
        let known = known.map(|at| self.last.swap_remove(at));
        if known.is_some_and(|(_, other, last)| other != subscriber && is_same(&last, sample)) {
            return true;
        }
        if self.is_changing {
            self.last.push((thread, subscriber, sample.clone()));
        }
        false
    }
}

/// Whether both are one sample, whose bytes Zenoh shares; those of two samples that live differ in their places.
fn is_same(one: &Sample, other: &Sample) -> bool {
    let place = |bytes: &ZBytes| bytes.slices().next().map(<[u8]>::as_ptr_range);
    let places = |it: &Sample| (place(it.payload()), it.attachment().and_then(place));
    // Nothing tells two empty samples without attachment apart.
    one.key_expr() == other.key_expr()
        && places(one) == places(other)
        && places(one) != (None, None)
}

impl SampleQueue {
    /// Adds one; if there is no place, the oldest is dropped.
    fn push(&self, subscriber: u64, sample: Sample, places: usize) {
        let mut state = lock(&self.state);
        if state.is_repeated(subscriber, &sample) {
            return;
        }
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

/// A subscriber, which is undeclared when it is dropped.
struct DeclaredKey {
    key: String,
    _subscriber: Subscriber<()>,
    /// Shared with the calls under way.
    calls: Arc<()>,
}

pub(super) struct ZenohInlet {
    bus: Arc<ZenohBus>,
    queue: Arc<SampleQueue>,
    subscribers: Vec<DeclaredKey>,
    /// The number of subscribers that have been declared.
    declared: u64,
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
            declared: 0,
            wanted: Vec::new(),
            expected: Expected::default(),
            counters: InletCounters::default(),
        }
    }

    fn subscribe(&mut self, key: String) -> Result<(), ProviderError> {
        let (queue, places) = (Arc::clone(&self.queue), self.bus.places);
        let calls = Arc::new(());
        let (number, call) = (self.declared, Arc::clone(&calls));
        let push = move |sample| {
            let _call = &call;
            queue.push(number, sample, places);
        };
        let declared = self.bus.session.declare_subscriber(&key).callback(push);
        let declared = declared.wait();
        self.declared += 1;
        self.subscribers.push(DeclaredKey {
            key,
            _subscriber: declared.map_err(|error| self.bus.failed(&error))?,
            calls,
        });
        Ok(())
    }

    /// Subscribes to these keys alone. New subscribers are declared before the others are undeclared, so that no
    /// sample is missed in between.
    fn change(&mut self, keys: &[String]) -> Result<(), ProviderError> {
        let before = self.subscribers.len();
        let known = |key: &&String| self.subscribers.iter().any(|it| it.key == **key);
        let new: Vec<String> = keys.iter().filter(|it| !known(it)).cloned().collect();
        for key in new {
            if let Err(error) = self.subscribe(key) {
                self.subscribers.truncate(before);
                return Err(error);
            }
        }
        let gone = |it: &mut DeclaredKey| !keys.contains(&it.key);
        let gone = self.subscribers.extract_if(.., gone);
        let calls: Vec<Arc<()>> = gone.map(|it| it.calls).collect();
        let end = clock::now() + MAX_CALL;
        while calls.iter().any(|it| Arc::strong_count(it) > 1) && clock::now() < end {
            thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    /// Begins or ends a change of the subscribers.
    fn set_changing(&self, is_changing: bool) {
        let mut state = lock(&self.queue.state);
        state.is_changing = is_changing;
        match is_changing {
            true => state.last.clear(),
            false => state.last_until = clock::now() + MAX_CALL,
        }
    }

    /// Hands one over; `None` if its channel is not wanted.
    fn hand(&mut self, sample: &Sample, take: Take<'_>) -> Option<More> {
        let Some(channel) = channel_of(&self.bus.prefix, sample.key_expr().as_str()) else {
            self.counters.malformed += 1;
            return None;
        };
        let payload = sample.payload().to_bytes();
        let note = sample.attachment().map(ZBytes::to_bytes);
        let source = note.as_deref().and_then(read_note).unwrap_or_default();
        let arrival = Arrival {
            channel: &channel,
            payload: Payload::Borrowed(&payload),
            info: MessageInfo::now(source),
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
        self.set_changing(true);
        let changed = self.change(&keys);
        self.set_changing(false);
        changed?;
        self.wanted = patterns.to_vec();
        self.expected.clear();
        Ok(())
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
