//! The SDO information service of a dictionary.

use super::Dictionary;
use crate::description::Object;
use crate::wire::coe::{
    self, Abort, Access, Address, EntryDescription, Info, InfoError, ListType, ObjectDescription,
    Unit,
};
use crate::wire::mailbox;

/// Bytes of a mailbox besides a piece of a list.
const OVERHEAD: usize = mailbox::HEADER + coe::HEADER + 4;

/// A list that the server sends in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    /// Bytes that are not yet sent.
    rest: Vec<u8>,
}

/// An answer of the SDO information service that owns its data.
pub(super) type OwnedInfo = Info<Vec<u8>>;

impl Pieces {
    /// Answers a request. Cuts names to the mailbox's room.
    pub(super) fn ask(
        &mut self,
        dictionary: &Dictionary,
        info: &Info<&[u8]>,
        mailbox: usize,
    ) -> OwnedInfo {
        let room = mailbox.saturating_sub(OVERHEAD + 10);
        let answer = match *info {
            Info::ListRequest(list) => self.begin(dictionary, list, mailbox),
            Info::ObjectRequest(index) => object(dictionary, index, room),
            Info::EntryRequest { index, sub, values } => {
                entry(dictionary, Address::new(index, sub), values, room)
            }
            _ => Err(Abort::COMMAND),
        };
        answer.unwrap_or_else(|code| OwnedInfo::Error(InfoError(code)))
    }

    fn begin(
        &mut self,
        dictionary: &Dictionary,
        list: ListType,
        mailbox: usize,
    ) -> Result<OwnedInfo, Abort> {
        if list.0 > ListType::SETTINGS.0 {
            return Err(Abort::UNSUPPORTED_ACCESS);
        }
        self.rest = list.0.to_le_bytes().to_vec();
        if list == ListType::LENGTHS {
            for number in 1..=ListType::SETTINGS.0 {
                let length = listed(dictionary, ListType(number)).count() as u16;
                self.rest.extend(length.to_le_bytes());
            }
        } else {
            let indices = listed(dictionary, list);
            self.rest.extend(indices.flat_map(u16::to_le_bytes));
        }
        self.next(mailbox).ok_or(Abort::GENERAL)
    }

    /// The next piece; `None` after the last.
    pub(super) fn next(&mut self, mailbox: usize) -> Option<OwnedInfo> {
        if self.rest.is_empty() {
            return None;
        }
        let room = (mailbox.saturating_sub(OVERHEAD) & !1).max(2);
        let rest = self.rest.split_off(self.rest.len().min(room));
        let data = std::mem::replace(&mut self.rest, rest);
        let left = self.rest.len().div_ceil(room) as u16;
        Some(OwnedInfo::List { left, data })
    }
}

/// Indices of the objects on a list.
fn listed(dictionary: &Dictionary, list: ListType) -> impl Iterator<Item = u16> {
    let wanted = match list {
        ListType::RX_MAPPABLE => Some(Access::RX_MAPPABLE),
        ListType::TX_MAPPABLE => Some(Access::TX_MAPPABLE),
        ListType::BACKUP => Some(Access::BACKUP),
        ListType::SETTINGS => Some(Access::SETTING),
        _ => None,
    };
    let has = move |object: &&Object| {
        wanted.is_none_or(|it| object.entries().iter().any(|entry| entry.access.any(it)))
    };
    dictionary.objects().iter().filter(has).map(|it| it.index)
}

fn object(dictionary: &Dictionary, index: u16, room: usize) -> Result<OwnedInfo, Abort> {
    let object = dictionary.object(index).ok_or(Abort::NO_OBJECT)?;
    Ok(OwnedInfo::Object(ObjectDescription {
        index,
        data_type: object.data_type,
        highest_sub: object.highest_sub(),
        code: object.code,
        name: cut(&object.name, room).to_vec(),
    }))
}

/// The description of an entry with its name, after its unit where the request includes it and there is one.
fn entry(
    dictionary: &Dictionary,
    at: Address,
    wanted: u8,
    room: usize,
) -> Result<OwnedInfo, Abort> {
    let entry = dictionary.entry(at)?;
    let unit = entry.unit.filter(|_| wanted & Unit::IN_VALUES != 0);
    let mut data = unit.map_or_else(Vec::new, |it| it.0.to_le_bytes().to_vec());
    let left = room.saturating_sub(data.len());
    data.extend_from_slice(cut(&entry.name, left));
    Ok(OwnedInfo::Entry(EntryDescription {
        index: at.index,
        sub: entry.sub,
        values: unit.map_or(0, |_| Unit::IN_VALUES),
        data_type: entry.data_type,
        bits: entry.bits,
        access: entry.access,
        data,
    }))
}

/// As many whole characters as fit.
fn cut(name: &str, room: usize) -> &[u8] {
    let mut end = room.min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name.as_bytes()[..end]
}
