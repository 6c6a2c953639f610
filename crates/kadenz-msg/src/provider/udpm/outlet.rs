//! Publishing to a multicast group.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::net::port::{MembershipState, SendError, UdpPort};

use super::Options;
use crate::channel::Channel;
use crate::provider::PublishError;
use crate::provider::stream::Publish;
use crate::wire::{self, Fragments};

/// The minimum time between two searches for a missing interface.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// An outlet with a socket of its own, so that its numbers count the messages of one publisher.
#[derive(Debug)]
pub(super) struct UdpmOutlet {
    port: UdpPort,
    group: SocketAddr,
    sequence: u32,
    fragment: usize,
    send_wait: Duration,
    next_look: MonotonicTime,
}

impl UdpmOutlet {
    pub(super) fn new(port: UdpPort, options: &Options) -> Self {
        Self {
            port,
            group: options.group,
            sequence: 0,
            fragment: options.fragment,
            send_wait: options.send_wait,
            next_look: MonotonicTime::default(),
        }
    }

    fn send(&mut self, header: &wire::Header, payload: &[u8]) -> Result<(), SendError> {
        let parts = [header.bytes(), payload];
        match self.port.send_parts(parts, self.group) {
            Ok(_) => Ok(()),
            Err(error) if is_of_the_interface(error) && self.interface_is_back() => {
                self.port.send_parts(parts, self.group).map(drop)
            }
            Err(error) => Err(error),
        }
    }

    fn interface_is_back(&mut self) -> bool {
        let now = clock::now();
        if now < self.next_look {
            return false;
        }
        self.next_look = now + POLL_INTERVAL;
        self.port.renew_membership() == MembershipState::Regained
    }

    /// Sends the fragments, and waits for room between them until `send_wait` is over.
    fn send_long(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        let fragments = Fragments::new(self.sequence, channel, payload, self.fragment);
        let fragments = fragments.map_err(|it| PublishError::TooLong {
            channel: *channel,
            length: it.length,
            longest: it.longest,
        })?;
        let deadline = clock::now() + self.send_wait;
        for (header, part) in fragments {
            loop {
                let error = match self.send(&header, part) {
                    Ok(()) => break,
                    Err(error) => error,
                };
                let left = deadline.remaining(clock::now());
                let waits = error == SendError::BufferFull && !left.is_zero();
                if !(waits && self.port.wait_for_room(left)) {
                    return Err(refused(channel, error));
                }
            }
        }
        Ok(())
    }
}

impl Publish for UdpmOutlet {
    fn publish(&mut self, channel: &Channel, payload: &[u8]) -> Result<(), PublishError> {
        if wire::fits_short(channel, payload.len()) {
            let header = wire::short_header(self.sequence, channel);
            let sent = self.send(&header, payload);
            // An unsent message takes no number: no receiver is to count it as lost.
            sent.map_err(|error| refused(channel, error))?;
            self.sequence = self.sequence.wrapping_add(1);
            return Ok(());
        }
        let sent = self.send_long(channel, payload);
        self.sequence = self.sequence.wrapping_add(1);
        sent
    }
}

fn is_of_the_interface(error: SendError) -> bool {
    match error {
        SendError::InterfaceDown | SendError::Unreachable => true,
        SendError::Other { errno } => {
            let kind = std::io::Error::from_raw_os_error(errno).kind();
            matches!(kind, ErrorKind::AddrNotAvailable | ErrorKind::NetworkDown)
        }
        _ => false,
    }
}

fn refused(channel: &Channel, error: SendError) -> PublishError {
    let channel = *channel;
    let reason = match error {
        SendError::BufferFull => {
            let reason = "the socket's send buffer is full of what has not left yet";
            return PublishError::Full { channel, reason };
        }
        SendError::QueueFull => {
            let reason = "the interface's queue is full";
            return PublishError::Full { channel, reason };
        }
        SendError::NoPeer | SendError::Refused => ErrorKind::ConnectionRefused,
        SendError::TooLong => ErrorKind::InvalidInput,
        SendError::Unreachable => ErrorKind::NetworkUnreachable,
        SendError::Forbidden => ErrorKind::PermissionDenied,
        SendError::InterfaceDown => ErrorKind::NetworkDown,
        SendError::Other { errno } => std::io::Error::from_raw_os_error(errno).kind(),
    };
    PublishError::Refused { channel, reason }
}
