//! The object dictionary of a description.

use crate::description::Object;
use crate::description::{Coe, Description, Pdo, PdoEntry};
use crate::sim::coe::Dictionary;
use crate::wire::coe::{Access, DataType};
use crate::wire::sii::{Direction, coe_details};

impl Description {
    /// The object dictionary. Devices without CoE have one, too, which no MainDevice can read.
    #[must_use]
    pub fn dictionary(&self) -> Dictionary {
        let standard = Coe::default();
        let coe = self.coe.as_ref().unwrap_or(&standard);
        let uses: Vec<_> = self.sync_managers.iter().map(|it| it.usage).collect();
        let mut dictionary = Dictionary::standard(
            coe.device_type,
            self.fixed.identity,
            &self.order,
            (&coe.hardware_version, &coe.software_version),
            &uses,
        );
        for object in &coe.objects {
            dictionary.add(object.clone());
        }
        for object in self.named_by_pdos(&dictionary) {
            dictionary.add(object);
        }
        for pdo in &self.pdos {
            dictionary.add(mapping(pdo));
        }
        for (number, direction) in self.process_data() {
            dictionary.add(self.assignment(number, direction));
            dictionary.add(synchronization(number, direction));
        }
        dictionary
    }

    /// Objects that PDOs name and the description lacks.
    fn named_by_pdos(&self, known: &Dictionary) -> Vec<Object> {
        let mut entries: Vec<(&PdoEntry, Access)> = Vec::new();
        for pdo in &self.pdos {
            let access = Access::READ.and(match pdo.direction {
                Direction::Outputs => Access::WRITE.and(Access::RX_MAPPABLE),
                Direction::Inputs => Access::TX_MAPPABLE,
            });
            let unknown = |it: &&PdoEntry| it.index >= 0x1000 && known.object(it.index).is_none();
            entries.extend(pdo.entries.iter().filter(unknown).map(|it| (it, access)));
        }
        entries.sort_by_key(|(it, _)| (it.index, it.sub));
        entries.dedup_by_key(|(it, _)| (it.index, it.sub));
        let mut objects: Vec<Object> = Vec::new();
        for (entry, access) in entries {
            let zeros = vec![0; usize::from(entry.bits).div_ceil(8)];
            let name = entry.name.clone();
            let object = match objects.pop_if(|it| it.index == entry.index) {
                Some(object) => object,
                None if entry.sub == 0 => {
                    objects.push(Object::variable(
                        entry.index,
                        name,
                        entry.data_type,
                        access,
                        &zeros,
                    ));
                    continue;
                }
                None => Object::record(entry.index, "Process data", DataType(0x0800)),
            };
            objects.push(object.entry(entry.sub, name, entry.data_type, access, &zeros));
        }
        objects
    }

    fn assignment(&self, sync_manager: u8, direction: Direction) -> Object {
        let changeable = self.general.coe & coe_details::PDO_ASSIGN != 0;
        let access = if changeable {
            Access::READ.and(Access::WRITE_PREOP)
        } else {
            Access::READ
        };
        let index = 0x1C10 + u16::from(sync_manager);
        let pdos = self.pdos.iter().filter(|it| it.direction == direction);
        let assigned: Vec<u16> = pdos
            .clone()
            .filter(|it| it.sync_manager == Some(sync_manager))
            .map(|it| it.index)
            .collect();
        let name = match direction {
            Direction::Outputs => "RxPDO assign",
            Direction::Inputs => "TxPDO assign",
        };
        let kind = DataType::UNSIGNED16;
        let mut object = Object::array(index, name, kind, access);
        for (sub, at) in (1..=u8::MAX).zip(0..pdos.count()) {
            let pdo = assigned.get(at).copied().unwrap_or(0);
            let title = format!("SubIndex {sub:03}");
            object = object.entry(sub, title, kind, access, &pdo.to_le_bytes());
        }
        object.counting(assigned.len() as u8)
    }
}

fn mapping(pdo: &Pdo) -> Object {
    let access = if pdo.is_fixed() {
        Access::READ
    } else {
        Access::READ.and(Access::WRITE_PREOP)
    };
    let title = match pdo.direction {
        Direction::Outputs => "RxPDO mapping",
        Direction::Inputs => "TxPDO mapping",
    };
    let kind = DataType::UNSIGNED32;
    let mut object = Object::array(
        pdo.index,
        format!("{} {title}", pdo.name),
        DataType::PDO_MAPPING,
        access,
    );
    for (sub, entry) in (1..=u8::MAX).zip(&pdo.entries) {
        let title = format!("SubIndex {sub:03}");
        object = object.entry(sub, title, kind, access, &entry.mapped().to_le_bytes());
    }
    object
}

/// Object 0x1C32 or 0x1C33: the synchronisation of process data.
fn synchronization(sync_manager: u8, direction: Direction) -> Object {
    let index = 0x1C30 + u16::from(sync_manager);
    let name = match direction {
        Direction::Outputs => "SM output parameter",
        Direction::Inputs => "SM input parameter",
    };
    let (u16_type, u32_type) = (DataType::UNSIGNED16, DataType::UNSIGNED32);
    let set = Access::READ.and(Access::WRITE_PREOP);
    let (zero2, zero4) = ([0; 2], [0; 4]);
    // Supported: free run, by SyncManager, by SYNC0.
    Object::record(index, name, DataType::SYNC_PARAMETER)
        .entry(
            1,
            "Synchronization type",
            u16_type,
            set,
            &1_u16.to_le_bytes(),
        )
        .entry(2, "Cycle time", u32_type, set, &1_000_000_u32.to_le_bytes())
        .entry(
            4,
            "Synchronization types supported",
            u16_type,
            Access::READ,
            &7_u16.to_le_bytes(),
        )
        .entry(
            5,
            "Minimum cycle time",
            u32_type,
            Access::READ,
            &62_500_u32.to_le_bytes(),
        )
        .entry(6, "Calc and copy time", u32_type, Access::READ, &zero4)
        .entry(
            11,
            "SM event missed counter",
            u16_type,
            Access::READ,
            &zero2,
        )
        .entry(12, "Cycle exceeded counter", u16_type, Access::READ, &zero2)
        .entry(32, "Sync error", DataType::BOOLEAN, Access::READ, &[0])
}
