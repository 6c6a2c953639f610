//! One `Device` element.

use roxmltree::Node;

use super::types::data_type;
use super::{Budget, EsiError, dictionary, xml};
use crate::description::{Clock, Coe, Description, Pdo, PdoEntry};
use crate::description::{Hardware, PortKind};
use crate::wire::register;
use crate::wire::sii::{
    Area, ClockMode, Direction, FmmuUse, Identity, Mailboxes, Protocols, SyncManagerDefault,
    SyncManagerUse, coe_details,
};

/// Most FMMUs and SyncManagers: objects 0x1C10 to 0x1C2F, though controllers have registers for 16.
const MAX_MANAGERS: usize = 32;
/// Most PDOs of a device: objects 0x1600 to 0x17FF, and 0x1A00 to 0x1BFF.
const MAX_PDOS: usize = 1024;
/// Most entries of a PDO (its count is a byte), and of all PDOs of a device.
const MAX_ENTRIES: usize = 255;
const MAX_ENTRIES_TOTAL: usize = 16_384;
/// First address of a controller's process memory.
const MEMORY: u32 = 0x1000;
/// Most KiB of that memory.
const MAX_RAM_KIB: u8 = 60;
/// Most operation modes.
const MAX_MODES: usize = 255;

/// Reads the identity of a device.
pub(super) fn identity(node: Node<'_, '_>, vendor: u32) -> Result<Identity, EsiError> {
    let kind = xml::child(node, "Type").ok_or_else(|| xml::missing(node, "Device", "Type"))?;
    Ok(Identity {
        vendor,
        product: xml::attribute(kind, "ProductCode")?.unwrap_or(0),
        revision: xml::attribute(kind, "RevisionNo")?.unwrap_or(0),
        serial: 0,
    })
}

/// Reads a device's description; with its objects where there is a budget for them.
pub(super) fn read(
    node: Node<'_, '_>,
    identity: Identity,
    budget: Option<&mut Budget>,
) -> Result<Description, EsiError> {
    let (ports, field) = physics(node.attribute("Physics").unwrap_or("YY"));
    let hardware = Hardware::et1100().with_ports(ports);
    let order = xml::name(node, "Type");
    let mut device = Description::new(hardware, identity, &order, &xml::name(node, "Name"));
    device.general.ports = field;
    device.group = xml::name(node, "GroupType");
    for unit in xml::children(node, "Fmmu") {
        if device.fmmus.len() == MAX_MANAGERS {
            return Err(xml::too_much(unit, "FMMUs", MAX_MANAGERS));
        }
        device.fmmus.push(fmmu(xml::own(unit)));
    }
    for manager in xml::children(node, "Sm") {
        if device.sync_managers.len() == MAX_MANAGERS {
            return Err(xml::too_much(manager, "SyncManagers", MAX_MANAGERS));
        }
        device.sync_managers.push(sync_manager(manager)?);
    }
    device.pdos = pdos(node)?;
    sizes(&mut device);
    if let Some(mailbox) = xml::child(node, "Mailbox") {
        protocols(&mut device, node, mailbox, budget)?;
    }
    if let Some(clocks) = xml::child(node, "Dc") {
        for mode in xml::children(clocks, "OpMode") {
            if device.clocks.len() == MAX_MODES {
                return Err(xml::too_much(mode, "operation modes", MAX_MODES));
            }
            device.clocks.push(clock(mode)?);
        }
    }
    if let Some(eeprom) = xml::child(node, "Eeprom") {
        let bytes = xml::number_of::<u32>(eeprom, "ByteSize")?.unwrap_or(2048);
        device.fixed.size = (bytes / 128).clamp(16, 4096) as u16 - 1;
        configure(&mut device, xml::text(eeprom, "ConfigData"));
    } else {
        device.fixed.size = 63;
    }
    Ok(device)
}

/// Y and H are cables, K is E-bus; a blank says that there is no port.
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
    let usage = match xml::own(node) {
        "MBoxOut" => SyncManagerUse::MailboxReceive,
        "MBoxIn" => SyncManagerUse::MailboxSend,
        "Outputs" => SyncManagerUse::Outputs,
        "Inputs" => SyncManagerUse::Inputs,
        _ => SyncManagerUse::Unused,
    };
    Ok(SyncManagerDefault {
        area: area(node, usage)?,
        control: xml::attribute(node, "ControlByte")?.unwrap_or(0),
        status: 0,
        enable: xml::attribute(node, "Enable")?.unwrap_or(0),
        usage,
    })
}

/// The memory area of a SyncManager; start 0 where the file states none.
fn area(node: Node<'_, '_>, usage: SyncManagerUse) -> Result<Area, EsiError> {
    let start: u16 = xml::attribute(node, "StartAddress")?.unwrap_or(0);
    let size: u16 = xml::attribute(node, "DefaultSize")?.unwrap_or(0);
    let least = match usage {
        // Digital outputs are the last of the registers, and may be process data.
        SyncManagerUse::Outputs => register::OUTPUTS.into(),
        _ => MEMORY,
    };
    let is_memory = (least..=0x1_0000 - u32::from(size)).contains(&u32::from(start));
    match start == 0 || is_memory {
        true => Ok(Area { start, size }),
        false => Err(EsiError::Area {
            line: xml::place(node),
            start,
            size,
        }),
    }
}

/// All PDOs. `TxPdo` and `RxPdo` may stand in any order.
fn pdos(node: Node<'_, '_>) -> Result<Vec<Pdo>, EsiError> {
    let (mut pdos, mut entries) = (Vec::new(), 0);
    for element in node.children() {
        let direction = match element.tag_name().name() {
            "RxPdo" => Direction::Outputs,
            "TxPdo" => Direction::Inputs,
            _ => continue,
        };
        if pdos.len() == MAX_PDOS {
            return Err(xml::too_much(element, "PDOs", MAX_PDOS));
        }
        let pdo = pdo(element, direction)?;
        entries += pdo.entries.len();
        if entries > MAX_ENTRIES_TOTAL {
            let what = "entries of PDOs";
            return Err(xml::too_much(element, what, MAX_ENTRIES_TOTAL));
        }
        pdos.push(pdo);
    }
    Ok(pdos)
}

fn pdo(node: Node<'_, '_>, direction: Direction) -> Result<Pdo, EsiError> {
    let index = xml::number_of(node, "Index")?;
    let index = index.ok_or_else(|| xml::missing(node, "RxPdo or TxPdo", "Index"))?;
    let sync_manager = xml::attribute(node, "Sm")?;
    let (mut entries, mut is_long) = (Vec::new(), false);
    for entry in xml::children(node, "Entry") {
        let bits: u16 = xml::number_of(entry, "BitLen")?.unwrap_or(0);
        // A mapping holds the length in a byte; a gap holds the rest of a longer entry.
        let mut rest = bits.saturating_sub(u8::MAX.into());
        let first = u8::try_from(bits).unwrap_or(u8::MAX);
        entries.push(pdo_entry(entry, first)?);
        is_long |= rest > 0;
        while rest > 0 {
            let piece = u8::try_from(rest).unwrap_or(u8::MAX);
            entries.push(PdoEntry::gap(piece));
            rest -= u16::from(piece);
        }
        if entries.len() > MAX_ENTRIES {
            return Err(xml::too_much(entry, "entries of a PDO", MAX_ENTRIES));
        }
    }
    let name = xml::name(node, "Name");
    let mut pdo = Pdo::new(direction, index, &name, sync_manager, entries);
    let (mandatory, fixed) = (xml::flag(node, "Mandatory"), xml::flag(node, "Fixed"));
    // A MainDevice cannot write a mapping that has no valid form, so it counts as fixed.
    pdo.flags = u16::from(mandatory) | u16::from(fixed || is_long) << 4;
    Ok(pdo)
}

/// An entry of so many bits.
fn pdo_entry(node: Node<'_, '_>, bits: u8) -> Result<PdoEntry, EsiError> {
    let index: u16 = xml::number_of(node, "Index")?.unwrap_or(0);
    if index == 0 {
        return Ok(PdoEntry::gap(bits));
    }
    Ok(PdoEntry {
        index,
        sub: xml::number_of(node, "SubIndex")?.unwrap_or(0),
        name: xml::name(node, "Name"),
        data_type: data_type(xml::text(node, "DataType")),
        bits,
    })
}

/// SyncManagers of process data are as long as their PDOs, whatever the file says by default. The controller
/// has the memory that all of them take.
fn sizes(device: &mut Description) {
    for number in 0..device.sync_managers.len() {
        let bytes = device.default_bytes(number as u8);
        let manager = &mut device.sync_managers[number];
        if manager.usage.direction().is_some() {
            manager.area.size = u16::try_from(bytes).unwrap_or(u16::MAX);
        }
        // Process data lies there three times.
        let end = u32::from(manager.area.start) + 3 * u32::from(manager.area.size);
        if end > MEMORY + u32::from(device.hardware.ram_kib) * 1024 {
            device.hardware.ram_kib = MAX_RAM_KIB;
        }
    }
}

fn protocols(
    device: &mut Description,
    node: Node<'_, '_>,
    mailbox: Node<'_, '_>,
    budget: Option<&mut Budget>,
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
    let profile = xml::child(node, "Profile").zip(budget);
    let objects = profile.map(|(profile, budget)| dictionary::read(profile, budget));
    device.coe = Some(Coe {
        objects: objects.transpose()?.unwrap_or_default(),
        ..Coe::default()
    });
    Ok(())
}

fn clock(mode: Node<'_, '_>) -> Result<Clock, EsiError> {
    let factor = |name| {
        let cycle = xml::child(mode, name);
        let factor = cycle.map(|it| xml::attribute::<i16>(it, "Factor"));
        factor.transpose().map(Option::flatten)
    };
    let cycle0_ns: u32 = xml::number_of(mode, "CycleTimeSync0")?.unwrap_or(0);
    let own = sync1_of_its_own(mode)?.filter(|it| it.is_multiple_of(cycle0_ns));
    let every = own.and_then(|it| i16::try_from(it / cycle0_ns).ok());
    Ok(Clock {
        name: xml::name(mode, "Name"),
        mode: ClockMode {
            cycle0_ns,
            shift0_ns: xml::number_of(mode, "ShiftTimeSync0")?.unwrap_or(0),
            shift1_ns: xml::number_of(mode, "ShiftTimeSync1")?.unwrap_or(0),
            factor0: factor("CycleTimeSync0")?.unwrap_or(0),
            factor1: every.or(factor("CycleTimeSync1")?).unwrap_or(0),
            activate: xml::number_of(mode, "AssignActivate")?.unwrap_or(0),
            ..ClockMode::default()
        },
    })
}

/// SYNC1's cycle in ns, where it is not a factor of another.
pub(super) fn sync1_of_its_own(mode: Node<'_, '_>) -> Result<Option<u32>, EsiError> {
    let cycle1_ns: Option<u32> = xml::number_of(mode, "CycleTimeSync1")?;
    Ok(cycle1_ns.filter(|it| *it > 0))
}

/// The SII's first words, as hexadecimal bytes: PDI control and configuration, SYNC impulse, and more.
fn configure(device: &mut Description, text: &str) {
    let bytes = dictionary::hexadecimal(text);
    for (word, pair) in device.fixed.pdi.iter_mut().zip(bytes.as_chunks().0) {
        *word = u16::from_le_bytes(*pair);
    }
}
