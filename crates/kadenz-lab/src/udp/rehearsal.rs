//! A datagram to oneself, before the one that counts.
//!
//! A loop that has slept for milliseconds finds little of what it needs in the caches: neither its own
//! code nor the kernel's. A datagram over the loopback takes most of the way that the next packet will
//! take, there and back, and leaves it warm.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use kadenz_rt::net::port::{Inbox, OpenPortError, PortOptions, UdpPort, Wait};

/// How long before its beat a packet is rehearsed: time for two system calls in cold caches.
pub(super) const BEFORE_THE_BEAT: Duration = Duration::from_micros(300);

/// A port that talks to itself.
#[derive(Debug)]
pub(super) struct Rehearsal {
    port: UdpPort,
    own: SocketAddr,
    packet: Vec<u8>,
    inbox: Inbox,
}

impl Rehearsal {
    /// Of packets of so many bytes.
    ///
    /// # Errors
    /// When the process may open no further socket.
    pub(super) fn open(bytes: usize) -> Result<Self, OpenPortError> {
        let port = UdpPort::open(&PortOptions {
            local: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ..PortOptions::default()
        })?;
        Ok(Self {
            own: port.local_address(),
            port,
            packet: vec![0; bytes],
            inbox: Inbox::new(1, bytes),
        })
    }

    /// Sends one and takes it.
    ///
    /// Real-time safe: two system calls, neither of which waits. Where the loopback is down nothing
    /// comes, which is as good.
    pub(super) fn play(&mut self) {
        let _ = self.port.send_to(&self.packet, self.own);
        let _ = self.port.receive_batch(&mut self.inbox, Wait::Poll);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_taken_and_does_not_pile_up() {
        let mut rehearsal = Rehearsal::open(200).expect("a socket");
        for _ in 0..1000 {
            rehearsal.play();
        }
        // The last one may still be on its way where the kernel was busy.
        let wait = Wait::Until(kadenz_rt::clock::now() + Duration::from_millis(200));
        let left = rehearsal.port.receive_batch(&mut rehearsal.inbox, wait);
        assert!(left.expect("no error").count() <= 1);
        let more = rehearsal.port.receive_batch(&mut rehearsal.inbox, wait);
        assert_eq!(more.expect("no error").count(), 0);
    }
}
