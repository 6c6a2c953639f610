//! Is plain Ethernet and UDP good enough for this robot? The measurements of Enner's post
//! "Analyzing the viability of Ethernet and UDP for robot control" (Software for Robots, 2017).
//!
//! A controller keeps a beat. On each beat it sends a packet to every device, or one broadcast to
//! all of them; the devices send it back; the controller takes the time. The protocol itself is
//! [`kadenz_udp`], which firmware runs as well; the socket is [`kadenz_rt::net::port`].
//!
//! | module | what it is |
//! |---|---|
//! | [`probe`] | the controller: sends on the beat, takes the answers' time, hands measurements on |
//! | [`echo`] | a device: answers what it is asked, and no more |
//! | [`discover`] | who is there: one broadcast, a list of devices |
//! | [`wiring`] | the links between them, and how long a packet is on those |
//! | [`log`] | the logging server: measurements of many controllers in one run |
//!
//! The controller's open loop is two threads: one sends on the beat whatever happens to the answers,
//! one receives. They share a ring of departures and nothing else. The closed loop is one thread,
//! which sends the next packet when the last was answered or its beat has come.

mod anticipation;
pub mod discover;
pub mod echo;
pub mod log;
pub mod probe;
mod rehearsal;
pub mod wiring;

/// The UDP port on which devices answer. Not assigned by IANA.
pub const ECHO_PORT: u16 = 6176;
/// The UDP port on which the logging server listens. Not assigned by IANA.
pub const LOG_PORT: u16 = 6177;
