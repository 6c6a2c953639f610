//! Announces the types of this program's messages to other programs.

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

/// Answers questions for types, on a thread of its own, until it is dropped.
pub(in crate::commands) struct TypeAnnouncer {
    bus: Bus,
    responder: TypeResponder,
    /// Names of types that were announced or could not be parsed.
    seen: BTreeSet<String>,
    /// Time of the first publication, from which on other programs may ask.
    since: Option<MonotonicTime>,
}

/// The most announced types.
const MAX_TYPES: usize = 1000;

/// How long receivers of a first message have to ask, where this program would end at once.
const LINGER: Duration = Duration::from_millis(300);

/// Interval at which the end is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl TypeAnnouncer {
    /// Begins to listen for questions; `None` where no program could ask, or where listening fails, which is noted.
    pub(in crate::commands) fn begin(url: &str, provider: &Arc<dyn Provider>) -> Option<Self> {
        let bus = Bus::over(url, Arc::clone(provider));
        // No program asks a log, and a bus inside this process has no other programs.
        if matches!(
            bus.guarantees().discovery,
            Discovery::File | Discovery::Process
        ) {
            return None;
        }
        match bus.serve_types(Tuning::default()) {
            Ok(responder) => Some(Self {
                bus,
                responder,
                seen: BTreeSet::new(),
                since: None,
            }),
            Err(error) => {
                output::note(&format!(
                    "other programs do not learn the types of the messages: {error}"
                ));
                None
            }
        }
    }

    /// Whether this type is a new one, and there is room for it.
    pub(in crate::commands) fn is_new(&self, name: &str) -> bool {
        self.seen.len() < MAX_TYPES && !self.seen.contains(name)
    }

    /// Announces this type from now on.
    pub(in crate::commands) fn add(&mut self, types: &Types, name: &str) {
        self.seen.insert(name.to_owned());
        if let Err(error) = self.bus.announce_type(types, name) {
            output::note(&format!(
                "other programs do not learn the type {name}: {error}"
            ));
        }
    }

    /// The same for a text in the language of `.lcm`; an invalid one is skipped.
    pub(in crate::commands) fn add_text(&mut self, text: &[u8], name: &str) {
        let types = std::str::from_utf8(text).ok();
        match types.and_then(|text| Types::from_text(text).ok()) {
            Some(types) => self.add(&types, name),
            None => {
                self.seen.insert(name.to_owned());
            }
        }
    }

    /// Notes a publication: from now on other programs may ask.
    pub(in crate::commands) fn published(&mut self) {
        self.since.get_or_insert_with(clock::now);
    }

    /// Gives receivers of the first message time to ask, and ends.
    pub(in crate::commands) fn end(self, stop: &Stop) {
        let Some(since) = self.since.filter(|_| !self.seen.is_empty()) else {
            return;
        };
        let until = since + LINGER;
        let goes_on = || clock::now() < until && !stop.requested();
        while goes_on() && self.responder.answers() < self.seen.len() as u64 {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
