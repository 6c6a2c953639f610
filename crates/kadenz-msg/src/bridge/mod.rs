//! A bridge carries the messages of one bus to another: between networks, or between transports.
//!
//! It never carries its own messages back: it recognises them by its own sender, and on a bus that does not
//! distinguish senders, by their content. It refuses two buses that are one, or that another bridge joins already; it
//! detects that by a message on the channel `KADENZ_BRIDGE`.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bridge::{Bridge, BridgeOptions};
//! use kadenz_msg::bus::Bus;
//!
//! let (robot, laptop) = (Bus::open("memq://")?, Bus::open("memq://")?);
//! let mut shown = laptop.aggregator("ARM")?;
//! let options = BridgeOptions { duration: Some(Duration::from_millis(100)), ..BridgeOptions::default() };
//! let mut bridge = Bridge::join(&robot, &laptop, &options)?;
//! robot.publish_bytes("ARM", b"12345678")?;
//! let ways = bridge.carry(&|notice| eprintln!("{notice:?}"));
//! assert_eq!((ways[0].carried, ways[0].bytes), (1, 8));
//! assert!(shown.next_message(Duration::ZERO)?.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod direction;
mod end;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use crate::bus::{Bus, RecvError, SubscribeError};
use crate::provider::{ProviderError, PublishError};
use direction::Direction;
use end::BridgeEnd;

/// The options of a bridge.
#[derive(Debug, Clone)]
pub struct BridgeOptions {
    /// The channels to carry: a name, or a regular expression that matches whole names.
    pub channels: String,
    /// Whether messages of the second bus are carried to the first, too.
    pub both: bool,
    /// The least interval between two messages of a channel; messages in between are held back.
    pub interval: Option<Duration>,
    /// How long to carry; without it until a stop.
    pub duration: Option<Duration>,
    /// Setting it ends the bridge.
    pub stop: Arc<AtomicBool>,
}

impl Default for BridgeOptions {
    /// All channels, in one direction, at any rate, until a stop.
    fn default() -> Self {
        Self {
            channels: ".*".to_owned(),
            both: false,
            interval: None,
            duration: None,
            stop: Arc::default(),
        }
    }
}

/// The reason for which two buses cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The target bus takes no messages.
    #[error("nothing can be carried to {url}: {source}")]
    NoOutlet {
        /// The URL of the bus.
        url: String,
        /// The provider's reason.
        source: ProviderError,
    },
    /// A bus cannot be listened to.
    #[error("cannot listen to {url}")]
    Subscribe {
        /// The URL of the bus.
        url: String,
        /// Why the bus refused the subscription.
        source: SubscribeError,
    },
    /// The target bus did not take the bridge's first message.
    #[error("{url} does not take messages")]
    Greeting {
        /// The URL of the bus.
        url: String,
        /// The provider's reason.
        source: PublishError,
    },
    /// Messages on one bus arrive on the other without this bridge.
    #[error(
        "messages on {from} arrive on {to} already: they are one bus, or another bridge joins them; \
         messages would go round forever"
    )]
    OneBus {
        /// The URL of the bus of the message.
        from: String,
        /// The URL of the bus on which it arrived.
        to: String,
    },
}

/// An event while a bridge carries messages.
#[derive(Debug)]
pub enum BridgeNotice<'a> {
    /// No message has arrived on the bus of this URL for the first two seconds.
    Silence(&'a str),
    /// Nothing can be received at present; the bridge goes on.
    Trouble(RecvError),
    /// The target bus refused a message. Further ones are counted only.
    Refused(PublishError),
}

/// The counts of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Carried {
    /// The URL of the source bus.
    pub from: String,
    /// The URL of the target bus.
    pub to: String,
    /// Messages received from `from`.
    #[cfg_attr(feature = "schema", serde(rename = "heard"))]
    pub received: u64,
    /// Messages that the target bus accepted.
    pub carried: u64,
    /// Total length of their payloads.
    pub bytes: u64,
    /// Messages that this bridge had sent itself.
    pub own: u64,
    /// Messages above the rate limit.
    pub held_back: u64,
    /// Messages that the other bus did not accept.
    pub refused: u64,
    /// Messages that were lost because this bridge was too slow for them.
    #[cfg_attr(feature = "schema", serde(rename = "unheard"))]
    pub missed: u64,
}

impl Carried {
    /// Returns whether messages were refused or missed.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.refused + self.missed > 0
    }
}

/// Two buses that are joined.
#[derive(Debug)]
pub struct Bridge {
    directions: Vec<Direction>,
}

impl Bridge {
    /// Joins two buses, and begins to receive. Unless one of them is a log, it publishes a message on
    /// `KADENZ_BRIDGE` to each target bus and waits for it: up to 0.9 s, or 1.6 s with `both`. A stop does not
    /// shorten that.
    ///
    /// # Errors
    /// [`BridgeError`] if the target bus takes no messages, a bus cannot be listened to, or both are one bus.
    pub fn join(from: &Bus, to: &Bus, options: &BridgeOptions) -> Result<Self, BridgeError> {
        let mut from = BridgeEnd::of(from, options.both)?;
        let mut to = BridgeEnd::of(to, true)?;
        end::greet(&mut from, &mut to)?;
        let outlets = (from.outlet.take(), to.outlet.take());
        let there = outlets.1.map(|it| Direction::open(&from, &to, it, options));
        let back = outlets.0.map(|it| Direction::open(&to, &from, it, options));
        let directions = [there, back].into_iter().flatten();
        Ok(Self {
            directions: directions.collect::<Result<_, _>>()?,
        })
    }

    /// Carries messages until the end, each direction on a thread of its own. Returns the counts of each direction.
    ///
    /// # Panics
    /// If `notify` panics.
    pub fn carry(&mut self, notify: &(dyn Fn(BridgeNotice<'_>) + Sync)) -> Vec<Carried> {
        std::thread::scope(|scope| {
            let directions = self.directions.iter_mut();
            let running: Vec<_> = directions
                .map(|it| scope.spawn(move || it.carry(notify)))
                .collect();
            let carried = running.into_iter().map(ScopedJoinHandle::join);
            carried
                .map(|it| it.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memq() -> Bus {
        Bus::open("memq://").unwrap()
    }

    /// Joins two buses for seconds, which a busy machine may need, publishes messages meanwhile, and returns the counts.
    fn carried(options: BridgeOptions, publish: impl FnOnce(&Bus, &Bus)) -> Vec<Carried> {
        let (from, to) = (memq(), memq());
        let options = BridgeOptions {
            duration: Some(Duration::from_secs(5)),
            ..options
        };
        let mut bridge = Bridge::join(&from, &to, &options).unwrap();
        publish(&from, &to);
        bridge.carry(&|notice| panic!("{notice:?}"))
    }

    #[test]
    fn messages_go_both_ways_and_never_back() {
        let options = BridgeOptions {
            both: true,
            ..BridgeOptions::default()
        };
        let ways = carried(options, |from, to| {
            from.publish_bytes("THERE", b"12345678").unwrap();
            to.publish_bytes("BACK", b"123456789").unwrap();
        });
        let counts = |it: &Carried| (it.carried, it.bytes, it.own);
        assert_eq!(counts(&ways[0]), (1, 8, 1));
        assert_eq!(counts(&ways[1]), (1, 9, 1));
        assert!(!ways[0].is_lossy());
    }

    #[test]
    fn messages_above_the_rate_and_of_other_channels_stay() {
        let options = BridgeOptions {
            channels: "ARM_.*".to_owned(),
            interval: Some(Duration::from_secs(3600)),
            ..BridgeOptions::default()
        };
        let ways = carried(options, |from, _| {
            for channel in ["ARM_LEFT", "ARM_LEFT", "ARM_RIGHT", "LEG"] {
                from.publish_bytes(channel, b"12345678").unwrap();
            }
        });
        let [there] = &ways[..] else {
            panic!("{ways:?}");
        };
        assert_eq!((there.received, there.carried, there.held_back), (3, 2, 1));
    }

    #[test]
    fn one_bus_is_not_joined_with_itself() {
        let bus = memq();
        let refused = Bridge::join(&bus, &bus.clone(), &BridgeOptions::default());
        let refused = refused.unwrap_err();
        assert!(matches!(refused, BridgeError::OneBus { .. }), "{refused}");
        assert!(refused.to_string().contains("one bus"), "{refused}");
    }

    #[test]
    fn buses_that_a_bridge_of_this_process_joins_are_not_joined_again() {
        let (from, to) = (memq(), memq());
        let options = BridgeOptions {
            both: true,
            ..BridgeOptions::default()
        };
        let mut first = Bridge::join(&from, &to, &options).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| first.carry(&|_| {}));
            let second = Bridge::join(&from, &to, &BridgeOptions::default());
            options
                .stop
                .store(true, std::sync::atomic::Ordering::Relaxed);
            let refused = second.unwrap_err();
            assert!(matches!(refused, BridgeError::OneBus { .. }), "{refused}");
        });
    }

    #[test]
    fn a_bridge_ends_when_it_is_stopped() {
        let options = BridgeOptions::default();
        let mut bridge = Bridge::join(&memq(), &memq(), &options).unwrap();
        options
            .stop
            .store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(bridge.carry(&|_| {})[0].received, 0);
    }
}
