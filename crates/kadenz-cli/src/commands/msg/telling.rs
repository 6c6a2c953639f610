//! Telling others what the messages look like that this program publishes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kadenz::lab::stop::Stop;
use kadenz::msg::bus::Bus;
use kadenz::msg::provider::{Discovery, Provider};
use kadenz::msg::service::types_on_wire::TypeResponder;
use kadenz::msg::types::Types;
use kadenz::rt::clock::{self, MonotonicTime};
use kadenz::rt::tuning::Tuning;

use crate::output;

/// Answers those that ask for types, on a thread of its own, as long as it lives.
pub(in crate::commands) struct TypeAnnouncer {
    bus: Bus,
    teller: TypeResponder,
    /// Names that were looked at.
    seen: BTreeSet<String>,
    /// When somebody may have begun to ask.
    since: Option<MonotonicTime>,
}

/// Types that are told.
const MAX_TYPES: usize = 1000;

/// How long who hears a first message has to ask, where this program would end at once.
const LINGER: Duration = Duration::from_millis(300);

/// How soon an end is seen.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl TypeAnnouncer {
    /// Begins to listen for questions; `None` where nobody could ask, or none can be heard, which is
    /// said.
    pub(in crate::commands) fn begin(url: &str, provider: &Arc<dyn Provider>) -> Option<Self> {
        let bus = Bus::over(url, Arc::clone(provider));
        // Nobody asks a log, and in a process of its own there is nobody else.
        if matches!(
            bus.guarantees().discovery,
            Discovery::File | Discovery::Process
        ) {
            return None;
        }
        match bus.tell_types(Tuning::default()) {
            Ok(teller) => Some(Self {
                bus,
                teller,
                seen: BTreeSet::new(),
                since: None,
            }),
            Err(error) => {
                output::note(&format!(
                    "nobody is told what the messages look like: {error}"
                ));
                None
            }
        }
    }

    /// Whether this type is a new one, with room for it.
    pub(in crate::commands) fn is_new(&self, name: &str) -> bool {
        self.seen.len() < MAX_TYPES && !self.seen.contains(name)
    }

    /// Tells this type from now on.
    pub(in crate::commands) fn add(&mut self, types: &Types, name: &str) {
        self.seen.insert(name.to_owned());
        if let Err(error) = self.bus.announce_type(types, name) {
            output::note(&format!("nobody is told what {name} looks like: {error}"));
        }
    }

    /// The same of a text in the language of `.lcm`; what is none is passed over.
    pub(in crate::commands) fn add_text(&mut self, text: &[u8], name: &str) {
        let types = std::str::from_utf8(text).ok();
        match types.and_then(|text| Types::from_text(text).ok()) {
            Some(types) => self.add(&types, name),
            None => {
                self.seen.insert(name.to_owned());
            }
        }
    }

    /// Something was published: from now on somebody may ask.
    pub(in crate::commands) fn published(&mut self) {
        self.since.get_or_insert_with(clock::now);
    }

    /// Gives who heard the first message the time to ask, and ends.
    pub(in crate::commands) fn end(self, stop: &Stop) {
        let Some(since) = self.since.filter(|_| !self.seen.is_empty()) else {
            return;
        };
        let until = since + LINGER;
        let goes_on = || clock::now() < until && !stop.requested();
        while goes_on() && self.teller.told() < self.seen.len() as u64 {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
