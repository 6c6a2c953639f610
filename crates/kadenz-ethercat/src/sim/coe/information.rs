//! What a dictionary says of itself.

use super::Dictionary;
use crate::description::{Entry, Object};
use crate::wire::coe::{
    self, Abort, Access, DataType, EntryDescription, Info, InfoError, ListType, ObjectDescription,
    Unit,
};
use crate::wire::mailbox;

/// Bytes of a mailbox besides a piece of a list.
const OVERHEAD: usize = mailbox::HEADER + coe::HEADER + 4;

/// A list that is told in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    /// Bytes that are not yet told.
    rest: Vec<u8>,
}

/// An answer that holds its data.
pub(super) enum Piece {
    List {
        left: u16,
        data: Vec<u8>,
    },
    Object {
        index: u16,
        data_type: DataType,
        highest_sub: u8,
        code: coe::ObjectCode,
        name: String,
    },
    Entry {
        index: u16,
        entry: Entry,
        /// Its unit, if it was asked for and it has one, and its name.
        told: Vec<u8>,
    },
    Error(Abort),
}

impl Piece {
    pub(super) fn info(&self) -> Info<'_> {
        match self {
            Self::List { left, data } => Info::List { left: *left, data },
            Self::Object {
                index,
                data_type,
                highest_sub,
                code,
                name,
            } => Info::Object(ObjectDescription {
                index: *index,
                data_type: *data_type,
                highest_sub: *highest_sub,
                code: *code,
                name: name.as_bytes(),
            }),
            Self::Entry { index, entry, told } => Info::Entry(EntryDescription {
                index: *index,
                sub: entry.sub,
                values: if told.len() > entry.name.len() {
                    Unit::IN_VALUES
                } else {
                    0
                },
                data_type: entry.data_type,
                bits: entry.bits,
                access: entry.access,
                data: told,
            }),
            Self::Error(code) => Info::Error(InfoError(*code)),
        }
    }

    /// Its name behind what else is told, cut to what the mailbox carries.
    fn within(mut self, mailbox: usize) -> Self {
        let room = mailbox.saturating_sub(OVERHEAD + 10);
        match &mut self {
            Self::Object { name, .. } => cut(name, room),
            Self::Entry { entry, told, .. } => {
                cut(entry.name.to_mut(), room.saturating_sub(told.len()));
                told.extend(entry.name.as_bytes());
            }
            Self::List { .. } | Self::Error(_) => {}
        }
        self
    }
}

/// The bytes of an entry's unit, where it is wanted and there is one.
fn unit(entry: &Entry, wanted: u8) -> Vec<u8> {
    let unit = entry.unit.filter(|_| wanted & Unit::IN_VALUES != 0);
    unit.map_or_else(Vec::new, |it| it.0.to_le_bytes().to_vec())
}

fn cut(name: &mut String, room: usize) {
    let mut end = room.min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
}

impl Pieces {
    /// Answers a question.
    pub(super) fn ask(
        &mut self,
        dictionary: &Dictionary,
        info: &Info<'_>,
        mailbox: usize,
    ) -> Piece {
        let answer = match *info {
            Info::ListRequest(list) => self.begin(dictionary, list, mailbox),
            Info::ObjectRequest(index) => describe(dictionary, index),
            Info::EntryRequest { index, sub, values } => dictionary
                .entry(coe::Address::new(index, sub))
                .map(|entry| Piece::Entry {
                    index,
                    entry: entry.clone(),
                    told: unit(entry, values),
                }),
            _ => Err(Abort::COMMAND),
        };
        answer.unwrap_or_else(Piece::Error).within(mailbox)
    }

    fn begin(
        &mut self,
        dictionary: &Dictionary,
        list: ListType,
        mailbox: usize,
    ) -> Result<Piece, Abort> {
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
        self.next(dictionary, mailbox).ok_or(Abort::GENERAL)
    }

    /// The next piece; `None` when all is told.
    pub(super) fn next(&mut self, _: &Dictionary, mailbox: usize) -> Option<Piece> {
        if self.rest.is_empty() {
            return None;
        }
        let room = (mailbox.saturating_sub(OVERHEAD) & !1).max(2);
        let rest = self.rest.split_off(self.rest.len().min(room));
        let data = std::mem::replace(&mut self.rest, rest);
        let left = self.rest.len().div_ceil(room) as u16;
        Some(Piece::List { left, data })
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

fn describe(dictionary: &Dictionary, index: u16) -> Result<Piece, Abort> {
    let object = dictionary.object(index).ok_or(Abort::NO_OBJECT)?;
    Ok(Piece::Object {
        index,
        data_type: object.data_type,
        highest_sub: object.highest_sub(),
        code: object.code,
        name: object.name.to_string(),
    })
}
