use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::{Aggregator, Bus, Counters, Raw, RecvError, SubscribeError, SubscriptionOptions};

/// Messages that may wait while the caller works on one.
const QUEUE: usize = 1000;
/// Interval at which a stop is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time without a message after which silence is reported.
const SILENCE: Duration = Duration::from_secs(2);

/// Receives the messages of many channels until a time has passed, a stop is requested, or a log has ended.
///
/// ```
/// use std::time::Duration;
/// use kadenz_msg::bus::{Bus, BusListener, ListenerEvent};
///
/// let bus = Bus::open("memq://")?;
/// let stop = Default::default();
/// let mut listener = BusListener::open(&bus, ".*", Some(Duration::from_millis(50)), stop)?;
/// bus.publish_bytes("FEEDBACK", b"12345678")?;
/// let mut count = 0;
/// loop {
///     match listener.next(None) {
///         ListenerEvent::Message(_) => count += 1,
///         ListenerEvent::End => break,
///         ListenerEvent::Nothing | ListenerEvent::Silence | ListenerEvent::Trouble(_) => {}
///     }
/// }
/// assert_eq!(count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Not real-time safe: it is for tools.
#[derive(Debug)]
pub struct BusListener {
    aggregator: Aggregator,
    stop: Arc<AtomicBool>,
    until: Option<MonotonicTime>,
    /// Since when there was no message, until that is reported.
    silent_since: Option<MonotonicTime>,
    trouble: Option<RecvError>,
}

/// The result of a wait for a message.
#[derive(Debug)]
pub enum ListenerEvent<'a> {
    /// A message, lent until the next call.
    Message(Raw<'a>),
    /// No message for a while.
    Nothing,
    /// No message has arrived for the first two seconds. It is reported once.
    Silence,
    /// Nothing can be received at present; the listener goes on. Each error is reported when it begins.
    Trouble(RecvError),
    /// The time has passed, a stop was requested, or no further message will come.
    End,
}

impl BusListener {
    /// Begins to receive the channels whose whole name the pattern matches; the duration counts from now on, and
    /// setting `stop` ends it as well.
    ///
    /// # Errors
    /// As [`Bus::aggregator`].
    pub fn open(
        bus: &Bus,
        pattern: &str,
        duration: Option<Duration>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, SubscribeError> {
        let aggregator = bus.aggregator_with(pattern, &SubscriptionOptions::with_queue(QUEUE))?;
        let now = clock::now();
        Ok(Self {
            aggregator,
            stop,
            until: duration.map(|span| now + span),
            silent_since: Some(now),
            trouble: None,
        })
    }

    /// Waits for a message, for a tenth of a second and until the given time at most.
    pub fn next(&mut self, before: Option<MonotonicTime>) -> ListenerEvent<'_> {
        let now = clock::now();
        if self.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| now >= until) {
            return ListenerEvent::End;
        }
        if self.is_silent_too_long(now) {
            self.silent_since = None;
            return ListenerEvent::Silence;
        }
        let ends = [self.until, before].into_iter().flatten();
        let wait = ends
            .map(|end| end.remaining(now))
            .fold(POLL_INTERVAL, Duration::min);
        match self.aggregator.next_message(wait) {
            Ok(Some(raw)) => {
                self.silent_since = None;
                ListenerEvent::Message(raw)
            }
            Ok(None) => ListenerEvent::Nothing,
            Err(RecvError::Ended) => ListenerEvent::End,
            Err(error) => {
                std::thread::sleep(wait);
                if self.trouble.as_ref() == Some(&error) {
                    return ListenerEvent::Nothing;
                }
                self.trouble = Some(error.clone());
                ListenerEvent::Trouble(error)
            }
        }
    }

    fn is_silent_too_long(&self, now: MonotonicTime) -> bool {
        self.silent_since
            .is_some_and(|since| now.remaining(since) >= SILENCE)
    }

    /// Returns whether no message has arrived, and silence was not reported yet.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.silent_since.is_some()
    }

    /// Reports no silence.
    pub fn ignore_silence(&mut self) {
        self.silent_since = None;
    }

    /// Returns the counters of the messages received here.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.aggregator.counters()
    }
}
