//! What became of messages, as JSON.

use kadenz_record::run::messages::{Messages, Subscriber};
use serde::Serialize;

use crate::verdict::messages;

/// What a measurement of messages counted; times stand in its series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessagesOutput {
    /// The counts in words.
    pub answer: String,
    /// The bus, as its URL.
    pub url: String,
    /// Bytes of an encoded message.
    pub message_bytes: u64,
    /// Messages that were published.
    pub published: u64,
    /// Of these, messages that the provider did not take.
    pub refused: u64,
    /// What became of them, by subscriber.
    pub subscribers: Vec<SubscriberOutput>,
}

/// What became of the messages to one subscriber.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubscriberOutput {
    /// Its name, also the prefix of its series where there are several.
    pub name: String,
    /// Messages received, each counted once.
    pub received: u64,
    /// Messages that never came.
    pub lost: u64,
    /// One-sided 95 % upper bound of the share that is lost (Clopper and Pearson).
    pub loss_upper_bound_95: f64,
    /// Messages that had come before.
    pub duplicates: u64,
    /// Messages that came after a later one.
    pub reordered: u64,
    /// Most messages lost in a row.
    pub longest_loss: u64,
    /// Messages for which its queue had no room.
    pub dropped: u64,
    /// What the kernel or the transport threw away because nobody fetched it.
    pub overrun: u64,
    /// Messages of which parts came and others did not.
    pub incomplete: u64,
    /// Messages that held something else than was published.
    pub damaged: u64,
    /// What came on the channel and was not of this measurement.
    pub foreign: u64,
}

impl MessagesOutput {
    pub(super) fn new(counted: &Messages) -> Self {
        let subscribers = counted.subscribers.iter();
        Self {
            answer: messages::answer(counted),
            url: counted.url.clone(),
            message_bytes: counted.message_bytes,
            published: counted.published,
            refused: counted.refused,
            subscribers: subscribers
                .map(|it| SubscriberOutput::new(counted, it))
                .collect(),
        }
    }
}

impl SubscriberOutput {
    fn new(counted: &Messages, subscriber: &Subscriber) -> Self {
        Self {
            name: subscriber.name.clone(),
            received: subscriber.received,
            lost: subscriber.lost,
            loss_upper_bound_95: messages::loss_bound(counted, subscriber),
            duplicates: subscriber.duplicates,
            reordered: subscriber.reordered,
            longest_loss: subscriber.longest_loss,
            dropped: subscriber.dropped,
            overrun: subscriber.overrun,
            incomplete: subscriber.incomplete,
            damaged: subscriber.damaged,
            foreign: subscriber.foreign,
        }
    }
}
