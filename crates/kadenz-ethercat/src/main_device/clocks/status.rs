//! Clocks as a user sees them: measured and perhaps aligned, or as they are configured.

use serde::Serialize;

use super::{Alignment, Bounds, ClockError, ClockSettings, Epoch, Width, difference_ns, measure};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::{ExchangeError, Registers, Target};
use crate::wire::Position;
use crate::wire::register::{
    DC_DELAY, DC_DIFFERENCE, DC_OFFSET, DC_SYSTEM_TIME, FEATURES, features,
};

/// The clock of one SubDevice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStatus {
    /// Width of its time, 32 or 64; null without a clock, and where the device does not answer.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = [32, 64, null])))]
    pub bits: Option<u8>,
    /// Position of the device before it.
    pub parent: Option<u16>,
    /// The port of that device which leads here.
    pub parent_port: Option<u8>,
    /// The time of a frame from the reference to here.
    pub delay_ns: Option<u32>,
    /// Whether the delay was measured, or estimated.
    pub delay_is_measured: Option<bool>,
    /// How much faster than the reference the clock ran.
    pub rate_ppb: Option<i64>,
    /// The offset in the device's register; it wraps around.
    pub offset_ns: Option<u64>,
    /// How far ahead of the reference the device reports its time.
    pub difference_ns: Option<i64>,
}

/// The clocks of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockReport {
    /// The index of the device with the reference clock in `devices`.
    pub reference: Option<usize>,
    /// The result of the alignment, where one was asked for.
    pub alignment: Option<Alignment>,
    /// The devices in the order of their positions.
    pub devices: Vec<ClockStatus>,
}

/// Measures the clocks of a segment and reads each device's own figures. With an epoch, it sets and aligns the clocks
/// before; [`Epoch::Now`] is the time at the call, and the time of the measurement is added. Without an epoch, it
/// changes nothing but the latched receive times and, in a ring, closes its last port meanwhile. Waits, allocates.
///
/// ```
/// use kadenz_ethercat::main_device::bring_up::find;
/// use kadenz_ethercat::main_device::clocks::{Epoch, survey};
/// use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, RetryPolicy};
/// use kadenz_ethercat::main_device::link::Link;
/// use kadenz_ethercat::sim::WirePort;
/// use kadenz_ethercat::sim::humanoid::humanoid;
///
/// let mut link = Link::new(WirePort::new(humanoid(3).build()?), 1);
/// let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
/// let mut registers = Registers::by(&mut exchange);
/// let devices = find(&mut registers)?;
/// let report = survey(&mut registers, &devices, Some(Epoch::Own))?;
/// assert_eq!((report.reference, report.devices[1].parent), (Some(0), Some(0)));
/// assert!(report.alignment.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ClockError`].
pub fn survey(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    align: Option<Epoch>,
) -> Result<ClockReport, ClockError> {
    let called = registers.exchange().now();
    let clocks = measure(registers, devices, &ClockSettings::default())?;
    let alignment = match align {
        Some(epoch) => {
            let since_call = registers.exchange().now().since(called).unsigned_abs();
            clocks.set(registers, epoch.after_ns(since_call))?;
            Some(clocks.align(registers, &Bounds::default(), &mut |_| {})?)
        }
        None => None,
    };
    let differences = clocks.differences(registers)?;
    let measured = clocks.devices().iter().zip(differences);
    let all = measured.map(|(clock, difference_ns)| {
        let bits = clock.width.map(Width::bits);
        let target = Target::Of(clock.station);
        let offset_ns = bits.map(|bits| offset(registers, target, bits));
        Ok(ClockStatus {
            bits,
            parent: clock.parent.map(|(Position(parent), _)| parent),
            parent_port: clock.parent.map(|(_, port)| port),
            delay_ns: Some(clock.delay_ns),
            delay_is_measured: Some(clock.measured),
            rate_ppb: bits.map(|_| clock.rate_ppb),
            offset_ns: offset_ns.transpose()?.flatten(),
            difference_ns,
        })
    });
    Ok(ClockReport {
        devices: all.collect::<Result<_, ClockError>>()?,
        reference: clocks.reference,
        alignment,
    })
}

/// Reads a clock as it is configured, without a measurement: that would latch new receive times, which a running loop
/// needs itself. `None` where the device does not answer; an empty status where it has no clock, or its features report
/// one, but its registers do not answer. Waits.
///
/// # Errors
/// [`ExchangeError`] if the segment does not answer.
pub fn configured(
    registers: &mut Registers<'_>,
    target: Target,
) -> Result<Option<ClockStatus>, ExchangeError> {
    let Some(features) = read(registers, target, FEATURES)?.map(u16::from_le_bytes) else {
        return Ok(None);
    };
    let is_there = read::<4>(registers, target, DC_SYSTEM_TIME)?.is_some();
    let bits = match (features & features::DC, features & features::DC_64) {
        (0, _) => return Ok(Some(ClockStatus::default())),
        _ if !is_there => return Ok(Some(ClockStatus::default())),
        (_, 0) => Width::Bits32.bits(),
        _ => Width::Bits64.bits(),
    };
    let difference = read(registers, target, DC_DIFFERENCE)?.map(u32::from_le_bytes);
    Ok(Some(ClockStatus {
        bits: Some(bits),
        delay_ns: read(registers, target, DC_DELAY)?.map(u32::from_le_bytes),
        offset_ns: offset(registers, target, bits)?,
        difference_ns: difference.map(difference_ns),
        ..ClockStatus::default()
    }))
}

/// The device with the reference clock, by clocks as they are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceClock {
    /// The device at this index.
    Device(usize),
    /// Not known: the device at this index does not answer, and may have it.
    Unknown(usize),
    /// No device has a clock.
    Nowhere,
}

impl ReferenceClock {
    /// Finds the first device with a clock, which all others follow; `None` is a device that does not answer.
    #[must_use]
    pub fn among(all: &[Option<ClockStatus>]) -> Self {
        let first = all.iter().position(|it| match it {
            Some(status) => status.bits.is_some(),
            None => true,
        });
        match first {
            Some(at) if all[at].is_none() => Self::Unknown(at),
            Some(at) => Self::Device(at),
            None => Self::Nowhere,
        }
    }
}

fn offset(
    registers: &mut Registers<'_>,
    target: Target,
    bits: u8,
) -> Result<Option<u64>, ExchangeError> {
    Ok(match bits {
        32 => read(registers, target, DC_OFFSET)?.map(|it| u32::from_le_bytes(it).into()),
        _ => read(registers, target, DC_OFFSET)?.map(u64::from_le_bytes),
    })
}

/// `None` where the device does not answer there.
fn read<const N: usize>(
    registers: &mut Registers<'_>,
    target: Target,
    address: u16,
) -> Result<Option<[u8; N]>, ExchangeError> {
    let mut bytes = [0; N];
    let count = registers.count_reading(target, address, &mut bytes)?;
    Ok((count > 0).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Option<ClockStatus> {
        Some(ClockStatus {
            bits: Some(64),
            ..ClockStatus::default()
        })
    }

    #[test]
    fn a_silent_device_hides_the_reference_only_where_it_may_have_it() {
        let none = || Some(ClockStatus::default());
        let of = |all: &[Option<ClockStatus>]| ReferenceClock::among(all);
        assert_eq!(of(&[None, clock()]), ReferenceClock::Unknown(0));
        assert_eq!(of(&[none(), clock(), None]), ReferenceClock::Device(1));
        assert_eq!(of(&[none(), None, clock()]), ReferenceClock::Unknown(1));
        assert_eq!(of(&[none()]), ReferenceClock::Nowhere);
    }
}
