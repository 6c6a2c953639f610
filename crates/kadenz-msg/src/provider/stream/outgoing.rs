//! The bytes that wait to be sent on a connection, bounded.

use std::io::{self, ErrorKind, IoSlice};

use super::connection_slots::Share;
use super::socket::Socket;

/// The maximum number of parts of a message.
pub(in crate::provider) const PARTS: usize = 3;

/// The bytes of a protocol's own answers that may wait beyond the limit; a peer that causes more without
/// reading them is given up.
const MAX_UNREAD_REPLIES: usize = 1 << 20;
/// A buffer that never held more than this is kept.
const SMALL: usize = 64 << 10;

/// Bytes that a peer has not taken yet. A message is taken whole or not at all.
#[derive(Debug)]
pub(in crate::provider) struct Outgoing {
    waiting: Vec<u8>,
    sent: usize,
    limit: usize,
    /// The length of the message that an empty queue took last, which may be beyond the limit.
    first: usize,
    /// The memory of the longest queue so far, if many share a budget.
    memory: Option<Share>,
}

impl Outgoing {
    /// Returns a queue for that many bytes, and for one message of any length if it is empty.
    pub(in crate::provider) fn new(limit: usize, memory: Option<Share>) -> Self {
        Self {
            waiting: Vec::new(),
            sent: 0,
            limit,
            first: 0,
            memory,
        }
    }

    /// Takes room for as much as may wait, so that sending allocates nothing.
    pub(in crate::provider) fn reserve(&mut self) {
        let left = self.limit.saturating_sub(self.waiting.len());
        self.waiting.reserve_exact(left);
    }

    pub(in crate::provider) fn is_empty(&self) -> bool {
        self.sent == self.waiting.len()
    }

    /// How many bytes wait.
    #[cfg(test)]
    pub(in crate::provider) fn waiting(&self) -> usize {
        self.waiting.len() - self.sent
    }

    /// Returns the part of the budget that it has, in bytes.
    pub(in crate::provider) fn held(&self) -> usize {
        self.memory.as_ref().map_or(0, Share::amount)
    }

    /// Releases memory that is no longer needed, if no bytes wait any more.
    pub(in crate::provider) fn trim(&mut self) {
        if self.is_empty() && self.held() > SMALL {
            self.waiting = Vec::with_capacity(self.limit);
            self.sent = 0;
            self.claim(0);
        }
    }

    /// Sends a message, or keeps the part for which there is no room; `false` if it had to be dropped.
    ///
    /// # Errors
    /// If the connection has failed, or there is no memory for the rest of a message that has begun.
    pub(in crate::provider) fn send(
        &mut self,
        socket: &mut Socket,
        parts: [&[u8]; PARTS],
    ) -> io::Result<bool> {
        if !self.is_empty() {
            self.flush(socket)?;
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut written = 0;
        if self.is_empty() {
            self.first = length;
            socket.admit(length);
            written = socket.write(&parts.map(IoSlice::new))?;
        } else if self.waiting.len() - self.sent + length > self.limit {
            return Ok(false);
        }
        if written == length || self.keep(parts, written) {
            return Ok(true);
        }
        if written == 0 {
            return Ok(false);
        }
        Err(ErrorKind::OutOfMemory.into())
    }

    /// Adds bytes that are never dropped: a protocol's own answers.
    ///
    /// # Errors
    /// [`QuotaExceeded`](ErrorKind::QuotaExceeded) if the peer has not read so many that there is no room for
    /// more, [`OutOfMemory`](ErrorKind::OutOfMemory) if the budget that it shares with others has none.
    pub(in crate::provider) fn reply(&mut self, buffer: &[u8]) -> io::Result<()> {
        let most = self.limit.max(self.first);
        let most = most.saturating_add(MAX_UNREAD_REPLIES);
        if self.waiting.len() - self.sent + buffer.len() > most {
            return Err(ErrorKind::QuotaExceeded.into());
        }
        if self.keep([buffer, &[], &[]], 0) {
            return Ok(());
        }
        Err(ErrorKind::OutOfMemory.into())
    }

    /// Sends what waits, as far as there is room.
    pub(in crate::provider) fn flush(&mut self, socket: &mut Socket) -> io::Result<()> {
        while !self.is_empty() {
            match socket.write(&[IoSlice::new(&self.waiting[self.sent..])])? {
                0 => return Ok(()),
                written => self.sent += written,
            }
        }
        self.waiting.clear();
        self.sent = 0;
        Ok(())
    }

    /// Keeps the parts without their first bytes; returns whether there is memory for them.
    fn keep(&mut self, parts: [&[u8]; PARTS], mut written: usize) -> bool {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let held = self.waiting.len() - self.sent + length - written;
        if !self.claim(held.max(self.held())) {
            return false;
        }
        if self.sent > 0 {
            self.waiting.drain(..self.sent);
            self.sent = 0;
        }
        for part in parts {
            let left = written.min(part.len());
            self.waiting.extend_from_slice(&part[left..]);
            written -= left;
        }
        true
    }

    fn claim(&mut self, bytes: usize) -> bool {
        let memory = self.memory.as_mut();
        memory.is_none_or(|memory| memory.resize(bytes))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::super::connection_slots::Budget;
    use super::*;

    fn full() -> (Socket, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut socket = Socket::Unix(near);
        while socket.write(&[IoSlice::new(&[0; 4096])]).unwrap() > 0 {}
        (socket, far)
    }

    #[test]
    fn words_for_a_peer_that_reads_nothing_end_somewhere() {
        let mut outgoing = Outgoing::new(0, None);
        let mut said = 0;
        while outgoing.reply(&[0; 1000]).is_ok() {
            said += 1000;
        }
        assert!(
            (MAX_UNREAD_REPLIES - 1000..=MAX_UNREAD_REPLIES).contains(&said),
            "{said}"
        );
    }

    #[test]
    fn answers_go_behind_a_message_beyond_the_limit() {
        let (mut socket, _far) = full();
        let mut outgoing = Outgoing::new(80_000, None);
        let message = vec![0; 2 * MAX_UNREAD_REPLIES];
        assert!(outgoing.send(&mut socket, [&message, &[], &[]]).unwrap());
        outgoing.reply(&[]).unwrap();
        outgoing.reply(&[0; 1000]).unwrap();
        assert_eq!(outgoing.waiting(), message.len() + 1000);
    }

    #[test]
    fn what_waits_for_many_peers_stays_within_their_budget() {
        let budget = Budget::new(100_000);
        let (mut socket, _far) = full();
        let mut outgoing = [(); 3].map(|()| Outgoing::new(80_000, Some(budget.share())));
        let mut send = |at: usize, bytes: usize| {
            let payload = vec![0; bytes];
            outgoing[at]
                .send(&mut socket, [&payload, &[], &[]])
                .unwrap()
        };
        assert!(send(0, 70_000) && !send(0, 20_000), "its own limit");
        assert!(send(1, 20_000) && !send(2, 20_000), "that of all");
        assert_eq!(budget.taken(), 90_000);
        drop(outgoing);
        assert_eq!(budget.taken(), 0);
    }
}
