//! Makes an axis of a device in PREOP.

use std::time::Duration;

use super::mapping;
use super::preset::Presets;
use super::units::{UnitSettings, Units};
use super::{Axis, Control, Fields};
use crate::main_device::assignment::entries;
use crate::main_device::configure::{self, ConfigureError};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::Registers;
use crate::main_device::mailbox::Mail;
use crate::main_device::mapping::PlacedEntry;
use crate::main_device::sdo::{self, SdoError, optional};
use crate::wire::cia402::object;
use crate::wire::coe::Address;
use crate::wire::coe::object::assignment;
use crate::wire::sii::Direction;

/// First and last PDO in which to look for the required objects.
const PDOS: std::ops::RangeInclusive<u16> = 0x1600..=0x160F;

/// Why a device cannot be an axis.
#[derive(Debug, thiserror::Error)]
pub enum CommissionError {
    /// The device does not support CoE.
    #[error("it does not support CoE, so it is not a drive of CiA 402; choose another device")]
    NoCoe,
    /// No PDO maps a required object.
    #[error(
        "object 0x{0:04X} is in none of its PDOs 0x1600 to 0x160F nor its inputs; map it, or control the axis otherwise"
    )]
    NotMapped(u16),
    /// An object does not begin at a byte, or has an unusual length.
    #[error(
        "object 0x{0:04X} is mapped across bytes; map it at a whole byte with 8, 16 or 32 bits"
    )]
    Unaligned(u16),
    /// A limit is among the outputs, and the device does not report its value.
    #[error(
        "object 0x{0:04X}, a limit, is mapped to its outputs, and it does not report the present value; take the object out of the mapping"
    )]
    Limit(u16),
    /// A limit of the torque is among the outputs, and the drive permits none.
    #[error(
        "object 0x{0:04X}, a limit of the torque that is mapped to its outputs, is 0: the drive would carry no load; set it (kadenz ethercat sdo write), or switch the drive's power off and on if an earlier program wrote 0"
    )]
    NoTorque(u16),
    /// The device does not state a value without which its numbers have no unit.
    #[error(
        "it does not state object 0x{object:04X}, and Kadenz does not guess it; write {option} in the axis's table of the motion file"
    )]
    NotStated {
        /// The index of the object.
        object: u16,
        /// The option by which a user can state it.
        option: &'static str,
    },
    /// An object holds an invalid ratio, or one by which no joint could move.
    #[error(
        "its object 0x{object:04X} holds {} to {}, which cannot be a position scale; set up the drive, or write increments_per_turn in the axis's table of the motion file",
        values[0], values[1]
    )]
    Senseless {
        /// The index of the object.
        object: u16,
        /// The two numbers that the object holds.
        values: [u32; 2],
    },
    /// The drive counts in an unknown unit.
    #[error(
        "its object 0x{object:04X} has the unsupported unit 0x{value:08X}; write {option} in the axis's table of the motion file"
    )]
    Unit {
        /// The index of the object.
        object: u16,
        /// The unit as the object holds it.
        value: u32,
        /// The option by which a user can state it.
        option: &'static str,
    },
    /// The drive came back with other settings, so the values of the loop would have another meaning.
    #[error(
        "its {0} differs from the commissioned one; reinstall the original drive, or restart the loop"
    )]
    Changed(&'static str),
    /// The device refused to read or write an object, or did not answer.
    #[error(transparent)]
    Sdo(#[from] SdoError),
    /// The layout of its process data could not be read again.
    #[error(transparent)]
    Configure(#[from] ConfigureError),
}

/// Whether a device is a drive of CiA 402, by its device type (object 0x1000). Waits.
///
/// # Errors
/// [`SdoError`] when it does not answer.
pub fn is_drive(registers: &mut Registers<'_>, device: &mut SubDevice) -> Result<bool, SdoError> {
    let Ok(mut mail) = mapping::mail(device) else {
        return Ok(false);
    };
    let kind = sdo::get::<4>(registers, &mut mail, Address::new(0x1000, 0))?;
    Ok(u16::from_le_bytes([kind[0], kind[1]]) == 402)
}

/// Makes a drive in PREOP an axis: assigns a PDO with the required objects where none is assigned, sets the mode of
/// operation and the cycle, and reads the units, which `stated` overrides, and the other mapped outputs, which keep
/// their values. Call it before [`prepare`](crate::main_device::bring_up::prepare), which lays out the process data.
/// Waits, allocates.
///
/// # Errors
/// [`CommissionError`].
pub fn commission(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    control: Control,
    stated: &UnitSettings,
    cycle: Duration,
) -> Result<Axis, CommissionError> {
    let target = target(control);
    let mut mapped = mapping::learn(registers, device)?;
    let lacks = |index| mapping::find(&mapped, Direction::Outputs, index).is_none();
    if lacks(object::CONTROLWORD) || lacks(target) {
        assign(registers, device, target)?;
        configure::read_process_data(registers, device)?;
        mapped = mapping::learn(registers, device)?;
    }
    let fields = fields(&mapped, target)?;
    let presets = Presets::read(registers, device, &mapped)?;
    let mut mail = mapping::mail(device)?;
    settle(registers, &mut mail, control, cycle)?;
    let units = Units::read(registers, &mut mail)?;
    Ok(Axis {
        device: usize::from(device.position.0),
        control,
        fields,
        scale: units.scale(stated, control)?,
        units,
        presets,
    })
}

/// Sets the mode of operation and the cycle.
pub(super) fn settle(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    control: Control,
    cycle: Duration,
) -> Result<(), CommissionError> {
    let mode = [control.mode().number().cast_unsigned()];
    sdo::write(registers, mail, Address::new(object::MODE, 0), false, &mode)?;
    write_cycle(registers, mail, cycle)
}

fn target(control: Control) -> u16 {
    match control {
        Control::Position => object::TARGET_POSITION,
        Control::Velocity => object::TARGET_VELOCITY,
        Control::Torque => object::TARGET_TORQUE,
    }
}

fn fields(mapped: &[PlacedEntry], target: u16) -> Result<Fields, CommissionError> {
    let output = |index| mapping::field(mapped, Direction::Outputs, index);
    let input = |index| mapping::field(mapped, Direction::Inputs, index);
    let needed = |index| CommissionError::NotMapped(index);
    Ok(Fields {
        controlword: output(object::CONTROLWORD)?.ok_or(needed(object::CONTROLWORD))?,
        target: output(target)?.ok_or(needed(target))?,
        mode: output(object::MODE)?,
        statusword: input(object::STATUSWORD)?.ok_or(needed(object::STATUSWORD))?,
        position: input(object::POSITION)?.ok_or(needed(object::POSITION))?,
        velocity: input(object::VELOCITY)?,
        torque: input(object::TORQUE)?,
        error_code: input(object::ERROR_CODE)?,
    })
}

/// Assigns the first PDO that carries the controlword and the target.
fn assign(
    registers: &mut Registers<'_>,
    device: &mut SubDevice,
    target: u16,
) -> Result<(), CommissionError> {
    let manager = device
        .process_data
        .outputs
        .first()
        .map_or(2, |it| it.number);
    let list = assignment(manager);
    let mut mail = mapping::mail(device)?;
    for pdo in PDOS {
        let Some(entries) = optional(entries(registers, &mut mail, pdo))? else {
            continue;
        };
        let has = |index| entries.iter().any(|it| it.address.index == index);
        if has(object::CONTROLWORD) && has(target) {
            // The standard requires to empty the list before a change, and to set its count after (ETG.1000.6,
            // 0x1C12).
            for (sub, value) in [(0, vec![0]), (1, pdo.to_le_bytes().to_vec()), (0, vec![1])] {
                sdo::write(registers, &mut mail, Address::new(list, sub), false, &value)?;
            }
            return Ok(());
        }
    }
    Err(CommissionError::NotMapped(target))
}

/// Writes the interval between targets to the drive, so that it moves evenly from one to the next. A drive without
/// that object uses its clock.
fn write_cycle(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    cycle: Duration,
) -> Result<(), CommissionError> {
    let Some((value, power)) = interpolation(cycle) else {
        return Ok(());
    };
    let address = |sub| Address::new(object::INTERPOLATION_TIME, sub);
    let before = optional(sdo::get::<1>(registers, mail, address(1)))?;
    let mut write = |sub, byte| {
        let written = sdo::write(registers, mail, address(sub), false, &[byte]);
        Ok::<_, SdoError>(optional(written)?.is_some())
    };
    let is_half = write(1, value)? && !write(2, power.cast_unsigned())?;
    if let (true, Some([before])) = (is_half, before) {
        // One of the two values alone would be another interval.
        write(1, before)?;
    }
    Ok(())
}

/// A cycle as a byte and a power of ten of a second; `None` where these cannot express it.
fn interpolation(cycle: Duration) -> Option<(u8, i8)> {
    let ns = cycle.as_nanos();
    // In whole s, ms or us where possible, as drives expect: a millisecond is (1, -3) and not (100, -5).
    [9_u32, 6, 3, 0, 8, 7, 5, 4, 2, 1]
        .into_iter()
        .find_map(|power| {
            let unit = 10_u128.pow(power);
            let whole = ns > 0 && ns.is_multiple_of(unit);
            let value = u8::try_from(ns / unit).ok().filter(|_| whole)?;
            Some((value, power as i8 - 9))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_written_exactly_or_not_at_all() {
        let of = |us| interpolation(Duration::from_micros(us));
        assert_eq!(of(1000), Some((1, -3)));
        assert_eq!(of(250), Some((250, -6)));
        assert_eq!(of(62), Some((62, -6)));
        assert_eq!(of(1500), Some((15, -4)));
        assert_eq!(of(2_000_000), Some((2, 0)));
        assert_eq!(of(1_234), None);
        assert_eq!(of(0), None);
    }
}
