//! Distributed clocks: one system time at every SubDevice.
//!
//! Each SubDevice with a clock counts nanoseconds of its own. The MainDevice measures how long a frame takes to each
//! of them, and writes to each its clock's offset to that of the first one, the reference. Then it distributes the
//! reference's time to all again and again, so that each makes its clock run as fast as the reference's (ETG.1000.4,
//! "distributed clock"; Beckhoff's ESC data sheet, section I, chapter 9).
//!
//! ```
//! use kadenz_ethercat::main_device::bring_up::find;
//! use kadenz_ethercat::main_device::clocks::{Bounds, Epoch, ClockSettings, measure};
//! use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
//! use kadenz_ethercat::main_device::link::Link;
//! use kadenz_ethercat::sim::WirePort;
//! use kadenz_ethercat::sim::humanoid::humanoid;
//!
//! let mut link = Link::new(WirePort::new(humanoid(12).build()?), 1);
//! let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! let mut registers = Registers::by(&mut exchange);
//! let devices = find(&mut registers)?;
//!
//! let clocks = measure(&mut registers, &devices, &ClockSettings::default())?;
//! clocks.set(&mut registers, Epoch::Own)?;
//! let aligned = clocks.align(&mut registers, &Bounds::default(), &mut |_| {})?;
//! assert!(aligned.worst_ns <= Bounds::default().good_ns);
//! // For bring_up::prepare, whose cycle goes on with what align began.
//! let reference = clocks.reference();
//! assert_eq!(reference, Some(devices[0].station));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod again;
mod delays;
mod latch;
mod status;
mod sync;
mod topology;

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::device::SubDevice;
use super::exchange::{ExchangeError, Registers, Target};
use crate::wire::register::{
    DC_DELAY, DC_DIFFERENCE, DC_OFFSET, DC_SPEED_START, DC_SYSTEM_TIME, features,
};
use crate::wire::{Configured, Position};

pub use latch::measure;
pub use status::{ClockReport, ClockStatus, ReferenceClock, configured, survey};
pub use sync::{Sync, SyncError, pulses_by_sii, start_sync};
pub use topology::TopologyError;

/// The settings for measuring delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockSettings {
    /// How often receive times are taken; delays are their mean.
    pub rounds: u32,
    /// Pause between two rounds. The longer all take, the better the clocks' speeds are known.
    pub pause: Duration,
    /// The time that a controller's processing unit takes beyond forwarding, in ns: `tDiff` of its data sheet or ESI
    /// file. Zero on a virtual segment.
    pub processing_ns: f64,
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self {
            rounds: 16,
            pause: Duration::from_millis(1),
            processing_ns: 0.0,
        }
    }
}

/// The width of a clock's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// They wrap after 4.3 s.
    Bits32,
    /// They wrap after 584 years.
    Bits64,
}

impl Width {
    /// Its number of bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Bits32 => 32,
            Self::Bits64 => 64,
        }
    }
}

/// The measured values of one SubDevice's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceClock {
    /// The position of the SubDevice on the wire, from 0.
    pub position: Position,
    /// The station address of the SubDevice.
    pub station: Configured,
    /// The width of its times; `None` for a SubDevice without a clock.
    pub width: Option<Width>,
    /// The SubDevice before it, and the port of that one that leads here; `None` for the first.
    pub parent: Option<(Position, u8)>,
    /// The time of a frame from the reference to here, in ns. For a SubDevice without a clock, an estimate.
    pub delay_ns: u32,
    /// Whether the delay was measured. It is an estimate behind branches of SubDevices without a clock.
    pub measured: bool,
    /// How much faster than the reference it ran when it was measured, in parts per billion.
    pub rate_ppb: i64,
    /// Its own time when the last receive times were taken, in ns.
    local_ns: u64,
}

/// The measured clocks of a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Clocks {
    devices: Vec<DeviceClock>,
    reference: Option<usize>,
    /// The time at which the last receive times were taken, by the port's clock.
    taken: MonotonicTime,
    /// The pulses that [`Clocks::pulse`] started.
    pulses: Vec<(Position, Sync)>,
}

/// The reason why clocks are not measured, set or aligned.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// Links and positions form no tree.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A SubDevice did not begin to pulse again.
    #[error(transparent)]
    Sync(SyncError),
}

impl From<SyncError> for ClockError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Exchange(error) => Self::Exchange(error),
            other => Self::Sync(other),
        }
    }
}

/// The epoch of system time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epoch {
    /// The reference's own time: since its power on.
    Own,
    /// The reference's present time, as an earlier program set it.
    Kept,
    /// So many ns at the call, to within the time of a frame. EtherCAT counts from 2000-01-01 00:00 UTC
    /// (ETG.1000.4): see [`since_2000`].
    Now(u64),
}

impl Epoch {
    /// The epoch for a call that comes so many ns later.
    fn after_ns(self, ns: u64) -> Self {
        match self {
            Self::Now(then) => Self::Now(then.wrapping_add(ns)),
            it => it,
        }
    }
}

/// Nanoseconds from 2000-01-01 00:00 UTC to a time, for [`Epoch::Now`]; 0 for times before.
#[must_use]
pub fn since_2000(wall: kadenz_rt::clock::WallTime) -> u64 {
    const BETWEEN_EPOCHS_S: i64 = 946_684_800;
    let ns = wall
        .as_unix_ns()
        .saturating_sub(BETWEEN_EPOCHS_S * 1_000_000_000);
    u64::try_from(ns).unwrap_or(0)
}

/// The conditions at which [`Clocks::align`] ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// After this many frames at the latest. ETG's guide for MainDevices recommends 15 000.
    pub most_frames: u32,
    /// As soon as every clock reports that it is no further off than this, twice in a row.
    pub good_ns: u64,
    /// Frames between two readings of the clocks; at least 1.
    pub between: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            most_frames: 15_000,
            good_ns: 100,
            between: 256,
        }
    }
}

/// The progress or result of an alignment of clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alignment {
    /// Frames that were sent.
    pub frames: u32,
    /// The largest difference that a clock reported, in ns.
    pub worst_ns: u64,
}

/// The width of a SubDevice's times; `None` without a clock.
fn width(device: &SubDevice) -> Option<Width> {
    match device.features & (features::DC | features::DC_64) {
        both if both & features::DC == 0 => None,
        features::DC => Some(Width::Bits32),
        _ => Some(Width::Bits64),
    }
}

impl Clocks {
    /// All SubDevices in the order of their positions.
    #[must_use]
    pub fn devices(&self) -> &[DeviceClock] {
        &self.devices
    }

    /// The reference clock: the first SubDevice that has one. Only it can be: a SubDevice before the reference would
    /// receive the time before it is read.
    #[must_use]
    pub fn reference(&self) -> Option<Configured> {
        Some(self.devices[self.reference?].station)
    }

    /// SubDevices with a clock.
    fn with_clock(&self) -> impl Iterator<Item = &DeviceClock> {
        self.devices.iter().filter(|it| it.width.is_some())
    }

    /// Writes delays and offsets, so that all clocks show the same except for their drift, and resets the control
    /// loops that hold them there. Waits.
    ///
    /// # Errors
    /// [`ClockError::Exchange`]: the first SubDevice that does not answer ends it.
    pub fn set(&self, registers: &mut Registers<'_>, epoch: Epoch) -> Result<(), ClockError> {
        let Some(reference) = self.reference.map(|it| self.devices[it]) else {
            return Ok(());
        };
        let offset = match epoch {
            Epoch::Own => 0,
            Epoch::Kept => {
                u64::from_le_bytes(registers.get(Target::Of(reference.station), DC_OFFSET)?)
            }
            Epoch::Now(ns) => {
                let since = registers.exchange().now().since(self.taken);
                ns.wrapping_sub(reference.local_ns.wrapping_add(since as u64))
            }
        };
        let there = reference.local_ns.wrapping_add(offset);
        for device in self.with_clock() {
            set_one(registers, device, there, device.local_ns)?;
        }
        Ok(())
    }

    /// Starts pulses of SubDevices, as [`start_sync`] does, and remembers them, so that
    /// [`set_again`](Self::set_again) starts them again. A SubDevice that pulsed before and is not named stops.
    /// Returns the system time of the start. Waits.
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn pulse(
        &mut self,
        registers: &mut Registers<'_>,
        wanted: Vec<(Position, Sync)>,
        lead: Duration,
    ) -> Result<Option<u64>, SyncError> {
        for (position, _) in std::mem::take(&mut self.pulses) {
            sync::stop(registers, self, position)?;
        }
        let start = start_sync(registers, self, &wanted, lead)?;
        self.pulses = wanted;
        Ok(start)
    }

    /// The pulses of SubDevices since [`pulse`](Self::pulse).
    #[must_use]
    pub fn pulses(&self) -> &[(Position, Sync)] {
        &self.pulses
    }

    /// Distributes the reference's time to all (FRMW of 0x0910), until every clock follows or the bounds are met;
    /// calls `progress` at each reading. Clocks go on to need such a frame each cycle: a cycle with a reference has
    /// it. Waits.
    ///
    /// # Errors
    /// [`ClockError::Exchange`].
    pub fn align(
        &self,
        registers: &mut Registers<'_>,
        bounds: &Bounds,
        progress: &mut dyn FnMut(Alignment),
    ) -> Result<Alignment, ClockError> {
        let mut done = Alignment::default();
        let Some(reference) = self.reference() else {
            return Ok(done);
        };
        let mut good = 0;
        while done.frames < bounds.most_frames && good < 2 {
            for _ in 0..bounds.between.clamp(1, bounds.most_frames - done.frames) {
                registers.distribute::<8>(reference, DC_SYSTEM_TIME)?;
                done.frames += 1;
            }
            let all = self.differences(registers)?;
            let all = all.iter().flatten();
            done.worst_ns = all.map(|it| it.unsigned_abs()).max().unwrap_or(0);
            good = match done.worst_ns <= bounds.good_ns {
                true => good + 1,
                false => 0,
            };
            progress(done);
        }
        Ok(done)
    }

    /// Reads each clock's mean difference to the reference (0x092C), in ns: above zero where it is ahead. `None` for
    /// SubDevices without a clock. Waits.
    ///
    /// # Errors
    /// [`ClockError::Exchange`].
    pub fn differences(
        &self,
        registers: &mut Registers<'_>,
    ) -> Result<Vec<Option<i64>>, ClockError> {
        let all = self.devices.iter().map(|device| {
            let Some(_) = device.width else {
                return Ok(None);
            };
            let difference = registers.get_u32(Target::Of(device.station), DC_DIFFERENCE)?;
            Ok(Some(difference_ns(difference)))
        });
        all.collect()
    }
}

/// Decodes the register of the system time difference (0x092C), in ns: above zero where the clock is ahead of the
/// reference. Bit 31 is set where it is behind, the other bits are the amount (Beckhoff's ESC data sheet, section
/// II).
///
/// ```
/// use kadenz_ethercat::main_device::clocks::difference_ns;
///
/// assert_eq!(difference_ns(0x0000_0028), 40);
/// assert_eq!(difference_ns(0x8000_0028), -40);
/// ```
///
/// # Real-time safety
/// Never fails; may be called on a real-time path.
#[must_use]
pub fn difference_ns(register: u32) -> i64 {
    let magnitude = i64::from(register & 0x7FFF_FFFF);
    match register >> 31 {
        0 => magnitude,
        _ => -magnitude,
    }
}

/// Writes the delay, and the offset of a clock that showed `here` when the frame came that had been at the reference
/// at system time `there`; then resets its control loop.
fn set_one(
    registers: &mut Registers<'_>,
    device: &DeviceClock,
    there: u64,
    here: u64,
) -> Result<(), ClockError> {
    let target = Target::Of(device.station);
    let offset = there
        .wrapping_add(device.delay_ns.into())
        .wrapping_sub(here)
        .to_le_bytes();
    let offset = match device.width {
        Some(Width::Bits32) => &offset[..4],
        _ => &offset[..],
    };
    registers.write(target, DC_OFFSET, offset)?;
    registers.write(target, DC_DELAY, &device.delay_ns.to_le_bytes())?;
    // Any write resets the loop; the register holds the speed of correction, which stays.
    let speed = registers.get_u16(target, DC_SPEED_START)?;
    registers.put_u16(target, DC_SPEED_START, speed)?;
    Ok(())
}

#[cfg(test)]
mod tests;
