//! How a bridge learns its own sender on each bus, and that the two buses differ.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use kadenz::msg::arrival::SenderId;
use kadenz::msg::bus::{Aggregator, Bus};
use kadenz::msg::channel::Channel;
use kadenz::msg::provider::{Discovery, Outlet};
use kadenz::msg::watch::EchoFilter;
use kadenz::rt::clock::{self, MonotonicTime, WallTime};

use super::{MAX_REMEMBERED, REMEMBERED, open};

/// Channel on which a bridge finds its own messages.
pub(super) const MEETING: &str = "KADENZ_BRIDGE";
/// How long a bridge waits for its own message.
const TIMEOUT: Duration = Duration::from_millis(500);
/// How long peers have to find each other before that.
const SETTLE: Duration = Duration::from_millis(200);

/// One end of the bridge.
pub(super) struct Shore {
    pub(super) bus: Bus,
    discovery: Discovery,
    /// Outlet for the messages carried to this bus; `None` where none are carried here.
    pub(super) outlet: Option<Arc<Mutex<Box<dyn Outlet>>>>,
    /// Why nothing can be carried to this bus.
    pub(super) trouble: Option<String>,
    /// The bridge's own sender on this bus, where it is known.
    pub(super) own: Option<SenderId>,
    /// Messages that the bridge sent here.
    pub(super) sent: Arc<Mutex<EchoFilter>>,
}

impl Shore {
    pub(super) fn open(url: &str) -> anyhow::Result<Self> {
        let (bus, provider) = open(url)?;
        let (outlet, trouble) = match provider.outlet() {
            Ok(outlet) => (Some(outlet), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Self {
            discovery: bus.guarantees().discovery,
            outlet: outlet.map(|outlet| Arc::new(Mutex::new(outlet))),
            trouble,
            own: None,
            sent: Arc::new(Mutex::new(EchoFilter::new(REMEMBERED, MAX_REMEMBERED))),
            bus,
        })
    }

    /// Whether the bus distinguishes senders: behind a server all messages come from the server.
    fn distinguishes_senders(&self) -> bool {
        !matches!(self.discovery, Discovery::Server | Discovery::File)
    }

    fn say(&self, word: &[u8]) -> anyhow::Result<()> {
        let Some(outlet) = &self.outlet else {
            return Ok(());
        };
        let mut outlet = outlet
            .lock()
            .map_err(|_| anyhow::anyhow!("a thread failed"))?;
        let said = outlet.publish(&Channel::new(MEETING)?, word);
        said.with_context(|| format!("{} does not take messages", self.bus.url()))
    }
}

/// Publishes a unique message on each target bus, and listens on both: its sender is the bridge itself, and if it
/// arrives on the other bus, the two buses are one.
pub(super) fn meet(a: &mut Shore, b: &mut Shore, both: bool) -> anyhow::Result<()> {
    let is_log = |it: &Shore| it.discovery == Discovery::File;
    if is_log(a) || is_log(b) {
        // A log receives no messages, and listening to it would play it.
        return Ok(());
    }
    let mut on_a = a.bus.aggregator(MEETING)?;
    let mut on_b = b.bus.aggregator(MEETING)?;
    // The first read opens inlets that open late, so that they receive the message.
    let _ = (
        on_a.next_message(Duration::ZERO),
        on_b.next_message(Duration::ZERO),
    );
    if a.discovery != Discovery::Multicast || b.discovery != Discovery::Multicast {
        std::thread::sleep(SETTLE);
    }
    let word = word("b");
    b.say(&word)?;
    find(b, a, &word, &mut on_b, &mut on_a)?;
    if both {
        let word = self::word("a");
        a.say(&word)?;
        find(a, b, &word, &mut on_a, &mut on_b)?;
    }
    Ok(())
}

/// A payload that no other program sends.
fn word(side: &str) -> Vec<u8> {
    let (wall, now) = (WallTime::now().as_unix_ns(), clock::now().as_ns());
    format!("kadenz bridge {} {side} {wall} {now}", std::process::id()).into_bytes()
}

fn find(
    here: &mut Shore,
    there: &Shore,
    word: &[u8],
    on_here: &mut Aggregator,
    on_there: &mut Aggregator,
) -> anyhow::Result<()> {
    let until = clock::now() + TIMEOUT;
    while clock::now() < until {
        if let Some(sender) = heard(on_here, word, until) {
            here.own = here.distinguishes_senders().then_some(sender);
            // Through another bridge it arrives a little later.
            anyhow::ensure!(
                heard(on_there, word, clock::now() + SETTLE).is_none(),
                one_bus(here, there)
            );
            return Ok(());
        }
    }
    anyhow::ensure!(
        heard(on_there, word, clock::now()).is_none(),
        one_bus(here, there)
    );
    Ok(())
}

fn one_bus(here: &Shore, there: &Shore) -> String {
    format!(
        "messages on {} arrive on {} already: they are one bus, or another bridge joins them; \
         messages would go round forever",
        here.bus.url(),
        there.bus.url()
    )
}

/// Returns the sender of the message, if it arrives before this time.
fn heard(aggregator: &mut Aggregator, word: &[u8], until: MonotonicTime) -> Option<SenderId> {
    loop {
        let wait = until.remaining(clock::now());
        match aggregator.next_message(wait) {
            Ok(Some(raw)) if raw.payload == word => return Some(raw.delivery.sender),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}
