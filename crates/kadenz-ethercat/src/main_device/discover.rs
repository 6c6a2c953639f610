//! Discovers a segment's SubDevices: their number, their addresses, and the contents of their SIIs and
//! registers.

use super::device::SubDevice;
use super::exchange::{ExchangeError, ExchangeResult, Registers, Target};
use super::mailbox::Numbering;
use super::sii::{Sii, SiiAccessError};
use super::states::{self, StateError};
use crate::wire::register::{
    ALIAS_CONTROL, DC_ACTIVATION, DC_OFFSET, DC_SYSTEM_TIME, DL_STATUS, FMMU, LOOP_CONTROL,
    RX_ERRORS, STATION_ADDRESS, STATION_ALIAS, SYNC_MANAGER, TYPE, WATCHDOG_DEFAULTS, features,
};
use crate::wire::sii::category;
use crate::wire::{Configured, DlStatus, Position};

/// The first station address that discovery gives; the others follow.
pub(crate) const FIRST_STATION: u16 = 0x1001;
/// The longest SII that is read: 32 KiB.
const MAX_SII: usize = 32 * 1024;
/// How often the MainDevice opens loops at most, while more and more SubDevices come in sight.
const MAX_OPENINGS: u32 = 8;
/// Words of the SII's fixed part.
const FIXED_WORDS: u32 = 64;

/// The reason why the segment could not be discovered.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// No SubDevice answers.
    #[error("frames come back, but no SubDevice is on the wire; is its power on?")]
    NoSubDevice,
    /// A SubDevice's EEPROM could not be read.
    #[error("SubDevice {position}: {source}")]
    Sii {
        /// The position of the SubDevice on the wire, from 0.
        position: u16,
        /// The error of its SII.
        source: SiiAccessError,
    },
    /// The SubDevices did not go back to INIT.
    #[error("the SubDevices do not go to INIT: {0}")]
    Init(#[from] StateError),
}

/// Brings all SubDevices to INIT, gives them addresses and reads their SIIs and registers.
///
/// # Errors
/// [`DiscoverError`].
pub(crate) fn discover(registers: &mut Registers<'_>) -> Result<Vec<SubDevice>, DiscoverError> {
    let count = open_and_count(registers)?;
    reset(registers, count)?;
    for position in 0..count {
        let station = FIRST_STATION.wrapping_add(position);
        registers.put_u16(Target::At(Position(position)), STATION_ADDRESS, station)?;
    }
    (0..count)
        .map(|position| {
            let station = Configured(FIRST_STATION.wrapping_add(position));
            let position = Position(position);
            let mut device = describe(registers, Target::Of(station), position, station)?;
            device.counter = Numbering::fresh();
            Ok(device)
        })
        .collect()
}

/// Returns the number of SubDevices.
///
/// # Errors
/// [`DiscoverError`], for example when no SubDevice answers.
pub fn count(registers: &mut Registers<'_>) -> Result<u16, DiscoverError> {
    match registers.count_reading(Target::All(0), TYPE, &mut [0])? {
        0 => Err(DiscoverError::NoSubDevice),
        count => Ok(count),
    }
}

/// Sets every port's loop to close and open with its link, as after power on: a loop that an earlier program
/// closed and did not open, such as in the middle of measuring a ring's clocks, hides the SubDevices behind
/// it. Disables aliases. The size of a FIFO, in the same register, stays. Returns the number of SubDevices
/// after that.
fn open_and_count(registers: &mut Registers<'_>) -> Result<u16, DiscoverError> {
    let mut before = None;
    for _ in 0..MAX_OPENINGS {
        for register in [LOOP_CONTROL, ALIAS_CONTROL] {
            registers.count_writing(Target::All(0), register, &[0])?;
        }
        let count = count(registers)?;
        // SubDevices that have just come in sight may hide others in turn.
        if before.replace(count) == Some(count) {
            break;
        }
    }
    count(registers)
}

/// Clears the configuration of an earlier MainDevice.
fn reset(registers: &mut Registers<'_>, count: u16) -> Result<(), DiscoverError> {
    let all = Target::All(count);
    states::all_to_init(registers, count)?;
    // Not every controller has all of these registers: how many SubDevices take a write does not matter.
    for (register, bytes) in [
        (FMMU, 256),
        (SYNC_MANAGER, 128),
        (RX_ERRORS, 8),
        (DC_OFFSET, 8),
        (DC_ACTIVATION, 1),
    ] {
        registers.count_writing(all, register, &[0; 256][..bytes])?;
    }
    // An earlier MainDevice may have switched watchdogs off: outputs would then stay without a MainDevice.
    for (register, value) in WATCHDOG_DEFAULTS {
        registers.count_writing(all, register, &value.to_le_bytes())?;
    }
    Ok(())
}

/// Reads a SubDevice's SII and registers; configures nothing.
pub(super) fn describe(
    registers: &mut Registers<'_>,
    target: Target,
    position: Position,
    station: Configured,
) -> Result<SubDevice, DiscoverError> {
    let sii = Sii::of(registers, target).and_then(|mut it| read_sii(&mut it));
    let sii = sii.map_err(|source| DiscoverError::Sii {
        position: position.0,
        source,
    })?;
    let device = SubDevice::of_memory(position, station, sii);
    Ok(with_registers(registers, target, device)?)
}

/// Adds the values of a SubDevice's registers to those of its SII.
pub(super) fn with_registers(
    registers: &mut Registers<'_>,
    target: Target,
    device: SubDevice,
) -> ExchangeResult<SubDevice> {
    let about: [u8; 10] = registers.get(target, TYPE)?;
    Ok(SubDevice {
        alias: registers.get_u16(target, STATION_ALIAS)?,
        features: usable(registers, target, u16::from_le_bytes([about[8], about[9]]))?,
        fmmus: about[4],
        sync_managers: about[5],
        links: DlStatus(registers.get_u16(target, DL_STATUS)?),
        ..device
    })
}

/// Reads a SubDevice's SII up to the end of its categories, and gives it back to the application. Waits,
/// allocates.
///
/// # Errors
/// [`SiiAccessError`] when the SubDevice does not answer.
pub fn memory(registers: &mut Registers<'_>, target: Target) -> Result<Vec<u8>, SiiAccessError> {
    let mut sii = Sii::borrow(registers, target)?;
    let bytes = read_sii(&mut sii)?;
    sii.give_back()?;
    Ok(bytes)
}

/// The features without those that are reported and not there: the clock of a controller that saves power
/// answers only in its receive times, as on Beckhoff's EL2828, EL3004 and EK1914.
fn usable(registers: &mut Registers<'_>, target: Target, reported: u16) -> ExchangeResult<u16> {
    let is_there = reported & features::DC == 0
        || registers.count_reading(target, DC_SYSTEM_TIME, &mut [0; 8])? > 0;
    Ok(match is_there {
        true => reported,
        false => reported & !(features::DC | features::DC_64),
    })
}

/// Reads the fixed part and then category by category, up to their end.
fn read_sii(sii: &mut Sii<'_, '_>) -> Result<Vec<u8>, SiiAccessError> {
    let mut bytes = vec![0; FIXED_WORDS as usize * 2];
    sii.read(0, &mut bytes)?;
    let mut word = FIXED_WORDS;
    while bytes.len() < MAX_SII {
        let mut head = [0; 4];
        sii.read(word, &mut head)?;
        bytes.extend(head);
        let number = u16::from_le_bytes([head[0], head[1]]);
        let words = u16::from_le_bytes([head[2], head[3]]);
        let end = bytes.len() + usize::from(words) * 2;
        if number == category::END || end > MAX_SII {
            break;
        }
        let start = bytes.len();
        bytes.resize(end, 0);
        sii.read(word + 2, &mut bytes[start..])?;
        word += 2 + u32::from(words);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::exchange::BlockingExchange;
    use crate::main_device::link::Link;
    use crate::sim::WirePort;
    use crate::sim::humanoid::humanoid;
    use crate::wire::register::{WATCHDOG_DIVIDER, WATCHDOG_PROCESS_DATA};

    #[test]
    fn watchdogs_that_an_earlier_main_device_switched_off_are_on_again() {
        let mut link = Link::new(WirePort::new(humanoid(6).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        for register in [WATCHDOG_DIVIDER, WATCHDOG_PROCESS_DATA] {
            let all = Target::All(6);
            let taken = registers.count_writing(all, register, &[0; 2]).unwrap();
            assert_eq!(taken, 6);
        }
        for device in discover(&mut registers).unwrap() {
            for (register, value) in WATCHDOG_DEFAULTS {
                assert_eq!(registers.get_u16(device.target(), register).unwrap(), value);
            }
        }
    }
}
