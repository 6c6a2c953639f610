use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::tuning::Tuning;

use super::{AnnounceError, TypeResponder};
use crate::bus::Bus;
use crate::log::{LCM_ENCODING, Schema};
use crate::provider::{Discovery, Provider};
use crate::types::Types;

/// The maximum number of announced types.
const MAX_TYPES: usize = 1000;

/// How long receivers of a first message have to ask, where this program would end at once.
const LINGER: Duration = Duration::from_millis(300);

/// Interval at which the end is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The reason for which other programs do not learn types.
#[derive(Debug, thiserror::Error)]
pub enum NotAnnouncedError {
    /// Requests cannot be received or answered.
    #[error("other programs do not learn the types of the messages: {0}")]
    All(#[source] AnnounceError),
    /// One type cannot be announced.
    #[error("other programs do not learn the type {name}: {source}")]
    One {
        /// The name of the type.
        name: String,
        /// Why it cannot be announced: it is unknown, or its text is too long.
        source: AnnounceError,
    },
}

/// Announces the types of a program that publishes bytes on a provider and ends soon: it answers requests for types, on
/// a thread of its own, until it is dropped. Programs that publish on a [`Bus`] use [`Bus::serve_types`].
#[derive(Debug)]
pub struct TypeAnnouncer {
    bus: Bus,
    responder: TypeResponder,
    /// Names of types that were announced, or whose text is invalid.
    seen: BTreeSet<String>,
    /// Time of the first publication, from which on other programs may ask.
    since: Option<MonotonicTime>,
}

impl TypeAnnouncer {
    /// Begins to listen for requests on a provider with that URL; `None` where no program could ask: of a log, and of a
    /// bus inside this process.
    ///
    /// # Errors
    /// [`NotAnnouncedError::All`], as of [`Bus::serve_types`].
    pub fn start(
        url: &str,
        provider: &Arc<dyn Provider>,
    ) -> Result<Option<Self>, NotAnnouncedError> {
        let bus = Bus::over(url, Arc::clone(provider));
        if matches!(
            bus.guarantees().discovery,
            Discovery::File | Discovery::Process
        ) {
            return Ok(None);
        }
        Ok(Some(Self {
            responder: bus
                .serve_types(Tuning::default())
                .map_err(NotAnnouncedError::All)?,
            bus,
            seen: BTreeSet::new(),
            since: None,
        }))
    }

    /// Announces a type from now on.
    ///
    /// # Errors
    /// [`NotAnnouncedError::One`], as of [`Bus::announce_type`].
    pub fn add(&mut self, types: &Types, name: &str) -> Result<(), NotAnnouncedError> {
        self.seen.insert(name.to_owned());
        let announced = self.bus.announce_type(types, name);
        announced.map_err(|source| NotAnnouncedError::One {
            name: name.to_owned(),
            source,
        })
    }

    /// Announces the type of a log's channel, unless one of that name was added. Skips types of other languages than
    /// LCM's, invalid texts, and those after the first 1000.
    ///
    /// # Errors
    /// As of [`add`](Self::add).
    pub(crate) fn add_schema(&mut self, schema: &Schema) -> Result<(), NotAnnouncedError> {
        let is_new = self.seen.len() < MAX_TYPES && !self.seen.contains(&schema.name);
        if schema.encoding != LCM_ENCODING || !is_new {
            return Ok(());
        }
        let text = std::str::from_utf8(&schema.data).ok();
        match text.and_then(|text| Types::from_text(text).ok()) {
            Some(types) => self.add(&types, &schema.name),
            None => {
                self.seen.insert(schema.name.clone());
                Ok(())
            }
        }
    }

    /// Notes a publication: from now on other programs may ask.
    pub fn published(&mut self) {
        self.since.get_or_insert_with(clock::now);
    }

    /// Ends, after receivers of the first message had 300 ms to ask for each type, or the flag is set. Waits.
    pub fn finish(self, stop: &AtomicBool) {
        let Some(since) = self.since.filter(|_| !self.seen.is_empty()) else {
            return;
        };
        let until = since + LINGER;
        let goes_on = || clock::now() < until && !stop.load(Ordering::Relaxed);
        while goes_on() && self.responder.answers() < self.seen.len() as u64 {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
