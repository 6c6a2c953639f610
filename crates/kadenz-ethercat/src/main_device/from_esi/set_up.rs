//! What a file wants a device to be told in PREOP.

use super::super::configure::{self, ConfigureError};
use super::super::device::SubDevice;
use super::super::exchange::Registers;
use super::super::mailbox::{Mail, MailError};
use super::super::sdo::{self, SdoError};
use super::Described;
use super::described::Carried;
use crate::esi::{InitCommand, Transition};
use crate::sim::model::Pdo;
use crate::wire::coe::Address;

/// The object that lists the PDOs of SyncManager 0; those of the others follow (ETG.1000.6, 0x1C10).
const ASSIGNMENT: u16 = 0x1C10;

/// A device did not take what its file says.
#[derive(Debug, thiserror::Error)]
#[error(
    "its ESI file wants {what} to be written, and it was not: {source}; is the file of this device's \
     revision?"
)]
pub struct SetUpError {
    /// The object, and what it is for.
    pub what: String,
    /// Why.
    pub source: SdoError,
}

impl SetUpError {
    /// As those who bring devices up take it: that a loop has ended is to be seen as such.
    fn plainly(self) -> ConfigureError {
        match self.source {
            SdoError::Mail(MailError::Exchange(error)) => error.into(),
            source => ConfigureError::Setup(Box::new(Self { source, ..self })),
        }
    }
}

impl Described {
    /// Writes by CoE what the file wants written up to SAFEOP, in PREOP: values for the change from INIT to
    /// PREOP, PDOs where they are otherwise and may be changed, then values for the change to SAFEOP, which
    /// so have the last word. Nothing for a device without CoE. Waits, allocates.
    ///
    /// # Errors
    /// [`ConfigureError`]: the first value that the device refuses ends it.
    pub fn set_up(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<(), ConfigureError> {
        if !device.has_coe() {
            return Ok(());
        }
        let (whose, mailboxes) = (device.whose(), device.mailboxes);
        let (counter, emergencies) = (&mut device.counter, &mut device.emergencies);
        let mail = Mail::of(whose, mailboxes, counter, emergencies).map_err(SdoError::from)?;
        let mut writer = Writer { registers, mail };
        self.write_all(&mut writer).map_err(SetUpError::plainly)
    }

    fn write_all(&self, writer: &mut Writer<'_, '_, '_>) -> Result<(), SetUpError> {
        for command in self.commands(Transition::InitToPreOp) {
            writer.command(command)?;
        }
        for carried in self.carried() {
            writer.carry(self, carried)?;
        }
        for command in self.commands(Transition::PreOpToSafeOp) {
            writer.command(command)?;
        }
        Ok(())
    }

    /// As [`configure::learn_process_data`], of a device that is set up so: SyncManagers are where the file
    /// says, and a device that tells nothing of its process data has what the file says.
    ///
    /// # Errors
    /// [`ConfigureError`].
    pub fn learn_process_data(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<(), ConfigureError> {
        configure::learn_process_data(registers, device)?;
        self.correct(&mut device.process_data);
        Ok(())
    }
}

/// Writes objects of one device.
struct Writer<'w, 'x, 'm> {
    registers: &'w mut Registers<'x>,
    mail: Mail<'m>,
}

impl Writer<'_, '_, '_> {
    fn command(&mut self, command: &InitCommand) -> Result<(), SetUpError> {
        let at = command.address;
        let what = || match command.comment.as_str() {
            "" => at.to_string(),
            comment => format!("{at} ({comment})"),
        };
        self.write(at, command.complete, &command.value, what)
    }

    fn write(
        &mut self,
        address: Address,
        complete: bool,
        value: &[u8],
        what: impl FnOnce() -> String,
    ) -> Result<(), SetUpError> {
        let written = sdo::write(self.registers, &mut self.mail, address, complete, value);
        written.map_err(|source| SetUpError {
            what: what(),
            source,
        })
    }

    /// Lets a SyncManager carry its PDOs, where it does not, and these hold what they should.
    fn carry(&mut self, described: &Described, carried: &Carried) -> Result<(), SetUpError> {
        let list = ASSIGNMENT + u16::from(carried.number);
        let pdos = || carried.pdos.iter().map(|it| described.pdo(*it));
        let wanted: Vec<u32> = pdos().map(|it| it.index.into()).collect();
        let assigned = self.numbers::<2>(list)?;
        let mut others = Vec::new();
        for pdo in pdos().filter(|it| described.maps(it)) {
            let mapped = self.numbers::<4>(pdo.index)?;
            // One that cannot even be read is none to write.
            if mapped.is_some_and(|it| it != mapping(pdo)) {
                others.push(pdo);
            }
        }
        let assigns = described.assigns() && assigned.is_some();
        let is_so = others.is_empty() && assigned.as_ref() == Some(&wanted);
        if is_so || (others.is_empty() && !assigns) {
            return Ok(());
        }
        if assigns {
            // No mapping changes while it is assigned (ETG.1000.6, 0x1C12).
            self.write(Address::new(list, 0), false, &[0], || name(list))?;
        }
        for pdo in others {
            self.put(pdo.index, &mapping(pdo), 4)?;
        }
        match assigns {
            true => self.put(list, &wanted, 2),
            false => Ok(()),
        }
    }

    /// The numbers of N bytes in an object's entries, as many as its first entry counts; `None` for an
    /// object that the device does not tell.
    fn numbers<const N: usize>(&mut self, index: u16) -> Result<Option<Vec<u32>>, SetUpError> {
        let read = self.read_numbers::<N>(index);
        match read {
            Ok(numbers) => Ok(Some(numbers)),
            Err(error) if error.abort().is_some() => Ok(None),
            Err(source) => Err(SetUpError {
                what: name(index),
                source,
            }),
        }
    }

    fn read_numbers<const N: usize>(&mut self, index: u16) -> Result<Vec<u32>, SdoError> {
        let (registers, mail) = (&mut *self.registers, &mut self.mail);
        let [count] = sdo::get(registers, mail, Address::new(index, 0))?;
        let mut numbers = Vec::new();
        for sub in 1..=count {
            let bytes: [u8; N] = sdo::get(registers, mail, Address::new(index, sub))?;
            let mut wide = [0; 4];
            wide[..N].copy_from_slice(&bytes);
            numbers.push(u32::from_le_bytes(wide));
        }
        Ok(numbers)
    }

    /// Writes numbers of so many bytes into an object's entries: it is made empty first, and valid last.
    fn put(&mut self, index: u16, numbers: &[u32], bytes: usize) -> Result<(), SetUpError> {
        let count = u8::try_from(numbers.len()).unwrap_or(u8::MAX);
        self.write(Address::new(index, 0), false, &[0], || name(index))?;
        for (sub, number) in (1..=count).zip(numbers) {
            let value = &number.to_le_bytes()[..bytes];
            self.write(Address::new(index, sub), false, value, || name(index))?;
        }
        self.write(Address::new(index, 0), false, &[count], || name(index))
    }
}

/// What a mapping holds: index, sub-index and bits of each entry (ETG.1000.6, 0x1600).
fn mapping(pdo: &Pdo) -> Vec<u32> {
    let entries = pdo.entries.iter();
    let word =
        entries.map(|it| u32::from(it.index) << 16 | u32::from(it.sub) << 8 | u32::from(it.bits));
    word.collect()
}

fn name(index: u16) -> String {
    match index {
        ASSIGNMENT..=0x1C2F => format!("the list of PDOs 0x{index:04X}"),
        _ => format!("PDO 0x{index:04X}"),
    }
}
