//! One direction of a bridge.

use std::sync::{Arc, Mutex};

use kadenz_rt::clock;

use super::end::{BridgeEnd, PROBE_CHANNEL};
use super::{BridgeError, BridgeNotice, BridgeOptions, Carried};
use crate::arrival::SenderId;
use crate::bus::{Bus, BusListener, ListenerEvent, Raw};
use crate::provider::Outlet;
use crate::watch::{EchoFilter, Throttle};

/// The most channels with a rate limit of their own.
const MAX_CHANNELS: usize = 10_000;

/// A bridge from one bus to another, in one direction.
#[derive(Debug)]
pub(super) struct Direction {
    bus: Bus,
    listener: BusListener,
    relay: Relay,
}

/// What happens to a message, which the listener lends.
#[derive(Debug)]
struct Relay {
    outlet: Box<dyn Outlet>,
    /// The bridge's own sender on the source bus.
    own: Option<SenderId>,
    /// The message by which the bridge found it. That of another bridge is carried, so that it detects this one.
    greeting: Vec<u8>,
    /// Messages that the bridge sent to the source bus.
    sent_here: Arc<Mutex<EchoFilter>>,
    /// Messages sent to the target bus; `None` where no direction needs them.
    sent_there: Option<Arc<Mutex<EchoFilter>>>,
    throttle: Option<Throttle>,
    carried: Carried,
}

impl Direction {
    /// Begins to receive.
    pub(super) fn open(
        from: &BridgeEnd,
        to: &BridgeEnd,
        outlet: Box<dyn Outlet>,
        options: &BridgeOptions,
    ) -> Result<Self, BridgeError> {
        let stop = Arc::clone(&options.stop);
        let url = from.bus.url().to_owned();
        let listener = BusListener::open(&from.bus, &options.channels, options.duration, stop);
        let listener = listener.map_err(|source| BridgeError::Subscribe {
            url: url.clone(),
            source,
        })?;
        let are_recognised = options.both && to.own.is_none();
        let throttle = |interval| Throttle::new(interval, MAX_CHANNELS);
        Ok(Self {
            bus: from.bus.clone(),
            listener,
            relay: Relay {
                outlet,
                own: from.own,
                greeting: from.greeting.clone(),
                sent_here: Arc::clone(&from.sent),
                sent_there: are_recognised.then(|| Arc::clone(&to.sent)),
                throttle: options.interval.map(throttle),
                carried: Carried {
                    from: url,
                    to: to.bus.url().to_owned(),
                    ..Carried::default()
                },
            },
        })
    }

    /// Carries messages until the end.
    pub(super) fn carry(&mut self, notify: &dyn Fn(BridgeNotice<'_>)) -> Carried {
        loop {
            match self.listener.next(None) {
                ListenerEvent::Message(raw) => self.relay.carry(&raw, notify),
                ListenerEvent::Nothing => {}
                ListenerEvent::Silence => notify(BridgeNotice::Silence(self.bus.url())),
                ListenerEvent::Trouble(error) => notify(BridgeNotice::Trouble(error)),
                ListenerEvent::End => break,
            }
        }
        let counters = self.listener.counters();
        let dropped = counters.dropped_oldest + counters.dropped_newest;
        Carried {
            missed: dropped + self.bus.inlet_counters().overrun,
            ..self.relay.carried.clone()
        }
    }
}

impl Relay {
    fn carry(&mut self, raw: &Raw<'_>, notify: &dyn Fn(BridgeNotice<'_>)) {
        self.carried.received += 1;
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
        match self.outlet.publish(&raw.channel, raw.payload) {
            Ok(()) => {
                self.carried.carried += 1;
                self.carried.bytes += raw.payload.len() as u64;
            }
            Err(error) => {
                if self.carried.refused == 0 {
                    notify(BridgeNotice::Refused(error));
                }
                self.carried.refused += 1;
            }
        }
    }

    fn is_own(&self, raw: &Raw<'_>) -> bool {
        if raw.channel.as_str() == PROBE_CHANNEL && raw.payload == self.greeting {
            return true;
        }
        match self.own {
            Some(own) => raw.delivery.info.source.sender == own,
            None => match self.sent_here.lock() {
                Ok(mut sent) => sent.recognises(raw.channel.as_str(), raw.payload, clock::now()),
                Err(_) => false,
            },
        }
    }
}
