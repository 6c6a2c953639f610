//! Which mailboxes want a message. Owned by whoever leads, so that it needs no lock.

use std::collections::HashMap;

use kadenz_rt::clock::MonotonicTime;

use super::hub::Visitor;
use super::mailbox::{Envelope, Mailbox};
use crate::channel::{Channel, Pattern};
use crate::provider::{Arrival, Payload};
use crate::sync::Arc;

/// Channels whose mailboxes are remembered. Beyond it each message is matched anew, so that a
/// stranger who invents names costs time and no memory.
const MOST_REMEMBERED: usize = 4096;

/// Tells one subscription from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteId(pub(crate) u64);

/// A mailbox and what it wants.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) id: RouteId,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) patterns: Vec<Pattern>,
}

/// All mailboxes of a bus.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    all: Vec<Route>,
    remembered: HashMap<Channel, Box<[u32]>>,
}

impl Routes {
    /// Adds a mailbox, or replaces what it wants.
    pub(crate) fn set(&mut self, route: Route) {
        self.remembered.clear();
        match self.all.iter_mut().find(|it| it.id == route.id) {
            Some(place) => *place = route,
            None => self.all.push(route),
        }
    }

    pub(crate) fn remove(&mut self, id: RouteId) {
        self.remembered.clear();
        self.all.retain(|it| it.id != id);
    }

    /// What the inlet must deliver for all of them.
    pub(crate) fn wanted(&self) -> Vec<Pattern> {
        let patterns = self.all.iter().flat_map(|it| &it.patterns);
        patterns.cloned().collect()
    }

    /// Posts a message to each mailbox that wants it. Allocates where a channel is seen for the
    /// first time, and where a letter has less room than the message needs.
    ///
    /// Returns `false` where the channel's name is none that LCM allows.
    pub(crate) fn post(&mut self, arrival: Arrival<'_>, until: Option<MonotonicTime>) -> bool {
        if !self.remembered.contains_key(arrival.channel) && !self.remember(arrival.channel) {
            return self.post_unremembered(&arrival, until);
        }
        let Some((channel, wanting)) = self.remembered.get_key_value(arrival.channel) else {
            return false;
        };
        let envelope = Envelope::of(&arrival, *channel);
        let Some((last, others)) = wanting.split_last() else {
            return true;
        };
        for index in others {
            let lent = Payload::Lent(arrival.payload.bytes());
            self.all[*index as usize]
                .mailbox
                .post(&envelope, lent, until);
        }
        let last = &self.all[*last as usize].mailbox;
        last.post(&envelope, arrival.payload, until);
        true
    }

    /// As [`Routes::post`], but a message for the visitor's mailbox, while nothing waits in that, is
    /// shown to the visitor first.
    pub(crate) fn post_around(
        &mut self,
        arrival: Arrival<'_>,
        until: Option<MonotonicTime>,
        visitor: &mut Visitor<'_>,
    ) -> bool {
        let Some(route) = self.all.iter().find(|it| it.id == visitor.of) else {
            return self.post(arrival, until);
        };
        let in_place = wants(route, arrival.channel) && visitor.mailbox.waiting() == 0;
        if !in_place || visitor.visited.get() || !(visitor.visit)(&arrival) {
            return self.post(arrival, until);
        }
        visitor.visited.set(true);
        visitor.mailbox.tallies.arrived.add_one();
        let Ok(channel) = Channel::new(arrival.channel) else {
            return false;
        };
        let envelope = Envelope::of(&arrival, channel);
        let others = self.all.iter().filter(|it| it.id != visitor.of);
        for route in others.filter(|it| wants(it, arrival.channel)) {
            let lent = Payload::Lent(arrival.payload.bytes());
            route.mailbox.post(&envelope, lent, until);
        }
        true
    }

    fn post_unremembered(&self, arrival: &Arrival<'_>, until: Option<MonotonicTime>) -> bool {
        let Ok(channel) = Channel::new(arrival.channel) else {
            return false;
        };
        let envelope = Envelope::of(arrival, channel);
        for route in self.all.iter().filter(|it| wants(it, channel.as_str())) {
            let lent = Payload::Lent(arrival.payload.bytes());
            route.mailbox.post(&envelope, lent, until);
        }
        true
    }

    fn remember(&mut self, name: &str) -> bool {
        let Ok(channel) = Channel::new(name) else {
            return false;
        };
        if self.remembered.len() >= MOST_REMEMBERED {
            return false;
        }
        let wanting = (0_u32..).zip(&self.all).filter(|(_, it)| wants(it, name));
        let wanting = wanting.map(|(index, _)| index).collect();
        self.remembered.insert(channel, wanting);
        true
    }
}

fn wants(route: &Route, channel: &str) -> bool {
    route.patterns.iter().any(|it| it.matches(channel))
}
