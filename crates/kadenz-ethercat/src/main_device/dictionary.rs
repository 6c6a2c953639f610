//! Reads a SubDevice's object dictionary, by CoE's SDO information service (ETG.1000.6, chapter
//! 5.6.3).

use super::exchange::Registers;
use super::mailbox::{Mail, MailError};
use crate::wire::coe::{
    Access, Address, DataType, EntryDescription, Info, InfoError, ListType, Message, ObjectCode,
    Unit,
};
use crate::wire::sii::Text;

/// Bytes of the longest list: every index once, and the list's type before them.
const MAX_LIST: usize = 2 * 65_536 + 2;
/// Bytes of the unit, which like default, minimum and maximum may stand before an entry's name.
const UNIT: usize = 4;

/// The reason why a dictionary could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryError {
    /// No answer.
    #[error("{0}")]
    Mail(#[from] MailError),
    /// The SubDevice has no dictionary, or no such object.
    #[error(transparent)]
    Refused(#[from] InfoError),
    /// The answer is for another request, or longer than possible.
    #[error("the SubDevice's answer about its objects makes no sense")]
    Damaged,
}

/// The description of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryObject {
    /// The index of the object.
    pub index: u16,
    /// The CoE type of the object.
    pub data_type: DataType,
    /// Its highest sub-index.
    pub highest_sub: u8,
    /// Whether it is a variable, an array or a record.
    pub code: ObjectCode,
    /// The name in the device's dictionary.
    pub name: String,
}

/// The description of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryEntry {
    /// Index and sub-index.
    pub address: Address,
    /// The CoE type of the entry.
    pub data_type: DataType,
    /// The length of the value in bits.
    pub bits: u16,
    /// In which states the entry is read and written, and whether PDOs may hold it.
    pub access: Access,
    /// The name in the device's dictionary.
    pub name: String,
}

/// The indices of all objects of a list, in the SubDevice's order. Waits, allocates.
///
/// # Errors
/// [`DictionaryError`], for example when the SubDevice has no such service.
pub fn list(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    which: ListType,
) -> Result<Vec<u16>, DictionaryError> {
    let mut bytes: Vec<u8> = Vec::new();
    let request = Info::ListRequest(which);
    exchange_info(registers, mail, &request, |info| match info {
        Info::List { left, data } => {
            bytes.extend(data);
            match bytes.len() {
                too_long if too_long > MAX_LIST => Some(Err(DictionaryError::Damaged)),
                _ if left == 0 => Some(Ok(())),
                _ => None,
            }
        }
        _ => Some(Err(DictionaryError::Damaged)),
    })?;
    let indices = bytes.get(2..).ok_or(DictionaryError::Damaged)?;
    let pairs = indices.chunks_exact(2);
    Ok(pairs.map(|it| u16::from_le_bytes([it[0], it[1]])).collect())
}

/// The description of an object. Waits, allocates.
///
/// # Errors
/// [`DictionaryError`], for example when there is no such object.
pub fn object(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    index: u16,
) -> Result<DictionaryObject, DictionaryError> {
    let request = Info::ObjectRequest(index);
    exchange_info(registers, mail, &request, |info| match info {
        Info::Object(it) if it.index == index => Some(Ok(DictionaryObject {
            index,
            data_type: it.data_type,
            highest_sub: it.highest_sub,
            code: it.code,
            name: Text(it.name).to_string(),
        })),
        _ => Some(Err(DictionaryError::Damaged)),
    })
}

/// The description of an object's entry. Waits, allocates.
///
/// # Errors
/// [`DictionaryError`], for example when there is no such entry.
pub fn entry(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    address: Address,
) -> Result<DictionaryEntry, DictionaryError> {
    about_entry(registers, mail, address, 0, |it| DictionaryEntry {
        address,
        data_type: it.data_type,
        bits: it.bits,
        access: it.access,
        name: Text(name(it.values, it.bits, it.data)).to_string(),
    })
}

/// The unit of an entry; `None` where the SubDevice gives none. Waits, allocates.
///
/// # Errors
/// [`DictionaryError`], for example when there is no such entry.
pub fn unit(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    address: Address,
) -> Result<Option<Unit>, DictionaryError> {
    about_entry(registers, mail, address, Unit::IN_VALUES, |it| {
        unit_before(it.values, it.data)
    })
}

/// Reads an entry's description, with the requested values.
fn about_entry<R>(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    Address { index, sub }: Address,
    values: u8,
    read: impl Fn(EntryDescription<&[u8]>) -> R,
) -> Result<R, DictionaryError> {
    let request = Info::EntryRequest { index, sub, values };
    exchange_info(registers, mail, &request, |info| match info {
        Info::Entry(it) if (it.index, it.sub) == (index, sub) => Some(Ok(read(it))),
        _ => Some(Err(DictionaryError::Damaged)),
    })
}

/// The unit, which stands before all other values, where it was sent and is valid.
fn unit_before(values: u8, data: &[u8]) -> Option<Unit> {
    let bytes = data
        .first_chunk()
        .filter(|_| values & Unit::IN_VALUES != 0)?;
    Some(Unit(u32::from_le_bytes(*bytes))).filter(|it| it.0 != 0)
}

/// The name, which follows the values before it.
fn name(values: u8, bits: u16, data: &[u8]) -> &[u8] {
    let unit = if values & Unit::IN_VALUES != 0 {
        UNIT
    } else {
        0
    };
    let of_its_type = (values & 0x70).count_ones() as usize;
    let before = unit + of_its_type * usize::from(bits).div_ceil(8);
    data.get(before..).unwrap_or_default()
}

/// Asks, and takes answers until `take` has all. A refusal ends it.
fn exchange_info<R>(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    request: &Info<&[u8]>,
    mut take: impl FnMut(Info<&[u8]>) -> Option<Result<R, DictionaryError>>,
) -> Result<R, DictionaryError> {
    mail.request(
        registers,
        |data| request.write(data),
        |data| match Message::read(data) {
            Ok(Message::Info(Info::Error(error))) => Some(Err(error.into())),
            Ok(Message::Info(info)) => take(info),
            // The mailbox has parsed this message before.
            Ok(_) | Err(_) => None,
        },
    )?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::bring_up;
    use crate::main_device::exchange::BlockingExchange;
    use crate::main_device::link::Link;
    use crate::sim::WirePort;
    use crate::sim::humanoid::humanoid;

    /// Runs `work` at the humanoid's first drive.
    fn of_a_drive(work: impl FnOnce(&mut Registers<'_>, &mut Mail<'_>)) {
        let mut link = Link::new(WirePort::new(humanoid(6).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        let mut registers = Registers::by(&mut exchange);
        let mut found = bring_up::find(&mut registers).unwrap();
        let drive = found.iter_mut().find(|it| it.name == "KZ-Drive").unwrap();
        let target = drive.target();
        let (mailboxes, counter) = (drive.mailboxes, &mut drive.counter);
        let mut mail = Mail::of(target, mailboxes, counter, &mut drive.emergencies).unwrap();
        work(&mut registers, &mut mail);
    }

    #[test]
    fn every_object_of_the_list_is_described_and_so_are_its_entries() {
        of_a_drive(|registers, mail| {
            let all = list(registers, mail, ListType::ALL).unwrap();
            assert!(all.contains(&0x1018) && all.contains(&0x6041), "{all:04X?}");
            for index in all {
                let object = object(registers, mail, index).unwrap();
                assert!(!object.name.is_empty(), "0x{index:04X}");
                let entry = entry(registers, mail, Address::new(index, 0)).unwrap();
                assert!(entry.bits > 0, "0x{index:04X}");
            }
            let word = entry(registers, mail, Address::new(0x6041, 0)).unwrap();
            assert_eq!((word.data_type, word.bits), (DataType::UNSIGNED16, 16));
            assert!(word.access.any(Access::READ) && !word.access.any(Access::WRITE));
            let mut unit_of = |index| unit(registers, mail, Address::new(index, 0)).unwrap();
            assert_eq!(unit_of(0x6041), None, "a word of bits");
            assert_eq!(unit_of(0x6064), Some(Unit(0x00B5_0000)), "increments");
        });
    }

    #[test]
    fn what_is_not_there_is_refused_with_the_reason() {
        of_a_drive(|registers, mail| {
            let error = object(registers, mail, 0x5FFF).unwrap_err();
            assert!(error.to_string().contains("does not exist"), "{error}");
            // The mailbox still works.
            object(registers, mail, 0x1018).unwrap();
        });
    }

    #[test]
    fn a_unit_is_taken_where_it_was_sent() {
        assert_eq!(
            unit_before(0x08, b"\0\x03\x01\0name"),
            Some(Unit(0x0001_0300))
        );
        assert_eq!(unit_before(0x00, b"\0\x03\x01\0name"), None);
        assert_eq!(unit_before(0x08, b"\0\0\0\0name"), None, "no unit is given");
        assert_eq!(unit_before(0x08, b"cut"), None);
    }

    #[test]
    fn a_name_stands_behind_the_values_that_were_sent() {
        let data = b"unitDDMMname";
        assert_eq!(name(0x08 | 0x10 | 0x20, 16, data), b"name");
        assert_eq!(name(0, 16, b"name"), b"name");
        assert_eq!(name(0x7F, 64, b"short"), b"");
    }
}
