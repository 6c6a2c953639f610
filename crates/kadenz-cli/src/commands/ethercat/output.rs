//! `kadenz ethercat output`.

use anyhow::Context as _;
use clap::Args;
use kadenz::ethercat::value::EntryType;
use kadenz::ethercat::wire::coe::Address;
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::device::{Device, DeviceSelector};
use super::inputs::type_of;
use super::running_loop::LoopName;
use super::sdo::ObjectAddress;
use crate::options::complete;

/// Set an output of a running loop: a lamp, a valve, an analog value
///
/// The loop takes one such request a cycle and sends the value from then on, until the next request; `inputs
/// --outputs` shows what it read and wrote in that cycle. It refuses outputs that an axis writes every cycle: of a
/// drive that the motion file moves, all but its digital outputs (0x60FE), of which bit 0, the brake, stays
/// unchanged. A stop of the axes leaves the values set here unchanged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat output 2 0x7000:1 1 --loop robot                  a digital output
  kadenz ethercat output 'hand lamp' 0x7010:1 0
  kadenz ethercat output 5 0x7000:17 -1200 --type i16 --loop robot  where the device reports no type
  kadenz ethercat inputs --outputs --device 2 --loop robot          outputs, and their present values")]
pub(crate) struct Options {
    /// Which device: a position from 0, a name, or alias:N
    #[arg(value_name = "DEVICE")]
    device: DeviceSelector,

    /// Which entry of its process data: 0x7000:1
    #[arg(value_name = "INDEX[:SUB]")]
    object: ObjectAddress,

    /// The value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,

    /// Type of the value, where the device reports none: bool, u8 to u64, i8 to i64, f32, f64, bytes
    #[arg(long, value_name = "TYPE", value_parser = complete::<EntryType>(EntryType::COMMON), hide_possible_values = true)]
    r#type: Option<EntryType>,

    #[command(flatten)]
    running: LoopName,
}

/// An output that was set.
#[derive(JsonSchema, Serialize)]
pub(super) struct Written {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    device: Device,
    index: u16,
    sub: u8,
    name: String,
    r#type: String,
    value: Value,
    /// First cycle in which the loop sends it.
    cycle: u64,
    /// The value for people.
    #[serde(skip)]
    shown: String,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Written> {
    let mut running = options.running.open()?;
    let device = running.device(&options.device)?;
    let number = usize::from(device.position);
    let entry = options.object.entry();
    let catalogue = running.client.layout()?.catalogue;
    let found = catalogue.output(number, entry.index, entry.sub);
    let item = found.with_context(|| device.label())?;
    let r#type = options.r#type.unwrap_or_else(|| type_of(item));
    let bytes = r#type.encode_for(&options.value, item.bits);
    let bytes = bytes.map_err(anyhow::Error::msg)?;
    let cycle = running.client.set_output(number, entry, bytes.clone());
    let cycle = cycle.with_context(|| device.label())?;
    let bytes = r#type.widened(bytes, item.bits);
    Ok(Written {
        version: Version,
        segment: running.segment(),
        device,
        index: entry.index,
        sub: entry.sub,
        name: item.name.clone(),
        r#type: r#type.to_string(),
        value: r#type.json(&bytes),
        cycle,
        shown: r#type.shown(&bytes),
    })
}

impl Answer for Written {
    fn document(&self) -> Document {
        let entry = Address::new(self.index, self.sub);
        let name = match self.name.as_str() {
            "" => String::new(),
            name => format!(" {name}"),
        };
        let (value, cycle) = (&self.shown, self.cycle);
        format!("{entry}{name} = {value}   (from cycle {cycle} on)").into()
    }
}
