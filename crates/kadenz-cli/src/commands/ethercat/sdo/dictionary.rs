//! `kadenz ethercat sdo list` and `sdo info`.

#[cfg(target_os = "linux")]
mod running;

use clap::Args;
use kadenz_ethercat::main_device::dictionary::{self, DictionaryError, Entry, Object};
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::main_device::from_esi::Described as DescribedDevice;
use kadenz_ethercat::main_device::mailbox::Mail;
use kadenz_ethercat::main_device::sdo;
use kadenz_ethercat::wire::coe::{Access, Address, DataType, ListType, ObjectCode};
use serde::Serialize;
use serde_json::Value;

use super::address::ObjectAddress;
use super::mailbox::{Asked, with_mailbox};
use crate::commands::ethercat::device::{ToldDevice, Which};
use crate::commands::ethercat::esi::DevicesOptions;
use crate::commands::ethercat::value::ValueType;
use crate::commands::msg::table::table;
use crate::output::{self, Outcome};

/// Every object of a device, with the values that stand
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo list 8 --interface eth1
  kadenz ethercat sdo list 'left knee' --sim 59 --json | jq '.objects[].name'
  kadenz ethercat sdo list 8 --interface eth1 --esi vendors/    set up as its vendor's ESI file says
  kadenz ethercat sdo list 8 --loop robot                       of a loop that runs, and goes on")]
pub(crate) struct List {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: Which,

    #[command(flatten)]
    devices: DevicesOptions,
}

/// What an object is: its entries, types, and who may do what
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo info 8 0x6041 --interface eth1
  kadenz ethercat sdo info 8 0x1018 --sim 59 --json
  kadenz ethercat sdo info 8 0x6041 --loop robot                of a loop that runs, and goes on")]
pub(crate) struct Information {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: Which,

    /// Which object, or one entry of it: 0x1018, 0x1018:1
    #[arg(value_name = "INDEX[:SUB]")]
    object: ObjectAddress,

    #[command(flatten)]
    devices: DevicesOptions,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    segment: String,
    device: ToldDevice,
    objects: Vec<ToldObject>,
}

#[derive(Serialize)]
struct ToldObject {
    index: u16,
    name: String,
    code: &'static str,
    data_type: u16,
    entries: Vec<ToldEntry>,
}

#[derive(Serialize)]
struct ToldEntry {
    sub: u8,
    name: String,
    data_type: u16,
    r#type: Option<String>,
    bits: u16,
    readable: bool,
    writable: bool,
    output: bool,
    input: bool,
    value: Value,
}

/// An object with its entries, and the value of each that could be read.
struct Described {
    object: Object,
    entries: Vec<(Entry, Option<Vec<u8>>)>,
}

pub(super) fn list(options: &List) -> anyhow::Result<Outcome> {
    #[cfg(target_os = "linux")]
    if let Some(control) = options.devices.control()? {
        return running::list(options, control);
    }
    #[cfg(not(target_os = "linux"))]
    options.devices.ensure_none()?;
    let work = |registers: &mut Registers<'_>, mail: &mut Mail<'_>, _: Option<&DescribedDevice>| {
        let indices = dictionary::list(registers, mail, ListType::ALL)?;
        let described = indices
            .into_iter()
            .map(|index| describe(registers, mail, index, None));
        described.collect::<anyhow::Result<Vec<_>>>()
    };
    let (asked, objects) = with_mailbox(&options.devices, &options.device, work)?;
    tell(asked, &objects)
}

pub(super) fn info(options: &Information) -> anyhow::Result<Outcome> {
    #[cfg(target_os = "linux")]
    if let Some(control) = options.devices.control()? {
        return running::info(options, control);
    }
    #[cfg(not(target_os = "linux"))]
    options.devices.ensure_none()?;
    let ObjectAddress { index, sub } = options.object;
    let work = |registers: &mut Registers<'_>, mail: &mut Mail<'_>, _: Option<&DescribedDevice>| {
        let described = describe(registers, mail, index, sub)?;
        let entry = Address::new(index, sub.unwrap_or(0));
        anyhow::ensure!(
            !described.entries.is_empty(),
            "{entry}: there is no such entry"
        );
        Ok(vec![described])
    };
    let (asked, objects) = with_mailbox(&options.devices, &options.device, work)?;
    tell(asked, &objects)
}

/// An object with all of its entries, or the one that is wanted.
fn describe(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    index: u16,
    wanted: Option<u8>,
) -> anyhow::Result<Described> {
    let object = dictionary::object(registers, mail, index)?;
    let subs = match wanted {
        Some(sub) => sub..=sub,
        None => 0..=object.highest_sub,
    };
    let mut entries = Vec::new();
    for sub in subs {
        let address = Address::new(index, sub);
        match dictionary::entry(registers, mail, address) {
            Ok(entry) => {
                let value = value_of(registers, mail, &entry)?;
                entries.push((entry, value));
            }
            // A gap in an array.
            Err(DictionaryError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Described { object, entries })
}

/// What stands there; `None` where it may not be read.
fn value_of(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    entry: &Entry,
) -> anyhow::Result<Option<Vec<u8>>> {
    if !entry.access.any(Access::READ) {
        return Ok(None);
    }
    match sdo::read(registers, mail, entry.address, false) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.abort().is_some() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn tell(asked: Asked, objects: &[Described]) -> anyhow::Result<Outcome> {
    if output::is_json() {
        output::json(&Told {
            version: 1,
            segment: asked.segment,
            device: asked.device,
            objects: objects.iter().map(ToldObject::of).collect(),
        })?;
    } else {
        output::say(&rows(objects));
    }
    Ok(Outcome::Kept)
}

fn rows(objects: &[Described]) -> String {
    let mut rows = Vec::new();
    for Described { object, entries } in objects {
        for (entry, value) in entries {
            // What holds several entries is named once, before the first.
            let first = entry.address.sub == entries[0].0.address.sub;
            let of = if first { object.name.as_str() } else { "" };
            let shown = value.as_ref().map(|it| type_of(entry).shown(it));
            rows.push(vec![
                entry.address.to_string(),
                of.to_owned(),
                if entry.name == object.name {
                    String::new()
                } else {
                    entry.name.clone()
                },
                type_shown(entry.data_type),
                access(entry.access),
                shown.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
    }
    table(
        &["entry", "object", "name", "type", "access", "value"],
        6,
        rows,
    )
}

fn type_of(entry: &Entry) -> ValueType {
    ValueType::of(entry.data_type).unwrap_or(ValueType::Bytes)
}

fn type_shown(data_type: DataType) -> String {
    let known = ValueType::of(data_type);
    known.map_or_else(|| format!("0x{:04X}", data_type.0), |it| it.to_string())
}

/// `rw`, and `o` or `i` for what goes into process data.
fn access(access: Access) -> String {
    let flag = |set: bool, letter: char| if set { letter } else { '-' };
    [
        flag(access.any(Access::READ), 'r'),
        flag(access.any(Access::WRITE), 'w'),
        flag(access.any(Access::RX_MAPPABLE), 'o'),
        flag(access.any(Access::TX_MAPPABLE), 'i'),
    ]
    .into_iter()
    .collect()
}

impl ToldObject {
    fn of(described: &Described) -> Self {
        let object = &described.object;
        Self {
            index: object.index,
            name: object.name.clone(),
            code: match object.code {
                ObjectCode::Variable => "variable",
                ObjectCode::Array => "array",
                ObjectCode::Record => "record",
                ObjectCode::Other(_) => "other",
            },
            data_type: object.data_type.0,
            entries: described
                .entries
                .iter()
                .map(|(entry, value)| ToldEntry {
                    sub: entry.address.sub,
                    name: entry.name.clone(),
                    data_type: entry.data_type.0,
                    r#type: ValueType::of(entry.data_type).map(|it| it.to_string()),
                    bits: entry.bits,
                    readable: entry.access.any(Access::READ),
                    writable: entry.access.any(Access::WRITE),
                    output: entry.access.any(Access::RX_MAPPABLE),
                    input: entry.access.any(Access::TX_MAPPABLE),
                    value: value
                        .as_ref()
                        .map_or(Value::Null, |it| type_of(entry).json(it)),
                })
                .collect(),
        }
    }
}
