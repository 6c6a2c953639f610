//! The clients' patterns, and how messages are passed on to them.

use std::io::IoSlice;
use std::mem;
use std::sync::Arc;

use kadenz_rt::clock::{self, MonotonicTime};

use super::{DisconnectReason, Serving};
use crate::channel::Channel;
use crate::provider::stream::connection_slots::ConnectionId;
use crate::provider::tcpq::queue::WireMessage;
use crate::wire::tcpq::message_header;

/// A message on its way to many.
struct Forwarding<'a> {
    parts: [&'a [u8]; 2],
    copy: Copy,
    now: MonotonicTime,
}

/// The copy of a message for the clients that do not take all of it at once.
enum Copy {
    NotMade,
    Made(Arc<WireMessage>),
    /// There is no memory for it.
    Refused,
}

impl Forwarding<'_> {
    fn length(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

impl Serving {
    pub(super) fn subscribe(
        &mut self,
        id: ConnectionId,
        pattern: &str,
    ) -> Result<(), DisconnectReason> {
        let client = self.clients.get_mut(&id).ok_or(DisconnectReason::Gone)?;
        if client.wants_again(pattern) {
            return Ok(());
        }
        let taken = self.routes.subscribe(id, pattern, client.forwarding);
        let kind = taken.map_err(|_| DisconnectReason::Refused)?;
        match client.note(pattern, kind, &mut self.routes) {
            true => Ok(()),
            false => Err(DisconnectReason::Refused),
        }
    }

    pub(super) fn unsubscribe(&mut self, id: ConnectionId, pattern: &str) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if client.forget(pattern) {
            self.routes.unsubscribe(id, pattern, client.forwarding);
            client.count_skipped(&mut self.routes);
        }
    }

    pub(super) fn forward(&mut self, channel: &Channel, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let header = message_header(channel, length);
        let mut forwarding = Forwarding {
            parts: [header.bytes(), payload],
            copy: Copy::NotMade,
            now: clock::now(),
        };
        let mut found = mem::take(&mut self.found);
        let mut behind = mem::take(&mut self.behind);
        self.routes.route(channel, &mut found);
        self.counters.skipped(found.skipped);
        // Clients that keep up do not wait for those that do not.
        for id in &found.ids {
            let client = self.clients.get(id);
            match client.is_some_and(|it| !it.queue.is_empty()) {
                true => behind.push(*id),
                false => self.deliver(*id, &mut forwarding),
            }
        }
        for id in behind.drain(..) {
            self.deliver(id, &mut forwarding);
        }
        (self.found, self.behind) = (found, behind);
    }

    fn deliver(&mut self, id: ConnectionId, forwarding: &mut Forwarding<'_>) {
        // A frame behind a part of another one would be taken for its end.
        if self.lost.contains(&id) {
            return;
        }
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let length = forwarding.length();
        let mut written = 0;
        let mut is_lost = false;
        if client.queue.is_empty() {
            match client.socket.write(&forwarding.parts.map(IoSlice::new)) {
                Ok(count) => written = count,
                Err(_) => is_lost = true,
            }
        } else if client.queue.bytes() + length > self.options.queue {
            client.skip(id, &mut self.routes);
            return self.counters.dropped(&client.counters);
        }
        if written > 0 {
            client.progress.taken(forwarding.now);
        }
        if written == length {
            return self.counters.delivered(&client.counters);
        }
        let kept = !is_lost && self.keep(id, forwarding, written);
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if kept {
            self.counters.delivered(&client.counters);
        } else {
            self.counters.dropped(&client.counters);
            // A part of a message is not a message.
            if is_lost || written > 0 {
                self.lost.push(id);
            }
        }
    }

    /// Keeps a message for a client that has not taken all of it; returns whether there is memory for it.
    fn keep(&mut self, id: ConnectionId, forwarding: &mut Forwarding<'_>, written: usize) -> bool {
        if matches!(forwarding.copy, Copy::NotMade) {
            forwarding.copy = match self.take_memory(WireMessage::cost(forwarding.length())) {
                Some(memory) => Copy::Made(WireMessage::new(&forwarding.parts, memory)),
                None => Copy::Refused,
            };
        }
        let (Copy::Made(message), Some(client)) = (&forwarding.copy, self.clients.get_mut(&id))
        else {
            return false;
        };
        client.writable = false;
        client.keep(Arc::clone(message), written, forwarding.now)
    }
}
