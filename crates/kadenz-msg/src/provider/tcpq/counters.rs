//! The counters of a server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::provider::stream::connection_slots::ConnectionId;
use crate::sync::lock;

/// The counters of a server since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerCounters {
    /// Clients that are connected.
    pub clients: u64,
    /// Clients that connected, and disconnected again or were disconnected.
    pub left: u64,
    /// Messages that arrived from clients.
    pub messages: u64,
    /// Messages that were passed on, once for each client.
    pub delivered: u64,
    /// Messages that were dropped for clients that do not read, or are gone.
    pub dropped: u64,
    /// Clients that were refused or disconnected: too many, silent for too long, no LCM, or more memory than
    /// there is.
    pub refused: u64,
}

/// The counters of one client of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ClientCounters {
    /// Its address, as the system reports it.
    pub address: String,
    /// Messages that were passed on to it.
    pub delivered: u64,
    /// Messages that were dropped because it does not read. From the second on, a message counts for each
    /// of its patterns that matches.
    pub dropped: u64,
}

/// The counters of one client.
#[derive(Debug, Default)]
pub(super) struct AtomicClientCounters {
    address: String,
    delivered: AtomicU64,
    dropped: AtomicU64,
    /// The counters of the messages that are dropped for it while it is skipped.
    skipped: Mutex<Vec<CounterDelta>>,
}

/// A counter of messages, and its earlier value.
#[derive(Debug)]
struct CounterDelta {
    messages: Arc<AtomicU64>,
    before: u64,
}

impl AtomicClientCounters {
    /// Counts the messages of these counters as dropped for it from now on.
    pub(super) fn skip(&self, messages: Vec<Arc<AtomicU64>>) {
        let since = messages.into_iter().map(|messages| CounterDelta {
            before: of(&messages),
            messages,
        });
        lock(&self.skipped).extend(since);
    }

    /// Adds the messages since `skip` to the dropped ones, and ends that count.
    pub(super) fn resume(&self) {
        let mut skipped = lock(&self.skipped);
        let dropped = skipped.drain(..).map(|it| it.count()).sum();
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    fn counters(&self) -> ClientCounters {
        let skipped = lock(&self.skipped);
        let dropped: u64 = skipped.iter().map(CounterDelta::count).sum();
        ClientCounters {
            address: self.address.clone(),
            delivered: of(&self.delivered),
            dropped: of(&self.dropped) + dropped,
        }
    }
}

impl CounterDelta {
    fn count(&self) -> u64 {
        of(&self.messages).saturating_sub(self.before)
    }
}

/// The counters that the serving thread writes and others read.
#[derive(Debug, Default)]
pub(super) struct AtomicServerCounters {
    pub(super) ends: AtomicBool,
    left: AtomicU64,
    pub(super) messages: AtomicU64,
    delivered: AtomicU64,
    dropped: AtomicU64,
    pub(super) refused: AtomicU64,
    /// Locked when a client connects or disconnects, not for a message.
    clients: Mutex<BTreeMap<ConnectionId, Arc<AtomicClientCounters>>>,
}

impl AtomicServerCounters {
    pub(super) fn remember(&self, id: ConnectionId, address: String) -> Arc<AtomicClientCounters> {
        let client = Arc::new(AtomicClientCounters {
            address,
            ..AtomicClientCounters::default()
        });
        lock(&self.clients).insert(id, Arc::clone(&client));
        client
    }

    pub(super) fn forget(&self, gone: ConnectionId) {
        lock(&self.clients).remove(&gone);
        count(&self.left);
    }

    pub(super) fn delivered(&self, client: &AtomicClientCounters) {
        count(&self.delivered);
        count(&client.delivered);
    }

    pub(super) fn dropped(&self, client: &AtomicClientCounters) {
        count(&self.dropped);
        count(&client.dropped);
    }

    /// A message was dropped for so many that are skipped.
    pub(super) fn skipped(&self, clients: usize) {
        self.dropped.fetch_add(clients as u64, Ordering::Relaxed);
    }

    pub(super) fn counters(&self) -> ServerCounters {
        let clients = lock(&self.clients).len() as u64;
        ServerCounters {
            clients,
            left: of(&self.left),
            messages: of(&self.messages),
            delivered: of(&self.delivered),
            dropped: of(&self.dropped),
            refused: of(&self.refused),
        }
    }

    pub(super) fn clients(&self) -> Vec<ClientCounters> {
        // Other threads do not wait while thousands are read.
        let clients: Vec<_> = lock(&self.clients).values().cloned().collect();
        clients.iter().map(|it| it.counters()).collect()
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn of(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
