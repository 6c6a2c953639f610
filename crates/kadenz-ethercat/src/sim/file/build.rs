//! From a plan to a segment that runs.

use super::{Plan, What, When};
use crate::sim::fault::{self, Fault, FrameFault, WireFault};
use crate::sim::{Cable, CableId, DeviceId, End, Segment, Settings, Side, Time, TopologyError};
use crate::wire::sii::SiiError;

const MS: u64 = 1_000_000;

/// Why a plan is no segment.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A device's description does not fit into its memory.
    #[error("`{name}`: {source}")]
    Device {
        /// Its name.
        name: String,
        /// Why.
        source: SiiError,
    },
    /// A device cannot be plugged in where it should be.
    #[error("`{name}`: {source}")]
    Place {
        /// Its name.
        name: String,
        /// Why.
        source: TopologyError,
    },
    /// The script of faults is too long.
    #[error(transparent)]
    Faults(#[from] fault::FullError),
}

impl Plan {
    /// Builds the segment. Allocates all that it will need.
    ///
    /// ```
    /// let segment = kadenz_ethercat::sim::humanoid::humanoid(59).build()?;
    /// assert_eq!(segment.len(), 59);
    /// # Ok::<(), kadenz_ethercat::sim::file::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`], which a plan that was read from a file does not meet.
    pub fn build(&self) -> Result<Segment, BuildError> {
        let mut segment = Segment::new(self.seed);
        let mut cables = Vec::with_capacity(self.devices.len());
        for placed in &self.devices {
            let name = || placed.name.clone();
            let place = |source| BuildError::Place {
                name: name(),
                source,
            };
            let model = placed.model();
            let model = model.map_err(|source| BuildError::Device {
                name: name(),
                source,
            })?;
            let settings = Settings {
                drift_ppm: placed.drift_ppm,
                ..Settings::default()
            };
            let device = segment.add(model, settings).map_err(place)?;
            let before = match placed.parent {
                None => End::Main(Side::Primary),
                Some(parent) => End::Device(DeviceId(parent.device as u16), parent.port),
            };
            let cable = Cable {
                delay_ns: placed.delay_ns,
                jitter_ns: placed.jitter_ns,
            };
            let cable = segment
                .connect(before, End::Device(device, 0), cable)
                .map_err(place)?;
            cables.push(cable);
        }
        for planned in &self.faults {
            let (when, fault) = (planned.when.at_segment(), planned.what.on(&cables));
            segment.faults().add(when, fault)?;
        }
        Ok(segment)
    }
}

impl When {
    fn at_segment(self) -> fault::When {
        match self {
            Self::AtMs(ms) => fault::When::At(Time(ms.saturating_mul(MS))),
            Self::EveryMs(ms) => {
                let period = ms.saturating_mul(MS).max(1);
                fault::When::Every {
                    first: Time(period),
                    period,
                }
            }
            Self::Frame(number) => fault::When::Frame(number),
            Self::Chance(probability) => fault::When::Chance(probability),
        }
    }
}

impl What {
    fn on(self, cables: &[CableId]) -> Fault {
        // A place that is not in the plan names a cable that is not there, and nothing happens.
        let cable = |device: usize| cables.get(device).copied().unwrap_or(CableId(u16::MAX));
        let id = |device: usize| DeviceId(u16::try_from(device).unwrap_or(u16::MAX));
        let frame = match self {
            Self::Lose => FrameFault::Lose { after: None },
            Self::Corrupt => FrameFault::Corrupt { after: None },
            Self::Delay(ns) => FrameFault::Delay { ns },
            Self::Duplicate(ns) => FrameFault::Duplicate { ns },
            Self::Truncate(length) => FrameFault::Truncate { length },
            Self::Skew(by) => FrameFault::Skew { by },
            Self::Cut(device) => return Fault::Wire(WireFault::Cut(cable(device))),
            Self::Heal(device) => return Fault::Wire(WireFault::Heal(cable(device))),
            Self::Flap(device, ms) => {
                return Fault::Wire(WireFault::Flap(cable(device), ms.saturating_mul(MS)));
            }
            Self::PowerOff(device) => return Fault::Wire(WireFault::PowerOff(id(device))),
            Self::PowerOn(device) => return Fault::Wire(WireFault::PowerOn(id(device))),
            Self::PowerCycle(device, ms) => {
                return Fault::Wire(WireFault::PowerCycle(id(device), ms.saturating_mul(MS)));
            }
            Self::Fail(device, code) => return Fault::Wire(WireFault::Fail(id(device), code)),
        };
        Fault::Frame(frame)
    }
}
