//! Which clients want a channel, sans-IO.
//!
//! A message costs a few lookups, however many clients there are that do not want it: names and
//! prefixes are looked up, and which of the few expressions match a channel is remembered.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use regex::bytes::Regex;

use super::filter::{Name, compile, names};
use crate::channel::{Channel, LONGEST_CHANNEL};
use crate::provider::stream::budget::{Budget, Share};
use crate::provider::stream::seats::Seat;

/// Different expressions of all clients together: a bit each.
pub(super) const MAX_EXPRESSIONS: usize = 64;
/// Channels of which it is remembered which expressions match them: the newest, and as many before.
const MAX_REMEMBERED: usize = 1024;

/// Why a pattern was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is no expression, or one that would take too long.
    NoPattern,
    /// There are as many expressions as there may be.
    NoRoom,
}

/// What a pattern is to the client that sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// So many names and prefixes.
    Names(usize),
    Expression,
}

type Table = HashMap<Box<str>, Vec<Seat>>;

#[derive(Debug)]
pub(super) struct Routes {
    names: Table,
    prefixes: Table,
    /// How many prefixes of each length there are.
    lengths: [usize; LONGEST_CHANNEL + 1],
    expressions: Vec<Option<Expression>>,
    /// One for each expression.
    room: Arc<Budget>,
    remembered: Remembered,
}

/// An expression of any number of clients.
#[derive(Debug)]
struct Expression {
    text: Box<str>,
    compiled: Regex,
    seats: Vec<Seat>,
    _room: Share,
}

impl Routes {
    pub(super) fn new() -> Self {
        Self {
            names: Table::new(),
            prefixes: Table::new(),
            lengths: [0; LONGEST_CHANNEL + 1],
            expressions: (0..MAX_EXPRESSIONS).map(|_| None).collect(),
            room: Budget::new(MAX_EXPRESSIONS),
            remembered: Remembered::default(),
        }
    }

    /// A client wants what matches, once more.
    pub(super) fn subscribe(&mut self, seat: Seat, pattern: &str) -> Result<Kind, Refusal> {
        let Some(parts) = names(pattern) else {
            return self.subscribe_expression(seat, pattern);
        };
        let mut count = 0;
        for part in parts {
            count += 1;
            let (table, text) = self.place(part);
            table.entry(text.into()).or_default().push(seat);
            if let Some(prefixes) = self.prefixes_like(part) {
                *prefixes += 1;
            }
        }
        Ok(Kind::Names(count))
    }

    fn subscribe_expression(&mut self, seat: Seat, pattern: &str) -> Result<Kind, Refusal> {
        if let Some(known) = self.find(pattern) {
            known.seats.push(seat);
            return Ok(Kind::Expression);
        }
        let room = self.room.take(1).ok_or(Refusal::NoRoom)?;
        let compiled = compile(pattern).ok_or(Refusal::NoPattern)?;
        let free = self.expressions.iter().position(Option::is_none);
        let free = free.ok_or(Refusal::NoRoom)?;
        self.expressions[free] = Some(Expression {
            text: pattern.into(),
            compiled,
            seats: vec![seat],
            _room: room,
        });
        self.remembered.forget(1 << free);
        Ok(Kind::Expression)
    }

    /// A client wants what matches once less; what that was.
    pub(super) fn unsubscribe(&mut self, seat: Seat, pattern: &str) -> Kind {
        let Some(parts) = names(pattern) else {
            if let Some(known) = self.find(pattern) {
                remove(&mut known.seats, seat);
            }
            for place in &mut self.expressions {
                let is_unwanted = |it: &Expression| it.seats.is_empty();
                if place.as_ref().is_some_and(is_unwanted) {
                    *place = None;
                }
            }
            return Kind::Expression;
        };
        let mut count = 0;
        for part in parts {
            count += 1;
            let (table, text) = self.place(part);
            let Some(seats) = table.get_mut(text) else {
                continue;
            };
            let is_gone = remove(seats, seat);
            if seats.is_empty() {
                table.remove(text);
            }
            if is_gone && let Some(prefixes) = self.prefixes_like(part) {
                *prefixes -= 1;
            }
        }
        Kind::Names(count)
    }

    /// The table in which a name stands.
    fn place<'a>(&mut self, name: Name<'a>) -> (&mut Table, &'a str) {
        match name {
            Name::Exactly(text) => (&mut self.names, text),
            Name::Prefix(text) => (&mut self.prefixes, text),
        }
    }

    /// How many prefixes have the length of this one; `None` for a name, and for a prefix that is so
    /// long that it begins no channel.
    fn prefixes_like(&mut self, name: Name<'_>) -> Option<&mut usize> {
        match name {
            Name::Exactly(_) => None,
            Name::Prefix(text) => self.lengths.get_mut(text.len()),
        }
    }

    fn find(&mut self, pattern: &str) -> Option<&mut Expression> {
        let mut known = self.expressions.iter_mut().flatten();
        known.find(|it| *it.text == *pattern)
    }

    /// Who wants the channel, in the order of coming, each once.
    pub(super) fn route(&mut self, channel: &Channel, found: &mut Vec<Seat>) {
        found.clear();
        let name = channel.as_str();
        found.extend(self.names.get(name).into_iter().flatten());
        for length in 0..=name.len() {
            if self.lengths[length] > 0
                && let Some(prefix) = name.get(..length)
            {
                found.extend(self.prefixes.get(prefix).into_iter().flatten());
            }
        }
        if self.expressions.iter().any(Option::is_some) {
            self.route_by_expressions(channel, found);
        }
        found.sort_unstable();
        found.dedup();
    }

    fn route_by_expressions(&mut self, channel: &Channel, found: &mut Vec<Seat>) {
        let name = channel.as_str();
        let known = self.remembered.of(channel);
        for (at, expression) in self.expressions.iter().enumerate() {
            let Some(expression) = expression else {
                continue;
            };
            if known.matches(1 << at, || expression.compiled.is_match(name.as_bytes())) {
                found.extend(&expression.seats);
            }
        }
    }
}

/// Whether it was there.
fn remove(seats: &mut Vec<Seat>, seat: Seat) -> bool {
    let at = seats.iter().position(|it| *it == seat);
    at.map(|at| seats.swap_remove(at)).is_some()
}

/// Which expressions match a channel, as far as that was asked.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    asked: u64,
    matching: u64,
}

impl Known {
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

/// What is known of channels. Those that nobody publishes to any more are forgotten.
#[derive(Debug, Default)]
struct Remembered {
    new: HashMap<Channel, Known>,
    old: HashMap<Channel, Known>,
}

impl Remembered {
    fn of(&mut self, channel: &Channel) -> &mut Known {
        if self.new.len() >= MAX_REMEMBERED && !self.new.contains_key(channel) {
            self.old = mem::take(&mut self.new);
        }
        let before = || self.old.get(channel).copied().unwrap_or_default();
        self.new.entry(*channel).or_insert_with(before)
    }

    /// Another expression has these bits now.
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

    fn route(routes: &mut Routes, channel: &str) -> Vec<u64> {
        let mut found = Vec::new();
        routes.route(&channel.parse().unwrap(), &mut found);
        found.into_iter().map(|seat| seat.0).collect()
    }

    #[test]
    fn a_client_is_found_once_by_whatever_it_wants_a_channel_for() {
        let mut routes = Routes::new();
        for (seat, pattern) in [
            (7, "A.*"),
            (3, "ARM"),
            (3, ".*"),
            (3, "AR[MX]"),
            (5, "B|ARM"),
        ] {
            routes.subscribe(Seat(seat), pattern).unwrap();
        }
        assert_eq!(route(&mut routes, "ARM"), [3, 5, 7]);
        assert_eq!(route(&mut routes, "ARX"), [3, 7]);
        assert_eq!(route(&mut routes, "B"), [3, 5]);
        routes.unsubscribe(Seat(3), ".*");
        assert_eq!(route(&mut routes, "B"), [5]);
        assert_eq!(route(&mut routes, "ARX"), [3, 7]);
    }

    #[test]
    fn a_subscription_counts_as_often_as_it_was_made() {
        for pattern in ["ARM", "A.*", "A[R]M"] {
            let mut routes = Routes::new();
            for _ in 0..2 {
                routes.subscribe(Seat(1), pattern).unwrap();
            }
            routes.unsubscribe(Seat(1), pattern);
            assert_eq!(route(&mut routes, "ARM"), [1]);
            routes.unsubscribe(Seat(1), pattern);
            routes.unsubscribe(Seat(1), pattern);
            assert!(route(&mut routes, "ARM").is_empty());
        }
    }

    #[test]
    fn expressions_are_compiled_once_for_all_and_few_of_them() {
        let mut routes = Routes::new();
        for seat in 0..10_000 {
            routes.subscribe(Seat(seat), "[A]+").unwrap();
        }
        for more in 1..MAX_EXPRESSIONS {
            routes
                .subscribe(Seat(0), &format!("[A]{{{more}}}"))
                .unwrap();
        }
        assert_eq!(routes.subscribe(Seat(0), "[B]"), Err(Refusal::NoRoom));
        assert_eq!(routes.subscribe(Seat(0), "["), Err(Refusal::NoRoom));
        assert!(routes.subscribe(Seat(0), "B").is_ok());
        assert_eq!(route(&mut routes, "AA").len(), 10_000);
        routes.unsubscribe(Seat(0), "[A]{2}");
        assert_eq!(routes.subscribe(Seat(0), "["), Err(Refusal::NoPattern));
        // The bit of the old one says nothing of the new one.
        routes.subscribe(Seat(10_000), "[B]+").unwrap();
        assert_eq!(route(&mut routes, "AA").len(), 10_000);
        assert_eq!(route(&mut routes, "BB"), [10_000]);
    }

    #[test]
    fn channels_without_end_take_no_memory_without_end() {
        let mut routes = Routes::new();
        routes.subscribe(Seat(1), "[0-4]+").unwrap();
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
        fn who_is_found_is_who_has_a_pattern_that_matches(
            wanted in prop::collection::vec((0_u64..4, "[AB]{0,2}(\\.\\*|\\.|[AB])(\\|[AB.]{1,3})?"), 0..12),
            gone in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            channels in prop::collection::vec("[AB]{1,4}", 1..6),
        ) {
            let mut wanted = wanted;
            let mut routes = Routes::new();
            for (seat, pattern) in &wanted {
                routes.subscribe(Seat(*seat), pattern).unwrap();
            }
            for gone in gone {
                for channel in &channels {
                    let mut expected: Vec<u64> = wanted
                        .iter()
                        .filter(|(_, pattern)| Pattern::new(pattern).unwrap().matches(channel))
                        .map(|(seat, _)| *seat)
                        .collect();
                    expected.sort_unstable();
                    expected.dedup();
                    prop_assert_eq!(route(&mut routes, channel), expected);
                }
                if !wanted.is_empty() {
                    let (seat, pattern) = wanted.remove(gone.index(wanted.len()));
                    routes.unsubscribe(Seat(seat), &pattern);
                }
            }
        }
    }
}
