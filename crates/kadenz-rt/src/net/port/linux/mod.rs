//! A port on Linux.

mod error_queue;
mod errors;
mod keys;
mod open;
mod rights;
mod settle;
mod stamping;
mod wake;

use std::net::SocketAddr;
use std::sync::Arc;

pub(super) use wake::WakerParts;

use super::inbox::About;
use super::{
    Granted, Inbox, NetworkError, OpenPortError, Outbox, PortOptions, ReceiveError, Reception,
    SendError, Stamps, TransmitKey, TransmitStamp, Wait, Waker,
};
use crate::clock::{PhcTime, WallTime, now};
use crate::os::linux::udp::messages::{Messages, Queue};
use crate::os::linux::udp::notes::Notes;
use crate::os::linux::udp::socket::Socket;
use crate::os::linux::udp::wait;
use error_queue::ErrorQueue;
use keys::Keys;
use stamping::Enabled;

#[derive(Debug)]
pub(super) struct Port {
    socket: Socket,
    /// With a peer the kernel's errors are of that peer; else of anyone, and of no use to a call.
    connected: bool,
    waker: WakerParts,
    keys: Arc<Keys>,
    error_queue: ErrorQueue,
    drops: Option<Drops>,
    stamping: Arc<Enabled>,
    /// Datagrams sent since the error queue was last taken out.
    unread: usize,
}

/// So many stamps may wait in the socket's receive buffer, which they share with what comes in: a
/// loop that never takes them would else lose datagrams by its own stamps.
const MOST_UNREAD: usize = 64;

pub(super) type InboxParts = ReceiveParts;
pub(super) type OutboxParts = SendParts;

/// What an inbox needs for its calls.
#[derive(Debug)]
pub(super) struct ReceiveParts(Messages);

impl ReceiveParts {
    pub(super) fn new(slots: usize) -> Self {
        Self(Messages::for_receiving(slots))
    }
}

/// What an outbox needs for its calls.
#[derive(Debug)]
pub(super) struct SendParts(Messages);

impl SendParts {
    pub(super) fn new(slots: usize) -> Self {
        Self(Messages::for_sending(slots))
    }
}

impl Port {
    pub(super) fn open(options: &PortOptions) -> Result<(Self, Granted), OpenPortError> {
        open::open(options)
    }

    pub(super) fn try_clone(&self) -> Result<Self, OpenPortError> {
        let failed = |errno| OpenPortError::Socket { errno };
        Ok(Self {
            socket: self.socket.try_clone().map_err(failed)?,
            connected: self.connected,
            waker: WakerParts::create().map_err(failed)?,
            keys: Arc::clone(&self.keys),
            error_queue: self.error_queue.another(),
            drops: self.drops,
            stamping: Arc::clone(&self.stamping),
            unread: 0,
        })
    }

    pub(super) fn local_address(&self) -> Result<SocketAddr, OpenPortError> {
        let address = self.socket.local_address();
        address.map_err(|errno| OpenPortError::Socket { errno })
    }

    pub(super) fn waker(&self) -> Waker {
        Waker(self.waker.clone())
    }

    pub(super) fn receive(
        &mut self,
        inbox: &mut Inbox,
        wait: Wait,
    ) -> Result<Reception, ReceiveError> {
        loop {
            if wait != Wait::Poll && self.waker.take() {
                return Ok(Reception::Woken);
            }
            self.take(inbox)?;
            if !inbox.is_empty() {
                return Ok(Reception::Datagrams(inbox.len()));
            }
            let span_ns = match wait {
                Wait::Poll => return Ok(Reception::Nothing),
                Wait::Forever => None,
                Wait::Until(deadline) => match deadline.since(now()) {
                    ..=0 => return Ok(Reception::Nothing),
                    ns => Some(ns.unsigned_abs()),
                },
            };
            match wait::wait(&self.socket, self.waker.event(), span_ns) {
                Ok(ready) => {
                    if ready.event {
                        self.waker.clear();
                    }
                    // What stands in the error queue ends every wait until it is taken out.
                    if ready.error {
                        self.drain();
                    }
                }
                Err(libc::EINTR) => return Ok(Reception::Interrupted),
                Err(errno) => return Err(ReceiveError::Other { errno }),
            }
        }
    }

    /// Takes what is there, without waiting.
    fn take(&mut self, inbox: &mut Inbox) -> Result<(), ReceiveError> {
        // Without a peer each error tells of somebody else's datagram; the error queue keeps it.
        const ERRORS_OF_OTHERS: usize = 8;
        for _ in 0..ERRORS_OF_OTHERS {
            let messages = &mut inbox.system.0;
            let (payload, slot) = (&mut inbox.payload, inbox.slot_bytes);
            let errno = match messages.receive(&self.socket, Queue::Datagrams, payload, slot) {
                Ok(count) => {
                    self.describe(inbox, count);
                    return Ok(());
                }
                Err(libc::EAGAIN | libc::EINTR) => return Ok(()),
                Err(errno) => errno,
            };
            self.drain();
            if self.connected || !errors::is_of_a_datagram(errno) {
                return Err(errors::receive_error(errno));
            }
        }
        Ok(())
    }

    fn describe(&mut self, inbox: &mut Inbox, count: usize) {
        for (at, about) in inbox.about[..count].iter_mut().enumerate() {
            let notes = inbox.system.0.notes(at);
            *about = About {
                whole_length: inbox.system.0.length(at),
                from: inbox.system.0.address(at).unwrap_or(about.from),
                stamps: stamps(&notes),
                dropped_before: self
                    .drops
                    .as_mut()
                    .map(|drops| drops.total(notes.dropped.unwrap_or(0))),
            };
        }
        inbox.filled = count;
    }

    pub(super) fn send(
        &mut self,
        bytes: &[u8],
        to: Option<SocketAddr>,
    ) -> Result<TransmitKey, SendError> {
        self.make_room(1);
        let key = self.keys.count(1);
        let own = self.stamping.own_key(key);
        let Err(errno) = self.socket.send(bytes, to, own) else {
            return Ok(key);
        };
        let again = self.is_anothers(errno);
        self.restart_counting(key, again);
        if !again {
            return Err(errors::send_error(errno));
        }
        self.socket.send(bytes, to, own).map_err(|errno| {
            self.restart_counting(key, false);
            errors::send_error(errno)
        })?;
        Ok(key)
    }

    pub(super) fn send_batch(&mut self, outbox: &mut Outbox) {
        if self.stamping.counts() {
            // A call for many hides the error of the first that it did not send.
            return self.send_each(outbox);
        }
        let count = outbox.filled;
        self.make_room(count);
        let first = self.keys.count(count as u64).ordinal();
        let key = |at: usize| TransmitKey::new(first + at as u64);
        let parcels = &mut outbox.parcels;
        let describe = |at: usize| {
            let own = self.stamping.own_key(key(at));
            (parcels[at].length, parcels[at].to, own)
        };
        let messages = &mut outbox.system.0;
        let mut prepared = messages.prepare(count, &outbox.payload, outbox.slot_bytes, describe);
        let (mut at, mut tried) = (0, None);
        while at < count {
            match prepared.send(&self.socket, at) {
                Ok(sent) => {
                    for at in at..at + sent {
                        parcels[at].outcome = Some(Ok(key(at)));
                    }
                    at += sent;
                }
                Err(errno) if tried != Some(at) && self.is_anothers(errno) => tried = Some(at),
                Err(errno) => {
                    parcels[at].outcome = Some(Err(errors::send_error(errno)));
                    at += 1;
                }
            }
        }
    }

    fn send_each(&mut self, outbox: &mut Outbox) {
        for at in 0..outbox.filled {
            let super::outbox::Parcel { length, to, .. } = outbox.parcels[at];
            let bytes = &outbox.payload[at * outbox.slot_bytes..][..length];
            outbox.parcels[at].outcome = Some(self.send(bytes, Some(to)));
        }
    }

    fn make_room(&mut self, about_to_send: usize) {
        let full = self.unread > 0 && self.unread + about_to_send > MOST_UNREAD;
        if full && self.stamping.transmits() {
            self.drain();
        }
        self.unread += about_to_send;
    }

    fn drain(&mut self) {
        self.error_queue.drain(&self.socket, &self.keys);
        self.unread = 0;
    }

    /// Whether the error tells of a datagram to somebody else, sent before: then this one can be
    /// tried again, for telling has taken the error away.
    fn is_anothers(&self, errno: i32) -> bool {
        !self.connected && errors::is_of_a_datagram(errno)
    }

    /// After a refusal, where the kernel counts: whether it has counted the refused datagram depends on
    /// where that was refused, and on its version.
    fn restart_counting(&mut self, refused: TransmitKey, again: bool) {
        if self.stamping.counts() {
            self.drain();
            self.keys.restart(refused, again);
            self.stamping.restart_keys(&self.socket);
        }
    }

    pub(super) fn transmit_stamps(&mut self) -> impl Iterator<Item = TransmitStamp> + '_ {
        self.drain();
        self.error_queue.stamps()
    }

    pub(super) fn transmit_stamps_lost(&self) -> u64 {
        self.error_queue.stamps_lost()
    }

    pub(super) fn network_errors(&mut self) -> impl Iterator<Item = NetworkError> + '_ {
        self.drain();
        self.error_queue.errors()
    }

    pub(super) fn dropped(&mut self) -> Option<u64> {
        let drops = self.drops.as_mut()?;
        let seen = self.socket.dropped().ok()?;
        Some(drops.total(seen))
    }
}

/// A counter of 32 bits that is followed.
#[derive(Debug, Clone, Copy, Default)]
struct Drops {
    last: u32,
    total: u64,
}

impl Drops {
    /// The whole count for a reading, which may be older than the newest.
    fn total(&mut self, seen: u32) -> u64 {
        let ahead = i64::from(seen.wrapping_sub(self.last).cast_signed());
        if ahead > 0 {
            self.last = seen;
            self.total = self.total.saturating_add_signed(ahead);
            return self.total;
        }
        self.total.saturating_add_signed(ahead)
    }
}

fn stamps(notes: &Notes) -> Stamps {
    Stamps {
        software: notes.software_ns.map(WallTime::from_unix_ns),
        hardware: notes.hardware_ns.map(PhcTime::from_ns),
    }
}

#[cfg(test)]
mod tests;
