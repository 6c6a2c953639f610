//! Posts as tables, lines of values, and JSON.

use kadenz_ethercat::control::catalogue::{Direction, Item};
use kadenz_ethercat::control::control_socket::{Answer, ClientError, Question};
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::wire::coe::{Address, DataType};
use kadenz_report::numbers;
use serde::Serialize;
use serde_json::Value;

use super::posts::Seen;
use crate::commands::ethercat::asked::{ControlClient, nonsense};
use crate::commands::ethercat::device::ToldDevice;
use crate::commands::ethercat::value::ValueType;
use crate::commands::msg::table::table;
use crate::output;

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Words,
    Csv,
    Json,
}

/// An entry that is shown.
pub(super) struct Entry {
    item: Item,
    device: Option<DeviceStatus>,
    r#type: ValueType,
    unit: Option<String>,
}

#[derive(Serialize)]
struct Told<'a> {
    version: u32,
    name: &'a str,
    pid: u32,
    cycle: u64,
    received_ns: u64,
    age_ns: u64,
    whole: bool,
    entries: Vec<ToldEntry<'a>>,
}

#[derive(Serialize)]
struct ToldEntry<'a> {
    device: ToldDevice,
    direction: &'static str,
    index: u16,
    sub: u8,
    name: &'a str,
    r#type: String,
    unit: Option<&'a str>,
    value: Value,
}

/// What is understood where nobody tells a type.
pub(in crate::commands::ethercat) fn type_of(item: &Item) -> ValueType {
    let told = ValueType::of(DataType(item.data_type));
    told.unwrap_or(match item.bits {
        1 => ValueType::Bool,
        _ => ValueType::Bytes,
    })
}

impl Entry {
    pub(super) fn of(item: &Item, device: Option<&DeviceStatus>) -> Self {
        Self {
            r#type: type_of(item),
            item: item.clone(),
            device: device.cloned(),
            unit: None,
        }
    }

    /// Asks the device.
    pub(super) fn learn_unit(&mut self, control: &mut ControlClient) -> anyhow::Result<()> {
        let question = Question::Unit {
            device: self.item.device,
            index: self.item.index,
            sub: self.item.sub,
        };
        match control.client.ask(&question) {
            Ok(Answer::Unit(unit)) => self.unit = unit,
            // One without a dictionary has no units.
            Err(ClientError::Refused(_)) => {}
            Ok(_) => return Err(nonsense(&control.name)),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn object(&self) -> String {
        Address::new(self.item.index, self.item.sub).to_string()
    }

    const fn direction(&self) -> &'static str {
        match self.item.direction {
            Direction::Inputs => "in",
            Direction::Outputs => "out",
        }
    }

    /// Its value's bytes in a post.
    fn bytes(&self, post: &[u8]) -> Vec<u8> {
        self.r#type.widened(self.item.value(post), self.item.bits)
    }

    /// A column's name that no other has.
    fn column(&self) -> String {
        let Item {
            device_name, name, ..
        } = &self.item;
        let unit = self.unit.as_ref().map(|it| format!(" [{it}]"));
        let text = format!(
            "{device_name} {} {} {name}{}",
            self.direction(),
            self.object(),
            unit.unwrap_or_default()
        );
        quoted(&text)
    }

    fn told(&self, post: &[u8]) -> ToldEntry<'_> {
        ToldEntry {
            device: match &self.device {
                Some(device) => ToldDevice::asked(device),
                None => ToldDevice {
                    position: u16::try_from(self.item.device).unwrap_or(u16::MAX),
                    name: self.item.device_name.clone(),
                    description: String::new(),
                },
            },
            direction: self.direction(),
            index: self.item.index,
            sub: self.item.sub,
            name: &self.item.name,
            r#type: self.r#type.to_string(),
            unit: self.unit.as_deref(),
            value: self.r#type.json(&self.bytes(post)),
        }
    }
}

/// Tells of posts.
pub(super) struct Printer {
    pub(super) name: String,
    pub(super) pid: u32,
    pub(super) entries: Vec<Entry>,
    pub(super) form: Form,
    pub(super) watch: bool,
}

impl Printer {
    /// What stands before all.
    pub(super) fn head(&self) {
        if self.form == Form::Csv {
            let names = ["cycle", "received_ns", "whole"].map(str::to_owned);
            let columns = self.entries.iter().map(Entry::column);
            let line: Vec<_> = names.into_iter().chain(columns).collect();
            output::data(&line.join(","));
        }
    }

    /// Tells of one; whether somebody still reads.
    pub(super) fn print(&self, seen: &Seen<'_>) -> anyhow::Result<bool> {
        match self.form {
            Form::Words => Ok(output::tell(&self.words(seen))),
            Form::Csv => Ok(output::data(&self.line(seen))),
            Form::Json => {
                let told = self.told(seen);
                if self.watch {
                    return output::json_line(&told);
                }
                output::json(&told)?;
                Ok(true)
            }
        }
    }

    fn words(&self, seen: &Seen<'_>) -> String {
        let rows = self.entries.iter().map(|it| {
            let value = it.bytes(seen.bytes);
            vec![
                it.item.device.to_string(),
                it.item.device_name.clone(),
                it.direction().to_owned(),
                it.object(),
                it.item.name.clone(),
                it.r#type.shown(&value),
                it.unit.clone().unwrap_or_default(),
            ]
        });
        let head = ["pos", "device", "way", "entry", "name", "value", "unit"];
        let whole = match seen.heading.whole {
            true => "",
            false => {
                "; not whole: a frame was lost or a device took no part, and some values are older"
            }
        };
        format!(
            "cycle {} of {}, {} old{whole}\n{}",
            numbers::thousands(seen.heading.number),
            self.name,
            numbers::value(seen.age.as_nanos() as f64),
            table(&head, 7, rows.collect()),
        )
    }

    fn line(&self, seen: &Seen<'_>) -> String {
        let heading = &seen.heading;
        let mut cells = vec![
            heading.number.to_string(),
            heading.received_ns.to_string(),
            heading.whole.to_string(),
        ];
        cells.extend(
            self.entries
                .iter()
                .map(|it| match it.r#type.json(&it.bytes(seen.bytes)) {
                    Value::String(text) => quoted(&text),
                    value => value.to_string(),
                }),
        );
        cells.join(",")
    }

    fn told(&self, seen: &Seen<'_>) -> Told<'_> {
        let entries = self.entries.iter().map(|it| it.told(seen.bytes));
        Told {
            version: 1,
            name: &self.name,
            pid: self.pid,
            cycle: seen.heading.number,
            received_ns: seen.heading.received_ns,
            age_ns: u64::try_from(seen.age.as_nanos()).unwrap_or(u64::MAX),
            whole: seen.heading.whole,
            entries: entries.collect(),
        }
    }
}

/// A cell of comma-separated values (RFC 4180), in quotes where it needs them.
fn quoted(text: &str) -> String {
    let text = text.trim();
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(
            quoted("left knee in 0x6064:00 Position "),
            "left knee in 0x6064:00 Position"
        );
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"go\""), "\"say \"\"go\"\"\"");
    }
}
