use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::{ANSWERS, FoundType, LookupResult, QUESTIONS, TypeFinder};
use crate::bus::Bus;
use crate::channel::Channel;
use crate::log::Dictionary;
use crate::log::record::Describe;
use crate::message::Fingerprint;
use crate::provider::Discovery;
use crate::service::request::ClientError;
use crate::types::{Types, Value, ValueError};

/// The most types accepted from the bus.
const MAX_REPORTED: usize = 1000;
/// Longest wait for an answer where a message must not pass undecoded.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// Share of the total time for such waits: messages wait meanwhile, and types without any description must not delay
/// messages of other types.
const WAIT_SHARE: u32 = 20;

/// The types of files, and those that other programs describe on the bus, for tools that decode messages.
///
/// ```
/// use kadenz_msg::bus::Bus;
/// use kadenz_msg::message::Message;
/// use kadenz_msg::service::messages::Heartbeat;
/// use kadenz_msg::service::types_on_wire::KnownTypes;
/// use kadenz_rt::tuning::Tuning;
///
/// let bus = Bus::open("memq://")?;
/// let _publisher = bus.publisher::<Heartbeat>("BEAT")?;
/// let _responder = bus.serve_types(Tuning::default())?;
///
/// let mut known = KnownTypes::default();
/// known.request_on(&bus)?;
/// known.request_and_wait(Some(Heartbeat::FINGERPRINT));
/// let payload = Heartbeat { number: 7, ..Heartbeat::default() }.encode()?;
/// assert_eq!(known.name(Some(Heartbeat::FINGERPRINT)).as_deref(), Some("kadenz.heartbeat"));
/// assert_eq!(known.decode(&payload)?.to_json()["number"], 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Belongs to one thread; not real-time safe.
#[derive(Debug, Default)]
pub struct KnownTypes {
    types: Types,
    reported: BTreeMap<Fingerprint, Arc<FoundType>>,
    finder: Option<TypeFinder>,
    /// Types that the caller waited for before.
    awaited: Vec<Fingerprint>,
    budget: WaitBudget,
}

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

impl KnownTypes {
    /// Returns these types.
    #[must_use]
    pub fn new(types: Types) -> Self {
        Self {
            types,
            ..Self::default()
        }
    }

    /// Requests missing types from the publishers on a bus from now on; on a log, which answers nothing, it does
    /// nothing.
    ///
    /// # Errors
    /// As [`TypeFinder::new`].
    pub fn request_on(&mut self, bus: &Bus) -> Result<(), ClientError> {
        if bus.guarantees().discovery != Discovery::File {
            self.finder = Some(TypeFinder::new(bus)?);
        }
        Ok(())
    }

    /// Returns whether missing types are requested on a bus.
    #[must_use]
    pub fn requests(&self) -> bool {
        self.finder.is_some()
    }

    /// Returns the types of the files.
    #[must_use]
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// Returns whether there are any types, of files or of the bus.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.types.is_empty() || !self.reported.is_empty()
    }

    /// Requests an unknown type, without waiting.
    pub fn request(&mut self, fingerprint: Option<Fingerprint>) {
        let Some(unknown) = fingerprint.filter(|it| !self.knows(*it)) else {
            return;
        };
        let look = self.finder.as_mut().map(|finder| finder.look(unknown));
        if let Some(Ok(LookupResult::Known(found))) = look {
            self.learn(found);
        }
    }

    /// Requests an unknown type, and the first time waits for the answer: for half a second at most, and for a
    /// twentieth of the time in the long run.
    pub fn request_and_wait(&mut self, fingerprint: Option<Fingerprint>) {
        let Some(unknown) = fingerprint.filter(|it| !self.knows(*it)) else {
            return;
        };
        if self.awaited.contains(&unknown) || self.awaited.len() >= MAX_REPORTED {
            self.request(fingerprint);
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

    /// Returns whether a message may be a question of this program itself or an answer to it, which a user of a tool
    /// does not want to see.
    #[must_use]
    pub fn is_about_types(&self, channel: Channel) -> bool {
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

    /// Returns the type name for a fingerprint, where one of the types has it; of several that LCM does not
    /// distinguish, the first.
    #[must_use]
    pub fn name(&self, fingerprint: Option<Fingerprint>) -> Option<String> {
        let fingerprint = fingerprint?;
        if let Some(given) = self.types.by_fingerprint(fingerprint).next() {
            return Some(given.name().to_string());
        }
        let reported = self.reported.get(&fingerprint);
        reported.map(|it| it.name.clone())
    }

    /// Decodes a message by the type that its fingerprint names.
    ///
    /// # Errors
    /// As [`Types::decode`].
    pub fn decode(&self, payload: &[u8]) -> Result<Value, ValueError> {
        let reported = Fingerprint::of(payload).and_then(|it| self.reported.get(&it));
        let types = reported.map_or(&self.types, |it| &it.types);
        types.decode(payload)
    }

    /// Returns descriptions of messages for a log: of the types of the files, and of others by questions to the
    /// publishers, once for each fingerprint. Messages wait for an answer for no longer than `longest`.
    #[must_use]
    pub fn into_describe(mut self, longest: Duration) -> Describe {
        self.budget = WaitBudget::full(longest.min(MAX_WAIT), clock::now());
        let files = Dictionary::new(std::mem::take(&mut self.types));
        Box::new(move |channel, fingerprint| {
            let described = files.describe(channel.as_str(), fingerprint);
            if described.schema.is_some() || self.is_about_types(*channel) {
                return described;
            }
            self.request_and_wait(fingerprint);
            let reported = fingerprint.and_then(|it| self.reported.get(&it));
            let reported = reported.map(|it| Dictionary::new(it.types.clone()));
            reported.map_or(described, |it| it.describe(channel.as_str(), fingerprint))
        })
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

    #[test]
    fn a_type_of_a_file_is_known_without_a_bus() {
        let types = Types::from_text("struct pose_t { double x; }").unwrap();
        let fingerprint = types.fingerprint("pose_t");
        let mut known = KnownTypes::new(types);
        known.request_and_wait(Some(Fingerprint(7)));
        assert!(known.any() && !known.requests());
        assert_eq!(known.name(fingerprint).as_deref(), Some("pose_t"));
        assert!(known.decode(b"short").is_err());
        let unknown = known.decode(&7_u64.to_be_bytes()).unwrap_err();
        assert!(matches!(unknown, ValueError::UnknownFingerprint { .. }));
        let mut describe = known.into_describe(MAX_WAIT);
        let described = describe(&Channel::new("POSE").unwrap(), fingerprint);
        assert_eq!(described.schema.unwrap().name, "pose_t");
    }
}
