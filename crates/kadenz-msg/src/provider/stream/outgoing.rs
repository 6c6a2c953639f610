//! What waits to be sent on a connection, bounded.

use std::io::{self, IoSlice};

use super::socket::Socket;

/// Most parts of a message.
pub(in crate::provider) const PARTS: usize = 3;

/// Bytes that a peer has not taken yet. A message is taken whole or not at all.
#[derive(Debug)]
pub(in crate::provider) struct Outgoing {
    waiting: Vec<u8>,
    sent: usize,
    limit: usize,
}

impl Outgoing {
    /// For up to so many bytes, and one message of any length if there are none.
    pub(in crate::provider) fn new(limit: usize) -> Self {
        Self {
            waiting: Vec::new(),
            sent: 0,
            limit,
        }
    }

    pub(in crate::provider) fn is_empty(&self) -> bool {
        self.sent == self.waiting.len()
    }

    /// Sends a message, or keeps what there is no room for; `false` where it had to be dropped.
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
            written = socket.write(&parts.map(IoSlice::new))?;
        } else if self.waiting.len() - self.sent + length > self.limit {
            return Ok(false);
        }
        if written < length {
            self.keep(parts, written);
        }
        Ok(true)
    }

    /// Adds what is never dropped: a protocol's own words.
    pub(in crate::provider) fn say(&mut self, words: &[u8]) {
        self.keep([words, &[], &[]], 0);
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

    /// Keeps the parts without their first bytes.
    fn keep(&mut self, parts: [&[u8]; PARTS], mut written: usize) {
        if self.waiting.capacity() == 0 {
            self.waiting.reserve_exact(self.limit);
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
    }
}
