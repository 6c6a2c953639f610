//! Writes a file's values to a device in PREOP.

use super::super::assignment::{self, AssignedEntry};
use super::super::configure::ConfigureError;
use super::super::device::SubDevice;
use super::super::exchange::Registers;
use super::super::mailbox::{Mail, MailError};
use super::super::sdo::{self, SdoError};
use super::Described;
use super::described::SyncManagerPdos;
use crate::description::Pdo;
use crate::esi::{InitCommand, Transition};
use crate::wire::coe::{Address, object};

/// A device did not take a value of its file.
#[derive(Debug, thiserror::Error)]
#[error(
    "its ESI file wants {what} to be written, and it was not: {source}; is the file of this device's \
     revision?"
)]
pub struct SetUpError {
    /// The object, and its purpose.
    pub what: String,
    /// The error of the transfer.
    pub source: SdoError,
}

impl SetUpError {
    /// Converts it for callers that bring devices up: a loop that has ended must show as such.
    fn into_configure_error(self) -> ConfigureError {
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
    pub(super) fn set_up(
        &self,
        registers: &mut Registers<'_>,
        device: &mut SubDevice,
    ) -> Result<(), ConfigureError> {
        if !device.has_coe() {
            return Ok(());
        }
        let mail = device.mail().map_err(SdoError::from)?;
        let mut writer = Writer { registers, mail };
        self.write_all(&mut writer)
            .map_err(SetUpError::into_configure_error)
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

    /// Makes a SyncManager carry its PDOs, where it does not, and the PDOs hold their entries.
    fn carry(
        &mut self,
        described: &Described,
        carried: &SyncManagerPdos,
    ) -> Result<(), SetUpError> {
        let list = object::assignment(carried.number);
        let pdos = || carried.pdos.iter().map(|it| described.pdo(*it));
        let wanted: Vec<u16> = pdos().map(|it| it.index).collect();
        let assigned = assignment::list(self.registers, &mut self.mail, carried.number);
        let assigned = assigned.map_err(because(list))?;
        let mut others = Vec::new();
        for pdo in pdos().filter(|it| described.maps(it)) {
            let mapped = assignment::entries(self.registers, &mut self.mail, pdo.index);
            let mapped = sdo::optional(mapped).map_err(because(pdo.index))?;
            // A PDO that cannot even be read is not written.
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
            let words = mapping(pdo).into_iter().map(|it| {
                let [low, high] = it.address.index.to_le_bytes();
                [it.bits, it.address.sub, low, high]
            });
            self.put(pdo.index, words)?;
        }
        match assigns {
            true => self.put(list, wanted.iter().map(|it| it.to_le_bytes())),
            false => Ok(()),
        }
    }

    /// Writes an object's entries: it is made empty first, and valid last.
    fn put<const N: usize>(
        &mut self,
        index: u16,
        values: impl Iterator<Item = [u8; N]>,
    ) -> Result<(), SetUpError> {
        self.write(Address::new(index, 0), false, &[0], || name(index))?;
        let mut count = 0;
        for (sub, value) in (1..=u8::MAX).zip(values) {
            self.write(Address::new(index, sub), false, &value, || name(index))?;
            count = sub;
        }
        self.write(Address::new(index, 0), false, &[count], || name(index))
    }
}

/// The mapping of a PDO.
fn mapping(pdo: &Pdo) -> Vec<AssignedEntry> {
    let entries = pdo.entries.iter().map(|it| AssignedEntry {
        address: Address::new(it.index, it.sub),
        bits: it.bits,
    });
    entries.collect()
}

fn because(index: u16) -> impl FnOnce(SdoError) -> SetUpError {
    move |source| SetUpError {
        what: name(index),
        source,
    }
}

fn name(index: u16) -> String {
    match index {
        0x1C10..=0x1C2F => format!("the list of PDOs 0x{index:04X}"),
        _ => format!("PDO 0x{index:04X}"),
    }
}
