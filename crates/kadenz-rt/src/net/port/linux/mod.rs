//! A port on Linux.

mod error_queue;
mod keys;
mod multicast;
mod open;
mod receiving;
mod rights;
mod stamping;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(super) use receiving::SystemPortWaker;

use super::{
    GrantedPort, MembershipState, NetworkError, OpenPortError, Outbox, PortOptions, PortWaker,
    SendError, Stamps, TransmitKey, TransmitStamp,
};
use crate::clock::{PhcTime, WallTime};
use crate::os::linux::udp::notes::ControlMessages;
use crate::os::linux::udp::socket;
use crate::os::linux::udp::socket::Socket;
use error_queue::ErrorQueue;
use keys::Keys;
use multicast::Membership;
use receiving::WaitState;
use stamping::Enabled;

#[derive(Debug)]
pub(super) struct Port {
    socket: Socket,
    /// With a peer the kernel's errors concern that peer; without one they concern any destination, and a call has
    /// no use for them.
    connected: bool,
    waker: SystemPortWaker,
    keys: Arc<Keys>,
    error_queue: ErrorQueue,
    drops: Option<ExtendedCounter>,
    stamping: Arc<Enabled>,
    /// Datagrams sent, by any handle, since the error queue was last emptied.
    unread: Arc<AtomicUsize>,
    waiting: WaitState,
    membership: Option<Membership>,
}

/// At most so many stamps may wait in the socket's receive buffer, which they share with received datagrams: a loop
/// that never takes its stamps would otherwise lose datagrams to them.
const MAX_UNREAD: usize = 64;

impl Port {
    pub(super) fn open(options: &PortOptions) -> Result<(Self, GrantedPort), OpenPortError> {
        open::open(options)
    }

    pub(super) fn try_clone(&self) -> Result<Self, OpenPortError> {
        let failed = |errno| OpenPortError::Socket { errno };
        Ok(Self {
            socket: self.socket.try_clone().map_err(failed)?,
            connected: self.connected,
            waker: SystemPortWaker::create().map_err(failed)?,
            keys: Arc::clone(&self.keys),
            error_queue: self.error_queue.another(),
            drops: self.drops,
            stamping: Arc::clone(&self.stamping),
            unread: Arc::clone(&self.unread),
            waiting: self.waiting.another(),
            membership: self.membership.clone(),
        })
    }

    pub(super) fn local_address(&self) -> Result<SocketAddr, OpenPortError> {
        let address = self.socket.local_address();
        address.map_err(|errno| OpenPortError::Socket { errno })
    }

    pub(super) fn waker(&self) -> PortWaker {
        PortWaker(self.waker.clone())
    }

    pub(super) fn send(
        &mut self,
        parts: [&[u8]; 2],
        to: Option<SocketAddr>,
    ) -> Result<TransmitKey, SendError> {
        self.make_room(1);
        let key = self.keys.count(1);
        let own = self.stamping.own_key(key);
        let Err(errno) = self.socket.send(parts, to, own) else {
            return Ok(key);
        };
        let again = self.is_anothers(errno);
        self.restart_counting(key, again);
        if !again {
            return Err(error_queue::send_error(errno));
        }
        self.socket.send(parts, to, own).map_err(|errno| {
            self.restart_counting(key, false);
            error_queue::send_error(errno)
        })?;
        Ok(key)
    }

    pub(super) fn send_batch(&mut self, outbox: &mut Outbox) {
        if self.stamping.counts() {
            // A call that sends many hides the error of the first datagram that it did not send.
            return self.send_each(outbox);
        }
        let count = outbox.filled;
        if count == 1 {
            // A call that sends one costs the kernel less than a call that sends many.
            let parcel = &mut outbox.parcels[0];
            let sent = self.send([&outbox.payload[..parcel.length], &[]], Some(parcel.to));
            parcel.outcome = Some(sent);
            return;
        }
        self.make_room(count);
        let first = self.keys.count(count as u64).ordinal();
        let key = |at: usize| TransmitKey::new(first + at as u64);
        let parcels = &mut outbox.parcels;
        let describe = |at: usize| {
            let own = self.stamping.own_key(key(at));
            (parcels[at].length, parcels[at].to, own)
        };
        let messages = &mut outbox.system;
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
                    parcels[at].outcome = Some(Err(error_queue::send_error(errno)));
                    at += 1;
                }
            }
        }
    }

    fn send_each(&mut self, outbox: &mut Outbox) {
        for at in 0..outbox.filled {
            let super::outbox::OutgoingDatagram { length, to, .. } = outbox.parcels[at];
            let bytes = &outbox.payload[at * outbox.slot_bytes..][..length];
            outbox.parcels[at].outcome = Some(self.send([bytes, &[]], Some(to)));
        }
    }

    fn make_room(&mut self, about_to_send: usize) {
        let unread = self.unread.load(Ordering::Relaxed);
        if unread + about_to_send > MAX_UNREAD && unread > 0 && self.stamping.transmits() {
            self.drain();
        }
        self.unread.fetch_add(about_to_send, Ordering::Relaxed);
    }

    fn drain(&mut self) {
        // Reset before draining: datagrams that another handle sends meanwhile may be missed.
        self.unread.store(0, Ordering::Relaxed);
        self.error_queue.drain(&self.socket, &self.keys);
    }

    /// Whether the error concerns an earlier datagram to another destination: then this one can be sent again,
    /// since reading the error has cleared it.
    fn is_anothers(&self, errno: i32) -> bool {
        !self.connected && error_queue::is_of_a_datagram(errno)
    }

    /// Restarts the keys after a refusal, where the kernel counts: whether it has counted the refused datagram
    /// depends on where that was refused, and on the kernel's version.
    fn restart_counting(&mut self, refused: TransmitKey, again: bool) {
        if self.stamping.counts() {
            self.drain();
            self.keys.restart(refused, again);
            self.stamping.restart_keys(&self.socket);
        }
    }

    pub(super) fn wait_for_room(&mut self, at_most: Duration) -> bool {
        socket::for_room(&self.socket, at_most)
    }

    pub(super) fn renew_membership(&mut self) -> MembershipState {
        let membership = self.membership.as_mut();
        membership.map_or(MembershipState::Kept, |it| it.renew(&self.socket))
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

/// A 32-bit counter of the kernel, extended to 64 bits.
#[derive(Debug, Clone, Copy, Default)]
struct ExtendedCounter {
    last: u32,
    total: u64,
}

impl ExtendedCounter {
    /// Returns the whole count for a reading, which may be older than the newest.
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

fn stamps(notes: &ControlMessages) -> Stamps {
    Stamps {
        software: notes.software_ns.map(WallTime::from_unix_ns),
        hardware: notes.hardware_ns.map(PhcTime::from_ns),
    }
}

#[cfg(test)]
mod tests;
