//! The controller: it sends a packet on every beat, and records the answers.
//!
//! # Series
//!
//! | series | value |
//! |---|---|
//! | `lateness` | when a packet was handed to the system, less its beat: the sender's own jitter |
//! | `response` | when its answer was there, less its beat: what the robot waits, no stall hidden |
//! | `rtt` | when its answer was there, less when it was handed to the system |
//! | `send-stack` | from handing over to the driver, or to the card (transmit stamp) |
//! | `wire-and-device` | from the transmit stamp to the stamp of the answer |
//! | `receive-stack` | from the answer's stamp to when it was there |
//! | `device` | how long the device held the packet, by its own clock |
//! | `to-device`, `from-device` | how long each way took, with a bound on the error in the run's parameters |
//! | `first-reply`, `last-reply` | of a broadcast: when the first and the last device's answer was there, less the handing over |
//! | `reply-spread` | from the first device's answer to the last one's, by stamps where there are any |
//! | `densest-half` | the shortest time in which half of the answers came, by stamps |
//!
//! With several devices `rtt` holds all of them, and `<device>.rtt` each.

mod bursts;
mod density;
mod experiment;
mod measurement_sender;
mod one_way;
mod packet_counts;
mod receiver;
mod recorders;
mod sender;
mod stack;
mod trust;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use kadenz_record::run::network::MaxLoss;
use kadenz_rt::beat::Interval;
use kadenz_rt::net::port::{PortOptions, Stamping};
use kadenz_udp::wire::Token;

use crate::measuring::lasting;
use crate::udp::any_like;
use crate::udp::wiring::Wiring;
pub use experiment::probe;
pub(crate) use experiment::{ProbeSetup, open};

// The receivers of packets, and how they are sent.

/// A device that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name, which becomes the prefix of its series.
    pub name: String,
    /// The address on which it listens.
    pub address: SocketAddr,
}

/// The destination of a beat's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A packet to each device.
    Each,
    /// One packet to all of them, to this address.
    Broadcast(SocketAddr),
}

/// Whether the next packet waits for the last answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loop {
    /// No: packets are sent on the beat whatever happens to the answers.
    #[default]
    Open,
    /// Yes, until the next beat: one thread sends and receives. A late answer delays the following packets, which are
    /// still measured against their beat.
    Closed,
}

/// How the controller waits for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketReceiving {
    /// The kernel wakes the thread.
    #[default]
    Blocking,
    /// The sending thread polls for a while (`ProbePlan::spins_for`); then the kernel wakes it. The open loop, too, has
    /// one thread then.
    Spinning,
    /// The thread polls: no wake-up, and a whole CPU.
    BusyPoll,
}

/// The clocks by which the two ways of a round trip are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// Each device's clock is fitted to the controller's.
    #[default]
    Fitted,
    /// The devices stamp with their wall clocks, which are synchronised with this machine's.
    Synchronised {
        /// Maximum difference of two of them.
        apart: Duration,
    },
}

/// A measurement of round trips.
#[derive(Clone, Debug)]
pub struct ProbePlan {
    /// The devices that answer; at least one.
    pub devices: Vec<Device>,
    /// Where the packets go.
    pub destination: Destination,
    /// Time between two packets.
    pub interval: Interval,
    /// How many beats are measured; with `None` until stopped.
    pub count: Option<u64>,
    /// Beats before them: their packets are sent and answered, and not measured. The first packet waits until the
    /// address of its device was found (RFC 826).
    pub warm_up: u32,
    /// UDP payload of a packet in bytes.
    pub payload_bytes: usize,
    /// An answer that takes longer is late, and its packet lost, unless it keeps the deadline
    /// ([`ProbePlan::timeout_with`]).
    pub timeout: Duration,
    /// Open or closed loop.
    pub looping: Loop,
    /// How the controller waits for answers.
    pub receiving: SocketReceiving,
    /// Whether a datagram over the loopback rehearses each packet shortly before its beat, which warms the caches.
    pub rehearses: bool,
    /// Whether the devices' own stamps are requested.
    pub device_stamps: bool,
    /// The largest step in which the devices' clocks count.
    pub device_resolution: Duration,
    /// The clocks by which the two ways are measured, where device stamps are requested.
    pub clocks: Clocks,
    /// The token that the devices know.
    pub token: Option<Token>,
    /// The address, interface and other options of the socket.
    pub port: PortOptions,
    /// What is known of the links to the devices.
    pub wiring: Wiring,
    /// The logging server that gets every measurement.
    pub log: Option<SocketAddr>,
    /// The most lost packets of a kept run.
    pub max_loss: Option<MaxLoss>,
}

/// The longest polling for an answer: a later answer loses little by a wake-up.
const MAX_SPIN: Duration = Duration::from_millis(1);

impl ProbePlan {
    /// A packet of 200 bytes, an actuator's feedback, to each device on every beat until a stop, with the usual options:
    /// five beats before the first measured one, a timeout of 1 s, stamps of the kernel. The thread polls for the
    /// answers of one device; those of several wake it.
    #[must_use]
    pub fn new(devices: Vec<Device>, interval: Interval) -> Self {
        let usual = PortOptions::default();
        Self {
            receiving: match devices.len() {
                1 => SocketReceiving::Spinning,
                _ => SocketReceiving::Blocking,
            },
            port: PortOptions {
                local: devices
                    .first()
                    .map_or(usual.local, |it| any_like(it.address)),
                receive_stamps: Stamping::Software,
                transmit_stamps: Stamping::Software,
                ..usual
            },
            devices,
            destination: Destination::Each,
            interval,
            count: None,
            warm_up: 5,
            payload_bytes: 200,
            timeout: Duration::from_secs(1),
            looping: Loop::Open,
            rehearses: false,
            device_stamps: false,
            device_resolution: Duration::from_micros(1),
            clocks: Clocks::Fitted,
            token: None,
            wiring: Wiring::default(),
            log: None,
            max_loss: None,
        }
    }

    /// How long to wait for an answer under a deadline: an answer that keeps it is not lost.
    #[must_use]
    pub fn timeout_with(&self, deadline: Option<Duration>) -> Duration {
        self.timeout.max(deadline.unwrap_or_default())
    }

    /// How long [`SocketReceiving::Spinning`] polls for the answers to a packet: a fifth of the interval, a millisecond
    /// at most. Zero where there is one CPU only: the answering process may need it.
    ///
    /// # Real-time safety
    /// Not real-time safe: it reads the system's CPUs.
    #[must_use]
    pub(crate) fn spins_for(&self) -> Duration {
        let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        match self.receiving {
            SocketReceiving::Spinning if cpus > 1 => MAX_SPIN.min(self.interval.as_duration() / 5),
            _ => Duration::ZERO,
        }
    }

    /// Whether the sending thread receives, too.
    #[must_use]
    pub(crate) fn on_one_thread(&self) -> bool {
        self.looping == Loop::Closed || self.receiving == SocketReceiving::Spinning
    }

    /// How long the plan takes; `None` for one without end.
    #[must_use]
    pub fn total(&self) -> Option<Duration> {
        let beats = self.count?.saturating_add(self.warm_up.into());
        Some(lasting(self.interval.as_duration(), beats))
    }
}

#[cfg(test)]
mod tests;
