//! The sync unit: simultaneous pulses at SubDevices.

use std::time::Duration;

use super::{Clocks, DeviceClock, Width};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::{ExchangeError, ExchangeResult, Registers, Target};
use crate::wire::Position;
use crate::wire::register::dc_activation::{CYCLIC, SYNC0, SYNC1};
use crate::wire::register::{
    DC_ACTIVATION, DC_CYCLIC_CONTROL, DC_START_TIME, DC_SYNC0_CYCLE, DC_SYNC1_CYCLE, DC_SYSTEM_TIME,
};
use crate::wire::sii::ClockMode;

/// How often a start that turns out to be past is tried again, each time twice as far ahead.
const TRIES: u32 = 4;

/// The pulses of a SubDevice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sync {
    /// Time between two SYNC0, in ns.
    pub cycle0_ns: u32,
    /// How much later than a whole cycle of system time SYNC0 comes, in ns; below zero: earlier.
    pub shift0_ns: i32,
    /// The value of register 0x09A4 where SYNC1 is wanted: how much later than a SYNC0 it comes, in ns,
    /// where that is less than the cycle; a larger value lets it come only with every n-th SYNC0.
    pub sync1_ns: Option<u32>,
    /// The value of register 0x0980: which of the device's pulse and latch units its application controls
    /// instead of the MainDevice.
    pub control: u8,
}

impl Sync {
    /// Pulses of SYNC0 alone, without SYNC1.
    #[must_use]
    pub const fn sync0(cycle_ns: u32, shift_ns: i32) -> Self {
        Self {
            cycle0_ns: cycle_ns,
            shift0_ns: shift_ns,
            sync1_ns: None,
            control: 0,
        }
    }

    /// The pulses of one of the operation modes in a SubDevice's SII, at a MainDevice's cycle; `None` for a
    /// mode without pulses. Factors are those of ETG.2000, `CycleTimeSync0` and `CycleTimeSync1`: SYNC0
    /// counts from the MainDevice's cycle, a multiple of it or, below zero, a part; SYNC1 from SYNC0, or,
    /// below zero, so many of the MainDevice's cycles, however many SYNC0 fall into them.
    #[must_use]
    pub(crate) fn of_mode(mode: &ClockMode, cycle_ns: u32) -> Option<Self> {
        let activate = (mode.activate >> 8) as u8;
        if activate & CYCLIC == 0 || activate & (SYNC0 | SYNC1) == 0 {
            return None;
        }
        let cycle0_ns = match (mode.cycle0_ns, mode.factor0) {
            (0, 0) => cycle_ns,
            (0, less @ ..0) => cycle_ns / u32::from(less.unsigned_abs()),
            (0, more) => cycle_ns.saturating_mul(more.unsigned_abs().into()),
            (own, _) => own,
        };
        let of = match mode.factor1 {
            ..0 => cycle_ns,
            _ => cycle0_ns,
        };
        let cycle1_ns = of.saturating_mul(mode.factor1.unsigned_abs().into());
        let behind = cycle1_ns.saturating_sub(cycle0_ns);
        let sync1 = behind.saturating_add_signed(mode.shift1_ns);
        Some(Self {
            cycle0_ns,
            shift0_ns: mode.shift0_ns,
            sync1_ns: (activate & SYNC1 != 0).then_some(sync1),
            control: mode.activate as u8,
        })
    }

    /// The period after which all repeats.
    fn period(&self) -> u64 {
        let cycle = u64::from(self.cycle0_ns.max(1));
        match self.sync1_ns {
            Some(behind) => (u64::from(behind) / cycle + 1) * cycle,
            None => cycle,
        }
    }

    fn activation(&self) -> u8 {
        CYCLIC | SYNC0 | if self.sync1_ns.is_some() { SYNC1 } else { 0 }
    }
}

/// The reason why there are no pulses.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The SubDevice has no clock.
    #[error("SubDevice {position} has no distributed clock, and cannot pulse; leave it out", position = .0.0)]
    NoClock(Position),
    /// The reference clock wraps after 4.3 s, and so does the place of pulses in its cycles.
    #[error(
        "SubDevice {position} is the reference clock and has times of 32 bits, by which SYNC0 cannot be placed; connect a \
         device with a 64-bit clock before it, or run without SYNC0",
        position = .0.0
    )]
    NarrowReference(Position),
    /// There is no SubDevice at that position.
    #[error(
        "there is no SubDevice {position}; positions are those of `kadenz ethercat scan`",
        position = .0.0
    )]
    NoSubDevice(Position),
    /// The wire is too slow.
    #[error(
        "the pulses were to start {lead:?} ahead, and the time was past before all were set up; give them \
         longer, or find out what makes the wire so slow"
    )]
    TooLate {
        /// How far ahead the start of the last try was.
        lead: Duration,
    },
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut more, mut less) = (a, b);
    while less > 0 {
        (more, less) = (less, more % less);
    }
    // For cycles without a common multiple nearby: the longer one, rather than next year.
    let common = (a / more.max(1)).saturating_mul(b);
    match common {
        ..=10_000_000_000 => common,
        _ => a.max(b),
    }
}

/// The pulses of SubDevices by their SIIs at a MainDevice's cycle: for each that has a clock and an
/// operation mode with pulses, its first such mode, `shift_ns` later than that mode says. SubDevices
/// without such a mode are left out.
#[must_use]
pub fn pulses_by_sii(
    devices: &[SubDevice],
    clocks: &Clocks,
    cycle_ns: u32,
    shift_ns: i32,
) -> Vec<(Position, Sync)> {
    let has_clock = |it: &&SubDevice| {
        let mut all = clocks.with_clock();
        all.any(|clock| clock.station == it.station)
    };
    let asked = devices.iter().filter(has_clock).filter_map(|device| {
        let image = device.image()?;
        let mut modes = image.clock_modes();
        let sync = modes.find_map(|it| Sync::of_mode(&it, cycle_ns))?;
        let shift0_ns = sync.shift0_ns.saturating_add(shift_ns);
        Some((device.position, Sync { shift0_ns, ..sync }))
    });
    asked.collect()
}

impl Clocks {
    fn at(&self, position: Position) -> Result<&DeviceClock, SyncError> {
        let device = self.devices.iter().find(|it| it.position == position);
        device.ok_or(SyncError::NoSubDevice(position))
    }
}

/// Ends the pulses of a SubDevice.
pub(super) fn stop(
    registers: &mut Registers<'_>,
    clocks: &Clocks,
    position: Position,
) -> Result<(), SyncError> {
    let device = clocks.at(position)?;
    Ok(registers.write(Target::Of(device.station), DC_ACTIVATION, &[0])?)
}

/// Starts pulses of SubDevices at a time that is a whole cycle of all, at least `lead` ahead; returns the
/// system time of that start, without the SubDevices' shifts. To be called when clocks are
/// [aligned](Clocks::align), before SAFEOP. A SubDevice that already pulses is stopped first. Waits.
///
/// # Errors
/// [`SyncError`].
pub fn start_sync(
    registers: &mut Registers<'_>,
    clocks: &Clocks,
    wanted: &[(Position, Sync)],
    lead: Duration,
) -> Result<Option<u64>, SyncError> {
    let Some((first, _)) = wanted.first() else {
        return Ok(None);
    };
    let Some(reference) = clocks.reference.map(|it| clocks.devices[it]) else {
        return Err(SyncError::NoClock(*first));
    };
    if reference.width == Some(Width::Bits32) {
        return Err(SyncError::NarrowReference(reference.position));
    }
    let reference = reference.station;
    let period = wanted.iter().map(|it| it.1.period()).fold(1, lcm);
    let mut lead = lead;
    for _ in 0..TRIES {
        let now = system_time(registers, reference)?;
        let ahead = u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX);
        let start = now.saturating_add(ahead);
        let start = start.div_ceil(period).saturating_mul(period);
        for (position, sync) in wanted {
            write_sync(registers, clocks, *position, sync, start)?;
        }
        let shifts = wanted.iter().map(|it| i64::from(it.1.shift0_ns));
        let first = start.saturating_add_signed(shifts.min().unwrap_or(0));
        if system_time(registers, reference)? < first {
            return Ok(Some(start));
        }
        lead = lead.saturating_mul(2);
    }
    Err(SyncError::TooLate { lead: lead / 2 })
}

fn system_time(
    registers: &mut Registers<'_>,
    reference: crate::wire::Configured,
) -> ExchangeResult<u64> {
    let time = registers.get(Target::Of(reference), DC_SYSTEM_TIME)?;
    Ok(u64::from_le_bytes(time))
}

fn write_sync(
    registers: &mut Registers<'_>,
    clocks: &Clocks,
    position: Position,
    sync: &Sync,
    start: u64,
) -> Result<(), SyncError> {
    let device = clocks.at(position)?;
    let width = device.width.ok_or(SyncError::NoClock(position))?;
    let target = Target::Of(device.station);
    registers.write(target, DC_ACTIVATION, &[0])?;
    registers.write(target, DC_CYCLIC_CONTROL, &[sync.control])?;
    registers.write(target, DC_SYNC0_CYCLE, &sync.cycle0_ns.to_le_bytes())?;
    let sync1 = sync.sync1_ns.unwrap_or(0);
    registers.write(target, DC_SYNC1_CYCLE, &sync1.to_le_bytes())?;
    let start = start.saturating_add_signed(sync.shift0_ns.into());
    let start = start.to_le_bytes();
    let start = match width {
        Width::Bits32 => &start[..4],
        Width::Bits64 => &start[..],
    };
    registers.write(target, DC_START_TIME, start)?;
    registers.write(target, DC_ACTIVATION, &[sync.activation()])?;
    Ok(())
}
