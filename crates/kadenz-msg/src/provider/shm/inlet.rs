//! Receiving from shared memory.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::{ListenerKey, Notifier};
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::{CallbackProgression, EventId};
use iceoryx2::service::port_factory::PortFactory as _;
use kadenz_rt::clock::{self, MonotonicTime};

use super::{FileService, ShmBus, UserHeader, WAKE, WaitMode, bytes_of, read_header};
use crate::arrival::{Arrival, MessageInfo, Payload, Scope, SenderId, Sequence, SourceInfo};
use crate::channel::Pattern;
use crate::loss::{LossMeter, SequenceStatus};
use crate::provider::{
    Inlet, InletCounters, More, ProviderError, ReceiveError, Received, Take, Wait, Wake,
};

/// The maximum number of messages of one call of `receive`.
const MAX_BATCH: usize = 64;

/// The number of senders whose numbers are followed, so that a gap is known; living and gone.
const MAX_SENDERS: usize = 1024;

/// The number of turns of a spinning wait for each reading of the clock.
const TURNS: u32 = 16;

pub(super) struct ShmInlet {
    bus: Arc<ShmBus>,
    subscriber: Subscriber<FileService, [u8], UserHeader>,
    /// `None` if the inlet polls.
    listener: Option<Listener<FileService>>,
    waker: Arc<ShmWaker>,
    wanted: Vec<Pattern>,
    meter: LossMeter,
    counters: InletCounters,
}

show_fields!(ShmInlet: bus, wanted);

impl ShmInlet {
    pub(super) fn create(bus: &Arc<ShmBus>) -> Result<Self, ProviderError> {
        let failed = |error: &dyn fmt::Debug| {
            let remedy = "close another inlet, or open the bus with more by ?inlets=";
            bus.address.wrong(format!("no inlet: {error:?}"), remedy)
        };
        // Before the subscriber, so that no message arrives without its event.
        let (listener, notifier) = if bus.settings.waiting == WaitMode::Event {
            let listener = bus.events.listener_builder().create();
            let listener = listener.map_err(|error| failed(&error))?;
            let notifier = bus.events.notifier_builder().create();
            let notifier = notifier.map_err(|error| failed(&error))?;
            let key = key_of(&notifier, &listener);
            let key = key.ok_or_else(|| failed(&"the listener is not found"))?;
            (Some(listener), Some((notifier, key)))
        } else {
            (None, None)
        };
        let subscriber = bus.messages.subscriber_builder().create();
        let subscriber = subscriber.map_err(|error| failed(&error))?;
        let waker = ShmWaker {
            woken: AtomicBool::new(false),
            notifier,
        };
        Ok(Self {
            bus: Arc::clone(bus),
            subscriber,
            listener,
            waker: Arc::new(waker),
            wanted: Vec::new(),
            meter: LossMeter::new(MAX_SENDERS),
            counters: InletCounters::default(),
        })
    }

    /// Hands over the present messages, and returns their number.
    fn take_all(&mut self, take: Take<'_>) -> Result<usize, ReceiveError> {
        let mut count = 0;
        while count < MAX_BATCH {
            let sample = self.subscriber.receive().map_err(|_| self.lost())?;
            let Some(sample) = sample else {
                break;
            };
            let sender = SenderId(sample.origin().value());
            let header = bytes_of(sample.user_header());
            let Some((channel, number)) = read_header(&header) else {
                self.counters.malformed += 1;
                continue;
            };
            let sequence = Sequence {
                number,
                scope: Scope::Sender,
            };
            let mut more = More::GoOn;
            if self.wanted.iter().any(|wanted| wanted.matches(channel)) {
                count += 1;
                more = take(Arrival {
                    channel,
                    payload: Payload::Borrowed(sample.payload()),
                    info: MessageInfo::now(SourceInfo::new(sender, Some(sequence))),
                });
            }
            // The message does not wait to be counted.
            let seen = self.meter.note(sender, sequence, channel);
            self.count(seen);
            if more == More::Enough {
                break;
            }
        }
        Ok(count)
    }

    /// Only an overrun makes a gap: shared memory loses nothing else and keeps the order.
    fn count(&mut self, seen: SequenceStatus) {
        if let SequenceStatus::Gap { lost } = seen {
            self.counters.overrun += u64::from(lost);
            self.counters.lost += u64::from(lost);
        }
    }

    fn lost(&self) -> ReceiveError {
        ReceiveError::Disconnected {
            peer: self.bus.address.as_str().to_owned(),
            reason: ErrorKind::ConnectionAborted,
        }
    }

    /// Sleeps until an event arrives, or that time.
    fn sleep(&self, end: Option<MonotonicTime>) -> Result<(), ReceiveError> {
        let Some(listener) = &self.listener else {
            std::hint::spin_loop();
            return Ok(());
        };
        let waited = match end {
            None => listener.blocking_wait(|_| {}),
            Some(end) => listener.timed_wait(|_| {}, end.remaining(clock::now())),
        };
        // A signal ends the wait as well; the caller looks again.
        waited.map(|_| ()).or_else(|error| match error {
            iceoryx2::port::listener::ListenerWaitError::InterruptSignal => Ok(()),
            _ => Err(self.lost()),
        })
    }

    /// Discards the messages of the time in which nothing was wanted; none of them counts as lost.
    fn discard_messages(&mut self) {
        // A queue for each publisher, by the settings of the program that made the service.
        let publishers = self.bus.messages.static_config().max_publishers();
        for _ in 0..self.subscriber.buffer_size() * publishers {
            if !matches!(self.subscriber.receive(), Ok(Some(_))) {
                break;
            }
        }
        self.meter.begin_anew();
    }

    /// Discards earlier events, so that they do not end the next wait.
    fn discard_events(&self) {
        if let Some(listener) = &self.listener {
            let _ = listener.try_wait(|_| {});
        }
    }
}

impl Inlet for ShmInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        if self.wanted.is_empty() && !patterns.is_empty() {
            self.discard_messages();
        }
        self.wanted = patterns.to_vec();
        Ok(())
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        let end = match wait {
            Wait::Until(end) => Some(end),
            Wait::Poll | Wait::Forever => None,
        };
        let mut turn = 0_u32;
        loop {
            let count = self.take_all(take)?;
            if count > 0 {
                return Ok(Received::Messages(count));
            }
            if wait == Wait::Poll {
                return Ok(Received::Nothing);
            }
            if self.waker.was_used() {
                self.discard_events();
                return Ok(Received::Woken);
            }
            let looks = self.listener.is_some() || turn.is_multiple_of(TURNS);
            if looks && end.is_some_and(|end| end.remaining(clock::now()) == Duration::ZERO) {
                return Ok(Received::Nothing);
            }
            turn = turn.wrapping_add(1);
            self.sleep(end)?;
        }
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.waker) as Arc<dyn Wake>
    }

    fn counters(&self) -> InletCounters {
        self.counters
    }

    fn losses(&self) -> Option<&LossMeter> {
        Some(&self.meter)
    }
}

/// Returns the key by which a notifier reaches this listener alone.
fn key_of(
    notifier: &Notifier<FileService>,
    listener: &Listener<FileService>,
) -> Option<ListenerKey> {
    let mut key = None;
    notifier.for_each_listener(|reached, details| {
        if details.listener_id == listener.id() {
            key = Some(reached.listener_key());
            return CallbackProgression::Stop;
        }
        CallbackProgression::Continue
    });
    key
}

struct ShmWaker {
    woken: AtomicBool,
    /// `None` if the inlet polls and reads the flag alone.
    notifier: Option<(Notifier<FileService>, ListenerKey)>,
}

impl ShmWaker {
    /// Returns whether it was used since the last look. Costs one load if it was not, because a spinning
    /// inlet looks again and again.
    fn was_used(&self) -> bool {
        self.woken.load(Ordering::Relaxed) && self.woken.swap(false, Ordering::AcqRel)
    }
}

show_fields!(ShmWaker: woken);

impl Wake for ShmWaker {
    fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        if let Some((notifier, key)) = &self.notifier {
            // A listener that cannot be notified is awake already, or gone.
            let _ = notifier.notify_single_listener_with_custom_event_id(key, EventId::new(WAKE));
        }
    }
}
