//! The source of a device's SII image and its object dictionary.

use super::{Hardware, Object};
use crate::wire::coe::DataType;
use crate::wire::sii::{
    self, Area, ClockMode, Direction, Fixed, FmmuUse, General, ImageWriter, PdoHeader, Protocols,
    SiiError, SyncManagerDefault, SyncManagerUse, coe_details,
};

/// One entry of a PDO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdoEntry {
    /// The object; 0 for a gap.
    pub index: u16,
    /// The sub-index of the entry in the object, from 0.
    pub sub: u8,
    /// Its name; empty for none.
    pub name: String,
    /// The CoE type of the mapped value.
    pub data_type: DataType,
    /// Bits that it takes.
    pub bits: u8,
}

impl PdoEntry {
    /// A value; its bits are those of its type.
    #[must_use]
    pub fn new(index: u16, sub: u8, name: &str, data_type: DataType) -> Self {
        Self {
            index,
            sub,
            name: name.to_owned(),
            data_type,
            bits: data_type.bits().map_or(0, |it| it as u8),
        }
    }

    /// A gap: bits without meaning.
    #[must_use]
    pub const fn gap(bits: u8) -> Self {
        Self {
            index: 0,
            sub: 0,
            name: String::new(),
            data_type: DataType(0),
            bits,
        }
    }

    pub(crate) fn mapped(&self) -> u32 {
        u32::from(self.index) << 16 | u32::from(self.sub) << 8 | u32::from(self.bits)
    }
}

/// A process data object (PDO): entries that are transferred together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdo {
    /// Whether the MainDevice reads or writes it.
    pub direction: Direction,
    /// The index of its object in the dictionary.
    pub index: u16,
    /// The name that the SII or ESI file gives the PDO.
    pub name: String,
    /// SyncManager that carries it unless a MainDevice assigns otherwise.
    pub sync_manager: Option<u8>,
    /// Flags of the SII.
    pub flags: u16,
    /// The entries, one behind the other, bit by bit.
    pub entries: Vec<PdoEntry>,
}

impl Pdo {
    /// A PDO of fixed content.
    #[must_use]
    pub fn new(
        direction: Direction,
        index: u16,
        name: &str,
        sync_manager: Option<u8>,
        entries: Vec<PdoEntry>,
    ) -> Self {
        Self {
            direction,
            index,
            name: name.to_owned(),
            sync_manager,
            flags: 0x10,
            entries,
        }
    }

    /// Bits that all entries take.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.entries.iter().map(|it| usize::from(it.bits)).sum()
    }

    /// Bit 4 of the flags: a MainDevice cannot change the mapping.
    #[must_use]
    pub(crate) const fn is_fixed(&self) -> bool {
        self.flags & 0x10 != 0
    }
}

/// An operation mode of the distributed clocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// Its name; the writer of the SII numbers the strings.
    pub name: String,
    /// The cycles and shifts of SYNC0 and SYNC1 that the mode sets.
    pub mode: ClockMode,
}

/// Further properties of a device with CoE.
#[derive(Debug, Clone, Default)]
pub struct Coe {
    /// Object 0x1000.
    pub device_type: u32,
    /// Object 0x1009.
    pub hardware_version: String,
    /// Object 0x100A.
    pub software_version: String,
    /// Objects other than those of every device and those that PDOs name.
    pub objects: Vec<Object>,
}

/// The description of a SubDevice.
#[derive(Debug, Clone)]
pub struct Description {
    /// The EtherCAT controller of the device.
    pub hardware: Hardware,
    /// The SII's fixed part.
    pub fixed: Fixed,
    /// Category 30; numbers of strings are set when the SII is written.
    pub general: General,
    /// Its short name, as `EL2828`.
    pub order: String,
    /// Its group's short name, as `DigOut`; empty for none.
    pub group: String,
    /// Its group's name; empty for none.
    pub group_name: String,
    /// The long name, for people.
    pub name: String,
    /// Its picture's name; empty for none.
    pub image: String,
    /// Least number of texts, and of words that they take in the SII, to match a real device's.
    pub strings: (usize, usize),
    /// The use of each FMMU.
    pub fmmus: Vec<FmmuUse>,
    /// The settings of each SyncManager.
    pub sync_managers: Vec<SyncManagerDefault>,
    /// The PDOs that the device offers.
    pub pdos: Vec<Pdo>,
    /// Whether the SII lists them; devices with CoE need not.
    pub pdos_in_sii: bool,
    /// Its clocks' operation modes.
    pub clocks: Vec<Clock>,
    /// A vendor's categories before the texts.
    pub categories_before: Vec<(u16, Vec<u8>)>,
    /// A vendor's categories behind the SyncManagers.
    pub categories_behind: Vec<(u16, Vec<u8>)>,
    /// Its CoE properties; `None` for a device without CoE.
    pub coe: Option<Coe>,
}

/// Texts in the order of their numbers, each once.
#[derive(Default)]
struct Texts(Vec<Vec<u8>>);

impl Texts {
    /// The text's number; 0 for an empty one. The SII's letters are Latin-1.
    fn number(&mut self, text: &str) -> u8 {
        if text.is_empty() {
            return 0;
        }
        let letters = text
            .chars()
            .map(|it| u8::try_from(u32::from(it)).unwrap_or(b'?'));
        let letters: Vec<u8> = letters.take(255).collect();
        let at = self.0.iter().position(|it| *it == letters);
        let at = at.unwrap_or_else(|| {
            // The writer refuses more texts than there are numbers for; only one more is kept.
            if self.0.len() <= usize::from(u8::MAX) {
                self.0.push(letters);
            }
            self.0.len() - 1
        });
        u8::try_from(at + 1).unwrap_or(0)
    }
}

/// Most bytes of categories; beyond this the memory is too small.
const MAX: usize = 512 * 1024;

impl Description {
    /// A device with nothing: no SyncManagers, no PDOs.
    #[must_use]
    pub fn new(hardware: Hardware, identity: sii::Identity, order: &str, name: &str) -> Self {
        Self {
            hardware,
            fixed: Fixed {
                identity,
                size: 15,
                version: 1,
                ..Fixed::default()
            },
            general: General::default(),
            order: order.to_owned(),
            group: String::new(),
            group_name: String::new(),
            name: name.to_owned(),
            image: String::new(),
            strings: (0, 0),
            fmmus: Vec::new(),
            sync_managers: Vec::new(),
            pdos: Vec::new(),
            pdos_in_sii: true,
            clocks: Vec::new(),
            categories_before: Vec::new(),
            categories_behind: Vec::new(),
            coe: None,
        }
    }

    /// The same with CoE, mailboxes of `mailbox` bytes from 0x1000 on, and process data behind them, each
    /// of three buffers that hold the PDOs of a direction all at once.
    #[must_use]
    pub fn with_coe(mut self, coe: Coe, mailbox: u16) -> Self {
        let longest = |pdos: &[Pdo], direction| {
            let bits = pdos.iter().filter(|it| it.direction == direction);
            bits.map(Pdo::bits).sum::<usize>().div_ceil(8).max(2) as u16
        };
        let area = |start, size| Area { start, size };
        let outputs = 0x1000 + 2 * mailbox;
        let inputs = outputs + (3 * longest(&self.pdos, Direction::Outputs)).next_multiple_of(0x80);
        let manager = |area, control, enable, usage| SyncManagerDefault {
            area,
            control,
            status: 0,
            enable,
            usage,
        };
        let size = |number| self.default_bytes(number) as u16;
        let enabled = |size| u8::from(size > 0);
        let (receive, send) = (area(0x1000, mailbox), area(0x1000 + mailbox, mailbox));
        let (out, of_out) = (area(outputs, size(2)), enabled(size(2)));
        let (into, of_into) = (area(inputs, size(3)), enabled(size(3)));
        self.sync_managers = vec![
            manager(receive, 0x26, 1, SyncManagerUse::MailboxReceive),
            manager(send, 0x22, 1, SyncManagerUse::MailboxSend),
            manager(out, 0x64, of_out, SyncManagerUse::Outputs),
            manager(into, 0x20, of_into, SyncManagerUse::Inputs),
        ];
        self.fmmus = vec![FmmuUse::Outputs, FmmuUse::Inputs, FmmuUse::MailboxStatus];
        self.fixed.mailboxes = sii::Mailboxes { receive, send };
        self.fixed.protocols = Protocols::COE;
        self.general.coe = coe_details::SDO
            | coe_details::SDO_INFO
            | coe_details::PDO_ASSIGN
            | coe_details::COMPLETE_ACCESS;
        self.coe = Some(coe);
        self
    }

    /// Bytes that a SyncManager carries unless a MainDevice assigns otherwise.
    #[must_use]
    pub fn default_bytes(&self, sync_manager: u8) -> usize {
        let carried = self
            .pdos
            .iter()
            .filter(|it| it.sync_manager == Some(sync_manager));
        carried.map(Pdo::bits).sum::<usize>().div_ceil(8)
    }

    /// SyncManagers that carry process data, with their direction.
    pub fn process_data(&self) -> impl Iterator<Item = (u8, Direction)> + '_ {
        (0..)
            .zip(&self.sync_managers)
            .filter_map(|(number, it)| Some((number, it.usage.direction()?)))
    }

    /// The SII image, as long as the memory.
    ///
    /// # Errors
    /// [`SiiError`] where it does not fit into the memory.
    pub fn sii(&self) -> Result<Vec<u8>, SiiError> {
        let length = (usize::from(self.fixed.size) + 1) * 128;
        let mut bytes = vec![0; length.min(MAX)];
        let mut writer = ImageWriter::new(&mut bytes, &self.fixed)?;
        for (number, data) in &self.categories_before {
            writer.category(*number, data)?;
        }
        let mut texts = Texts::default();
        let general = self.general(&mut texts);
        let clocks = self.clock_modes(&mut texts);
        let inputs = self.sii_pdos(Direction::Inputs, &mut texts);
        let outputs = self.sii_pdos(Direction::Outputs, &mut texts);
        if texts.0.len() < self.strings.0 {
            texts.0.resize(self.strings.0, Vec::new());
        }
        writer.strings(&texts.0, self.strings.1)?;
        writer.general(&general)?;
        if !self.fmmus.is_empty() {
            writer.fmmus(&self.fmmus)?;
        }
        if !self.sync_managers.is_empty() {
            writer.sync_managers(&self.sync_managers)?;
        }
        for (number, data) in &self.categories_behind {
            writer.category(*number, data)?;
        }
        for (direction, pdos) in [(Direction::Inputs, inputs), (Direction::Outputs, outputs)] {
            let borrowed: Vec<_> = pdos.iter().map(|(head, all)| (*head, &all[..])).collect();
            if !borrowed.is_empty() {
                writer.pdos(direction, &borrowed)?;
            }
        }
        if !clocks.is_empty() {
            writer.clock_modes(&clocks)?;
        }
        writer.finish()?;
        Ok(bytes)
    }

    fn general(&self, texts: &mut Texts) -> General {
        General {
            order: texts.number(&self.order),
            group: texts.number(&self.group),
            name: {
                texts.number(&self.group_name);
                texts.number(&self.name)
            },
            image: texts.number(&self.image),
            ..self.general
        }
    }

    fn clock_modes(&self, texts: &mut Texts) -> Vec<ClockMode> {
        let mode = |it: &Clock| ClockMode {
            name: texts.number(&it.name),
            ..it.mode
        };
        self.clocks.iter().map(mode).collect()
    }

    fn sii_pdos(
        &self,
        direction: Direction,
        texts: &mut Texts,
    ) -> Vec<(PdoHeader, Vec<sii::SiiPdoEntry>)> {
        let pdos = self.pdos.iter();
        pdos.filter(|it| it.direction == direction && self.pdos_in_sii)
            .map(|pdo| {
                let header = PdoHeader {
                    index: pdo.index,
                    sync_manager: pdo.sync_manager.unwrap_or(0xFF),
                    synchronization: 0,
                    name: texts.number(&pdo.name),
                    flags: pdo.flags,
                };
                let entries = pdo.entries.iter().map(|it| sii::SiiPdoEntry {
                    index: it.index,
                    sub: it.sub,
                    name: texts.number(&it.name),
                    data_type: it.data_type.0 as u8,
                    bits: it.bits,
                    flags: 0,
                });
                (header, entries.collect())
            })
            .collect()
    }
}
