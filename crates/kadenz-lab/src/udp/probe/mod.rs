//! The controller: a packet on every beat, and what came back of it.
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
mod departures;
mod experiment;
mod hand_on;
mod lead;
mod one_way;
mod packet_counts;
mod plan;
mod receiver;
mod recorders;
mod sender;
mod stack;
mod trust;

pub use experiment::probe;
pub(crate) use experiment::{Prepared, open};
pub use packet_counts::{PacketCounts, Reply};
pub use plan::{Clocks, Destination, Device, Loop, ProbePlan, Receiving};

#[cfg(test)]
mod tests;
