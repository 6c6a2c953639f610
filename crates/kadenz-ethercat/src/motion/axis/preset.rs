//! Mapped outputs of a drive that the axis does not write: they keep the values that the drive has.

use super::commission::CommissionError;
use super::mapping;
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::Registers;
use crate::main_device::mapping::PlacedEntry;
use crate::main_device::sdo::{self, optional};
use crate::wire::cia402::object;
use crate::wire::copy_bits;
use crate::wire::sii::Direction;

/// Commands, which begin with 0: an old target or offset must not move the axis.
const COMMANDS: [u16; 8] = [
    object::CONTROLWORD,
    object::MODE,
    object::TARGET_TORQUE,
    object::TARGET_POSITION,
    object::POSITION_OFFSET,
    object::VELOCITY_OFFSET,
    object::TORQUE_OFFSET,
    object::TARGET_VELOCITY,
];
/// Limits, at which 0 takes the torque or the motion away.
const LIMITS: [u16; 5] = [
    object::TORQUE_LIMIT,
    object::PROFILE_VELOCITY_LIMIT,
    object::MOTOR_SPEED_LIMIT,
    object::POSITIVE_TORQUE_LIMIT,
    object::NEGATIVE_TORQUE_LIMIT,
];
/// Of these, the limits of the torque.
const TORQUE_LIMITS: [u16; 3] = [
    object::TORQUE_LIMIT,
    object::POSITIVE_TORQUE_LIMIT,
    object::NEGATIVE_TORQUE_LIMIT,
];
/// The objects of a device's next axis have indices greater by this (CiA 402-2).
const NEXT_AXIS: u16 = 0x800;

/// The value of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PresetOutput {
    /// Its first bit in the device's outputs.
    at: usize,
    bits: usize,
    value: Vec<u8>,
}

/// The values of all mapped outputs that are not commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Presets(Vec<PresetOutput>);

impl Presets {
    /// Reads the values that the drive has now. Waits, allocates.
    ///
    /// # Errors
    /// [`CommissionError::Limit`] where it does not report a limit, [`CommissionError::NoTorque`] where it reports a
    /// torque of 0; others when it does not answer.
    pub(super) fn read(
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
        mapped: &[PlacedEntry],
    ) -> Result<Self, CommissionError> {
        let mut mail = mapping::mail(device)?;
        let mut all = Vec::new();
        for it in mapped {
            let address = it.entry.address;
            let Some(address) = address.filter(|_| it.direction == Direction::Outputs) else {
                continue;
            };
            let of_first = of_first_axis(address.index);
            if COMMANDS.contains(&of_first) {
                continue;
            }
            let value = sdo::read(registers, &mut mail, address, false);
            match optional(value)? {
                Some(value) if is_zero(&value) && TORQUE_LIMITS.contains(&of_first) => {
                    return Err(CommissionError::NoTorque(address.index));
                }
                Some(value) => all.push(PresetOutput {
                    at: it.bit,
                    bits: usize::from(it.entry.bits).min(value.len() * 8),
                    value,
                }),
                None if LIMITS.contains(&of_first) => {
                    return Err(CommissionError::Limit(address.index));
                }
                None => {}
            }
        }
        Ok(Self(all))
    }

    /// Writes the values.
    ///
    /// # Real-time safety
    /// Real-time safe.
    pub(super) fn write(&self, outputs: &mut [u8]) {
        for it in &self.0 {
            copy_bits(&it.value, 0, outputs, it.at, it.bits);
        }
    }
}

fn is_zero(value: &[u8]) -> bool {
    value.iter().all(|it| *it == 0)
}

/// The index of the same object of a device's first axis.
const fn of_first_axis(index: u16) -> u16 {
    match index {
        0x6000..=0x9FFF => 0x6000 + (index - 0x6000) % NEXT_AXIS,
        other => other,
    }
}
