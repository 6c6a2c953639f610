//! Round trips over a topology in virtual time, exact: the oracle that measurements are held
//! against.
//!
//! A controller asks on a beat, each device in turn or all of them by one broadcast, and devices
//! answer after the time that the topology gives them. Hosts are ideal otherwise. What remains is
//! the network: [wire](super::wire), forwarding, queues, faults.
//!
//! ```
//! use kadenz_lab::testbed::model::{self, Asking, Cast};
//! use kadenz_lab::testbed::topology::{self, Topology};
//! use kadenz_lab::testbed::{Picos, wire::Payload};
//!
//! let topology = Topology::parse(topology::ready("baseline").expect("it is built in"))?;
//! let asking = Asking {
//!     payload: Payload::new(200)?,
//!     interval: Picos::from_ns(10_000_000),
//!     count: 100,
//!     cast: Cast::Each,
//! };
//! let modelled = model::run(&topology, &asking)?;
//! // 81.28 us of wire, 4 us in the switch and 20 ns of cable each way.
//! assert_eq!(modelled.round_trips[0].time().expect("it came").to_string(), "89.32us");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod play;
#[cfg(test)]
mod tests;

use super::fabric::LaneCounts;
use super::quantity::Picos;
use super::topology::{Role, Topology};
use super::wire::Payload;

/// How the controller asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Payload of question and answer.
    pub payload: Payload,
    /// From beat to beat.
    pub interval: Picos,
    /// How many beats.
    pub count: u32,
    /// Whom it asks.
    pub cast: Cast,
}

/// Whom a question is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cast {
    /// A question to each device, one after the other.
    #[default]
    Each,
    /// One question to all.
    Broadcast,
}

/// A question to one device, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The beat, from 0.
    pub sequence: u32,
    /// The device, by its place among the hosts.
    pub device: usize,
    /// When the question was to be sent: on the beat, also where another was sent before it.
    pub sent: Picos,
    /// When the answer had wholly come, first; `None` if it never did.
    pub came: Option<Picos>,
}

impl RoundTrip {
    /// How long it took.
    #[must_use]
    pub fn time(&self) -> Option<Picos> {
        self.came.map(|came| came.since(self.sent))
    }
}

/// What a model came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modelled {
    /// Beat by beat, in each the devices in the order of the topology.
    pub round_trips: Vec<RoundTrip>,
    /// What became of the frames, of which each is counted once a link; two lanes a link.
    pub lanes: Vec<LaneCounts>,
    /// Datagrams of other traffic that arrived.
    pub traffic: u64,
}

/// Why nothing was modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Nobody asks.
    #[error("no host of `{topology}` asks; give one of them role = \"controller\"")]
    NoController {
        /// Its name.
        topology: String,
    },
    /// Nobody answers.
    #[error("no host of `{topology}` answers; give one of them role = \"device\"")]
    NoDevice {
        /// Its name.
        topology: String,
    },
    /// It would not end soon, or not fit into memory.
    #[error(
        "{beats} beats with {devices} devices are more than {MAX_ROUND_TRIPS} round trips; model a shorter time"
    )]
    TooMany {
        /// Beats asked for.
        beats: u32,
        /// Devices.
        devices: usize,
    },
}

/// Round trips of one model at most: 40 devices at 1 kHz for nearly two minutes.
pub const MAX_ROUND_TRIPS: u64 = 4_000_000;

/// Computes every round trip.
///
/// Same topology, same asking: same result. Not real-time safe.
///
/// # Errors
/// [`ModelError`].
pub fn run(topology: &Topology, asking: &Asking) -> Result<Modelled, ModelError> {
    let name = || topology.name.clone();
    let controller = topology.with_role(Role::Controller).next();
    let controller = controller.ok_or_else(|| ModelError::NoController { topology: name() })?;
    let devices: Vec<usize> = topology.with_role(Role::Device).collect();
    if devices.is_empty() {
        return Err(ModelError::NoDevice { topology: name() });
    }
    if u64::from(asking.count) * devices.len() as u64 > MAX_ROUND_TRIPS {
        return Err(ModelError::TooMany {
            beats: asking.count,
            devices: devices.len(),
        });
    }
    Ok(play::Play::new(topology, asking, controller, &devices).play_out())
}
