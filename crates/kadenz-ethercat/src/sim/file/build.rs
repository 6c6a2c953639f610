//! Builds a running segment from a plan.

use super::SegmentPlan;
use crate::port::Side;
use crate::sim::fault;
use crate::sim::{Cable, CableError, DeviceId, DeviceSettings, End, Segment, WirePort};
use crate::wire::sii::SiiError;

/// Why a plan cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A device's description does not fit into its memory.
    #[error("`{name}`: {source}")]
    Device {
        /// The name of the device in the segment file.
        name: String,
        /// The error in its SII's content.
        source: SiiError,
    },
    /// A device cannot be plugged in where it should be.
    #[error("`{name}`: {source}")]
    Place {
        /// The name of the device in the segment file.
        name: String,
        /// The error in the topology.
        source: CableError,
    },
    /// The script of faults is too long.
    #[error(transparent)]
    Faults(#[from] fault::FullError),
}

impl SegmentPlan {
    /// Builds the segment. Allocates all that it will need. A caller that uses only its first side must unplug the
    /// cable of a ring ([`Segment::unplug_second`]), or frames leave by it.
    ///
    /// ```
    /// let segment = kadenz_ethercat::sim::humanoid::humanoid(59).build()?;
    /// assert_eq!(segment.len(), 59);
    /// # Ok::<(), kadenz_ethercat::sim::file::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`], which cannot occur for a plan from a file.
    pub fn build(&self) -> Result<Segment, BuildError> {
        let mut segment = Segment::new(self.seed);
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
            let usual = DeviceSettings::default();
            let settings = DeviceSettings {
                drift_ppm: placed.drift_ppm,
                sii_read_ns: placed.eeprom.busy_ns.unwrap_or(usual.sii_read_ns),
                ..usual
            };
            // Devices and their cables have the numbers of their places, by which faults name them.
            let device = segment.add(model, settings).map_err(place)?;
            let before = match placed.parent {
                None => End::Main(Side::Primary),
                Some(parent) => End::Device(DeviceId(parent.device as u16), parent.port),
            };
            let cable = Cable {
                delay_ns: placed.delay_ns,
                jitter_ns: placed.jitter_ns,
            };
            segment
                .connect(before, End::Device(device, 0), cable)
                .map_err(place)?;
        }
        self.close(&mut segment)?;
        for planned in &self.faults {
            segment.faults().add_line(*planned)?;
        }
        Ok(segment)
    }

    /// Builds the segment behind a port, in virtual time. A ring is at both sides of the port. Allocates all that it
    /// will need.
    ///
    /// # Errors
    /// [`BuildError`], which cannot occur for a plan from a file.
    pub fn port(&self) -> Result<WirePort, BuildError> {
        let segment = self.build()?;
        Ok(match self.ring {
            Some(_) => WirePort::ring(segment),
            None => WirePort::new(segment),
        })
    }

    /// Lays the cable that closes a ring.
    fn close(&self, segment: &mut Segment) -> Result<(), BuildError> {
        let Some(ring) = self.ring else {
            return Ok(());
        };
        let cable = Cable {
            delay_ns: ring.delay_ns,
            jitter_ns: ring.jitter_ns,
        };
        let last = End::Device(DeviceId(ring.device as u16), ring.port);
        segment
            .connect(last, End::Main(Side::Redundant), cable)
            .map(|_| ())
            .map_err(|source| BuildError::Place {
                name: "ring".to_owned(),
                source,
            })
    }
}
