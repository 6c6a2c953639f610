//! How a bridge learns who it is on each bus, and that the two are not one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use kadenz::msg::arrival::SenderId;
use kadenz::msg::bus::{Aggregator, Bus};
use kadenz::msg::channel::Channel;
use kadenz::msg::provider::{Discovery, Outlet};
use kadenz::msg::watch::TurnedBack;
use kadenz::rt::clock::{self, MonotonicTime, WallTime};

use super::{MAX_REMEMBERED, REMEMBERED, open};

/// The channel by which a bridge finds itself.
pub(super) const MEETING: &str = "KADENZ_BRIDGE";
/// How long it waits to hear itself.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long peers have to find each other before that.
const SETTLE: Duration = Duration::from_millis(200);

/// One end of the bridge.
pub(super) struct Shore {
    pub(super) bus: Bus,
    discovery: Discovery,
    /// By which messages are carried here; `None` where nothing is.
    pub(super) outlet: Option<Arc<Mutex<Box<dyn Outlet>>>>,
    /// Why nothing can be.
    pub(super) trouble: Option<String>,
    /// Who the bridge itself is on this bus, where that is known.
    pub(super) own: Option<SenderId>,
    /// What it sent here.
    pub(super) sent: Arc<Mutex<TurnedBack>>,
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
            sent: Arc::new(Mutex::new(TurnedBack::new(REMEMBERED, MAX_REMEMBERED))),
            bus,
        })
    }

    /// Whether the bus tells one sender from another: behind a server all are the server.
    fn tells_senders(&self) -> bool {
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

/// Says a word on each bus that is carried to, and listens on both: who says it is the bridge itself,
/// and where it comes out of the other bus, the two are one.
pub(super) fn meet(a: &mut Shore, b: &mut Shore, both: bool) -> anyhow::Result<()> {
    let is_log = |it: &Shore| it.discovery == Discovery::File;
    if is_log(a) || is_log(b) {
        // A log hears nobody, and listening to it would play it.
        return Ok(());
    }
    let mut on_a = a.bus.aggregator(MEETING)?;
    let mut on_b = b.bus.aggregator(MEETING)?;
    // The first look opens what is opened late, so that what is said now is heard.
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

/// A word that nobody else says.
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
    let until = clock::now() + PATIENCE;
    while clock::now() < until {
        if let Some(sender) = heard(on_here, word, until) {
            here.own = here.tells_senders().then_some(sender);
            // By way of another bridge it comes a little later.
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
        "what is said on {} is heard on {} already: they are one bus, or another bridge joins them; \
         messages would go round for ever",
        here.bus.url(),
        there.bus.url()
    )
}

/// Who says the word until then.
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
