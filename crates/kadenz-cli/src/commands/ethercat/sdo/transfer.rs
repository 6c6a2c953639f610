//! `kadenz ethercat sdo read` and `sdo write`.

use clap::Args;
use kadenz::ethercat::main_device::dictionary::DictionaryError;
use kadenz::ethercat::main_device::from_esi::Described;
use kadenz::ethercat::main_device::objects::{AccessError, Objects};
use kadenz::ethercat::value::{EntryType, hex};
use kadenz::ethercat::wire::coe::Address;
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{AnsweringDevice, ObjectAddress, with_objects};
use crate::commands::ethercat::device::{Device, DeviceSelector};
use crate::commands::ethercat::esi::DevicesOptions;
use crate::options::complete;

/// Read an object
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo read 8 0x6041 --interface eth1            by position
  kadenz ethercat sdo read 'left knee' 0x1018:1 --sim 59        by name; the vendor
  kadenz ethercat sdo read 8 0x1018:1 --complete --type bytes --sim 59
  kadenz ethercat sdo read 8 0x6064 --sim 59 --json | jq .value
  kadenz ethercat sdo read 8 0x6041 --interface eth1 --esi vendors/   configured by its vendor's ESI file
  kadenz ethercat sdo read 8 0x6064 --loop robot                through a running loop")]
pub(crate) struct SdoReadOptions {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// Which entry: 0x6041, 0x1018:1
    #[arg(value_name = "INDEX[:SUB]")]
    object: ObjectAddress,

    #[command(flatten)]
    how: TransferOptions,
}

/// Write an object
///
/// A device refuses with a reason: the object is read only, the value too high, the state a wrong one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo write 8 0x6060 8 --interface eth1         cyclic synchronous position
  kadenz ethercat sdo write 8 0x6065 0x20000 --sim 59
  kadenz ethercat sdo write 8 0x6081 1000 --type u32 --sim 59   where the device reports no type
  kadenz ethercat sdo write 8 0x6065 0x20000 --loop robot       through a running loop")]
pub(crate) struct SdoWriteOptions {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// Which entry: 0x6060, 0x1C12:1
    #[arg(value_name = "INDEX[:SUB]")]
    object: ObjectAddress,

    /// The value: 8, -1, 0x10, 1.5, true, a text, or pairs of hexadecimal digits for bytes
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,

    #[command(flatten)]
    how: TransferOptions,
}

/// Target device, and type of the value.
#[derive(Debug, Args)]
struct TransferOptions {
    #[command(flatten)]
    devices: DevicesOptions,

    /// Type: bool, u8 to u64, i8 to i64, f32, f64, text, bytes [default: as the device reports]
    #[arg(long, value_name = "TYPE", value_parser = complete::<EntryType>(EntryType::COMMON), hide_possible_values = true)]
    r#type: Option<EntryType>,

    /// Transfer all entries from this one on, at once
    #[arg(long, conflicts_with = "running")]
    complete: bool,
}

/// An entry that was read or written.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Transfer {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    device: Device,
    index: u16,
    sub: u8,
    /// Name in the dictionary of the device, or in its ESI file.
    name: Option<String>,
    /// Name of the type for `--type`.
    r#type: String,
    /// The value by its type; a text of the bytes where these fit no type.
    value: Value,
    /// Pairs of hexadecimal digits, the lowest byte first.
    #[schemars(regex(pattern = r"^([0-9a-f]{2}( [0-9a-f]{2})*)?$"))]
    bytes: String,
    /// The value for people.
    #[serde(skip)]
    shown: String,
}

/// The value of an entry, with its type.
struct Transferred {
    name: Option<String>,
    r#type: EntryType,
    bytes: Vec<u8>,
}

pub(super) fn read(options: &SdoReadOptions) -> anyhow::Result<Transfer> {
    let (entry, how) = (options.object.entry(), &options.how);
    let (answered, done) = with_objects(&how.devices, &options.device, |objects, esi| {
        let (name, known) = described(objects, esi, entry)?;
        let whole = how.complete.then_some(EntryType::Bytes);
        let r#type = how.r#type.or(whole).or(known);
        Ok(Transferred {
            name,
            r#type: r#type.unwrap_or(EntryType::Bytes),
            bytes: objects.read(entry, how.complete)?,
        })
    })?;
    Ok(answer(answered, entry, done))
}

pub(super) fn write(options: &SdoWriteOptions) -> anyhow::Result<Transfer> {
    let (entry, how) = (options.object.entry(), &options.how);
    let encode = |of: EntryType| of.encode(&options.value).map_err(anyhow::Error::msg);
    // A text that does not fit the type fails before the segment is opened.
    let early = how.r#type.map(encode).transpose()?;
    let (answered, done) = with_objects(&how.devices, &options.device, |objects, esi| {
        let (name, known) = described(objects, esi, entry)?;
        let Some(r#type) = how.r#type.or(known) else {
            anyhow::bail!("{entry}: the device reports no type; state one: --type u32");
        };
        let bytes = early.map_or_else(|| encode(r#type), Ok)?;
        objects.write(entry, how.complete, &bytes)?;
        Ok(Transferred {
            name,
            r#type,
            bytes,
        })
    })?;
    Ok(answer(answered, entry, done))
}

/// Name and type of an entry from the dictionary of the device, which may have none; else from its ESI file.
fn described(
    objects: &mut dyn Objects,
    esi: Option<&Described>,
    entry: Address,
) -> anyhow::Result<(Option<String>, Option<EntryType>)> {
    match objects.entry(entry) {
        Ok(found) => Ok((Some(found.name), EntryType::of(found.data_type))),
        Err(error) if error.is_refusal() || is_damaged(&error) => {
            let found = esi.and_then(|it| it.entry(entry));
            Ok((
                found.map(|it| it.0.to_owned()),
                found.and_then(|it| EntryType::of(it.1)),
            ))
        }
        Err(error) => Err(error.into()),
    }
}

fn is_damaged(error: &AccessError) -> bool {
    matches!(error, AccessError::Dictionary(DictionaryError::Damaged))
}

fn answer(answered: AnsweringDevice, entry: Address, done: Transferred) -> Transfer {
    Transfer {
        version: Version,
        segment: answered.segment,
        device: answered.device,
        index: entry.index,
        sub: entry.sub,
        r#type: done.r#type.to_string(),
        value: done.r#type.json(&done.bytes),
        bytes: hex(&done.bytes),
        shown: done.r#type.shown(&done.bytes),
        name: done.name,
    }
}

impl Answer for Transfer {
    fn document(&self) -> Document {
        let entry = Address::new(self.index, self.sub);
        let name = self.name.as_ref().filter(|it| !it.is_empty());
        let name = name.map_or_else(String::new, |it| format!(" {it}"));
        let (shown, r#type, device) = (&self.shown, &self.r#type, self.device.label());
        format!("{entry}{name} = {shown}   ({type}; {device})").into()
    }
}
