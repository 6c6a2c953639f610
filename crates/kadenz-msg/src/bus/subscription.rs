use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::delivery::{Delivery, Incoming, RecvError};
use super::mailbox::{Counters, Envelope, QueuedMessage, WhenFull};
use super::subscription_core::{SubscriptionCore, Waited};
use crate::arrival::{MessageInfo, Stamps};
use crate::channel::Channel;
use crate::codec::DecodeError;
use crate::message::Message;
use crate::sync::Arc;

/// The queue and the contract of a subscription.
///
/// # Real-time safety
/// Real-time safe: plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionOptions {
    /// How many messages may wait; 30 as in LCM.
    pub queue: usize,
    /// The policy for a message for which there is no place.
    pub when_full: WhenFull,
    /// The room of each message at the beginning, in bytes: messages up to this length are received without
    /// any allocation from the first one on.
    pub room: usize,
    /// The limits that the messages must keep.
    pub contract: Contract,
}

impl SubscriptionOptions {
    /// Returns the default options with a queue of `queue` messages.
    #[must_use]
    pub fn with_queue(queue: usize) -> Self {
        Self {
            queue,
            ..Self::default()
        }
    }
}

impl Default for SubscriptionOptions {
    fn default() -> Self {
        Self {
            queue: 30,
            when_full: WhenFull::default(),
            room: 0,
            contract: Contract::default(),
        }
    }
}

/// Receives the messages of one type on the channels that a pattern matches.
///
/// One subscription offers all ways to receive: waiting with a timeout ([`recv`](Self::recv)), one
/// look ([`try_recv`](Self::try_recv)), the newest message and whether it is new
/// ([`latest`](Self::latest)). For a callback on a thread of its own see
/// [`Bus::on_message`](super::Bus::on_message).
///
/// A timeout of zero is one look; [`Duration::MAX`] waits forever.
///
/// # Real-time safety
/// [`recv_into`](Self::recv_into) allocates nothing once the queue's memory has grown to the messages (see
/// [`SubscriptionOptions::room`]), takes only priority-inheriting locks, for the time of one copy, and waits
/// no longer than its timeout. A message for which this thread waited is decoded in place, before anything
/// else of this bus is received. Dropping a subscription waits for the thread that receives at the moment; do
/// that outside of the loop.
#[derive(Debug)]
pub struct Subscription<M> {
    core: SubscriptionCore,
    latest: M,
    about_latest: Option<Delivery>,
    /// The error that the last look met behind the newest message.
    failed: Option<RecvError>,
}

/// The newest message, and whether it was seen before.
#[derive(Debug)]
pub struct Latest<'a, M> {
    /// The newest decoded message.
    pub message: &'a M,
    /// Its sender and its times.
    pub delivery: Delivery,
    /// Whether it arrived since the last look.
    pub is_new: bool,
}

/// Bounds a look that goes on while messages keep arriving.
const MAX_PER_POLL: usize = 100_000;

impl<M: Message + Default> Subscription<M> {
    pub(super) fn new(core: SubscriptionCore) -> Self {
        Self {
            core,
            latest: M::default(),
            about_latest: None,
            failed: None,
        }
    }

    /// Waits for the next message; `None` after the timeout. Allocates the message.
    ///
    /// # Errors
    /// If a message of another type arrived, nothing can be received, or a log has ended. The next call goes
    /// on behind it.
    pub fn recv(&mut self, timeout: Duration) -> Result<Option<Incoming<M>>, RecvError> {
        let mut message = M::default();
        let delivery = self.recv_into(&mut message, timeout)?;
        Ok(delivery.map(|delivery| Incoming { message, delivery }))
    }

    /// Returns the next message, if one is there now.
    ///
    /// # Errors
    /// As [`Subscription::recv`].
    pub fn try_recv(&mut self) -> Result<Option<Incoming<M>>, RecvError> {
        self.recv(Duration::ZERO)
    }

    /// As [`Subscription::recv`], into an existing message, whose memory is reused.
    ///
    /// # Errors
    /// As [`Subscription::recv`]; the message then holds a mixture of old and new members.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub fn recv_into(
        &mut self,
        message: &mut M,
        timeout: Duration,
    ) -> Result<Option<Delivery>, RecvError> {
        let mut decoded = None;
        self.core
            .read(timeout, &mut |envelope, payload, dequeued| {
                let result = message.decode_from(payload);
                let delivery = Delivery::decoded_now(envelope, dequeued);
                decoded = Some((result, delivery));
            })?;
        let Some((result, delivery)) = decoded else {
            return Ok(None);
        };
        self.decoded(result, delivery.channel)?;
        Ok(Some(delivery))
    }

    /// Returns the newest message that has arrived, new or not; `None` before the first. Messages that it
    /// passes over are counted as superseded.
    ///
    /// # Errors
    /// As [`Subscription::recv`].
    ///
    /// # Real-time safety
    /// Real-time safe as [`Subscription::recv_into`].
    pub fn latest(&mut self) -> Result<Option<Latest<'_, M>>, RecvError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut found = 0;
        while found < MAX_PER_POLL {
            match self.core.next(Duration::ZERO) {
                Ok(false) => break,
                Ok(true) => found += 1,
                Err(error) if found == 0 => return Err(error),
                // The message comes first; the error is for the next look.
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
            if found > 1 {
                self.core.mailbox.tallies.superseded.add_one();
            }
        }
        if found > 0 {
            let dequeued = clock::now();
            let QueuedMessage { envelope, payload } = &self.core.message;
            let decoded = self.latest.decode_from(payload);
            let delivery = Delivery::decoded_now(envelope, dequeued);
            self.about_latest = decoded.is_ok().then_some(delivery);
            self.decoded(decoded, delivery.channel)?;
        }
        let message = &self.latest;
        Ok(self.about_latest.map(|delivery| Latest {
            message,
            delivery,
            is_new: found > 0,
        }))
    }

    /// Shows the next message to `visit` in place, before anything is copied, if the queue is empty: for
    /// large messages, if the provider's memory is shared. The payload is the whole encoded message, to be
    /// read with [`crate::codec::Reader`] or a view.
    ///
    /// Returns `None` after the timeout. The contract holds as for all ways to receive; only messages that
    /// became too old are not shown. While `visit` runs, nothing else of this bus is received, and `visit`
    /// must not subscribe on it.
    ///
    /// # Errors
    /// If nothing can be received, or a log has ended.
    pub fn recv_in_place<R>(
        &mut self,
        timeout: Duration,
        mut visit: impl FnMut(&MessageView<'_>) -> R,
    ) -> Result<Option<R>, RecvError> {
        let mut result = None;
        let waited = self.core.next_in_place(timeout, &mut |envelope, payload| {
            result = Some(visit(&MessageView::of(envelope, payload)));
        })?;
        let QueuedMessage { envelope, payload } = &self.core.message;
        match waited {
            Waited::Message => result = Some(visit(&MessageView::of(envelope, payload))),
            Waited::Visited => {}
            Waited::Nothing | Waited::GoOn => return Ok(None),
        }
        self.core.mailbox.tallies.received.add_one();
        Ok(result)
    }

    fn decoded(&self, decoded: Result<(), DecodeError>, channel: Channel) -> Result<(), RecvError> {
        match decoded {
            Ok(()) => {
                self.core.mailbox.tallies.received.add_one();
                Ok(())
            }
            Err(source) => {
                self.core.mailbox.tallies.undecodable.add_one();
                Err(RecvError::Decode { channel, source })
            }
        }
    }

    /// Returns the counters of its messages.
    ///
    /// # Real-time safety
    /// Real-time safe; any thread may read them by [`Subscription::watcher`].
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.core.mailbox.tallies.read()
    }

    /// A way to read the counters from another thread.
    #[must_use]
    pub fn watcher(&self) -> CounterWatcher {
        CounterWatcher::of(&self.core.mailbox)
    }

    /// Returns the time since the last message; `None` before the first.
    #[must_use]
    pub fn silence(&self) -> Option<Duration> {
        self.core.silence()
    }
}

/// Reads a subscription's counters from another thread.
///
/// # Real-time safety
/// Neither allocates. [`CounterWatcher::counters`] takes no lock; [`CounterWatcher::waiting`] takes that of the queue,
/// which inherits priority.
#[derive(Debug, Clone)]
pub struct CounterWatcher(Arc<super::mailbox::Mailbox>);

impl CounterWatcher {
    pub(super) fn of(mailbox: &Arc<super::mailbox::Mailbox>) -> Self {
        Self(Arc::clone(mailbox))
    }

    /// Returns the counters of the messages until now.
    ///
    /// # Real-time safety
    /// Real-time safe.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.0.tallies.read()
    }

    /// Returns how many messages wait in the queue.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

/// A message in the provider's memory.
#[derive(Debug, Clone, Copy)]
pub struct MessageView<'a> {
    /// The channel it was published to.
    pub channel: &'a str,
    /// The whole encoded message.
    pub payload: &'a [u8],
    /// Its sender, number and times.
    pub info: MessageInfo,
}

impl<'a> MessageView<'a> {
    fn of(envelope: &'a Envelope, payload: &'a [u8]) -> Self {
        Self {
            channel: envelope.channel.as_str(),
            payload,
            info: envelope.info,
        }
    }
}

// The limits that a subscription sets on the messages it receives.

/// The limits on a subscription's messages; each breach is counted ([`Counters`](super::Counters)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contract {
    /// The longest span from one message to the next, as they arrive. Longer ones are counted.
    pub deadline: Option<Duration>,
    /// The maximum age of a message when the caller takes it, from the kernel's stamp if there is one. Older
    /// ones are counted and not handed over.
    pub max_age: Option<Duration>,
}

/// The contract's judgement of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judgement {
    /// When the message was taken.
    pub(super) taken: MonotonicTime,
    /// Whether it arrived later after the last one than allowed.
    pub(super) is_missed: bool,
    /// Whether it is too old to be handed over.
    pub(super) is_too_old: bool,
}

impl Contract {
    /// Judges a message that the caller takes now; `last` is the time at which the caller took the one
    /// before.
    pub(super) fn judge(
        &self,
        last: Option<MonotonicTime>,
        stamps: &Stamps,
        now: MonotonicTime,
    ) -> Judgement {
        Judgement {
            taken: stamps.taken,
            is_missed: self.missed(last, stamps.taken),
            is_too_old: self.too_old(stamps.kernel.unwrap_or(stamps.taken), now),
        }
    }

    fn missed(&self, last: Option<MonotonicTime>, this: MonotonicTime) -> bool {
        let (Some(deadline), Some(last)) = (self.deadline, last) else {
            return false;
        };
        this.remaining(last) > deadline
    }

    fn too_old(&self, came: MonotonicTime, now: MonotonicTime) -> bool {
        self.max_age.is_some_and(|most| now.remaining(came) > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * MS)
    }

    #[test]
    fn a_span_is_missed_when_it_is_longer_than_the_deadline() {
        let contract = Contract {
            deadline: Some(Duration::from_millis(2)),
            ..Contract::default()
        };
        assert!(!contract.missed(None, at(100)));
        assert!(!contract.missed(Some(at(8)), at(10)));
        assert!(contract.missed(Some(at(7)), at(10)));
        assert!(!Contract::default().missed(Some(at(0)), at(10)));
    }

    #[test]
    fn a_message_is_too_old_when_it_waited_longer_than_allowed() {
        let contract = Contract {
            max_age: Some(Duration::from_millis(5)),
            ..Contract::default()
        };
        assert!(!contract.too_old(at(5), at(10)));
        assert!(contract.too_old(at(4), at(10)));
        assert!(!contract.too_old(at(11), at(10)), "stamped after the look");
    }
}
