//! Objects of the dictionary with their entries and initial values.

use std::borrow::Cow;

use crate::wire::coe::{Access, DataType, ObjectCode, Unit};

/// One value of an object.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The sub-index of the entry in the object, from 0.
    pub sub: u8,
    /// The name in the device's dictionary.
    pub name: Cow<'static, str>,
    /// The CoE type of the value.
    pub data_type: DataType,
    /// Bits that it takes in a PDO.
    pub bits: u16,
    /// Which access the entry allows, and in which states.
    pub access: Access,
    /// Its unit, where the device states one.
    pub unit: Option<Unit>,
    pub(crate) start: usize,
    pub(crate) length: usize,
}

impl Entry {
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.length
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(
            self.data_type,
            DataType::VISIBLE_STRING | DataType::OCTET_STRING | DataType::UNICODE_STRING
        )
    }

    pub(crate) fn signed(&self) -> bool {
        matches!(
            self.data_type,
            DataType::INTEGER8
                | DataType::INTEGER16
                | DataType::INTEGER24
                | DataType::INTEGER32
                | DataType::INTEGER40
                | DataType::INTEGER48
                | DataType::INTEGER56
                | DataType::INTEGER64
        )
    }
}

/// An object, to be put into a [`Dictionary`](crate::sim::coe::Dictionary).
#[derive(Debug, Clone)]
pub struct Object {
    /// The index in the device's dictionary, such as 0x6040.
    pub index: u16,
    /// The name in the device's dictionary.
    pub name: Cow<'static, str>,
    /// Whether it is a variable, an array or a record.
    pub code: ObjectCode,
    /// Its type; of an array, that of its elements.
    pub data_type: DataType,
    pub(crate) entries: Vec<Entry>,
    pub(crate) values: Vec<u8>,
}

impl Object {
    fn new(
        index: u16,
        name: impl Into<Cow<'static, str>>,
        code: ObjectCode,
        data_type: DataType,
    ) -> Self {
        Self {
            index,
            name: name.into(),
            code,
            data_type,
            entries: Vec::new(),
            values: Vec::new(),
        }
    }

    /// One value; its bytes are as many as it ever has.
    #[must_use]
    pub fn variable(
        index: u16,
        name: impl Into<Cow<'static, str>>,
        data_type: DataType,
        access: Access,
        value: &[u8],
    ) -> Self {
        let name = name.into();
        Self::new(index, name.clone(), ObjectCode::Variable, data_type)
            .entry(0, name, data_type, access, value)
    }

    /// Values of several types. Sub-index 0 counts them by itself.
    #[must_use]
    pub fn record(index: u16, name: impl Into<Cow<'static, str>>, data_type: DataType) -> Self {
        Self::new(index, name, ObjectCode::Record, data_type).count(Access::READ)
    }

    /// Values of one type. Sub-index 0 counts them; `count` is its access.
    #[must_use]
    pub fn array(
        index: u16,
        name: impl Into<Cow<'static, str>>,
        data_type: DataType,
        count: Access,
    ) -> Self {
        Self::new(index, name, ObjectCode::Array, data_type).count(count)
    }

    fn count(self, access: Access) -> Self {
        self.entry(0, "SubIndex 000", DataType::UNSIGNED8, access, &[0])
    }

    /// The same with one more entry, sub-indices in rising order. Sub-index 0 becomes the highest.
    #[must_use]
    pub fn entry(
        mut self,
        sub: u8,
        name: impl Into<Cow<'static, str>>,
        data_type: DataType,
        access: Access,
        value: &[u8],
    ) -> Self {
        let bits = data_type
            .bits()
            .unwrap_or_else(|| u16::try_from(value.len() * 8).unwrap_or(u16::MAX));
        let least = usize::from(bits).div_ceil(8);
        self.entries.push(Entry {
            sub,
            name: name.into(),
            data_type,
            bits,
            access,
            unit: None,
            start: self.values.len(),
            length: least.max(value.len()),
        });
        self.values.extend_from_slice(value);
        self.values.resize(
            self.values
                .len()
                .max(self.entries.last().map_or(0, |it| it.range().end)),
            0,
        );
        if sub > 0 && self.entries[0].sub == 0 {
            self.values[0] = sub;
        }
        self
    }

    /// The same with a unit for the last entry.
    #[must_use]
    pub fn in_unit(mut self, unit: Unit) -> Self {
        if let Some(entry) = self.entries.last_mut() {
            entry.unit = Some(unit);
        }
        self
    }

    /// The same with another count in sub-index 0, for arrays that are not full.
    #[must_use]
    pub fn counting(mut self, count: u8) -> Self {
        if let Some(first) = self.values.first_mut() {
            *first = count;
        }
        self
    }

    /// Its entries by rising sub-index.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Its highest sub-index.
    #[must_use]
    pub(crate) fn highest_sub(&self) -> u8 {
        self.entries.last().map_or(0, |it| it.sub)
    }

    pub(crate) fn find(&self, sub: u8) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&sub, |it| it.sub).ok()?;
        self.entries.get(at)
    }
}
