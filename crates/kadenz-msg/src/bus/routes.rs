//! The mailboxes that want a message. The leading thread owns them, so that they need no lock.

use std::cell::Cell;
use std::collections::HashMap;

use kadenz_rt::clock::MonotonicTime;

use super::mailbox::{Envelope, Mailbox};
use crate::arrival::{Arrival, Payload};
use crate::channel::{Channel, Pattern};
use crate::sync::Arc;

/// The number of channels whose mailboxes are remembered. Beyond it each message is matched again, so that a
/// peer that invents names costs time and no memory.
const MAX_REMEMBERED: usize = 4096;

/// Identifies a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteId(pub(crate) u64);

/// A mailbox and its patterns.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) id: RouteId,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) patterns: Vec<Pattern>,
}

/// Receives a message in place.
pub(crate) type Visit<'a> = dyn FnMut(&Envelope, &[u8]) + 'a;

/// Receives the first message for one mailbox in place, while that mailbox is empty.
pub(crate) struct Visitor<'a> {
    pub(crate) of: RouteId,
    pub(crate) visit: &'a mut Visit<'a>,
    /// Whether it has received one; it receives no more then.
    pub(crate) visited: &'a Cell<bool>,
}

impl Visitor<'_> {
    /// Shows it the message for one of these routes, unless it has received one.
    fn show<'r>(
        &mut self,
        mut wanting: impl Iterator<Item = &'r Route>,
        envelope: &Envelope,
        payload: &[u8],
    ) -> Option<RouteId> {
        let sees = !self.visited.get() && wanting.any(|route| route.id == self.of);
        sees.then(|| {
            self.visited.set(true);
            (self.visit)(envelope, payload);
            self.of
        })
    }
}

/// All mailboxes of a bus.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    all: Vec<Route>,
    /// The channels that have been seen, each with the routes that want it.
    remembered: Vec<(Channel, Box<[u32]>)>,
    /// The index of each remembered channel.
    places: HashMap<Channel, usize>,
    /// The index of the last channel: most often the next is the same.
    last: usize,
}

impl Routes {
    /// Adds a mailbox, or replaces its patterns; returns the route that it replaced.
    pub(crate) fn set(&mut self, route: Route) -> Option<Route> {
        self.forget();
        let existing = self.all.iter_mut().find(|it| it.id == route.id);
        if let Some(existing) = existing {
            return Some(std::mem::replace(existing, route));
        }
        self.all.push(route);
        None
    }

    pub(crate) fn remove(&mut self, id: RouteId) {
        self.forget();
        self.all.retain(|it| it.id != id);
    }

    /// Returns the patterns that the inlet must deliver for all routes.
    pub(crate) fn wanted(&self) -> Vec<Pattern> {
        let patterns = self.all.iter().flat_map(|it| &it.patterns);
        patterns.cloned().collect()
    }

    /// Posts a message to each mailbox that wants it, or shows it to the visitor, which comes first.
    /// Allocates when a channel is seen for the first time, and when a slot has less room than the message
    /// needs.
    ///
    /// Returns `false` if LCM does not allow the channel's name.
    pub(crate) fn post(
        &mut self,
        arrival: Arrival<'_>,
        until: Option<MonotonicTime>,
        visitor: Option<&mut Visitor<'_>>,
    ) -> bool {
        let Some(index) = self.index_of(arrival.channel) else {
            return self.post_unremembered(&arrival, until, visitor);
        };
        let (channel, wanting) = &self.remembered[index];
        let envelope = Envelope::of(&arrival, *channel);
        let mut wanting = wanting.iter().map(|index| &self.all[*index as usize]);
        let payload = arrival.payload;
        let seen = visitor.and_then(|it| it.show(wanting.clone(), &envelope, payload.bytes()));
        let last = wanting.next_back();
        for route in wanting {
            route.post(&envelope, Payload::Borrowed(payload.bytes()), until, seen);
        }
        if let Some(route) = last {
            route.post(&envelope, payload, until, seen);
        }
        true
    }

    fn post_unremembered(
        &self,
        arrival: &Arrival<'_>,
        until: Option<MonotonicTime>,
        visitor: Option<&mut Visitor<'_>>,
    ) -> bool {
        let Ok(channel) = Channel::new(arrival.channel) else {
            return false;
        };
        let envelope = Envelope::of(arrival, channel);
        let payload = arrival.payload.bytes();
        let wanting = self.all.iter().filter(|it| it.wants(arrival.channel));
        let seen = visitor.and_then(|it| it.show(wanting.clone(), &envelope, payload));
        for route in wanting {
            route.post(&envelope, Payload::Borrowed(payload), until, seen);
        }
        true
    }

    fn index_of(&mut self, name: &str) -> Option<usize> {
        let last = self.remembered.get(self.last);
        if last.is_some_and(|(channel, _)| channel.as_str() == name) {
            return Some(self.last);
        }
        let index = self.places.get(name).copied();
        self.last = index.or_else(|| self.remember(name))?;
        Some(self.last)
    }

    fn remember(&mut self, name: &str) -> Option<usize> {
        let channel = Channel::new(name).ok()?;
        let index = self.remembered.len();
        if index >= MAX_REMEMBERED {
            return None;
        }
        let wanting = (0_u32..).zip(&self.all).filter(|(_, it)| it.wants(name));
        let wanting = wanting.map(|(index, _)| index).collect();
        self.remembered.push((channel, wanting));
        self.places.insert(channel, index);
        Some(index)
    }

    fn forget(&mut self) {
        self.remembered.clear();
        self.places.clear();
    }
}

impl Route {
    fn wants(&self, channel: &str) -> bool {
        self.patterns.iter().any(|it| it.matches(channel))
    }

    /// Posts a message, unless the visitor has received it in place.
    fn post(
        &self,
        envelope: &Envelope,
        payload: Payload<'_>,
        until: Option<MonotonicTime>,
        seen: Option<RouteId>,
    ) {
        if seen == Some(self.id) {
            self.mailbox.tallies.arrived.add_one();
        } else {
            self.mailbox.post(envelope, payload, until);
        }
    }
}
