//! Determines which programs live, are late, dead, or started again.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//! use kadenz_msg::service::heartbeat::{Event, HeartbeatOptions};
//!
//! let bus = Bus::open("memq://")?;
//! let mut nodes = bus.watch_nodes(&HeartbeatOptions::default())?;
//! let mut heart = bus.heartbeat("arm", Duration::from_millis(100))?;
//! heart.beat()?; // from the program's loop
//! let happened = nodes.next_event(Duration::from_secs(5))?.expect("it beats");
//! assert_eq!((happened.name.as_str(), happened.event), ("arm", Event::Appeared));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All beats go to the channel `KADENZ/HEARTBEAT`.

mod publisher;
mod watch;

use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use crate::bus::{Bus, RecvError, SubscribeError, Subscription, SubscriptionOptions};
use crate::channel::MAX_CHANNEL;
use crate::service::cut;
use crate::service::messages::Heartbeat;
pub use publisher::{HeartbeatError, HeartbeatPublisher, HeartbeatThread};
pub use watch::{Event, HeartbeatOptions, HeartbeatWatch, Liveness, Node};

/// The channel of all beats.
pub const CHANNEL: &str = "KADENZ/HEARTBEAT";

/// The maximum number of waiting beats.
const QUEUE: usize = 1000;

/// Waiting beats are read before a node is called late; but if they arrive faster than they are read for so
/// long, no beat waits from before, and the look is due nevertheless.
const MAX_POLL_GAP: Duration = Duration::from_secs(1);

/// The maximum number of waiting events, of many nodes that died at once; [`Nodes::watch`] has the others.
const MAX_EVENTS: usize = 10_000;

/// The nodes of a bus.
#[derive(Debug)]
pub struct Nodes {
    beats: Subscription<Heartbeat>,
    beat: Heartbeat,
    watch: HeartbeatWatch,
    /// How long beats have been read while a look was due.
    starved: Duration,
    waiting: std::collections::VecDeque<NodeEvent>,
}

/// An event with its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    /// The node's name.
    pub name: String,
    /// What happened to the node.
    pub event: Event,
}

impl Bus {
    /// Watches the heartbeats of all programs on this bus.
    ///
    /// # Errors
    /// As [`Bus::subscribe`].
    pub fn watch_nodes(&self, options: &HeartbeatOptions) -> Result<Nodes, SubscribeError> {
        let queue = SubscriptionOptions::with_queue(QUEUE);
        Ok(Nodes {
            beats: self.subscribe_with(CHANNEL, &queue)?,
            beat: Heartbeat::default(),
            watch: HeartbeatWatch::new(*options),
            starved: Duration::ZERO,
            waiting: std::collections::VecDeque::new(),
        })
    }
}

impl Nodes {
    /// Waits for the next event of a node; `None` after the timeout. Waiting beats are read in any case, up
    /// to a thousand, also if the timeout is zero. Allocates the event.
    ///
    /// # Errors
    /// If nothing can be received.
    pub fn next_event(&mut self, timeout: Duration) -> Result<Option<NodeEvent>, RecvError> {
        let until = clock::now() + timeout;
        for received in 1_usize.. {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            let now = clock::now();
            let next = self.watch.next_look().map_or(until, |it| it.min(until));
            match self.beats.recv_into(&mut self.beat, next.remaining(now)) {
                Ok(Some(delivery)) => {
                    self.receive(delivery.info.stamps.taken);
                    self.poll_if_starved(now, next);
                }
                Err(RecvError::Decode { .. }) => self.poll_if_starved(now, next),
                // Waiting beats come first: a caller that is late itself must not call others late.
                Ok(None) => {
                    self.look();
                    if self.waiting.is_empty() && clock::now() >= until {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
            if received >= QUEUE && self.waiting.is_empty() && clock::now() >= until {
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn poll_if_starved(&mut self, now: MonotonicTime, due: MonotonicTime) {
        let heard_at = clock::now();
        if heard_at < due {
            return;
        }
        self.starved += heard_at.remaining(now);
        if self.starved > MAX_POLL_GAP {
            self.look();
        }
    }

    /// Returns the state of all nodes.
    #[must_use]
    pub fn watch(&self) -> &HeartbeatWatch {
        &self.watch
    }

    fn receive(&mut self, at: MonotonicTime) {
        if let Some(event) = self.watch.add(&self.beat, at) {
            let name = cut(&self.beat.name, MAX_CHANNEL).to_owned();
            self.waiting.push_back(NodeEvent { name, event });
        }
    }

    fn look(&mut self) {
        self.starved = Duration::ZERO;
        let waiting = &mut self.waiting;
        self.watch.look(clock::now(), |node: &Node, event| {
            if waiting.len() < MAX_EVENTS {
                let name = node.name.clone();
                waiting.push_back(NodeEvent { name, event });
            }
        });
    }
}
