//! Objects with their values, and the rules for access to them.

use std::sync::Arc;

use super::pdo;
use crate::description::{Entry, Object};
use crate::wire::State;
use crate::wire::coe::{Abort, Access, Address, DataType};
use crate::wire::sii::{Identity, SyncManagerUse};

/// The place of a number, found once and used often. Valid for its own dictionary, as long as no object is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DictionarySlot {
    pub(super) start: u32,
    bytes: u8,
    signed: bool,
}

/// A device's objects and their values.
///
/// ```
/// use kadenz_ethercat::sim::coe::Dictionary;
/// use kadenz_ethercat::description::Object;
/// use kadenz_ethercat::wire::{State, coe::{Abort, Access, Address, DataType}};
///
/// let mut dictionary = Dictionary::default();
/// let access = Access::READ.and(Access::WRITE_PREOP);
/// dictionary.add(Object::variable(0x2000, "Gain", DataType::UNSIGNED16, access, &[100, 0]));
///
/// let gain = Address::new(0x2000, 0);
/// dictionary.write(gain, State::PreOp, &[7, 0])?;
/// assert_eq!(dictionary.number(gain), Some(7));
/// assert_eq!(dictionary.write(gain, State::Op, &[8, 0]), Err(Abort::STATE));
/// # Ok::<(), Abort>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    /// By rising index. Copies of a dictionary share them.
    objects: Arc<Vec<Object>>,
    values: Vec<u8>,
}

impl Dictionary {
    /// The objects that every device has: type, names, identity, uses of SyncManagers.
    #[must_use]
    pub fn standard(
        device_type: u32,
        identity: Identity,
        name: &str,
        versions: (&str, &str),
        managers: &[SyncManagerUse],
    ) -> Self {
        let text = |index, title: &'static str, value: &str| {
            let kind = DataType::VISIBLE_STRING;
            Object::variable(index, title, kind, Access::READ, value.as_bytes())
        };
        let number = |value: u32| value.to_le_bytes();
        let u32_type = DataType::UNSIGNED32;
        let mut identities = Object::record(0x1018, "Identity", DataType::IDENTITY);
        for (sub, title, value) in [
            (1, "Vendor ID", identity.vendor),
            (2, "Product code", identity.product),
            (3, "Revision", identity.revision),
            (4, "Serial number", identity.serial),
        ] {
            identities = identities.entry(sub, title, u32_type, Access::READ, &number(value));
        }
        let mut uses = Object::array(
            0x1C00,
            "Sync manager type",
            DataType::UNSIGNED8,
            Access::READ,
        );
        for (sub, usage) in (1..).zip(managers) {
            let title = format!("SubIndex {sub:03}");
            uses = uses.entry(
                sub,
                title,
                DataType::UNSIGNED8,
                Access::READ,
                &[usage.number()],
            );
        }
        let mut all = Self::default();
        all.add(Object::variable(
            0x1000,
            "Device type",
            u32_type,
            Access::READ,
            &number(device_type),
        ));
        all.add(Object::variable(
            0x1001,
            "Error register",
            DataType::UNSIGNED8,
            Access::READ,
            &[0],
        ));
        all.add(text(0x1008, "Device name", name));
        all.add(text(0x1009, "Hardware version", versions.0));
        all.add(text(0x100A, "Software version", versions.1));
        all.add(identities);
        all.add(uses);
        all
    }

    /// Adds an object, or replaces the one of the same index.
    pub fn add(&mut self, mut object: Object) {
        let start = self.values.len();
        for entry in &mut object.entries {
            entry.start += start;
        }
        self.values.append(&mut object.values);
        let place = self.place(object.index);
        let objects = Arc::make_mut(&mut self.objects);
        match place {
            Ok(at) => objects[at] = object,
            Err(at) => objects.insert(at, object),
        }
    }

    fn place(&self, index: u16) -> Result<usize, usize> {
        self.objects.binary_search_by_key(&index, |it| it.index)
    }

    /// The objects by rising index.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The object of that index.
    #[must_use]
    pub fn object(&self, index: u16) -> Option<&Object> {
        self.objects.get(self.place(index).ok()?)
    }

    /// The entry at an address.
    ///
    /// # Errors
    /// [`Abort::NO_OBJECT`], [`Abort::NO_SUB_INDEX`].
    pub fn entry(&self, address: Address) -> Result<&Entry, Abort> {
        self.object(address.index)
            .ok_or(Abort::NO_OBJECT)?
            .find(address.sub)
            .ok_or(Abort::NO_SUB_INDEX)
    }

    /// An entry's bytes, without a check of access rights.
    #[must_use]
    pub fn bytes(&self, entry: &Entry) -> &[u8] {
        &self.values[entry.range()]
    }

    /// The place of a number of up to eight bytes.
    #[must_use]
    pub fn slot(&self, address: Address) -> Option<DictionarySlot> {
        let entry = self.entry(address).ok()?;
        let bytes = u8::try_from(entry.length).ok().filter(|it| *it <= 8)?;
        Some(DictionarySlot {
            start: u32::try_from(entry.start).ok()?,
            bytes,
            signed: entry.signed(),
        })
    }

    /// The number at a place.
    ///
    /// # Real-time safety
    /// It allocates nothing.
    #[must_use]
    pub fn get(&self, slot: DictionarySlot) -> i64 {
        let start = slot.start as usize;
        let Some(bytes) = self.values.get(start..start + usize::from(slot.bytes)) else {
            return 0;
        };
        let negative = slot.signed && bytes.last().is_some_and(|it| it & 0x80 != 0);
        let mut wide = [if negative { 0xFF } else { 0 }; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        i64::from_le_bytes(wide)
    }

    /// Sets the number at a place; cuts bits that do not fit.
    ///
    /// # Real-time safety
    /// It allocates nothing.
    pub fn set(&mut self, slot: DictionarySlot, number: i64) {
        let start = slot.start as usize;
        let length = usize::from(slot.bytes);
        if let Some(bytes) = self.values.get_mut(start..start + length) {
            bytes.copy_from_slice(&number.to_le_bytes()[..length]);
        }
    }

    /// The number at an address; `None` where there is none.
    #[must_use]
    pub fn number(&self, address: Address) -> Option<i64> {
        Some(self.get(self.slot(address)?))
    }

    /// Sets the number at an address, past all rules; returns false where there is none.
    pub(crate) fn set_number(&mut self, address: Address, number: i64) -> bool {
        let slot = self.slot(address);
        if let Some(slot) = slot {
            self.set(slot, number);
        }
        slot.is_some()
    }

    /// Reads an entry as a MainDevice does.
    ///
    /// # Errors
    /// The reason of a refusal.
    pub fn read(&self, address: Address, state: State) -> Result<&[u8], Abort> {
        let entry = self.entry(address)?;
        if !entry.access.any(Access::READ) {
            return Err(Abort::WRITE_ONLY);
        }
        if !entry.access.any(readable_in(state)) {
            return Err(Abort::STATE);
        }
        Ok(self.bytes(entry))
    }

    /// Checks whether a MainDevice may write that value there.
    ///
    /// # Errors
    /// The reason of a refusal.
    pub(crate) fn check(&self, address: Address, state: State, value: &[u8]) -> Result<(), Abort> {
        let entry = self.entry(address)?;
        if !entry.access.any(Access::WRITE) {
            return Err(Abort::READ_ONLY);
        }
        if !entry.access.any(writable_in(state)) {
            return Err(Abort::STATE);
        }
        if value.len() > entry.length {
            return Err(Abort::TOO_LONG);
        }
        if value.len() < entry.length && !entry.is_text() {
            return Err(Abort::TOO_SHORT);
        }
        pdo::check(self, address, value)
    }

    /// Writes an entry as a MainDevice does.
    ///
    /// # Errors
    /// The reason of a refusal; the value stays.
    pub fn write(&mut self, address: Address, state: State, value: &[u8]) -> Result<(), Abort> {
        self.check(address, state, value)?;
        let range = self.entry(address)?.range();
        let target = &mut self.values[range];
        target[..value.len()].copy_from_slice(value);
        target[value.len()..].fill(0);
        Ok(())
    }

    /// All values of an object, for a later [`restore`](Self::restore).
    pub(super) fn snapshot(&self, index: u16) -> Vec<u8> {
        let entries = self.object(index).map_or(&[][..], Object::entries);
        let bytes = entries.iter().flat_map(|it| self.bytes(it));
        bytes.copied().collect()
    }

    pub(super) fn restore(&mut self, index: u16, mut values: &[u8]) {
        let Ok(at) = self.place(index) else { return };
        for entry in &self.objects[at].entries {
            let target = &mut self.values[entry.range()];
            let Some((value, rest)) = values.split_at_checked(target.len()) else {
                return;
            };
            target.copy_from_slice(value);
            values = rest;
        }
    }

    pub(super) fn raw(&self) -> &[u8] {
        &self.values
    }

    pub(super) fn raw_mut(&mut self) -> &mut [u8] {
        &mut self.values
    }
}

fn readable_in(state: State) -> Access {
    Access(match state {
        State::SafeOp => 0x02,
        State::Op => 0x04,
        State::Init | State::PreOp | State::Bootstrap => 0x01,
    })
}

fn writable_in(state: State) -> Access {
    Access(readable_in(state).0 << 3)
}
