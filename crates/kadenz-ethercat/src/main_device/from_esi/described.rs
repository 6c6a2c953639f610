//! A device's description by its ESI file.

use std::collections::{HashMap, HashSet};

use super::super::clocks::Sync;
use super::super::device::{ProcessData, SubDevice};
use super::super::layout::Demand;
use super::super::mapping::{MappedEntry, MappedManager, MappedPdo};
use crate::description::{Clock, Description, Pdo};
use crate::esi::{InitCommand, StartUp, Transition, UnsupportedMode};
use crate::wire::SyncManager;
use crate::wire::coe::{Address, DataType};
use crate::wire::sii::{
    Area, Direction, Identity, Mailboxes, Protocols, SyncManagerDefault, coe_details,
};
use crate::wire::sync_manager::SyncManagerControl;

/// The number of SyncManagers for which a controller has registers (ETG.1000.4, table 58).
const MAX_SYNC_MANAGERS: usize = 16;
/// Most PDOs of a SyncManager: their number is a byte.
const MAX_PDOS: usize = 255;

/// A device as its ESI file describes it.
#[derive(Debug, Clone)]
pub struct Described {
    identity: Identity,
    name: String,
    mailboxes: Mailboxes,
    protocols: Protocols,
    coe: u8,
    sync_managers: Vec<SyncManagerDefault>,
    pdos: Vec<Pdo>,
    start_up: StartUp,
    clocks: Vec<Clock>,
    carried: Vec<SyncManagerPdos>,
}

/// The PDOs of a SyncManager of process data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyncManagerPdos {
    pub(super) number: u8,
    pub(super) direction: Direction,
    /// Indices of its PDOs among all.
    pub(super) pdos: Vec<usize>,
}

/// The reason why PDOs cannot be carried together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// There is no PDO of that index.
    #[error("the device has no PDO 0x{0:04X}")]
    NoPdo(u16),
    /// A mandatory PDO is missing.
    #[error("PDO 0x{0:04X} cannot be left out; name it too")]
    Mandatory(u16),
    /// The two PDOs exclude each other.
    #[error("PDOs 0x{0:04X} and 0x{1:04X} exclude each other; take one of them")]
    Excluded(u16, u16),
    /// No SyncManager carries the PDO.
    #[error("no SyncManager of the device carries PDO 0x{0:04X}")]
    NoSyncManager(u16),
}

/// Whether a PDO is mandatory: bit 0 of its flags.
const fn is_mandatory(pdo: &Pdo) -> bool {
    pdo.flags & 1 != 0
}

impl Described {
    pub(super) fn of(device: &Description, start_up: &StartUp) -> Self {
        let mut described = Self {
            identity: device.fixed.identity,
            name: device.name.clone(),
            mailboxes: device.fixed.mailboxes,
            protocols: device.fixed.protocols,
            coe: device.general.coe,
            sync_managers: device.sync_managers.clone(),
            pdos: device.pdos.clone(),
            start_up: start_up.clone(),
            clocks: device.clocks.clone(),
            carried: Vec::new(),
        };
        described.sync_managers.truncate(MAX_SYNC_MANAGERS);
        let carried = described.by_default();
        described.carried = described.carrying(&carried);
        described
    }

    /// Vendor, product and revision.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values to write in a change of state, in the file's order.
    pub(crate) fn commands(&self, transition: Transition) -> impl Iterator<Item = &InitCommand> {
        let all = self.start_up.commands.iter();
        all.filter(move |it| it.transitions.contains(&transition))
    }

    /// The selected PDOs, in the order of their SyncManagers.
    pub fn pdos(&self) -> impl Iterator<Item = &Pdo> {
        let places = self.carried.iter().flat_map(|it| &it.pdos);
        places.map(|place| &self.pdos[*place])
    }

    /// The same with these PDOs in place of the file's default ones, by the file's rules: mandatory PDOs,
    /// and PDOs that exclude each other.
    ///
    /// # Errors
    /// [`SelectionError`].
    pub fn with_pdos(mut self, indexes: &[u16]) -> Result<Self, SelectionError> {
        let mut places = Vec::new();
        for index in indexes {
            let place = self.pdos.iter().position(|it| it.index == *index);
            places.push(place.ok_or(SelectionError::NoPdo(*index))?);
        }
        let mut all = self.pdos.iter();
        if let Some(left_out) = all.find(|it| is_mandatory(it) && !indexes.contains(&it.index)) {
            return Err(SelectionError::Mandatory(left_out.index));
        }
        let both = |it: &&(u16, u16)| indexes.contains(&it.0) && indexes.contains(&it.1);
        if let Some((one, other)) = self.start_up.excludes.iter().find(both) {
            return Err(SelectionError::Excluded(*one, *other));
        }
        let carried = self.carrying(&places);
        for place in places {
            if !carried.iter().any(|it| it.pdos.contains(&place)) {
                return Err(SelectionError::NoSyncManager(self.pdos[place].index));
            }
        }
        self.carried = carried;
        Ok(self)
    }

    /// The PDOs that a SyncManager carries by default, and the mandatory ones; of two that exclude each
    /// other the mandatory one, else the first.
    fn by_default(&self) -> Vec<usize> {
        let exclusions = self.exclusions();
        let (mut taken, mut indexes) = (Vec::new(), HashSet::new());
        for mandatory in [true, false] {
            for (place, pdo) in self.pdos.iter().enumerate() {
                let wanted = mandatory || pdo.sync_manager.is_some();
                if is_mandatory(pdo) != mandatory || !wanted {
                    continue;
                }
                let mut others = exclusions.get(&pdo.index).into_iter().flatten();
                if mandatory || !others.any(|other| indexes.contains(other)) {
                    taken.push(place);
                    indexes.insert(pdo.index);
                }
            }
        }
        taken.sort_unstable();
        taken
    }

    /// For each PDO, those that cannot be carried with it, whichever of both says so.
    fn exclusions(&self) -> HashMap<u16, HashSet<u16>> {
        let mut exclusions: HashMap<u16, HashSet<u16>> = HashMap::new();
        for (one, other) in &self.start_up.excludes {
            exclusions.entry(*one).or_default().insert(*other);
            exclusions.entry(*other).or_default().insert(*one);
        }
        exclusions
    }

    /// The SyncManagers that carry these PDOs: each PDO's own, or else the first of its direction.
    fn carrying(&self, places: &[usize]) -> Vec<SyncManagerPdos> {
        let mut carried: Vec<SyncManagerPdos> = self.process_managers().collect();
        for place in places {
            let pdo = &self.pdos[*place];
            let mut fitting = carried
                .iter_mut()
                .filter(|it| it.direction == pdo.direction);
            let manager = match pdo.sync_manager {
                Some(number) => fitting.find(|it| it.number == number),
                None => fitting.next(),
            };
            if let Some(manager) = manager.filter(|it| it.pdos.len() < MAX_PDOS) {
                manager.pdos.push(*place);
            }
        }
        carried
    }

    fn process_managers(&self) -> impl Iterator<Item = SyncManagerPdos> {
        let numbered = (0_u8..).zip(&self.sync_managers);
        numbered.filter_map(|(number, it)| {
            Some(SyncManagerPdos {
                number,
                direction: it.usage.direction()?,
                pdos: Vec::new(),
            })
        })
    }

    pub(super) fn carried(&self) -> &[SyncManagerPdos] {
        &self.carried
    }

    pub(super) fn pdo(&self, place: usize) -> &Pdo {
        &self.pdos[place]
    }

    pub(super) const fn assigns(&self) -> bool {
        self.coe & coe_details::PDO_ASSIGN != 0
    }

    /// Whether the mapping of a PDO can be changed.
    pub(super) fn maps(&self, pdo: &Pdo) -> bool {
        let is_virtual = self.start_up.virtual_pdos.contains(&pdo.index);
        self.coe & coe_details::PDO_CONFIG != 0 && !pdo.is_fixed() && !is_virtual
    }

    /// Gives a device the mailboxes of the file. Where the file has no addresses for them, they stay as in
    /// the SII.
    pub(super) fn prepare(&self, device: &mut SubDevice) {
        let areas = self.mailboxes;
        let is_stated = |it: Area| it.size > 0 && it.start > 0;
        if is_stated(areas.receive) && is_stated(areas.send) {
            device.mailboxes = areas;
            device.protocols = self.protocols;
        }
    }

    /// Puts SyncManagers where the file wants them; where the device gave no process data, all of it comes
    /// from the file.
    pub(super) fn correct(&self, data: &mut ProcessData) {
        if data.demand() == Demand::default() {
            *data = self.process_data();
        }
        for piece in data.outputs.iter_mut().chain(&mut data.inputs) {
            let default = self.sync_managers.get(usize::from(piece.number));
            if let Some(default) = default.filter(|it| it.control != 0) {
                let length = piece.manager.length;
                let control = SyncManagerControl(default.control);
                let start = match default.area.start {
                    0 => piece.manager.start,
                    stated => stated,
                };
                piece.manager = SyncManager::new(start, length, control);
            }
        }
    }

    /// The process data by the file, as far as the file has addresses for it.
    #[must_use]
    pub fn process_data(&self) -> ProcessData {
        let mut data = ProcessData::default();
        for carried in &self.carried {
            let bits: usize = carried.pdos.iter().map(|it| self.pdos[*it].bits()).sum();
            let length = u16::try_from(bits.div_ceil(8)).unwrap_or(u16::MAX);
            let default = &self.sync_managers[usize::from(carried.number)];
            if length > 0 && default.area.start > 0 {
                data.add(carried.number, carried.direction, default, length);
            }
        }
        data
    }

    /// The device's pulses at a MainDevice's cycle, by the first of its operation modes with pulses; `None`
    /// for a device without one.
    #[must_use]
    pub fn pulse(&self, cycle_ns: u32) -> Option<Sync> {
        let mut modes = self.clocks.iter();
        modes.find_map(|it| Sync::of_mode(&it.mode, cycle_ns))
    }

    /// The settings of a mode that are not supported; `None` where all are.
    #[must_use]
    pub(crate) fn unsupported(&self, mode: &str) -> Option<&UnsupportedMode> {
        let mut all = self.start_up.unsupported.iter();
        all.find(|it| it.mode == mode)
    }

    /// The name of the first operation mode with pulses, which is the default.
    #[must_use]
    pub(crate) fn mode_by_default(&self) -> Option<&str> {
        let mut modes = self.clocks.iter();
        let first = modes.find(|it| Sync::of_mode(&it.mode, 1_000_000).is_some())?;
        Some(&first.name)
    }

    /// Parts of the file that differ from a device of that revision, or that are not supported.
    pub(super) fn deviations(&self, revision: u32) -> impl Iterator<Item = String> {
        let described = self.identity.revision;
        let other = (revision != described).then(|| {
            format!("it is of revision 0x{revision:08X}, and described is 0x{described:08X}, the last one before")
        });
        let left_out = match self.commands(Transition::SafeOpToOp).count() {
            0 => None,
            count => Some(format!(
                "{count} values that its ESI file wants written on the way to OP are not written"
            )),
        };
        let unsupported = self.mode_by_default().and_then(|it| self.unsupported(it));
        let unsupported = unsupported.map(|it| {
            let asked: Vec<_> = it.words().collect();
            let asked = asked.join(", ");
            format!(
                "its operation mode \"{}\" needs settings that Kadenz does not support: {asked}",
                it.mode
            )
        });
        [other, left_out, unsupported].into_iter().flatten()
    }

    /// The names of the device's operation modes.
    pub fn modes(&self) -> impl Iterator<Item = &str> {
        self.clocks.iter().map(|it| it.name.as_str())
    }

    /// The same with only the operation mode of that name; `None` where there is none.
    #[must_use]
    pub(crate) fn with_mode(mut self, mode: &str) -> Option<Self> {
        self.clocks.retain(|it| it.name == mode);
        (!self.clocks.is_empty()).then_some(self)
    }

    /// Gives PDOs and entries the names and types of the file. Where the mapping is unknown, as of a device
    /// that gives it neither by CoE nor by its SII, takes the file's.
    pub fn name_entries(&self, managers: &mut Vec<MappedManager>) {
        if managers.is_empty() {
            *managers = self.mapped();
            return;
        }
        let pdos = managers.iter_mut().flat_map(|it| &mut it.pdos);
        for pdo in pdos {
            let Some(known) = self.pdos.iter().find(|it| it.index == pdo.index) else {
                continue;
            };
            pdo.name.clone_from(&known.name);
            for entry in &mut pdo.entries {
                let its = |address: Address| {
                    let mut all = known.entries.iter();
                    all.find(|it| (it.index, it.sub) == (address.index, address.sub))
                };
                let Some(known) = entry.address.and_then(its) else {
                    continue;
                };
                if !known.name.is_empty() {
                    entry.name.clone_from(&known.name);
                }
                let data_type = (known.data_type != DataType(0)).then_some(known.data_type);
                entry.data_type = data_type.or(entry.data_type);
            }
        }
    }

    /// Name and type of an entry that some PDO of the file maps.
    #[must_use]
    pub fn entry(&self, address: Address) -> Option<(&str, DataType)> {
        let mut all = self.pdos.iter().flat_map(|it| &it.entries);
        let found =
            all.find(|it| it.index != 0 && (it.index, it.sub) == (address.index, address.sub))?;
        Some((&found.name, found.data_type))
    }

    fn mapped(&self) -> Vec<MappedManager> {
        let pdo = |place: &usize| {
            let pdo = &self.pdos[*place];
            let entries = pdo.entries.iter().map(|it| MappedEntry {
                address: (it.index != 0).then(|| Address::new(it.index, it.sub)),
                bits: it.bits,
                data_type: (it.data_type != DataType(0)).then_some(it.data_type),
                name: it.name.clone(),
            });
            MappedPdo {
                index: pdo.index,
                name: pdo.name.clone(),
                entries: entries.collect(),
            }
        };
        let managers = self.carried.iter().map(|it| MappedManager {
            number: it.number,
            direction: it.direction,
            pdos: it.pdos.iter().map(pdo).collect(),
        });
        managers.filter(|it| it.bits() > 0).collect()
    }
}
