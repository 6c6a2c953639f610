//! The kernel's reports of datagrams that were sent: when they left, and what the network refused.

use std::collections::VecDeque;

use super::keys::Keys;
use super::{NetworkError, TransmitStamp, stamps};
use crate::net::port::{KernelStamp, ReceiveError, SendError};
use crate::os::linux::udp::messages::{BlockingMode, Messages, Queue};
use crate::os::linux::udp::notes::ErrorQueueReport;
use crate::os::linux::udp::socket::Socket;

/// Messages that one call takes.
const A_CALL: usize = 16;
/// Most calls at a time, so that a flood of errors delays no caller.
const MAX_CALLS: usize = 64;
/// Errors kept until the caller takes them.
const ERRORS_KEPT: usize = 64;

/// Bounded: when the queue is full, the oldest message is dropped and counted.
#[derive(Debug)]
pub(super) struct ErrorQueue {
    messages: Messages,
    stamps: BoundedQueue<TransmitStamp>,
    errors: BoundedQueue<NetworkError>,
}

impl ErrorQueue {
    pub(super) fn new(stamps_kept: usize) -> Self {
        Self {
            messages: Messages::for_receiving(A_CALL),
            stamps: BoundedQueue::new(stamps_kept),
            errors: BoundedQueue::new(ERRORS_KEPT),
        }
    }

    /// Returns an empty queue with the same bound.
    pub(super) fn another(&self) -> Self {
        Self::new(self.stamps.limit)
    }

    /// Takes the messages out of the kernel.
    pub(super) fn drain(&mut self, socket: &Socket, keys: &Keys) {
        for _ in 0..MAX_CALLS {
            let taken =
                self.messages
                    .receive(socket, Queue::Errors, BlockingMode::None, &mut [], 0);
            let Ok(count) = taken else { return };
            for at in 0..count {
                self.sort(at, keys);
            }
            if count < A_CALL {
                return;
            }
        }
    }

    fn sort(&mut self, at: usize, keys: &Keys) {
        let notes = self.messages.notes(at);
        match notes.report {
            Some(ErrorQueueReport::Left { key }) => {
                let stamps = stamps(&notes);
                let software = stamps.software.map(KernelStamp::Software);
                let hardware = stamps.hardware.map(KernelStamp::Hardware);
                let Some(key) = keys.look_up(key) else { return };
                for when in [software, hardware].into_iter().flatten() {
                    self.stamps.push(TransmitStamp { key, when });
                }
            }
            Some(ErrorQueueReport::Error { errno }) => {
                if let Some(to) = self.messages.address(at) {
                    let error = receive_error(errno);
                    self.errors.push(NetworkError { to, error });
                }
            }
            Some(ErrorQueueReport::Other) | None => {}
        }
    }

    pub(super) fn stamps(&mut self) -> impl Iterator<Item = TransmitStamp> + '_ {
        self.stamps.entries.drain(..)
    }

    pub(super) fn stamps_lost(&self) -> u64 {
        self.stamps.lost
    }

    pub(super) fn errors(&mut self) -> impl Iterator<Item = NetworkError> + '_ {
        self.errors.entries.drain(..)
    }
}

/// A queue that never grows.
#[derive(Debug)]
struct BoundedQueue<T> {
    entries: VecDeque<T>,
    limit: usize,
    lost: u64,
}

impl<T> BoundedQueue<T> {
    fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        Self {
            entries: VecDeque::with_capacity(limit),
            limit,
            lost: 0,
        }
    }

    fn push(&mut self, entry: T) {
        if self.entries.len() >= self.limit {
            self.entries.pop_front();
            self.lost += 1;
        }
        self.entries.push_back(entry);
    }
}

// The meaning of the kernel's error numbers for a port.

/// Whether an error belongs to a datagram that was sent before, rather than to this port.
pub(super) fn is_of_a_datagram(errno: i32) -> bool {
    matches!(
        errno,
        libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENOPROTOOPT
            | libc::EPROTO
            | libc::EOPNOTSUPP
            | libc::EMSGSIZE
            | libc::ENONET
            | libc::EACCES
    )
}

pub(super) fn receive_error(errno: i32) -> ReceiveError {
    match errno {
        libc::ECONNREFUSED => ReceiveError::Refused,
        libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN | libc::ENONET => {
            ReceiveError::Unreachable
        }
        libc::ENETDOWN | libc::ENODEV | libc::ENXIO => ReceiveError::InterfaceDown,
        _ => ReceiveError::Other { errno },
    }
}

pub(super) fn send_error(errno: i32) -> SendError {
    match errno {
        libc::ECONNREFUSED => SendError::Refused,
        libc::ENOBUFS | libc::ENOMEM => SendError::QueueFull,
        libc::EAGAIN => SendError::BufferFull,
        libc::EMSGSIZE => SendError::TooLong,
        libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN | libc::ENONET => {
            SendError::Unreachable
        }
        libc::EPERM | libc::EACCES => SendError::Forbidden,
        libc::ENETDOWN | libc::ENODEV | libc::ENXIO => SendError::InterfaceDown,
        _ => SendError::Other { errno },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_pushes_the_oldest_out_and_is_counted() {
        let mut queue = BoundedQueue::new(2);
        for entry in 0..5 {
            queue.push(entry);
        }
        assert_eq!(queue.entries, [3, 4]);
        assert_eq!(queue.lost, 3);
    }
}
