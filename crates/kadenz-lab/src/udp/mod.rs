//! Is plain Ethernet and UDP good enough for this robot? The measurements of \[Enner2016b\].
//!
//! A controller keeps a beat. On each beat it sends a packet to every device, or one broadcast to
//! all of them; the devices send it back; the controller takes the time. The protocol itself is
//! [`kadenz_udp`], which firmware runs as well; the socket is [`kadenz_rt::net::port`].
//!
//! | module | what it is |
//! |---|---|
//! | [`probe`] | the controller: sends on the beat, takes the answers' time, hands measurements on |
//! | [`echo`] | a device: it answers packets, and does nothing else |
//! | [`discover`] | finds devices: one broadcast, a list of devices |
//! | [`wiring`] | the links between them, and how long a packet is on those |
//! | [`log`] | the logging server: measurements of many controllers in one run |
//!
//! The controller's open loop has two threads: one sends on the beat whatever happens to the answers, one receives.
//! They share a ring of departures and nothing else. The closed loop is one thread, which sends the next packet when
//! the last was answered or its beat has come.

pub mod discover;
pub mod echo;
pub mod log;
pub mod probe;
pub mod wiring;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::net::port::{Inbox, OpenPortError, PortOptions, UdpPort, Wait};

/// The UDP port on which devices answer. Not assigned by IANA.
pub const ECHO_PORT: u16 = 6176;
/// The UDP port on which the logging server listens. Not assigned by IANA.
pub const LOG_PORT: u16 = 6177;

/// The unspecified address of the family of `of`, with a port that the system chooses: a socket there reaches `of`.
#[must_use]
pub fn any_like(of: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match of {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, 0)
}

// A datagram over the loopback, before the measured packet.
//
// A loop that has slept for milliseconds finds little of its own code and of the kernel's in the caches. A datagram
// over the loopback takes most of the path of the next packet, there and back, and warms the caches for it.

/// How long before its beat a packet is rehearsed: time for two system calls with cold caches.
const BEFORE_THE_BEAT: Duration = Duration::from_micros(300);

/// Datagrams that one call takes, including late ones of earlier rehearsals.
const SLOTS: usize = 8;

/// Whether there is time for a rehearsal before a beat: a rehearsal that delays the beat does more harm than good.
fn has_time(now: MonotonicTime, beat: MonotonicTime) -> bool {
    now < beat - BEFORE_THE_BEAT
}

/// A port that sends to itself.
#[derive(Debug)]
struct Rehearsal {
    port: UdpPort,
    own: SocketAddr,
    packet: Vec<u8>,
    inbox: Inbox,
}

impl Rehearsal {
    /// Opens a port for datagrams of this many bytes.
    ///
    /// # Errors
    /// The process may open no further socket.
    fn open(bytes: usize) -> Result<Self, OpenPortError> {
        let port = UdpPort::open(&PortOptions {
            local: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ..PortOptions::default()
        })?;
        Ok(Self {
            own: port.local_address(),
            port,
            packet: vec![0; bytes],
            inbox: Inbox::new(SLOTS, bytes),
        })
    }

    /// Sends a datagram and takes it, with late ones of earlier rehearsals.
    ///
    /// Where the loopback is down no datagram comes, which is not an error.
    ///
    /// # Real-time safety
    /// Real-time safe: two system calls, neither of which waits.
    fn play(&mut self) {
        let _ = self.port.send_to(&self.packet, self.own);
        let _ = self.port.receive_batch(&mut self.inbox, Wait::Poll);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many datagrams wait or come soon: one per call, until none has come for a while.
    fn left(rehearsal: &mut Rehearsal) -> usize {
        let mut inbox = Inbox::new(1, 200);
        let mut count = 0;
        loop {
            let wait = Wait::Until(kadenz_rt::clock::now() + Duration::from_millis(200));
            match rehearsal.port.receive_batch(&mut inbox, wait) {
                Ok(datagrams) if datagrams.count() > 0 => count += 1,
                _ => return count,
            }
        }
    }

    #[test]
    fn what_came_late_is_taken_by_the_next_and_does_not_pile_up() {
        let mut rehearsal = Rehearsal::open(200).expect("a socket");
        for _ in 0..5 {
            let sent = rehearsal.port.send_to(&rehearsal.packet, rehearsal.own);
            sent.expect("the loopback is up");
        }
        rehearsal.play();
        // The own datagram may still be on its way where the kernel was busy.
        assert!(left(&mut rehearsal) <= 1);
        assert_eq!(left(&mut rehearsal), 0);
    }

    #[test]
    fn a_beat_that_is_near_is_not_rehearsed() {
        let beat = MonotonicTime::from_ns(1_000_000_000);
        assert!(has_time(beat - Duration::from_micros(301), beat));
        assert!(!has_time(beat - Duration::from_micros(300), beat));
        assert!(!has_time(beat + Duration::from_micros(1), beat));
    }
}
