//! A run's facts about messages: the subscribers, and the counts of all messages.

use serde::{Deserialize, Serialize};

/// Name of the series: the time from a message's beat until it was received and decoded.
pub const ONE_WAY: &str = "one-way";
/// Name of the series: the time from a message's publishing until it was received and decoded.
pub const ONE_WAY_FROM_SEND: &str = "one-way-from-send";
/// Name of the series: the time from a message's beat until it was published.
pub const PUBLISH_LATENESS: &str = "publish-lateness";
/// Name of the series: the duration of the call that published.
pub const PUBLISH: &str = "publish";
/// Name of the series: from the kernel's stamp until the inlet held the message whole.
pub const KERNEL_TO_INLET: &str = "kernel-to-inlet";
/// Name of the series: from then until the thread took the message out of its queue.
pub const QUEUE: &str = "queue";
/// Name of the series: decoding.
pub const DECODE: &str = "decode";

/// The counts of a measurement of messages, beside the times in its series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    /// The bus, as its URL.
    pub url: String,
    /// How long an encoded message is, in bytes, without what the transport adds.
    pub message_bytes: u64,
    /// Messages that were published, without those for warming up.
    pub published: u64,
    /// Messages that the provider did not take.
    #[serde(default)]
    pub refused: u64,
    /// The subscribers, in the order in which they should be shown.
    #[serde(default)]
    pub subscribers: Vec<Subscriber>,
}

/// The counts of the messages to one subscriber.
///
/// `published = received + lost` when the run is complete; `dropped`, `overrun` and `incomplete` count a part of
/// the messages lost here, the rest was lost on the way. Duplicates change neither.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subscriber {
    /// Its name, also the prefix of its series where there are several.
    pub name: String,
    /// Messages that it received, each counted once.
    pub received: u64,
    /// Messages that it did not receive.
    pub lost: u64,
    /// Messages that it had received before.
    #[serde(default)]
    pub duplicates: u64,
    /// Messages that came after a later one (RFC 4737, section 3).
    #[serde(default)]
    pub reordered: u64,
    /// Most messages lost in a row.
    #[serde(default)]
    pub longest_loss: u64,
    /// Messages for which its queue had no room.
    #[serde(default)]
    pub dropped: u64,
    /// What the kernel or the transport dropped because the subscriber did not fetch it, as far as it reports that.
    #[serde(default)]
    pub overrun: u64,
    /// Messages of which parts came and others did not.
    #[serde(default)]
    pub incomplete: u64,
    /// Messages that came and held something else than was published.
    #[serde(default)]
    pub damaged: u64,
    /// Messages that came on the channel and did not belong to this measurement.
    #[serde(default)]
    pub foreign: u64,
}

impl Subscriber {
    /// The name of one of its series: `one-way`, or `subscriber-2.one-way` where there are several.
    ///
    /// ```
    /// use kadenz_record::run::messages::Subscriber;
    /// let subscriber = Subscriber { name: "subscriber-2".into(), ..Subscriber::default() };
    /// assert_eq!(subscriber.series("one-way", 1), "one-way");
    /// assert_eq!(subscriber.series("one-way", 5), "subscriber-2.one-way");
    /// ```
    #[must_use]
    pub fn series(&self, value: &str, subscribers: usize) -> String {
        if subscribers == 1 {
            value.to_owned()
        } else {
            format!("{}.{value}", self.name)
        }
    }
}
