//! Images as tables, lines of values, and JSON.

use kadenz::ethercat::control::catalogue::{Direction, Item};
use kadenz::ethercat::running_loop::control_socket::ClientError;
use kadenz::ethercat::value::EntryType;
use kadenz::ethercat::wire::coe::{Address, DataType};
use kadenz::report::document::{Answer, Document, Version};
use kadenz::report::numbers;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::images::ImageSnapshot;
use crate::commands::ethercat::device::Device;
use crate::commands::ethercat::running_loop::RunningLoop;
use crate::output::{self, Column, Reply};

/// Values of a running loop's process data, all of one cycle; one JSON line per cycle with `--watch`.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands::ethercat) struct InputReport {
    version: Version<1>,
    /// Name of the loop.
    name: String,
    pid: u32,
    /// Cycle that read and wrote all of the values.
    cycle: u64,
    /// Time of reception, on CLOCK_MONOTONIC.
    received_ns: u64,
    /// Age of the values when the command showed them.
    age_ns: u64,
    /// Whether all values are new: the cycle lost no frame, and every device took part.
    whole: bool,
    entries: Vec<InputEntry>,
}

#[derive(JsonSchema, Serialize)]
struct InputEntry {
    device: Device,
    /// `in` or `out`.
    #[schemars(extend("enum" = ["in", "out"]))]
    direction: &'static str,
    index: u16,
    sub: u8,
    name: String,
    r#type: String,
    /// Unit, with `--units`, where the device reports one.
    unit: Option<String>,
    /// The value by its type; a text of the bytes where these fit no type.
    value: Value,
    /// The value for people.
    #[serde(skip)]
    shown: String,
    /// Name of the device in the loop.
    #[serde(skip)]
    called: String,
}

/// An entry of the process image, with its device, type and unit.
pub(super) struct ImageEntry {
    item: Item,
    device: Device,
    r#type: EntryType,
    unit: Option<String>,
}

/// The type of an entry; bytes where the device reports none.
pub(in crate::commands::ethercat) fn type_of(item: &Item) -> EntryType {
    let known = EntryType::of(DataType(item.data_type));
    known.unwrap_or(match item.bits {
        1 => EntryType::Bool,
        _ => EntryType::Bytes,
    })
}

impl ImageEntry {
    pub(super) fn of(item: &Item, device: Device) -> Self {
        Self {
            r#type: type_of(item),
            item: item.clone(),
            device,
            unit: None,
        }
    }

    /// Reads the unit of this entry from the device.
    pub(super) fn learn_unit(&mut self, running: &mut RunningLoop) -> anyhow::Result<()> {
        let address = Address::new(self.item.index, self.item.sub);
        match running.client.unit(self.item.device, address) {
            Ok(unit) => self.unit = unit,
            // A device without a dictionary has no units.
            Err(ClientError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    const fn direction(&self) -> &'static str {
        match self.item.direction {
            Direction::Inputs => "in",
            Direction::Outputs => "out",
        }
    }

    /// A column name that no other entry has.
    fn column(&self) -> String {
        let Item {
            device_name,
            name,
            index,
            sub,
            ..
        } = &self.item;
        let unit = self.unit.as_ref().map(|it| format!(" [{it}]"));
        let text = format!(
            "{device_name} {} {} {name}{}",
            self.direction(),
            Address::new(*index, *sub),
            unit.unwrap_or_default()
        );
        quoted(&text)
    }

    fn value(&self, image: &[u8]) -> InputEntry {
        let item = &self.item;
        let bytes = self.r#type.widened(item.value(image), item.bits);
        InputEntry {
            device: self.device.clone(),
            direction: self.direction(),
            index: item.index,
            sub: item.sub,
            name: item.name.clone(),
            r#type: self.r#type.to_string(),
            unit: self.unit.clone(),
            value: self.r#type.json(&bytes),
            shown: self.r#type.shown(&bytes),
            called: item.device_name.clone(),
        }
    }
}

/// Shows images.
pub(super) struct Printer {
    pub(super) name: String,
    pub(super) pid: u32,
    pub(super) entries: Vec<ImageEntry>,
    pub(super) is_csv: bool,
}

impl Printer {
    /// Prints the line of names above comma-separated values.
    pub(super) fn head(&self) {
        if self.is_csv {
            let names = ["cycle", "received_ns", "whole"].map(str::to_owned);
            let columns = self.entries.iter().map(ImageEntry::column);
            let line: Vec<_> = names.into_iter().chain(columns).collect();
            output::data(&line.join(","));
        }
    }

    /// The only image.
    pub(super) fn reply(&self, seen: &ImageSnapshot<'_>) -> Reply {
        let report = self.report(seen);
        let line = self.is_csv.then(|| report.line());
        match line {
            Some(line) => Reply::as_data(report, line),
            None => report.into(),
        }
    }

    /// Prints one of many images; returns whether a reader still takes the output.
    pub(super) fn print(&self, seen: &ImageSnapshot<'_>) -> anyhow::Result<bool> {
        let report = self.report(seen);
        match self.is_csv {
            true => Ok(output::data(&report.line())),
            false => Ok(output::next_answer(&report)?.is_read()),
        }
    }

    fn report(&self, seen: &ImageSnapshot<'_>) -> InputReport {
        let entries = self.entries.iter().map(|it| it.value(seen.bytes));
        InputReport {
            version: Version,
            name: self.name.clone(),
            pid: self.pid,
            cycle: seen.header.number,
            received_ns: seen.header.received_ns,
            age_ns: u64::try_from(seen.age.as_nanos()).unwrap_or(u64::MAX),
            whole: seen.header.whole,
            entries: entries.collect(),
        }
    }
}

impl InputReport {
    /// A line of comma-separated values.
    fn line(&self) -> String {
        let mut cells = vec![
            self.cycle.to_string(),
            self.received_ns.to_string(),
            self.whole.to_string(),
        ];
        cells.extend(self.entries.iter().map(|it| match &it.value {
            Value::String(text) => quoted(text),
            value => value.to_string(),
        }));
        cells.join(",")
    }
}

const COLUMNS: [Column<InputEntry>; 7] = [
    ("pos", |it| it.device.position.to_string()),
    ("device", |it| it.called.clone()),
    ("direction", |it| it.direction.to_owned()),
    ("entry", |it| Address::new(it.index, it.sub).to_string()),
    ("name", |it| it.name.clone()),
    ("value", |it| it.shown.clone()),
    ("unit", |it| it.unit.clone().unwrap_or_default()),
];

impl Answer for InputReport {
    fn document(&self) -> Document {
        let whole = match self.whole {
            true => "",
            false => {
                "; not whole: a frame was lost or a device took no part, and some values are older"
            }
        };
        Document::new()
            .sentence(format!(
                "cycle {} of {}, {} old{whole}",
                numbers::thousands(self.cycle),
                self.name,
                numbers::value(self.age_ns as f64)
            ))
            .table(output::table(&COLUMNS, 7, &self.entries))
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
