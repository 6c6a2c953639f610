//! `kadenz ethercat sdo list` and `sdo info`.

use clap::Args;
use kadenz::ethercat::main_device::dictionary::{self, DictionaryObject};
use kadenz::ethercat::main_device::objects::{AccessError, Objects};
use kadenz::ethercat::value::EntryType;
use kadenz::ethercat::wire::coe::{Access, Address, DataType, ObjectCode};
use kadenz::report::document::{Answer, Document, Table, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{AnsweringDevice, ObjectAddress, with_objects};
use crate::commands::ethercat::device::{Device, DeviceSelector};
use crate::commands::ethercat::esi::DevicesOptions;

/// List every object of a device, with its value
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo list 8 --interface eth1
  kadenz ethercat sdo list 'left knee' --sim 59 --json | jq '.objects[].name'
  kadenz ethercat sdo list 8 --interface eth1 --esi vendors/    configured by its vendor's ESI file
  kadenz ethercat sdo list 8 --loop robot                       through a running loop")]
pub(crate) struct SdoListOptions {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    #[command(flatten)]
    devices: DevicesOptions,
}

/// Show the entries, types and access rights of an object
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat sdo info 8 0x6041 --interface eth1
  kadenz ethercat sdo info 8 0x1018 --sim 59 --json
  kadenz ethercat sdo info 8 0x6041 --loop robot                through a running loop")]
pub(crate) struct Information {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// Which object, or one entry of it: 0x1018, 0x1018:1
    #[arg(value_name = "INDEX[:SUB]")]
    object: ObjectAddress,

    #[command(flatten)]
    devices: DevicesOptions,
}

/// Objects of a device, of `sdo list` and `sdo info`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands::ethercat) struct Dictionary {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    device: Device,
    objects: Vec<ObjectReport>,
}

#[derive(JsonSchema, Serialize)]
struct ObjectReport {
    index: u16,
    name: String,
    /// `variable`, `array`, `record` or `other`.
    #[schemars(extend("enum" = ["variable", "array", "record", "other"]))]
    code: &'static str,
    data_type: u16,
    entries: Vec<ObjectEntry>,
}

#[derive(JsonSchema, Serialize)]
struct ObjectEntry {
    sub: u8,
    name: String,
    /// CoE's number of the type (ETG.1000.6, table 64).
    data_type: u16,
    /// Name of the type for `--type`.
    r#type: Option<String>,
    bits: u16,
    readable: bool,
    writable: bool,
    /// Whether an RxPDO may map it.
    output: bool,
    /// Whether a TxPDO may map it.
    input: bool,
    /// The value by its type; a text of the bytes where these fit no type, and null where the entry cannot be read.
    value: Value,
    /// The value for people.
    #[serde(skip)]
    shown: Option<String>,
}

pub(super) fn list(options: &SdoListOptions) -> anyhow::Result<Dictionary> {
    let (answered, objects) = with_objects(&options.devices, &options.device, |objects, _| {
        let indices = objects.list()?.into_iter();
        let all = indices.map(|index| describe(objects, index, None));
        all.collect::<anyhow::Result<Vec<_>>>()
    })?;
    Ok(answer(answered, objects))
}

pub(super) fn info(options: &Information) -> anyhow::Result<Dictionary> {
    let ObjectAddress { index, sub } = options.object;
    let (answered, object) = with_objects(&options.devices, &options.device, |objects, _| {
        describe(objects, index, sub)
    })?;
    Ok(answer(answered, vec![object]))
}

fn answer(answered: AnsweringDevice, objects: Vec<ObjectReport>) -> Dictionary {
    Dictionary {
        version: Version,
        segment: answered.segment,
        device: answered.device,
        objects,
    }
}

/// Reads an object with all of its entries, or the wanted one.
fn describe(
    objects: &mut dyn Objects,
    index: u16,
    wanted: Option<u8>,
) -> anyhow::Result<ObjectReport> {
    let object = objects.object(index)?;
    let subs = match wanted {
        Some(sub) => sub..=sub,
        None => 0..=object.highest_sub,
    };
    let mut entries = Vec::new();
    for sub in subs {
        match objects.entry(Address::new(index, sub)) {
            Ok(entry) => {
                let value = value_of(objects, &entry)?;
                entries.push(ObjectEntry::of(entry, value));
            }
            // A gap in an array.
            Err(error) if error.is_refusal() && wanted.is_none() => answers(objects, index)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ObjectReport::of(object, entries))
}

/// Checks after a refusal that it concerned the entry alone: the device then still describes the object itself. A
/// loop also refuses questions about a device that is gone or in configuration.
fn answers(objects: &mut dyn Objects, index: u16) -> Result<(), AccessError> {
    objects.object(index).map(drop)
}

/// The value of an entry; `None` where it cannot be read.
fn value_of(
    objects: &mut dyn Objects,
    entry: &dictionary::DictionaryEntry,
) -> anyhow::Result<Option<Vec<u8>>> {
    if !entry.access.any(Access::READ) {
        return Ok(None);
    }
    match objects.read(entry.address, false) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_refusal() => {
            answers(objects, entry.address.index)?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

impl ObjectReport {
    fn of(object: DictionaryObject, entries: Vec<ObjectEntry>) -> Self {
        Self {
            index: object.index,
            name: object.name,
            code: match object.code {
                ObjectCode::Variable => "variable",
                ObjectCode::Array => "array",
                ObjectCode::Record => "record",
                ObjectCode::Other(_) => "other",
            },
            data_type: object.data_type.0,
            entries,
        }
    }

    /// The name of an object with several entries stands once, before the first.
    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let names = std::iter::once(self.name.as_str()).chain(std::iter::repeat(""));
        self.entries.iter().zip(names).map(|(entry, name)| {
            let entry_name = match entry.name == self.name {
                true => String::new(),
                false => entry.name.clone(),
            };
            vec![
                Address::new(self.index, entry.sub).to_string(),
                name.to_owned(),
                entry_name,
                entry
                    .r#type
                    .clone()
                    .unwrap_or_else(|| format!("0x{:04X}", entry.data_type)),
                entry.access(),
                entry.shown.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        })
    }
}

impl ObjectEntry {
    fn of(entry: dictionary::DictionaryEntry, value: Option<Vec<u8>>) -> Self {
        let known = EntryType::of(entry.data_type);
        let r#type = known.unwrap_or(EntryType::Bytes);
        let DataType(data_type) = entry.data_type;
        Self {
            sub: entry.address.sub,
            name: entry.name,
            data_type,
            r#type: known.map(|it| it.to_string()),
            bits: entry.bits,
            readable: entry.access.any(Access::READ),
            writable: entry.access.any(Access::WRITE),
            output: entry.access.any(Access::RX_MAPPABLE),
            input: entry.access.any(Access::TX_MAPPABLE),
            value: value.as_ref().map_or(Value::Null, |it| r#type.json(it)),
            shown: value.map(|it| r#type.shown(&it)),
        }
    }

    /// `rw`, and `o` or `i` for an entry that PDOs may map.
    fn access(&self) -> String {
        let flags = [
            (self.readable, 'r'),
            (self.writable, 'w'),
            (self.output, 'o'),
            (self.input, 'i'),
        ];
        let letters = flags.map(|(set, letter)| if set { letter } else { '-' });
        letters.into_iter().collect()
    }
}

impl Answer for Dictionary {
    fn document(&self) -> Document {
        let head = ["entry", "object", "name", "type", "access", "value"];
        let rows = self.objects.iter().flat_map(ObjectReport::rows);
        Document::new().table(Table::new(&head, 6, rows.collect()))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use kadenz::ethercat::running_loop::control_socket::{Answer, LoopObjects, Question, Reply};

    use super::*;
    use crate::commands::ethercat::running_loop::scripted::with_a_server;

    /// The description of a record of three entries: the second is a gap, the third is readable but has no value. The
    /// device disappears at that question.
    fn described(goes_at: fn(&Question) -> bool) -> anyhow::Result<ObjectReport> {
        let mut is_gone = false;
        let answer = move |question| {
            is_gone |= goes_at(&question);
            match question {
                _ if is_gone => Reply::Error("it is being set up; retry".to_owned()),
                Question::SdoObject { .. } => Reply::Ok(Answer::Object {
                    name: "Identity".to_owned(),
                    code: 9,
                    data_type: 0x23,
                    highest_sub: 2,
                }),
                Question::SdoInfo { sub: 0 | 2, .. } => Reply::Ok(Answer::Entry {
                    name: String::new(),
                    data_type: 7,
                    bits: 32,
                    access: Access::READ.0,
                }),
                Question::SdoRead { sub: 0, .. } => Reply::Ok(Answer::Bytes(vec![2, 0, 0, 0])),
                _ => Reply::Error("there is no such entry".to_owned()),
            }
        };
        with_a_server(1, answer, |mut running| {
            describe(&mut LoopObjects::new(&mut running.client, 0), 0x1018, None)
        })
    }

    #[test]
    fn a_gap_is_left_out_and_what_cannot_be_read_has_no_value() {
        let entries = described(|_| false).unwrap().entries;
        let found: Vec<_> = entries
            .iter()
            .map(|it| (it.sub, it.shown.is_some()))
            .collect();
        assert_eq!(found, [(0, true), (2, false)]);
    }

    #[test]
    fn a_device_that_goes_meanwhile_is_an_error_and_not_a_gap() {
        let at_the_gap: fn(&Question) -> bool = |it| matches!(it, Question::SdoInfo { sub: 1, .. });
        let at_a_value: fn(&Question) -> bool = |it| matches!(it, Question::SdoRead { sub: 2, .. });
        for goes_at in [at_the_gap, at_a_value] {
            let Err(error) = described(goes_at) else {
                panic!("entries of a device that is gone are left out");
            };
            let error = format!("{error:#}");
            assert!(error.contains("being set up"), "{error}");
        }
    }
}
