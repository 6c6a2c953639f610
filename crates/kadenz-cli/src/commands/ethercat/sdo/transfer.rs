//! `kadenz ethercat sdo read` and `sdo write`.

#[cfg(target_os = "linux")]
mod running;

use clap::Args;
use kadenz_ethercat::main_device::dictionary::{self, DictionaryError};
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::main_device::from_esi::Described;
use kadenz_ethercat::main_device::mailbox::Mail;
use kadenz_ethercat::main_device::sdo;
use kadenz_ethercat::wire::coe::Address;
use kadenz_report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::address::ObjectAddress;
use super::mailbox::{Asked, with_mailbox};
use crate::commands::ethercat::device::{ToldDevice, Which};
use crate::commands::ethercat::esi::DevicesOptions;
use crate::commands::ethercat::value::{self, TYPES, ValueType};
use crate::options::complete;
use crate::output::{self, Outcome};

/// What an object says
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo read 8 0x6041 --interface eth1            by position
  kadenz ethercat sdo read 'left knee' 0x1018:1 --sim 59        by name; the vendor
  kadenz ethercat sdo read 8 0x1018:1 --complete --type bytes --sim 59
  kadenz ethercat sdo read 8 0x6064 --sim 59 --json | jq .value
  kadenz ethercat sdo read 8 0x6041 --interface eth1 --esi vendors/   set up as its vendor's ESI file says
  kadenz ethercat sdo read 8 0x6064 --loop robot                of a loop that runs, and goes on")]
pub(crate) struct Read {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: Which,

    /// Which entry: 0x6041, 0x1018:1
    #[arg(value_name = "INDEX[:SUB]")]
    object: ObjectAddress,

    #[command(flatten)]
    how: How,
}

/// Set an object
///
/// The device says no with a reason: the object is read only, the value too high, the state not the
/// right one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo write 8 0x6060 8 --interface eth1         cyclic synchronous position
  kadenz ethercat sdo write 8 0x6065 0x20000 --sim 59
  kadenz ethercat sdo write 8 0x6081 1000 --type u32 --sim 59   where the device tells no type
  kadenz ethercat sdo write 8 0x6065 0x20000 --loop robot       of a loop that runs, and goes on")]
pub(crate) struct Write {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: Which,

    /// Which entry: 0x6060, 0x1C12:1
    #[arg(value_name = "INDEX[:SUB]")]
    object: ObjectAddress,

    /// The value: 8, -1, 0x10, 1.5, true, a text, or pairs of hexadecimal digits for bytes
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,

    #[command(flatten)]
    how: How,
}

/// Where, by what way, and as what.
#[derive(Debug, Args)]
struct How {
    #[command(flatten)]
    devices: DevicesOptions,

    /// Type: bool, u8 to u64, i8 to i64, f32, f64, text, bytes [default: as the device tells]
    #[arg(long, value_name = "TYPE", value_parser = complete::<ValueType>(TYPES), hide_possible_values = true)]
    r#type: Option<ValueType>,

    /// All entries from this one on, in one transfer
    #[arg(long, conflicts_with = "running")]
    complete: bool,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct Transfer {
    version: Version<1>,
    segment: String,
    device: ToldDevice,
    index: u16,
    sub: u8,
    name: Option<String>,
    r#type: String,
    value: Value,
    bytes: String,
    /// The value for people.
    #[serde(skip)]
    shown: String,
    #[serde(skip)]
    whose: String,
}

/// What was read or written, and how it is understood.
struct Transferred {
    name: Option<String>,
    r#type: ValueType,
    bytes: Vec<u8>,
}

pub(super) fn read(options: &Read) -> anyhow::Result<Outcome> {
    #[cfg(target_os = "linux")]
    if let Some(control) = options.how.devices.control()? {
        return running::read(options, control);
    }
    #[cfg(not(target_os = "linux"))]
    options.how.devices.ensure_none()?;
    let entry = options.object.entry();
    let work = |registers: &mut Registers<'_>, mail: &mut Mail<'_>, esi: Option<&Described>| {
        let (name, known) = described(registers, mail, esi, entry)?;
        let whole = options.how.complete.then_some(ValueType::Bytes);
        let bytes = sdo::read(registers, mail, entry, options.how.complete)?;
        Ok(Transferred {
            name,
            r#type: options
                .how
                .r#type
                .or(whole)
                .or(known)
                .unwrap_or(ValueType::Bytes),
            bytes,
        })
    };
    let (asked, done) = with_mailbox(&options.how.devices, &options.device, work)?;
    tell(asked, entry, &done)
}

pub(super) fn write(options: &Write) -> anyhow::Result<Outcome> {
    #[cfg(target_os = "linux")]
    if let Some(control) = options.how.devices.control()? {
        return running::write(options, control);
    }
    #[cfg(not(target_os = "linux"))]
    options.how.devices.ensure_none()?;
    let entry = options.object.entry();
    let encode = |of: ValueType| of.encode(&options.value).map_err(anyhow::Error::msg);
    // What cannot be a value is refused before anything is asked.
    let early = options.how.r#type.map(encode).transpose()?;
    let work = |registers: &mut Registers<'_>, mail: &mut Mail<'_>, esi: Option<&Described>| {
        let (name, known) = described(registers, mail, esi, entry)?;
        let Some(r#type) = options.how.r#type.or(known) else {
            anyhow::bail!("{entry}: the device tells no type; say which: --type u32");
        };
        let bytes = early.map_or_else(|| encode(r#type), Ok)?;
        sdo::write(registers, mail, entry, options.how.complete, &bytes)?;
        Ok(Transferred {
            name,
            r#type,
            bytes,
        })
    };
    let (asked, done) = with_mailbox(&options.how.devices, &options.device, work)?;
    tell(asked, entry, &done)
}

/// Name and type as the object dictionary tells them; a device need not have one. Then what its ESI file says of the
/// entries of its PDOs.
fn described(
    registers: &mut Registers<'_>,
    mail: &mut Mail<'_>,
    esi: Option<&Described>,
    entry: Address,
) -> anyhow::Result<(Option<String>, Option<ValueType>)> {
    match dictionary::entry(registers, mail, entry) {
        Ok(told) => Ok((Some(told.name), ValueType::of(told.data_type))),
        Err(DictionaryError::Mail(error)) => Err(error.into()),
        Err(_) => {
            let told = esi.and_then(|it| it.entry(entry));
            Ok((
                told.map(|it| it.0.to_owned()),
                told.and_then(|it| ValueType::of(it.1)),
            ))
        }
    }
}

fn tell(asked: Asked, entry: Address, done: &Transferred) -> anyhow::Result<Outcome> {
    output::answer(&Transfer {
        version: Version,
        segment: asked.segment,
        device: asked.device,
        index: entry.index,
        sub: entry.sub,
        name: done.name.clone(),
        r#type: done.r#type.to_string(),
        value: done.r#type.json(&done.bytes),
        bytes: value::hex(&done.bytes),
        shown: done.r#type.shown(&done.bytes),
        whose: asked.whose,
    })?;
    Ok(Outcome::Kept)
}

impl Answer for Transfer {
    fn document(&self) -> Document {
        let entry = Address::new(self.index, self.sub);
        let name = self.name.as_ref().filter(|it| !it.is_empty());
        let name = name.map_or_else(String::new, |it| format!(" {it}"));
        let (shown, r#type, whose) = (&self.shown, &self.r#type, &self.whose);
        format!("{entry}{name} = {shown}   ({type}; {whose})").into()
    }
}
