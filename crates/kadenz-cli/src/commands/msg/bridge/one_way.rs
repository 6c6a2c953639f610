//! One direction of a bridge.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz::msg::arrival::SenderId;
use kadenz::msg::bus::Raw;
use kadenz::msg::provider::Outlet;
use kadenz::msg::watch::{EchoFilter, Throttle};
use kadenz::rt::clock;
use schemars::JsonSchema;
use serde::Serialize;

use super::meeting::{MEETING, Shore};
use crate::commands::msg::bus::{Came, Ears};
use crate::output;

/// The most channels with a rate limit of their own.
const MAX_CHANNELS: usize = 10_000;

/// Counts of one direction.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub(super) struct Carried {
    pub(super) from: String,
    pub(super) to: String,
    /// Messages received from `from`.
    pub(super) heard: u64,
    pub(super) carried: u64,
    /// Total length of their payloads.
    pub(super) bytes: u64,
    /// Messages that this bridge had sent itself.
    pub(super) own: u64,
    /// Messages above the rate limit.
    pub(super) held_back: u64,
    /// Messages that the other bus did not accept.
    pub(super) refused: u64,
    /// Messages that were lost because this bridge was too slow for them.
    pub(super) unheard: u64,
}

/// A bridge from one bus to another, in one direction.
pub(super) struct OneWayBridge {
    ears: Ears,
    way: Way,
}

/// Processing of messages on their way; `Ears` lends each message.
struct Way {
    outlet: Arc<Mutex<Box<dyn Outlet>>>,
    own: Option<SenderId>,
    /// Messages sent to the source bus of this direction.
    sent_here: Arc<Mutex<EchoFilter>>,
    /// Messages sent to the target bus; `None` where no direction needs them.
    sent_there: Option<Arc<Mutex<EchoFilter>>>,
    throttle: Option<Throttle>,
    carried: Carried,
}

impl OneWayBridge {
    pub(super) fn new(
        ears: Ears,
        from: &Shore,
        to: &Shore,
        outlet: Arc<Mutex<Box<dyn Outlet>>>,
        interval: Option<Duration>,
        both: bool,
    ) -> Self {
        let is_asked_for = both && to.own.is_none();
        let way = Way {
            outlet,
            own: from.own,
            sent_here: Arc::clone(&from.sent),
            sent_there: is_asked_for.then(|| Arc::clone(&to.sent)),
            throttle: interval.map(|interval| Throttle::new(interval, MAX_CHANNELS)),
            carried: Carried {
                from: from.bus.url().to_owned(),
                to: to.bus.url().to_owned(),
                ..Carried::default()
            },
        };
        Self { ears, way }
    }

    /// Carries messages until the end.
    pub(super) fn carry(&mut self) -> Carried {
        loop {
            match self.ears.next(None) {
                Came::Message(raw) => self.way.carry(&raw),
                Came::Nothing => {}
                Came::End => break,
            }
        }
        let counters = self.ears.counters();
        let inlet = self.ears.bus.inlet_counters();
        let dropped = counters.dropped_oldest + counters.dropped_newest;
        Carried {
            unheard: dropped + inlet.overrun,
            ..self.way.carried.clone()
        }
    }
}

impl Way {
    fn carry(&mut self, raw: &Raw<'_>) {
        self.carried.heard += 1;
        if self.is_own(raw) {
            self.carried.own += 1;
            return;
        }
        let now = clock::now();
        let throttle = self.throttle.as_mut();
        if throttle.is_some_and(|throttle| !throttle.passes(raw.channel, now)) {
            self.carried.held_back += 1;
            return;
        }
        if let Some(Ok(mut sent)) = self.sent_there.as_deref().map(Mutex::lock) {
            sent.remember(raw.channel.as_str(), raw.payload, now);
        }
        let Ok(mut outlet) = self.outlet.lock() else {
            return;
        };
        match outlet.publish(&raw.channel, raw.payload) {
            Ok(()) => {
                self.carried.carried += 1;
                self.carried.bytes += raw.payload.len() as u64;
            }
            Err(error) => {
                if self.carried.refused == 0 {
                    output::note(&format!("{error}; more are counted only"));
                }
                self.carried.refused += 1;
            }
        }
    }

    fn is_own(&self, raw: &Raw<'_>) -> bool {
        let mine = format!("kadenz bridge {} ", std::process::id());
        if raw.channel.as_str() == MEETING && raw.payload.starts_with(mine.as_bytes()) {
            return true;
        }
        match self.own {
            Some(own) => raw.delivery.sender == own,
            None => match self.sent_here.lock() {
                Ok(mut sent) => sent.recognises(raw.channel.as_str(), raw.payload, clock::now()),
                Err(_) => false,
            },
        }
    }
}
