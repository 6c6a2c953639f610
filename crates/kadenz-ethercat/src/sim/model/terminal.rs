//! Beckhoff's terminals, with the descriptions of real ones: identities, SII images and objects are those of recorded
//! devices (`conformance/ethercat`).

use super::{Device, Idle};
use crate::description::{Coe, Description, Pdo, PdoEntry};
use crate::description::{Hardware, PortKind};
use crate::wire::coe::DataType;
use crate::wire::register::features;
use crate::wire::sii::{
    Area, Direction, FmmuUse, Identity, Mailboxes, Protocols, SyncManagerDefault, SyncManagerUse,
    coe_details,
};

/// Beckhoff Automation.
pub(crate) const BECKHOFF: u32 = 2;
/// Product codes.
pub mod product {
    /// Coupler from an Ethernet cable to the E-bus of terminals.
    pub(crate) const EK1100: u32 = 0x044C_2C52;
    /// Coupler with standard and safe inputs and outputs.
    pub(crate) const EK1914: u32 = 0x077A_2C52;
    /// Eight digital outputs of 2 A.
    pub(crate) const EL2828: u32 = 0x0B0C_3052;
    /// Sixteen digital outputs that switch to ground.
    pub(crate) const EL2889: u32 = 0x0B49_3052;
    /// Four analog inputs of -10 to 10 V.
    pub(crate) const EL3004: u32 = 0x0BBC_3052;
}

/// A coupler has a cable in, the terminals behind it, and a cable out.
const COUPLER: [PortKind; 4] = [
    PortKind::Cable,
    PortKind::Ebus,
    PortKind::Cable,
    PortKind::Absent,
];
/// The process data interface of firmware: SPI, without SYNC or latch. The recordings lack these words; they show
/// that there is firmware (an acknowledgement is not copied into the status), and no clock.
const FIRMWARE: [u16; 4] = [0x0005, 0, 0, 0];
/// SII category of the synchronisation of PDOs, as Beckhoff's output terminals have it.
const SYNC_UNITS: u16 = 43;

fn identity(product: u32, revision: u32) -> Identity {
    Identity {
        vendor: BECKHOFF,
        product,
        revision,
        serial: 0,
    }
}

fn texts(description: &mut Description, group: &str, group_name: &str) {
    group.clone_into(&mut description.group);
    group_name.clone_into(&mut description.group_name);
}

fn manager(
    start: u16,
    size: u16,
    control: u8,
    enable: u8,
    usage: SyncManagerUse,
) -> SyncManagerDefault {
    SyncManagerDefault {
        area: Area { start, size },
        control,
        status: 0,
        enable,
        usage,
    }
}

/// EK1100: a coupler without process data, which supplies 2 A to the terminals behind it.
#[must_use]
pub fn ek1100() -> Device<Idle> {
    let mut it = Description::new(
        Hardware::et1100().with_ports(COUPLER),
        identity(product::EK1100, 0x0012_0000),
        "EK1100",
        "EK1100 EtherCAT-Koppler (2A E-Bus)",
    );
    texts(&mut it, "SystemBk", "System Koppler");
    it.fixed.pdi = [0x0D00, 0, 0, 0];
    it.general.reserved = 2;
    it.general.ebus_milliamperes = -2000;
    it.general.group_again = 3;
    it.general.ports = 0x0131;
    Device::new(it, Idle)
}

/// A terminal of digital outputs: `channels`, eight per SyncManager.
fn digital_outputs(mut it: Description, channels: u16) -> Device<Idle> {
    it.fixed.pdi = [0x0104, 0, 0, 0x00FF];
    it.general.reserved = 0x0C;
    it.general.group_again = 3;
    it.general.ports = 0x0033;
    let bytes = 0..channels.div_ceil(8);
    it.sync_managers = bytes
        .map(|byte| manager(0x0F00 + byte, 1, 0x44, 9, SyncManagerUse::Outputs))
        .collect();
    it.fmmus = vec![FmmuUse::Outputs];
    it.categories_behind = vec![(SYNC_UNITS, vec![0xF0])];
    let channel = |number: u16| Pdo {
        flags: 0x11,
        ..Pdo::new(
            Direction::Outputs,
            0x1600 + number,
            &format!("Channel {}", number + 1),
            Some((number / 8) as u8),
            vec![PdoEntry::new(
                0x7000 + 0x10 * number,
                1,
                "Output",
                DataType::BOOLEAN,
            )],
        )
    };
    it.pdos = (0..channels).map(channel).collect();
    Device::new(it, Idle)
}

/// An ET1200 with enhanced SYNC units, whose clock gets power only where it is used.
fn enhanced_et1200() -> Hardware {
    let hardware = Hardware::et1200();
    Hardware {
        features: hardware.features | features::ENHANCED_SYNC,
        saves_clock_power: true,
        ..hardware
    }
}

/// EL2828: eight digital outputs.
#[must_use]
pub fn el2828() -> Device<Idle> {
    let mut it = Description::new(
        enhanced_et1200(),
        identity(product::EL2828, 0x0011_0000),
        "EL2828",
        "EL2828 8K. Dig. Ausgang 24V, 2A",
    );
    texts(&mut it, "DigOut", "Digitale Ausgangsklemmen (EL2xxx)");
    it.general.ebus_milliamperes = 110;
    // The label of the recorded device, 36 words: MainDevices read its first two.
    let mut label = b"1P079107SBTN000geh6c1KEL2828".to_vec();
    label.resize(52, b' ');
    label.extend_from_slice(b"Q1    2P392100040017");
    it.categories_before = vec![(3, label)];
    digital_outputs(it, 8)
}

/// EL2889: sixteen digital outputs that switch to ground, of two SyncManagers.
#[must_use]
pub fn el2889() -> Device<Idle> {
    let mut it = Description::new(
        Hardware::et1200(),
        identity(product::EL2889, 0x0011_0000),
        "EL2889",
        "EL2889 16K. Dig. Ausgang 24V, 0.5A, negativ",
    );
    texts(&mut it, "DigOut", "Digitale Ausgangklemmen (EL2xxx)");
    it.general.ebus_milliamperes = 140;
    digital_outputs(it, 16)
}

fn bits(index: u16, names: &[&str]) -> Vec<PdoEntry> {
    (1..)
        .zip(names)
        .map(|(sub, name)| PdoEntry::new(index, sub, name, DataType::BOOLEAN))
        .collect()
}

/// The PDO of a safety connection of one byte: command, two bits, checksum, number.
fn safety(direction: Direction, index: u16, first: u16, sync_manager: u8) -> Pdo {
    let mut entries = vec![PdoEntry::new(first, 1, "FSOE Command", DataType::UNSIGNED8)];
    entries.extend(bits(first + 1, &["Safe data 1", "Safe data 2"]));
    entries.push(PdoEntry::gap(6));
    let number = DataType::UNSIGNED16;
    entries.push(PdoEntry::new(first, 3, "FSOE CRC", number));
    entries.push(PdoEntry::new(first, 2, "FSOE Connection ID", number));
    Pdo::new(direction, index, "FSOE", Some(sync_manager), entries)
}

fn coe(name_of_type: u32, hardware: &str, software: &str) -> Coe {
    Coe {
        device_type: name_of_type,
        hardware_version: hardware.to_owned(),
        software_version: software.to_owned(),
        objects: vec![restore_parameters()],
    }
}

/// Object 0xF008, code word, which locks settings; the recorded EL3004 takes a write to it.
fn restore_parameters() -> crate::description::Object {
    use crate::wire::coe::Access;
    let access = Access::READ.and(Access::WRITE);
    let kind = DataType::UNSIGNED32;
    crate::description::Object::variable(0xF008, "Code word", kind, access, &[0; 4])
}

/// EK1914: a coupler with standard inputs and outputs and a safety connection, in its description only: the model
/// holds the frames of FSoE, but does not implement the protocol.
#[must_use]
pub fn ek1914() -> Device<Idle> {
    let mut it = Description::new(
        Hardware {
            saves_clock_power: true,
            ..Hardware::et1100().with_ports(COUPLER)
        },
        identity(product::EK1914, 0x0012_0000),
        "EK1914",
        "EK1914 EtherCAT-Koppler (Standard- und Safety-E/A)",
    );
    // The recordings lack these texts, which are guesses; number and length are the real ones.
    texts(&mut it, "System", "Safety");
    "EK".clone_into(&mut it.image);
    it.strings = (5, 0x2C);
    it.fixed.pdi = FIRMWARE;
    it.general.reserved = 2;
    it.general.coe = coe_details::SDO | coe_details::SDO_INFO;
    it.general.foe = 1;
    it.general.flags = 0x04;
    it.general.ebus_milliamperes = -500;
    it.general.group_again = 3;
    it.general.ports = 0x0131;
    mailboxes(&mut it, 256);
    it.fmmus = vec![FmmuUse::Outputs, FmmuUse::Inputs, FmmuUse::MailboxStatus];
    it.sync_managers.extend([
        manager(0x1200, 8, 0x24, 1, SyncManagerUse::Outputs),
        manager(0x1900, 8, 0x20, 1, SyncManagerUse::Inputs),
    ]);
    let names = ["1", "2", "3", "4", "5", "6"].map(|it| format!("Output {it}"));
    let names = names.each_ref().map(String::as_str);
    let mut outputs = bits(0x7010, &names);
    outputs.push(PdoEntry::gap(10));
    let mut inputs = bits(0x6010, &["Input 1", "Input 2", "Input 3", "Input 4"]);
    inputs.push(PdoEntry::gap(12));
    it.pdos = vec![
        safety(Direction::Outputs, 0x1600, 0x7000, 2),
        Pdo::new(
            Direction::Outputs,
            0x1601,
            "Standard outputs",
            Some(2),
            outputs,
        ),
        safety(Direction::Inputs, 0x1A00, 0x6000, 3),
        Pdo::new(
            Direction::Inputs,
            0x1A01,
            "Standard inputs",
            Some(3),
            inputs,
        ),
    ];
    it.pdos_in_sii = false;
    it.coe = Some(coe(0x1389, "00", "01"));
    Device::new(it, Idle)
}

fn mailboxes(it: &mut Description, size: u16) {
    let area = |start| Area { start, size };
    it.fixed.mailboxes = Mailboxes {
        receive: area(0x1000),
        send: area(0x1000 + size),
    };
    it.fixed.protocols = Protocols::COE.and(Protocols::FOE);
    it.sync_managers = vec![
        manager(0x1000, size, 0x26, 1, SyncManagerUse::MailboxReceive),
        manager(0x1000 + size, size, 0x22, 1, SyncManagerUse::MailboxSend),
    ];
}

/// The PDO of a channel with its status bits.
fn standard_channel(number: u16) -> Pdo {
    let index = 0x6000 + 0x10 * number;
    let flag = |sub, name| PdoEntry::new(index, sub, name, DataType::BOOLEAN);
    let two = |sub, name| PdoEntry::new(index, sub, name, DataType::BIT2);
    Pdo::new(
        Direction::Inputs,
        0x1A00 + 2 * number,
        &format!("AI Standard Channel {}", number + 1),
        Some(3),
        vec![
            flag(1, "Status__Underrange"),
            flag(2, "Status__Overrange"),
            two(3, "Status__Limit 1"),
            two(5, "Status__Limit 2"),
            flag(7, "Status__Error"),
            PdoEntry::gap(1),
            PdoEntry::gap(6),
            flag(15, "Status__TxPDO State"),
            flag(16, "Status__TxPDO Toggle"),
            PdoEntry::new(index, 17, "Value", DataType::INTEGER16),
        ],
    )
}

/// The PDO of a channel's value alone.
fn compact_channel(number: u16) -> Pdo {
    let value = PdoEntry::new(0x6000 + 0x10 * number, 17, "Value", DataType::INTEGER16);
    Pdo::new(
        Direction::Inputs,
        0x1A01 + 2 * number,
        &format!("AI Compact Channel {}", number + 1),
        None,
        vec![value],
    )
}

/// EL3004: four analog inputs. Their values are entries 0x6000:17 to 0x6030:17; 0x7FFF are 10 V.
#[must_use]
pub fn el3004() -> Device<Idle> {
    let mut it = Description::new(
        enhanced_et1200(),
        identity(product::EL3004, 0x0015_0000),
        "EL3004",
        "EL3004 4K. Ana. Eingang +/-10V",
    );
    // The recordings lack these texts, which are guesses; number and length are the real ones.
    texts(&mut it, "AnaIn", "Analoge Eingangsklemmen (EL3xxx)");
    it.strings = (21, 0xC3);
    it.fixed.pdi = FIRMWARE;
    it.general.reserved = 0x0C;
    it.general.coe = coe_details::SDO | coe_details::SDO_INFO | coe_details::PDO_ASSIGN;
    it.general.foe = 1;
    it.general.flags = 0x04;
    it.general.ebus_milliamperes = 130;
    it.general.group_again = 3;
    it.general.ports = 0x0033;
    mailboxes(&mut it, 128);
    it.fmmus = vec![FmmuUse::Inputs, FmmuUse::MailboxStatus];
    it.sync_managers.extend([
        manager(0x1100, 0, 0x04, 0, SyncManagerUse::Outputs),
        manager(0x1180, 16, 0x20, 1, SyncManagerUse::Inputs),
    ]);
    it.pdos = (0..4)
        .flat_map(|number| [standard_channel(number), compact_channel(number)])
        .collect();
    it.coe = Some(coe(0x012C_1389, "00", "08"));
    Device::new(it, Idle)
}
