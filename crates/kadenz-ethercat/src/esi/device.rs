//! One `Device` element.

use roxmltree::Node;

use super::dictionary::data_type;
use super::{EsiError, dictionary, xml};
use crate::sim::model::{Clock, Coe, Description, Pdo, PdoEntry};
use crate::sim::{Hardware, PortKind};
use crate::wire::sii::{
    Area, ClockMode, Direction, FmmuUse, Identity, Mailboxes, Protocols, SyncManagerDefault,
    SyncManagerUse, coe_details,
};

pub(super) fn read(node: Node<'_, '_>, vendor: u32) -> Result<Description, EsiError> {
    let kind = xml::child(node, "Type").ok_or_else(|| xml::missing(node, "Device", "Type"))?;
    let identity = Identity {
        vendor,
        product: xml::attribute(kind, "ProductCode")?.unwrap_or(0),
        revision: xml::attribute(kind, "RevisionNo")?.unwrap_or(0),
        serial: 0,
    };
    let order = kind.text().unwrap_or_default().trim();
    let (ports, field) = physics(node.attribute("Physics").unwrap_or("YY"));
    let hardware = Hardware::et1100().with_ports(ports);
    let mut device = Description::new(hardware, identity, order, &xml::text(node, "Name"));
    device.general.ports = field;
    device.group = xml::text(node, "GroupType");
    device.fmmus = xml::children(node, "Fmmu")
        .map(|it| fmmu(it.text().unwrap_or_default().trim()))
        .collect();
    for manager in xml::children(node, "Sm") {
        device.sync_managers.push(sync_manager(manager)?);
    }
    // As ESI files number them, TxPdo and RxPdo may stand in any order.
    for element in node.children() {
        match element.tag_name().name() {
            "RxPdo" => device.pdos.push(pdo(element, Direction::Outputs)?),
            "TxPdo" => device.pdos.push(pdo(element, Direction::Inputs)?),
            _ => {}
        }
    }
    sizes(&mut device);
    if let Some(mailbox) = xml::child(node, "Mailbox") {
        speak(&mut device, node, mailbox)?;
    }
    if let Some(clocks) = xml::child(node, "Dc") {
        for mode in xml::children(clocks, "OpMode") {
            device.clocks.push(clock(mode)?);
        }
    }
    if let Some(eeprom) = xml::child(node, "Eeprom") {
        let bytes = xml::number_of::<u32>(eeprom, "ByteSize")?.unwrap_or(2048);
        device.fixed.size = (bytes / 128).clamp(16, 4096) as u16 - 1;
        let config = xml::text(eeprom, "ConfigData");
        configure(&mut device, &config);
    } else {
        device.fixed.size = 63;
    }
    Ok(device)
}

/// Y and H are cables, K is E-bus; a blank is no port.
fn physics(letters: &str) -> ([PortKind; 4], u16) {
    let mut ports = [PortKind::Absent; 4];
    let mut field = 0;
    for (at, letter) in letters.chars().take(4).enumerate() {
        let (kind, number) = match letter {
            'Y' | 'H' => (PortKind::Cable, 1),
            'K' | 'L' => (PortKind::Ebus, 3),
            _ => continue,
        };
        ports[at] = kind;
        field |= number << (4 * at);
    }
    (ports, field)
}

fn fmmu(text: &str) -> FmmuUse {
    match text {
        "Outputs" => FmmuUse::Outputs,
        "Inputs" => FmmuUse::Inputs,
        "MBoxState" => FmmuUse::MailboxStatus,
        _ => FmmuUse::Unused,
    }
}

fn sync_manager(node: Node<'_, '_>) -> Result<SyncManagerDefault, EsiError> {
    let usage = match node.text().unwrap_or_default().trim() {
        "MBoxOut" => SyncManagerUse::MailboxReceive,
        "MBoxIn" => SyncManagerUse::MailboxSend,
        "Outputs" => SyncManagerUse::Outputs,
        "Inputs" => SyncManagerUse::Inputs,
        _ => SyncManagerUse::Unused,
    };
    Ok(SyncManagerDefault {
        area: Area {
            start: xml::attribute(node, "StartAddress")?.unwrap_or(0),
            size: xml::attribute(node, "DefaultSize")?.unwrap_or(0),
        },
        control: xml::attribute(node, "ControlByte")?.unwrap_or(0),
        status: 0,
        enable: xml::attribute(node, "Enable")?.unwrap_or(0),
        usage,
    })
}

fn pdo(node: Node<'_, '_>, direction: Direction) -> Result<Pdo, EsiError> {
    let index = xml::number_of(node, "Index")?;
    let index = index.ok_or_else(|| xml::missing(node, "RxPdo or TxPdo", "Index"))?;
    let sync_manager = xml::attribute(node, "Sm")?;
    let mut entries = Vec::new();
    for entry in xml::children(node, "Entry").take(255) {
        let index: u16 = xml::number_of(entry, "Index")?.unwrap_or(0);
        let bits: u8 = xml::number_of(entry, "BitLen")?.unwrap_or(0);
        if index == 0 {
            entries.push(PdoEntry::gap(bits));
            continue;
        }
        entries.push(PdoEntry {
            index,
            sub: xml::number_of(entry, "SubIndex")?.unwrap_or(0),
            name: xml::text(entry, "Name"),
            data_type: data_type(&xml::text(entry, "DataType")),
            bits,
        });
    }
    let mut pdo = Pdo::new(
        direction,
        index,
        &xml::text(node, "Name"),
        sync_manager,
        entries,
    );
    let (mandatory, fixed) = (xml::flag(node, "Mandatory"), xml::flag(node, "Fixed"));
    pdo.flags = u16::from(mandatory) | u16::from(fixed) << 4;
    Ok(pdo)
}

/// SyncManagers of process data are as long as their PDOs, whatever the file says by default.
fn sizes(device: &mut Description) {
    for number in 0..device.sync_managers.len().min(16) {
        let bytes = device.default_bytes(number as u8);
        let manager = &mut device.sync_managers[number];
        if matches!(
            manager.usage,
            SyncManagerUse::Outputs | SyncManagerUse::Inputs
        ) {
            manager.area.size = u16::try_from(bytes).unwrap_or(u16::MAX);
        }
    }
}

fn speak(
    device: &mut Description,
    node: Node<'_, '_>,
    mailbox: Node<'_, '_>,
) -> Result<(), EsiError> {
    let area = |usage| {
        let mut managers = device.sync_managers.iter();
        let found = managers.find(|it| it.usage == usage);
        found.map_or_else(Area::default, |it| it.area)
    };
    device.fixed.mailboxes = Mailboxes {
        receive: area(SyncManagerUse::MailboxReceive),
        send: area(SyncManagerUse::MailboxSend),
    };
    for (name, protocol) in [
        ("AoE", Protocols::AOE),
        ("EoE", Protocols::EOE),
        ("CoE", Protocols::COE),
        ("FoE", Protocols::FOE),
        ("SoE", Protocols::SOE),
        ("VoE", Protocols::VOE),
    ] {
        if xml::child(mailbox, name).is_some() {
            device.fixed.protocols = device.fixed.protocols.and(protocol);
        }
    }
    let Some(coe) = xml::child(mailbox, "CoE") else {
        return Ok(());
    };
    device.general.coe = coe_details::SDO;
    for (name, bit) in [
        ("SdoInfo", coe_details::SDO_INFO),
        ("PdoAssign", coe_details::PDO_ASSIGN),
        ("PdoConfig", coe_details::PDO_CONFIG),
        ("PdoUpload", coe_details::UPLOAD),
        ("CompleteAccess", coe_details::COMPLETE_ACCESS),
    ] {
        if xml::flag(coe, name) {
            device.general.coe |= bit;
        }
    }
    let profile = xml::child(node, "Profile");
    let objects = profile.map(dictionary::read).transpose()?;
    device.coe = Some(Coe {
        objects: objects.unwrap_or_default(),
        ..Coe::default()
    });
    Ok(())
}

fn clock(node: Node<'_, '_>) -> Result<Clock, EsiError> {
    let factor = |name| {
        let cycle = xml::child(node, name);
        let factor = cycle.map(|it| xml::attribute::<i16>(it, "Factor"));
        factor.transpose().map(Option::flatten)
    };
    Ok(Clock {
        name: xml::text(node, "Name"),
        mode: ClockMode {
            cycle0_ns: xml::number_of(node, "CycleTimeSync0")?.unwrap_or(0),
            shift0_ns: xml::number_of(node, "ShiftTimeSync0")?.unwrap_or(0),
            shift1_ns: xml::number_of(node, "ShiftTimeSync1")?.unwrap_or(0),
            factor0: factor("CycleTimeSync0")?.unwrap_or(0),
            factor1: factor("CycleTimeSync1")?.unwrap_or(0),
            activate: xml::number_of(node, "AssignActivate")?.unwrap_or(0),
            ..ClockMode::default()
        },
    })
}

/// The SII's first words, as hexadecimal bytes: PDI control and configuration, SYNC impulse, and more.
fn configure(device: &mut Description, hexadecimal: &str) {
    let digits: Vec<_> = hexadecimal
        .chars()
        .filter_map(|it| it.to_digit(16))
        .collect();
    let bytes: Vec<_> = digits
        .chunks_exact(2)
        .map(|it| (it[0] << 4 | it[1]) as u16)
        .collect();
    for (word, pair) in device.fixed.pdi.iter_mut().zip(bytes.chunks_exact(2)) {
        *word = pair[0] | pair[1] << 8;
    }
}
