//! Distributed clocks: what time it is, at every SubDevice.
//!
//! Each SubDevice with a clock counts nanoseconds of its own. The MainDevice measures how long a frame is
//! on its way to each, tells each by how much its clock is off that of the first one, the reference, and
//! then lets the reference's time pass by all again and again, so that each makes its clock run as fast as
//! the reference's (ETG.1000.4, "distributed clock"; Beckhoff's ESC data sheet, section I, chapter 9).
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
//! let mut way = BlockingExchange { link: &mut link, patience: RetryPolicy::default() };
//! let mut registers = Registers::by(&mut way);
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

pub use sync::{Sync, SyncError, pulses_by_sii, start_sync};
pub use topology::TopologyError;

/// How delays are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockSettings {
    /// How often receive times are taken; delays are their mean.
    pub rounds: u32,
    /// Pause from one to the next. The longer all take, the better the clocks' speeds are known.
    pub pause: Duration,
    /// What a controller's processing unit takes more than forwarding does, in ns: `tDiff` of its data
    /// sheet or ESI file. Zero on a virtual segment.
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

/// How long the times of a clock are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// They come round after 4.3 s.
    Bits32,
    /// They come round after 584 years.
    Bits64,
}

/// What is known of one SubDevice's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceClock {
    /// Where it is.
    pub position: Position,
    /// Its station address.
    pub station: Configured,
    /// Its times; `None` for one without a clock.
    pub width: Option<Width>,
    /// Who is before it, and by which of that one's ports; `None` for the first.
    pub parent: Option<(Position, u8)>,
    /// What a frame takes from the reference to here, in ns. For one without a clock, an estimate.
    pub delay_ns: u32,
    /// Whether that was measured. It is an estimate behind branches of SubDevices without a clock.
    pub measured: bool,
    /// How much faster than the reference it ran when it was measured, in parts per billion.
    pub rate_ppb: i64,
    /// Its own time when the last receive times were taken, in ns.
    local_ns: u64,
}

/// The clocks of a segment, measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Clocks {
    devices: Vec<DeviceClock>,
    reference: Option<usize>,
    /// When the last receive times were taken, by the port's clock.
    taken: MonotonicTime,
    /// What was started by [`Clocks::pulse`].
    pulses: Vec<(Position, Sync)>,
}

/// Why clocks are not measured, set or aligned.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// Links and positions make no tree.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// It did not begin to pulse again.
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

/// What system time is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epoch {
    /// The reference's own time: since it got power.
    Own,
    /// Whatever it is now at the reference, as somebody has set it before.
    Kept,
    /// So many ns at the call, to within what a frame takes. EtherCAT counts from 2000-01-01 00:00 UTC
    /// (ETG.1000.4): see [`since_2000`].
    Now(u64),
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

/// When [`Clocks::align`] ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// After so many frames at the latest. ETG's guide for MainDevices recommends 15 000.
    pub most_frames: u32,
    /// As soon as every clock says that it is no further off than this, twice in a row.
    pub good_ns: u64,
    /// Frames from one look at the clocks to the next; at least 1.
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

/// How far [`Clocks::align`] has come, or came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Alignment {
    /// Frames that were sent.
    pub frames: u32,
    /// The largest difference that a clock told, in ns.
    pub worst_ns: u64,
}

/// Takes receive times, finds what is plugged into what, and computes delays. Writes nothing but the
/// latch, and closes a ring's last port meanwhile. Waits, allocates.
///
/// # Errors
/// [`ClockError`].
pub fn measure(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    settings: &ClockSettings,
) -> Result<Clocks, ClockError> {
    latch::measure(registers, devices, settings)
}

/// How long the times of a SubDevice are; `None` without a clock.
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

    /// The reference clock: the first SubDevice that has one. Only it can be: whoever is before the
    /// reference would be told the time before it is read.
    #[must_use]
    pub fn reference(&self) -> Option<Configured> {
        Some(self.devices[self.reference?].station)
    }

    /// Those that have a clock.
    fn with_clock(&self) -> impl Iterator<Item = &DeviceClock> {
        self.devices.iter().filter(|it| it.width.is_some())
    }

    /// Writes delays and offsets, so that all clocks show the same except for how they drift, and resets the
    /// loops that hold them there. Waits.
    ///
    /// # Errors
    /// [`ClockError::Exchange`]: the first that does not answer ends it.
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

    /// Lets SubDevices pulse, as [`start_sync`] does, and remembers what they pulse, so that
    /// [`set_again`](Self::set_again) starts it again. Who pulsed before and is not named does not any more.
    /// The system time of the start is the answer. Waits.
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

    /// What SubDevices pulse since [`pulse`](Self::pulse).
    #[must_use]
    pub fn pulses(&self) -> &[(Position, Sync)] {
        &self.pulses
    }

    /// Lets the reference's time pass by all (FRMW of 0x0910), until every clock follows or the bounds are
    /// met; `progress` is told at each look. Clocks go on to need such a frame each cycle: one with a
    /// reference has it. Waits.
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
                registers.spread::<8>(reference, DC_SYSTEM_TIME)?;
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

    /// What each clock tells of its mean difference to the reference (0x092C), in ns: above zero where it
    /// is ahead. `None` for those without a clock. Waits.
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
            let told = registers.get_u32(Target::Of(device.station), DC_DIFFERENCE)?;
            Ok(Some(difference_ns(told)))
        });
        all.collect()
    }
}

/// What the register of the system time difference (0x092C) tells, in ns: above zero where the clock is ahead of the
/// reference. Bit 31 is set where it is behind, the others say by how much (Beckhoff's ESC data sheet, section II).
///
/// ```
/// use kadenz_ethercat::main_device::clocks::difference_ns;
///
/// assert_eq!(difference_ns(0x0000_0028), 40);
/// assert_eq!(difference_ns(0x8000_0028), -40);
/// ```
///
/// # Real-time safety
/// Fails never; may be called on a real-time path.
#[must_use]
pub fn difference_ns(register: u32) -> i64 {
    let magnitude = i64::from(register & 0x7FFF_FFFF);
    match register >> 31 {
        0 => magnitude,
        _ => -magnitude,
    }
}

/// Writes the delay, and the offset of a clock that showed `here` when the frame came that had been at the
/// reference at system time `there`; then resets its loop.
fn set_one(
    registers: &mut Registers<'_>,
    device: &DeviceClock,
    there: u64,
    here: u64,
) -> Result<(), ClockError> {
    let whose = Target::Of(device.station);
    let offset = there
        .wrapping_add(device.delay_ns.into())
        .wrapping_sub(here)
        .to_le_bytes();
    let offset = match device.width {
        Some(Width::Bits32) => &offset[..4],
        _ => &offset[..],
    };
    registers.write(whose, DC_OFFSET, offset)?;
    registers.write(whose, DC_DELAY, &device.delay_ns.to_le_bytes())?;
    // Any write resets it; what stands there is how fast it is to correct, and stays.
    let speed = registers.get_u16(whose, DC_SPEED_START)?;
    registers.put_u16(whose, DC_SPEED_START, speed)?;
    Ok(())
}

#[cfg(test)]
mod tests;
