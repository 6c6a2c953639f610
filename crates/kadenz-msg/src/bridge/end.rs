//! How a bridge learns its own sender on each bus, and that the two buses differ.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallTime};

use super::BridgeError;
use crate::arrival::SenderId;
use crate::bus::{Aggregator, Bus};
use crate::channel::Channel;
use crate::provider::{Discovery, Outlet};
use crate::watch::EchoFilter;

/// Channel on which a bridge finds its own messages.
pub(super) const PROBE_CHANNEL: &str = "KADENZ_BRIDGE";
/// How long a bridge waits for its own message.
const GREETING_TIMEOUT: Duration = Duration::from_millis(500);
/// How long peers have to find each other before that.
const SETTLE: Duration = Duration::from_millis(200);
/// Pause after a failed receive.
const RETRY: Duration = Duration::from_millis(10);
/// How long the bridge remembers messages that may return.
const REMEMBERED: Duration = Duration::from_secs(1);
/// The most remembered messages.
const MAX_REMEMBERED: usize = 65_536;

/// One end of a bridge.
#[derive(Debug)]
pub(super) struct BridgeEnd {
    pub(super) bus: Bus,
    discovery: Discovery,
    /// Outlet for the messages carried to this bus; `None` where none are carried here.
    pub(super) outlet: Option<Box<dyn Outlet>>,
    /// The bridge's own sender on this bus, where it is known.
    pub(super) own: Option<SenderId>,
    /// The message by which the bridge found it; empty if it published none here.
    pub(super) greeting: Vec<u8>,
    /// Messages that the bridge sent here.
    pub(super) sent: Arc<Mutex<EchoFilter>>,
}

impl BridgeEnd {
    pub(super) fn of(bus: &Bus, is_target: bool) -> Result<Self, BridgeError> {
        let outlet = is_target.then(|| bus.outlet()).transpose();
        Ok(Self {
            discovery: bus.guarantees().discovery,
            outlet: outlet.map_err(|source| BridgeError::NoOutlet {
                url: bus.url().to_owned(),
                source,
            })?,
            own: None,
            greeting: Vec::new(),
            sent: Arc::new(Mutex::new(EchoFilter::new(REMEMBERED, MAX_REMEMBERED))),
            bus: bus.clone(),
        })
    }

    fn is_log(&self) -> bool {
        self.discovery == Discovery::File
    }

    /// Whether the bus distinguishes senders: behind a server all messages come from the server.
    fn distinguishes_senders(&self) -> bool {
        !matches!(self.discovery, Discovery::Server | Discovery::File)
    }

    fn listen(&self) -> Result<Aggregator, BridgeError> {
        let mut aggregator = self.bus.aggregator(PROBE_CHANNEL);
        if let Ok(aggregator) = &mut aggregator {
            // The first read opens an inlet that opens late, so that it receives the message.
            let _ = aggregator.next_message(Duration::ZERO);
        }
        aggregator.map_err(|source| BridgeError::Subscribe {
            url: self.bus.url().to_owned(),
            source,
        })
    }

    fn publish(&mut self, greeting: &[u8]) -> Result<(), BridgeError> {
        let (Some(outlet), Ok(channel)) = (&mut self.outlet, Channel::new(PROBE_CHANNEL)) else {
            return Ok(());
        };
        let published = outlet.publish(&channel, greeting);
        published.map_err(|source| BridgeError::Greeting {
            url: self.bus.url().to_owned(),
            source,
        })
    }
}

/// Publishes a unique message on each target bus, and listens on both: its sender is the bridge itself, and if it
/// arrives on the other bus, the two buses are one.
pub(super) fn greet(from: &mut BridgeEnd, to: &mut BridgeEnd) -> Result<(), BridgeError> {
    if from.is_log() || to.is_log() {
        // A log receives no messages, and listening to it would play it.
        return Ok(());
    }
    let (mut on_from, mut on_to) = (from.listen()?, to.listen()?);
    let is_multicast = |it: &BridgeEnd| it.discovery == Discovery::Multicast;
    if !is_multicast(from) || !is_multicast(to) {
        std::thread::sleep(SETTLE);
    }
    find(to, from, &mut on_to, &mut on_from)?;
    if from.outlet.is_some() {
        find(from, to, &mut on_from, &mut on_to)?;
    }
    Ok(())
}

fn find(
    here: &mut BridgeEnd,
    there: &BridgeEnd,
    on_here: &mut Aggregator,
    on_there: &mut Aggregator,
) -> Result<(), BridgeError> {
    // No other program sends this payload, nor this one a second time.
    let (wall, now) = (WallTime::now().as_unix_ns(), clock::now());
    let process = std::process::id();
    let greeting = format!("kadenz bridge {process} {wall} {}", now.as_ns()).into_bytes();
    here.publish(&greeting)?;
    here.greeting.clone_from(&greeting);
    let sender = receive_greeting(on_here, &greeting, clock::now() + GREETING_TIMEOUT);
    here.own = sender.filter(|_| here.distinguishes_senders());
    // Through another bridge it arrives a little later.
    let further = sender.map_or(Duration::ZERO, |_| SETTLE);
    match receive_greeting(on_there, &greeting, clock::now() + further) {
        None => Ok(()),
        Some(_) => Err(BridgeError::OneBus {
            from: here.bus.url().to_owned(),
            to: there.bus.url().to_owned(),
        }),
    }
}

/// Returns the sender of the message, if it arrives before this time.
fn receive_greeting(
    aggregator: &mut Aggregator,
    greeting: &[u8],
    until: MonotonicTime,
) -> Option<SenderId> {
    loop {
        let wait = until.remaining(clock::now());
        match aggregator.next_message(wait) {
            Ok(Some(raw)) if raw.payload == greeting => {
                return Some(raw.delivery.info.source.sender);
            }
            Ok(Some(_)) => {}
            Ok(None) => return None,
            // The peer may not be there yet.
            Err(_) if wait.is_zero() => return None,
            Err(_) => std::thread::sleep(wait.min(RETRY)),
        }
    }
}
