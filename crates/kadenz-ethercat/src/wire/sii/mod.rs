//! The slave information interface (SII), a SubDevice's configuration memory (ETG.1000.6, chapter 5.4; ETG.2010):
//! read from hostile bytes, and written.
//!
//! The first 128 bytes are fixed; categories follow, each with its number and length in words. [`Image`] reads such
//! bytes without copying; [`ImageWriter`] writes them.

mod image;
mod problem;
mod write;

use serde::{Deserialize, Serialize};

pub use image::{
    Categories, Category, Entries, Fmmus, Image, Pdos, Records, SiiPdo, Strings, Text,
};
pub use problem::{SiiProblem, problems};
pub use write::ImageWriter;

/// Bytes of the fixed part, before the first category.
pub const FIXED: usize = 128;
/// Word address of the first category.
pub const FIRST_CATEGORY: u16 = 0x40;
/// Bytes that the checksum covers.
const CHECKED: usize = 14;

/// Word addresses of the fixed part.
pub mod word {
    /// Kind of the process data interface.
    pub const PDI_CONTROL: u16 = 0x00;
    /// Alias of the station.
    pub const ALIAS: u16 = 0x04;
    /// Checksum over the first seven words, in the low byte.
    pub const CHECKSUM: u16 = 0x07;
    /// Vendor, u32.
    pub const VENDOR: u16 = 0x08;
    /// Product code, u32.
    pub const PRODUCT: u16 = 0x0A;
    /// Revision, u32.
    pub const REVISION: u16 = 0x0C;
    /// Serial number, u32.
    pub const SERIAL: u16 = 0x0E;
    /// Mailboxes in BOOT: receive offset and size, send offset and size.
    pub const BOOT_MAILBOX: u16 = 0x14;
    /// Mailboxes in the other states, likewise.
    pub const MAILBOX: u16 = 0x18;
    /// Protocols of the mailbox.
    pub const PROTOCOLS: u16 = 0x1C;
    /// Size of the memory in KiBit, less one.
    pub const SIZE: u16 = 0x3E;
    /// Version of the layout: 1.
    pub const VERSION: u16 = 0x3F;
}

/// Numbers of categories.
pub mod category {
    /// Texts that others name by number.
    pub const STRINGS: u16 = 10;
    /// Name, protocols' details, current.
    pub const GENERAL: u16 = 30;
    /// The use of each FMMU.
    pub const FMMU: u16 = 40;
    /// The settings of each SyncManager.
    pub const SYNC_MANAGER: u16 = 41;
    /// PDOs that the SubDevice sends: inputs.
    pub const TX_PDO: u16 = 50;
    /// PDOs that it receives: outputs.
    pub const RX_PDO: u16 = 51;
    /// Settings of distributed clocks.
    pub const CLOCKS: u16 = 60;
    /// The end mark behind the last category.
    pub const END: u16 = 0xFFFF;
}

/// Why bytes are not an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SiiError {
    /// The fixed part is incomplete.
    #[error("the SII image is cut short: {have} bytes of at least {FIXED}")]
    CutShort {
        /// Bytes that there are.
        have: usize,
    },
    /// A category states a length beyond the image's end.
    #[error(
        "the SII's category {number} at word 0x{word:04X} reaches over the image's end; the memory is damaged or was never written"
    )]
    Overrun {
        /// The category's number.
        number: u16,
        /// The word address where it begins.
        word: u16,
    },
    /// The image does not fit into the buffer, or a count does not fit into its field.
    #[error("the SII image needs {need} bytes, and {room} are there")]
    NoRoom {
        /// Bytes of the image.
        need: usize,
        /// Bytes of the buffer.
        room: usize,
    },
    /// A number or length is more than a byte can hold.
    #[error("{what} are more than 255, or longer than 255 bytes")]
    TooMany {
        /// The items that are too many or too long.
        what: &'static str,
    },
}

/// Checksum of an image's first seven words: CRC-8 by the polynomial x^8 + x^2 + x + 1 from 0xFF.
#[must_use]
pub fn checksum(first: &[u8; 14]) -> u8 {
    first.iter().fold(0xFF, |mut crc: u8, byte| {
        crc ^= byte;
        for _ in 0..8 {
            let carry = crc & 0x80 != 0;
            crc <<= 1;
            if carry {
                crc ^= 0x07;
            }
        }
        crc
    })
}

/// The identity of a SubDevice: vendor, product, revision and serial number. Object 0x1018 holds the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Identity {
    /// The vendor, by the number that the ETG gave.
    pub vendor: u32,
    /// The vendor's number for the product.
    pub product: u32,
    /// The vendor's number for the product's revision.
    pub revision: u32,
    /// Serial number of the device; 0 where it has none.
    pub serial: u32,
}

/// A piece of process memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Area {
    /// Its first byte's address.
    pub start: u16,
    /// Its bytes; 0 where there is none.
    pub size: u16,
}

/// The memory areas of a SubDevice's mailboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mailboxes {
    /// The area that the MainDevice writes and the SubDevice receives.
    pub receive: Area,
    /// The area that the SubDevice sends and the MainDevice reads.
    pub send: Area,
}

/// Protocols of the mailbox, by bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Protocols(pub u16);

impl Protocols {
    /// ADS over EtherCAT.
    pub const AOE: Self = Self(0x01);
    /// Ethernet over EtherCAT.
    pub const EOE: Self = Self(0x02);
    /// CANopen over EtherCAT.
    pub const COE: Self = Self(0x04);
    /// Files over EtherCAT.
    pub const FOE: Self = Self(0x08);
    /// Servo profile over EtherCAT.
    pub const SOE: Self = Self(0x10);
    /// A vendor's own.
    pub const VOE: Self = Self(0x20);

    /// Whether these include all of the others.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The protocols of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The image's fixed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fixed {
    /// Words 0 to 3: PDI control and configuration, length of SYNC impulses, more configuration.
    pub pdi: [u16; 4],
    /// Alias of the station.
    pub alias: u16,
    /// Words 5 and 6: for newer controllers' configuration.
    pub pdi_more: [u16; 2],
    /// Vendor, product, revision and serial number.
    pub identity: Identity,
    /// Words 0x10 to 0x13: the vendor's own, such as the hardware's delays.
    pub delays: [u16; 4],
    /// Mailboxes in BOOT.
    pub boot_mailboxes: Mailboxes,
    /// Mailboxes in the other states.
    pub mailboxes: Mailboxes,
    /// Protocols of the mailboxes.
    pub protocols: Protocols,
    /// Size of the memory in KiBit, less one.
    pub size: u16,
    /// Version of the layout.
    pub version: u16,
}

/// The general properties of a device, category 30.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct General {
    /// String of the group's name.
    pub group: u8,
    /// String of a picture's name.
    pub image: u8,
    /// String of the order's number.
    pub order: u8,
    /// String of the name.
    pub name: u8,
    /// Reserved; real devices write 2 or 1.
    pub reserved: u8,
    /// Features of its CoE, bits in [`coe_details`].
    pub coe: u8,
    /// Whether it speaks FoE.
    pub foe: u8,
    /// Whether it speaks EoE.
    pub eoe: u8,
    /// Bits in [`general_flags`].
    pub flags: u8,
    /// Current that it takes from the E-bus in mA; a negative value is a supply.
    pub ebus_milliamperes: i16,
    /// The group's string once more in newer layouts; real devices write it.
    pub group_again: u16,
    /// Kind of each port, four bits a port: 1 MII, 3 E-bus.
    pub ports: u16,
}

/// Bits of [`General::coe`].
pub mod coe_details {
    /// SDO services.
    pub const SDO: u8 = 1 << 0;
    /// SDO information services.
    pub const SDO_INFO: u8 = 1 << 1;
    /// PDOs can be assigned.
    pub const PDO_ASSIGN: u8 = 1 << 2;
    /// PDOs can be mapped.
    pub const PDO_CONFIG: u8 = 1 << 3;
    /// PDOs are loaded at the start.
    pub const UPLOAD: u8 = 1 << 4;
    /// Complete access.
    pub const COMPLETE_ACCESS: u8 = 1 << 5;
}

/// Bits of [`General::flags`].
pub mod general_flags {
    /// Works in SAFEOP, too.
    pub const SAFE_OP: u8 = 1 << 0;
    /// No LRW.
    pub const NO_LRW: u8 = 1 << 1;
}

numbered_or_other! {
    /// The use of an FMMU.
    pub enum FmmuUse {
        /// Not used; 0xFF means the same.
        Unused = 0 or 0xFF,
        /// Outputs of the process data.
        Outputs = 1,
        /// Inputs of the process data.
        Inputs = 2,
        /// The state of a mailbox.
        MailboxStatus = 3,
    }
}

numbered_or_other! {
    /// The use of a SyncManager, by its number as in category 41 and object 0x1C00.
    pub enum SyncManagerUse {
        /// Not used, or not stated.
        Unused = 0,
        /// Messages to the SubDevice.
        MailboxReceive = 1,
        /// Messages from the SubDevice.
        MailboxSend = 2,
        /// Process data to the SubDevice.
        Outputs = 3,
        /// Process data from the SubDevice.
        Inputs = 4,
    }
}

impl SyncManagerUse {
    /// The direction of its process data; `None` where it carries none.
    #[must_use]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Outputs => Some(Direction::Outputs),
            Self::Inputs => Some(Direction::Inputs),
            _ => None,
        }
    }
}

/// The settings of a SyncManager, eight bytes of category 41.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SyncManagerDefault {
    /// Its memory; size 0 where the PDOs determine it.
    pub area: Area,
    /// The initial value of the control register.
    pub control: u8,
    /// Its status register; no device uses this value.
    pub status: u8,
    /// Bit 0: enable; 1 fixed; 2 virtual; 3 in OP only.
    pub enable: u8,
    /// What the SyncManager carries.
    pub usage: SyncManagerUse,
}

/// The first eight bytes of a PDO in categories 50 and 51.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PdoHeader {
    /// Its object, 0x1600 or 0x1A00 and following.
    pub index: u16,
    /// SyncManager that carries it by default; 0xFF for none.
    pub sync_manager: u8,
    /// The source of its synchronisation.
    pub synchronization: u8,
    /// String of its name.
    pub name: u8,
    /// Bits: 0 mandatory, 4 fixed content, 5 virtual, ...
    pub flags: u16,
}

/// One entry of a PDO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SiiPdoEntry {
    /// The object; 0 for a gap.
    pub index: u16,
    /// The sub-index of the entry in the object, from 0.
    pub sub: u8,
    /// String of its name.
    pub name: u8,
    /// CoE's number of its type.
    pub data_type: u8,
    /// Bits that it takes.
    pub bits: u8,
    /// Reserved by the standard.
    pub flags: u16,
}

/// Which way process data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Direction {
    /// To the SubDevice: RxPDO, outputs.
    #[serde(rename = "out")]
    Outputs,
    /// From the SubDevice: TxPDO, inputs.
    #[serde(rename = "in")]
    Inputs,
}

impl Direction {
    /// The category that lists its PDOs.
    #[must_use]
    pub const fn category(self) -> u16 {
        match self {
            Self::Outputs => category::RX_PDO,
            Self::Inputs => category::TX_PDO,
        }
    }
}

/// An operation mode of the distributed clocks, 24 bytes of category 60.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ClockMode {
    /// Cycle of SYNC0 in ns; 0 for the MainDevice's.
    pub cycle0_ns: u32,
    /// Shift of SYNC0 in ns.
    pub shift0_ns: i32,
    /// Shift of SYNC1 in ns.
    pub shift1_ns: i32,
    /// SYNC1's cycle as a factor of SYNC0's.
    pub factor1: i16,
    /// The values for registers 0x0980, its low byte, and 0x0981, its high byte.
    pub activate: u16,
    /// SYNC0's cycle as a factor of the MainDevice's.
    pub factor0: i16,
    /// String of its name.
    pub name: u8,
    /// String of its description.
    pub description: u8,
}

#[cfg(test)]
mod tests;
