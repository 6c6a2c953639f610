//! The clients that want a channel, sans-IO.
//!
//! A message costs a few lookups, however many patterns there are that do not match, and a step for
//! each client that it is passed on to. Clients that do not read are skipped: they cost nothing.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use regex::bytes::Regex;

use super::filter::{Name, compile, names};
use crate::channel::{Channel, MAX_CHANNEL};
use crate::provider::stream::connection_slots::ConnectionId;

/// The maximum number of different expressions of all clients together: a bit each.
pub(super) const MAX_EXPRESSIONS: usize = 64;
/// The number of channels whose matching expressions are remembered: the newest, and as many before.
const MAX_REMEMBERED: usize = 1024;

/// The reason for which a pattern was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The pattern is not an expression, or one that would take too long.
    NoPattern,
    /// The maximum number of expressions is reached. Existing ones stay.
    NoRoom,
}

/// The kind of a pattern by which its client is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternKind {
    /// That many names and prefixes.
    Names(usize),
    Expression,
}

/// Whether messages are passed on to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForwardingMode {
    Served,
    /// The client does not read: its messages are only counted.
    Skipped,
}

/// The clients of each name, or each prefix.
type SubscriberMap = HashMap<Box<str>, Subscribers>;

/// The clients that want a channel: by name, by prefix and by expression.
#[derive(Debug)]
pub(super) struct ClientRoutes {
    names: SubscriberMap,
    prefixes: SubscriberMap,
    /// How many different prefixes of each length there are.
    lengths: [usize; MAX_CHANNEL + 1],
    expressions: Vec<Option<Expression>>,
    remembered: Remembered,
}

/// An expression of any number of clients.
#[derive(Debug)]
struct Expression {
    text: Box<str>,
    compiled: Regex,
    subscribers: Subscribers,
}

/// The clients of a name, a prefix or an expression.
#[derive(Debug, Default)]
struct Subscribers {
    /// The served clients, each with the number of its patterns that match.
    served: BTreeMap<ConnectionId, u32>,
    /// The number of patterns of skipped clients that contain it.
    skipped: usize,
    /// The number of messages so far, for the counters of skipped clients.
    messages: Arc<AtomicU64>,
}

impl Subscribers {
    fn add(&mut self, id: ConnectionId, forwarding: ForwardingMode) {
        match forwarding {
            ForwardingMode::Served => *self.served.entry(id).or_default() += 1,
            ForwardingMode::Skipped => self.skipped += 1,
        }
    }

    fn remove(&mut self, id: ConnectionId, forwarding: ForwardingMode) {
        match forwarding {
            ForwardingMode::Skipped => self.skipped = self.skipped.saturating_sub(1),
            ForwardingMode::Served => {
                if let Some(times) = self.served.get_mut(&id) {
                    *times -= 1;
                    if *times == 0 {
                        self.served.remove(&id);
                    }
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.served.is_empty() && self.skipped == 0
    }
}

/// The clients that get a message.
#[derive(Debug, Default)]
pub(super) struct Recipients {
    /// In the order of connection, each once.
    pub(super) ids: Vec<ConnectionId>,
    /// The number of matching names, prefixes and expressions of skipped clients.
    pub(super) skipped: usize,
}

impl Recipients {
    fn take(&mut self, subscribers: &mut Subscribers) {
        subscribers.messages.fetch_add(1, Ordering::Relaxed);
        self.skipped += subscribers.skipped;
        self.ids.extend(subscribers.served.keys());
    }
}

impl ClientRoutes {
    pub(super) fn new() -> Self {
        Self {
            names: SubscriberMap::new(),
            prefixes: SubscriberMap::new(),
            lengths: [0; MAX_CHANNEL + 1],
            expressions: (0..MAX_EXPRESSIONS).map(|_| None).collect(),
            remembered: Remembered::default(),
        }
    }

    /// Adds a client's pattern. The caller adds each of its patterns once.
    pub(super) fn subscribe(
        &mut self,
        id: ConnectionId,
        pattern: &str,
        forwarding: ForwardingMode,
    ) -> Result<PatternKind, Refusal> {
        let Some(parts) = names(pattern) else {
            let expression = self.expression(pattern)?;
            expression.subscribers.add(id, forwarding);
            return Ok(PatternKind::Expression);
        };
        let mut count = 0;
        for part in parts {
            count += 1;
            let (map, text) = self.map_of(&part);
            if let Some(subscribers) = map.get_mut(text) {
                subscribers.add(id, forwarding);
                continue;
            }
            let subscribers = map.entry(text.into()).or_default();
            subscribers.add(id, forwarding);
            if let Some(prefixes) = self.prefixes_like(&part) {
                *prefixes += 1;
            }
        }
        Ok(PatternKind::Names(count))
    }

    /// The expression, compiled; what cannot be compiled takes no room.
    fn expression(&mut self, pattern: &str) -> Result<&mut Expression, Refusal> {
        let is_it = |index: &Option<Expression>| index.as_ref().is_some_and(|it| it.is(pattern));
        let known = self.expressions.iter().position(is_it);
        let index = match known {
            Some(index) => index,
            None => {
                let compiled = compile(pattern).ok_or(Refusal::NoPattern)?;
                let free = self.expressions.iter().position(Option::is_none);
                let free = free.ok_or(Refusal::NoRoom)?;
                self.remembered.forget(1 << free);
                self.expressions[free] = Some(Expression {
                    text: pattern.into(),
                    compiled,
                    subscribers: Subscribers::default(),
                });
                free
            }
        };
        self.expressions[index].as_mut().ok_or(Refusal::NoRoom)
    }

    /// Removes a client's pattern.
    pub(super) fn unsubscribe(
        &mut self,
        id: ConnectionId,
        pattern: &str,
        forwarding: ForwardingMode,
    ) {
        self.each(pattern, |subscribers| subscribers.remove(id, forwarding));
        let Some(parts) = names(pattern) else {
            for index in &mut self.expressions {
                index.take_if(|it| it.is(pattern) && it.subscribers.is_empty());
            }
            return;
        };
        for part in parts {
            let (map, text) = self.map_of(&part);
            if map.get(text).is_some_and(Subscribers::is_empty) {
                map.remove(text);
                if let Some(prefixes) = self.prefixes_like(&part) {
                    *prefixes -= 1;
                }
            }
        }
    }

    /// Serves a client of a pattern from now on, or skips it.
    pub(super) fn change(
        &mut self,
        id: ConnectionId,
        pattern: &str,
        from: ForwardingMode,
        to: ForwardingMode,
    ) {
        self.each(pattern, |subscribers| {
            subscribers.remove(id, from);
            subscribers.add(id, to);
        });
    }

    /// Returns the counters of the messages that match, by name, prefix and expression, if a client wants
    /// those.
    pub(super) fn messages(&mut self, pattern: &str) -> Vec<Arc<AtomicU64>> {
        let mut messages = Vec::new();
        self.each(pattern, |it| messages.push(Arc::clone(&it.messages)));
        messages
    }

    /// Calls `what` for each part that a pattern names.
    fn each(&mut self, pattern: &str, mut what: impl FnMut(&mut Subscribers)) {
        let Some(parts) = names(pattern) else {
            let mut known = self.expressions.iter_mut().flatten();
            if let Some(known) = known.find(|it| it.is(pattern)) {
                what(&mut known.subscribers);
            }
            return;
        };
        for part in parts {
            let (map, text) = self.map_of(&part);
            if let Some(subscribers) = map.get_mut(text) {
                what(subscribers);
            }
        }
    }

    /// The map in which a name stands.
    fn map_of<'a>(&mut self, name: &'a Name<'_>) -> (&mut SubscriberMap, &'a str) {
        match name {
            Name::Exactly(text) => (&mut self.names, text),
            Name::Prefix(text) => (&mut self.prefixes, text),
        }
    }

    /// Returns the number of prefixes with the length of this one; `None` for a name, and for a prefix that is
    /// too long for any channel.
    fn prefixes_like(&mut self, name: &Name<'_>) -> Option<&mut usize> {
        match name {
            Name::Exactly(_) => None,
            Name::Prefix(text) => self.lengths.get_mut(text.len()),
        }
    }

    /// Returns the clients that get a message on the channel. Counts the message.
    pub(super) fn route(&mut self, channel: &Channel, found: &mut Recipients) {
        found.ids.clear();
        found.skipped = 0;
        let name = channel.as_str();
        if let Some(subscribers) = self.names.get_mut(name) {
            found.take(subscribers);
        }
        let of_first = found.ids.len();
        for length in 0..=name.len() {
            if self.lengths[length] > 0
                && let Some(prefix) = name.get(..length)
                && let Some(subscribers) = self.prefixes.get_mut(prefix)
            {
                found.take(subscribers);
            }
        }
        if self.expressions.iter().any(Option::is_some) {
            self.route_by_expressions(channel, found);
        }
        // Names alone are in order.
        if found.ids.len() > of_first {
            found.ids.sort_unstable();
            found.ids.dedup();
        }
    }

    fn route_by_expressions(&mut self, channel: &Channel, found: &mut Recipients) {
        let name = channel.as_str();
        let known = self.remembered.of(channel);
        for (at, expression) in self.expressions.iter_mut().enumerate() {
            let Some(expression) = expression else {
                continue;
            };
            if known.matches(1 << at, || expression.compiled.is_match(name.as_bytes())) {
                found.take(&mut expression.subscribers);
            }
        }
    }
}

impl Expression {
    fn is(&self, pattern: &str) -> bool {
        *self.text == *pattern
    }
}

/// The expressions that match a channel, as far as they were evaluated.
#[derive(Debug, Clone, Copy, Default)]
struct KnownMatches {
    asked: u64,
    matching: u64,
}

impl KnownMatches {
    fn matches(&mut self, bit: u64, ask: impl FnOnce() -> bool) -> bool {
        if self.asked & bit == 0 {
            self.asked |= bit;
            self.matching &= !bit;
            if ask() {
                self.matching |= bit;
            }
        }
        self.matching & bit != 0
    }
}

/// The routes of known channels. Channels without messages are forgotten.
#[derive(Debug, Default)]
struct Remembered {
    new: HashMap<Channel, KnownMatches>,
    old: HashMap<Channel, KnownMatches>,
}

impl Remembered {
    fn of(&mut self, channel: &Channel) -> &mut KnownMatches {
        if self.new.len() >= MAX_REMEMBERED && !self.new.contains_key(channel) {
            self.old = mem::take(&mut self.new);
        }
        let before = || self.old.get(channel).copied().unwrap_or_default();
        self.new.entry(*channel).or_insert_with(before)
    }

    /// Forgets results of these bits, which belong to another expression now.
    fn forget(&mut self, bits: u64) {
        for known in self.new.values_mut().chain(self.old.values_mut()) {
            known.asked &= !bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::channel::Pattern;

    fn route(routes: &mut ClientRoutes, channel: &str) -> Vec<u64> {
        let mut found = Recipients::default();
        routes.route(&channel.parse().unwrap(), &mut found);
        found.ids.into_iter().map(|id| id.0).collect()
    }

    fn subscribe(
        routes: &mut ClientRoutes,
        id: u64,
        pattern: &str,
    ) -> Result<PatternKind, Refusal> {
        routes.subscribe(ConnectionId(id), pattern, ForwardingMode::Served)
    }

    fn unsubscribe(routes: &mut ClientRoutes, id: u64, pattern: &str) {
        routes.unsubscribe(ConnectionId(id), pattern, ForwardingMode::Served);
    }

    #[test]
    fn a_client_is_found_once_by_whatever_it_wants_a_channel_for() {
        let mut routes = ClientRoutes::new();
        for (id, pattern) in [
            (7, "A.*"),
            (3, "ARM"),
            (3, ".*"),
            (3, "AR[MX]"),
            (5, "B|ARM"),
        ] {
            subscribe(&mut routes, id, pattern).unwrap();
        }
        assert_eq!(route(&mut routes, "ARM"), [3, 5, 7]);
        assert_eq!(route(&mut routes, "ARX"), [3, 7]);
        assert_eq!(route(&mut routes, "B"), [3, 5]);
        unsubscribe(&mut routes, 3, ".*");
        assert_eq!(route(&mut routes, "B"), [5]);
        assert_eq!(route(&mut routes, "ARX"), [3, 7]);
    }

    #[test]
    fn a_name_is_wanted_until_the_last_pattern_with_it_is_gone() {
        let mut routes = ClientRoutes::new();
        for pattern in ["ARM|LEG|ARM", "ARM|HEAD"] {
            subscribe(&mut routes, 1, pattern).unwrap();
        }
        unsubscribe(&mut routes, 1, "ARM|LEG|ARM");
        assert_eq!(route(&mut routes, "ARM"), [1]);
        assert!(route(&mut routes, "LEG").is_empty());
        unsubscribe(&mut routes, 1, "ARM|HEAD");
        assert!(route(&mut routes, "ARM").is_empty() && routes.names.is_empty());
    }

    #[test]
    fn a_skipped_client_is_counted_and_not_found() {
        for pattern in ["ARM", "A.*", "A[R]M"] {
            let mut routes = ClientRoutes::new();
            subscribe(&mut routes, 1, pattern).unwrap();
            subscribe(&mut routes, 2, pattern).unwrap();
            let [served, skipped] = [ForwardingMode::Served, ForwardingMode::Skipped];
            routes.change(ConnectionId(1), pattern, served, skipped);
            let messages = routes.messages(pattern);
            let mut found = Recipients::default();
            routes.route(&"ARM".parse().unwrap(), &mut found);
            assert_eq!((found.ids, found.skipped), (vec![ConnectionId(2)], 1));
            assert_eq!(messages.len(), 1);
            assert_eq!(messages[0].load(Ordering::Relaxed), 1);
            unsubscribe(&mut routes, 2, pattern);
            routes.change(ConnectionId(1), pattern, skipped, served);
            assert_eq!(route(&mut routes, "ARM"), [1]);
        }
    }

    #[test]
    fn expressions_are_compiled_once_for_all_and_few_of_them() {
        let mut routes = ClientRoutes::new();
        for id in 0..10_000 {
            subscribe(&mut routes, id, "[A]+").unwrap();
        }
        for more in 1..MAX_EXPRESSIONS {
            subscribe(&mut routes, 0, &format!("[A]{{{more}}}")).unwrap();
        }
        assert_eq!(subscribe(&mut routes, 0, "[B]"), Err(Refusal::NoRoom));
        assert_eq!(subscribe(&mut routes, 0, "["), Err(Refusal::NoPattern));
        assert!(subscribe(&mut routes, 0, "B").is_ok());
        assert_eq!(route(&mut routes, "AA").len(), 10_000);
        unsubscribe(&mut routes, 0, "[A]{2}");
        // The bit of the old client must not apply to the new one.
        subscribe(&mut routes, 10_000, "[B]+").unwrap();
        assert_eq!(route(&mut routes, "AA").len(), 10_000);
        assert_eq!(route(&mut routes, "BB"), [10_000]);
    }

    #[test]
    fn channels_without_end_take_no_memory_without_end() {
        let mut routes = ClientRoutes::new();
        subscribe(&mut routes, 1, "[0-4]+").unwrap();
        for number in 0..10 * MAX_REMEMBERED {
            let expected = !number.to_string().contains(['5', '6', '7', '8', '9']);
            let found = route(&mut routes, &number.to_string());
            assert_eq!(found.len(), usize::from(expected), "{number}");
        }
        let Remembered { new, old } = &routes.remembered;
        assert!(new.len() + old.len() <= 2 * MAX_REMEMBERED);
    }

    proptest! {
        #[test]
        fn found_clients_are_those_with_a_matching_pattern(
            wanted in prop::collection::vec((0_u64..4, "[AB]{0,2}(\\.\\*|\\.|[AB])(\\|[AB.]{1,3})?"), 0..12),
            gone in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            channels in prop::collection::vec("[AB]{1,4}", 1..6),
        ) {
            let mut wanted = wanted;
            let mut routes = ClientRoutes::new();
            for (id, pattern) in &wanted {
                subscribe(&mut routes, *id, pattern).unwrap();
            }
            for gone in gone {
                for channel in &channels {
                    let mut expected: Vec<u64> = wanted
                        .iter()
                        .filter(|(_, pattern)| Pattern::new(pattern).unwrap().matches(channel))
                        .map(|(id, _)| *id)
                        .collect();
                    expected.sort_unstable();
                    expected.dedup();
                    prop_assert_eq!(route(&mut routes, channel), expected);
                }
                if !wanted.is_empty() {
                    let (id, pattern) = wanted.remove(gone.index(wanted.len()));
                    unsubscribe(&mut routes, id, &pattern);
                }
            }
        }
    }
}
