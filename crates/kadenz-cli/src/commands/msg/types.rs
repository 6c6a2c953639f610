//! Descriptions of message types: from the user, or from the publishers on the bus.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::bus::Bus;
use kadenz::msg::channel::Channel;
use kadenz::msg::log::Dictionary;
use kadenz::msg::log::record::Describe;
use kadenz::msg::message::Fingerprint;
use kadenz::msg::provider::Discovery;
use kadenz::msg::service::types_on_wire::{
    ANSWERS, FoundType, LookupResult, QUESTIONS, TypeFinder,
};
use kadenz::msg::types::{Types, Value};
use kadenz::rt::clock::{self, MonotonicTime};

/// Sources of the descriptions.
#[derive(Clone, Debug, Args)]
pub(in crate::commands) struct TypesOption {
    /// Folder or file of .lcm descriptions, by which messages are decoded (repeatable)
    #[arg(long, value_name = "FOLDER")]
    types: Vec<PathBuf>,

    /// Do not request unknown types on the bus: publish nothing at all
    #[arg(long, alias = "no-ask")]
    no_request_types: bool,
}

/// The given types, and those that other programs describe on the bus.
#[derive(Debug, Default)]
pub(super) struct KnownTypes {
    types: Types,
    reported: BTreeMap<Fingerprint, Arc<FoundType>>,
    finder: Option<TypeFinder>,
    /// Types that this program waited for before.
    awaited: Vec<Fingerprint>,
    budget: WaitBudget,
}

/// The most types accepted from the bus.
const MAX_REPORTED: usize = 1000;
/// Longest wait for an answer where a message must not pass undecoded.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// Share of the total time for such waits: messages wait meanwhile, and types without any description must not delay
/// messages of other types.
const WAIT_SHARE: u32 = 20;

/// Budget for waits: `max` at once, and a [`WAIT_SHARE`]th of the time in the long run.
#[derive(Debug)]
struct WaitBudget {
    max: Duration,
    left: Duration,
    counted_at: MonotonicTime,
}

impl Default for WaitBudget {
    fn default() -> Self {
        Self::full(MAX_WAIT, clock::now())
    }
}

impl WaitBudget {
    fn full(max: Duration, now: MonotonicTime) -> Self {
        Self {
            max,
            left: max,
            counted_at: now,
        }
    }

    fn left(&mut self, now: MonotonicTime) -> Duration {
        let earned = now.remaining(self.counted_at) / WAIT_SHARE;
        self.left = (self.left + earned).min(self.max);
        self.counted_at = now;
        self.left
    }

    fn spend(&mut self, waited: Duration) {
        self.left = self.left.saturating_sub(waited);
    }
}

impl TypesOption {
    pub(super) fn read(&self) -> anyhow::Result<KnownTypes> {
        if self.types.is_empty() {
            return Ok(KnownTypes::default());
        }
        let types = Types::from_files(&self.types).context("`--types` cannot be used")?;
        Ok(KnownTypes {
            types,
            ..KnownTypes::default()
        })
    }

    /// The same, and asks the publishers on the bus for missing types.
    pub(super) fn read_and_ask(&self, bus: &Bus) -> anyhow::Result<KnownTypes> {
        let mut known = self.read()?;
        // A log answers no questions.
        let can_answer = bus.guarantees().discovery != Discovery::File;
        if can_answer && !self.no_request_types {
            known.finder = TypeFinder::new(bus).ok();
        }
        Ok(known)
    }

    /// The same for a command that needs types, and does not ask for them.
    pub(super) fn need(&self) -> anyhow::Result<KnownTypes> {
        let known = self.read()?;
        known.ensure_some()
    }

    /// The same for a command that needs types, and asks for missing ones.
    pub(super) fn need_or_ask(&self, bus: &Bus) -> anyhow::Result<KnownTypes> {
        self.read_and_ask(bus)?.ensure_some()
    }

    /// Describes messages in a log: from the files, and for other types by questions to the publishers on the bus,
    /// once for each fingerprint. Messages wait for an answer for no longer than `longest`.
    pub(in crate::commands) fn describe(
        &self,
        bus: &Bus,
        longest: Duration,
    ) -> anyhow::Result<Describe> {
        let mut known = self.read_and_ask(bus)?;
        known.budget = WaitBudget::full(longest.min(MAX_WAIT), clock::now());
        let files = Dictionary::new(std::mem::take(&mut known.types));
        Ok(Box::new(move |channel, fingerprint| {
            let described = files.describe(channel.as_str(), fingerprint);
            if described.schema.is_some() || known.is_about_types(*channel) {
                return described;
            }
            known.ask_and_wait(fingerprint);
            let reported = fingerprint.and_then(|it| known.reported.get(&it));
            let reported = reported.map(|it| Dictionary::new(it.types.clone()));
            reported.map_or(described, |it| it.describe(channel.as_str(), fingerprint))
        }))
    }
}

impl KnownTypes {
    fn ensure_some(self) -> anyhow::Result<Self> {
        anyhow::ensure!(
            self.any() || self.finder.is_some(),
            "say with `--types` which folder of .lcm files describes the messages"
        );
        Ok(self)
    }

    /// All of them.
    pub(super) fn types(&self) -> &Types {
        &self.types
    }

    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        !self.types.is_empty() || !self.reported.is_empty()
    }

    /// Asks for an unknown type, without waiting.
    pub(super) fn ask(&mut self, fingerprint: Option<Fingerprint>) {
        let Some(unknown) = fingerprint.filter(|it| !self.knows(*it)) else {
            return;
        };
        let look = self.finder.as_mut().map(|finder| finder.look(unknown));
        if let Some(Ok(LookupResult::Known(found))) = look {
            self.learn(found);
        }
    }

    /// Asks for an unknown type, and the first time waits briefly for the answer.
    pub(super) fn ask_and_wait(&mut self, fingerprint: Option<Fingerprint>) {
        let Some(unknown) = fingerprint.filter(|it| !self.knows(*it)) else {
            return;
        };
        if self.awaited.contains(&unknown) || self.awaited.len() >= MAX_REPORTED {
            self.ask(fingerprint);
            return;
        }
        self.awaited.push(unknown);
        let start = clock::now();
        let wait = self.budget.left(start);
        let finder = self.finder.as_mut();
        if let Some(Ok(Some(found))) = finder.map(|finder| finder.find(unknown, wait)) {
            self.learn(found);
        }
        self.budget.spend(clock::now().remaining(start));
    }

    /// Whether a message may be a question of this program itself or an answer to it, which the user does not want to
    /// see.
    pub(super) fn is_about_types(&self, channel: Channel) -> bool {
        self.finder.is_some() && [QUESTIONS, ANSWERS].contains(&channel.as_str())
    }

    fn knows(&self, fingerprint: Fingerprint) -> bool {
        self.reported.contains_key(&fingerprint)
            || self.types.by_fingerprint(fingerprint).next().is_some()
    }

    fn learn(&mut self, found: Arc<FoundType>) {
        if self.reported.len() < MAX_REPORTED {
            self.reported.insert(found.fingerprint, found);
        }
    }

    /// The type name for a fingerprint, where one of the types has it; of several that LCM does not distinguish, the
    /// first.
    pub(super) fn name(&self, fingerprint: Option<Fingerprint>) -> Option<String> {
        let fingerprint = fingerprint?;
        if let Some(given) = self.types.by_fingerprint(fingerprint).next() {
            return Some(given.name().to_string());
        }
        let reported = self.reported.get(&fingerprint);
        reported.map(|it| it.name.clone())
    }

    /// Decodes a message; the error names the reason and the remedy.
    pub(super) fn decode(&self, payload: &[u8]) -> Result<Value, String> {
        let Some(first) = payload.first_chunk() else {
            return Err("fewer than 8 bytes: no LCM message".to_owned());
        };
        let fingerprint = Fingerprint(u64::from_be_bytes(*first));
        if let Some(reported) = self.reported.get(&fingerprint) {
            return reported.types.decode(payload).map_err(|it| it.to_string());
        }
        if self.types.is_empty() {
            return Err("give the folder of its .lcm file with `--types` to decode it".into());
        }
        self.types.decode(payload).map_err(|it| it.to_string())
    }
}

/// The name of a type or else its fingerprint.
pub(super) fn called(name: Option<&str>, fingerprint: Option<Fingerprint>) -> String {
    match (name, fingerprint) {
        (Some(name), _) => name.to_owned(),
        (None, Some(fingerprint)) => fingerprint.to_string(),
        (None, None) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_without_description_delay_messages_half_a_second_then_a_twentieth_of_the_time() {
        let at = |ms: u64| MonotonicTime::from_ns(ms * 1_000_000);
        let mut budget = WaitBudget::full(MAX_WAIT, at(0));
        let mut waited = Duration::ZERO;
        for ms in (0..10_000).step_by(10) {
            let wait = budget.left(at(ms));
            budget.spend(wait);
            waited += wait;
        }
        assert!(waited >= MAX_WAIT);
        assert!(
            waited <= MAX_WAIT + Duration::from_secs(10) / WAIT_SHARE,
            "{waited:?}"
        );
    }
}
