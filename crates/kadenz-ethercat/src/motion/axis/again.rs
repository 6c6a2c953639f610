//! Sets up a drive again that lost its power.

use std::time::Duration;

use super::commission::{CommissionError, settle};
use super::mapping;
use super::units::Units;
use super::{Axis, Control};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::Registers;
use crate::main_device::mapping::PlacedEntry;
use crate::main_device::sdo;
use crate::wire::Configured;
use crate::wire::coe::Address;

/// Most PDOs of a list: sub-index 255 does not hold one (ETG.1000.6, 0x1C12).
const MAX_PDOS: u8 = 254;

/// How a drive was commissioned: the settings that it must get again after it lost its power, and the layout and
/// units that must then be the same, since the loop goes on with them.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveSetup {
    station: Configured,
    control: Control,
    cycle: Duration,
    /// Objects that assign PDOs, and the PDOs that they held.
    lists: Vec<(u16, Vec<u16>)>,
    mapped: Vec<PlacedEntry>,
    units: Units,
}

impl DriveSetup {
    /// Reads the settings of a drive that was just commissioned, in PREOP or higher. Waits, allocates.
    ///
    /// # Errors
    /// [`CommissionError`]: the drive does not answer.
    pub(crate) fn of(
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
        axis: &Axis,
        cycle: Duration,
    ) -> Result<Self, CommissionError> {
        let mapped = mapping::learn(registers, device)?;
        Ok(Self {
            station: device.station,
            control: axis.control(),
            cycle,
            lists: mapping::lists(registers, device)?,
            mapped,
            units: *axis.units(),
        })
    }

    /// The address of the drive.
    #[must_use]
    pub(crate) const fn station(&self) -> Configured {
        self.station
    }

    /// Sets up a drive in PREOP in this way: assigns PDOs where the mapping differs, writes mode of operation and
    /// cycle. Leaves the known layout of its process data as it is. Waits, allocates.
    ///
    /// # Errors
    /// [`CommissionError::Changed`] when its mapping or its units cannot be the same again, as of a different drive
    /// in its place; others when it does not answer.
    pub(crate) fn restore(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<(), CommissionError> {
        if mapping::learn(registers, device)? != self.mapped {
            self.assign(registers, device)?;
            if mapping::learn(registers, device)? != self.mapped {
                return Err(CommissionError::Changed("mapping"));
            }
        }
        let mut mail = mapping::mail(device)?;
        let now = self.units.read_again(registers, &mut mail)?;
        if let Some(what) = self.units.changed(&now) {
            return Err(CommissionError::Changed(what));
        }
        settle(registers, &mut mail, self.control, self.cycle)
    }

    fn assign(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<(), CommissionError> {
        let mut mail = mapping::mail(device)?;
        for (list, pdos) in &self.lists {
            let mut write = |sub, value: &[u8]| {
                sdo::write(registers, &mut mail, Address::new(*list, sub), false, value)
            };
            // The standard requires to empty the list before a change, and to set its count after (ETG.1000.6,
            // 0x1C12).
            write(0, &[0])?;
            for (sub, pdo) in (1..=MAX_PDOS).zip(pdos) {
                write(sub, &pdo.to_le_bytes())?;
            }
            write(0, &[pdos.len().min(usize::from(MAX_PDOS)) as u8])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::bring_up::find;
    use crate::main_device::exchange::BlockingExchange;
    use crate::main_device::link::Link;
    use crate::motion::axis::{UnitSettings, commission};
    use crate::sim::WirePort;
    use crate::sim::humanoid::humanoid;

    #[test]
    fn a_drive_of_other_units_or_another_mapping_is_refused() {
        let mut link = Link::new(WirePort::new(humanoid(6).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut devices = find(&mut registers).unwrap();
        let drive = &mut devices[5];
        let cycle = Duration::from_millis(1);
        let axis = commission(
            &mut registers,
            drive,
            Control::Torque,
            &UnitSettings::default(),
            cycle,
        )
        .unwrap();
        let setup = DriveSetup::of(&mut registers, drive, &axis, cycle).unwrap();
        setup.restore(&mut registers, drive).unwrap();

        let mut other = setup.clone();
        other.units.gear = Some([50, 1]);
        let refused = other.restore(&mut registers, drive).unwrap_err();
        assert!(refused.to_string().contains("gear ratio"), "{refused}");
        let mut other = setup;
        other.mapped.pop();
        let refused = other.restore(&mut registers, drive);
        assert!(matches!(refused, Err(CommissionError::Changed("mapping"))));
    }
}
