//! `kadenz ethercat pdo`.

use clap::Args;
use kadenz::ethercat::main_device::from_esi::Matched;
use kadenz::ethercat::main_device::mapping::{PlacedEntry, ProcessDataMap};
use kadenz::ethercat::main_device::survey::SurveyedDevice;
use kadenz::ethercat::value::EntryType;
use kadenz::ethercat::wire::State;
use kadenz::ethercat::wire::sii::Direction;
use kadenz::report::document::{Answer, Document, Table, Version};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::access::DeviceAccess;
use super::device::{Device, DeviceSelector};
use super::esi::DevicesOptions;
#[cfg(target_os = "linux")]
use super::running_loop::RunningLoop;
use super::segment::{Segment, labelled};
use crate::commands::interrupt;
use crate::output::{self, Reply};

/// List the entries of the process data with their addresses
///
/// Prints a row for each mapped entry: its SyncManager, PDO and object, its address in the segment's logical memory,
/// and byte and bit in the image of all outputs or all inputs, in the layout of Kadenz. Brings devices in INIT to
/// PREOP to read them, and with `--esi` also the described devices, to configure them by their file.
///
/// With `--watch N` it brings all devices to OP, exchanges N cycles of 1 ms with outputs of 0, and prints a line for
/// each entry of each cycle. With `--loop` entries are in the loop's layout, without gaps; `kadenz ethercat inputs
/// --watch` shows their values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat pdo --interface eth1                            every device's
  kadenz ethercat pdo --sim 59 --device 'torso imu'
  kadenz ethercat pdo --sim 59 --device 3 --watch 10              ten cycles of an IMU's values
  kadenz ethercat pdo --interface eth1 --esi vendors/             by the vendors' ESI files
  kadenz ethercat pdo --interface eth1 --esi vendors/ --pdos 8=0x1601,0x1A00      with other PDOs of the ESI files
  kadenz ethercat pdo --sim 59 --watch 1 --json | jq .cycles
  kadenz ethercat pdo --loop robot --device 3                     through a running loop")]
pub(crate) struct Options {
    #[command(flatten)]
    devices: DevicesOptions,

    /// Target: a position from 0, a name, alias:N, or all
    #[arg(long, value_name = "DEVICE", default_value = "all")]
    device: DeviceSelector,

    /// Bring all devices to OP and show the values of this many cycles
    #[arg(long, value_name = "CYCLES", conflicts_with = "running",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    watch: Option<u32>,
}

/// The process data, entry by entry.
#[derive(JsonSchema, Serialize)]
pub(super) struct ProcessData {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    /// Bytes of the image of all outputs.
    outputs: usize,
    /// Bytes of the image of all inputs.
    inputs: usize,
    entries: Vec<PdoEntry>,
    /// Values of the cycles of `--watch`.
    cycles: Vec<CycleValues>,
    /// Frames of process data in a cycle; null for a loop.
    #[serde(skip)]
    frames: Option<usize>,
}

#[derive(JsonSchema, Serialize)]
struct PdoEntry {
    device: Device,
    sync_manager: u8,
    /// `out` or `in`.
    #[schemars(extend("enum" = ["out", "in"]))]
    direction: &'static str,
    pdo: u16,
    /// null for a gap.
    index: Option<u16>,
    sub: Option<u8>,
    name: String,
    r#type: Option<String>,
    bits: u8,
    /// Logical address of the byte of its first bit.
    logical: u32,
    #[schemars(range(max = 7))]
    logical_bit: u8,
    /// Byte in the image of its direction.
    byte: usize,
    #[schemars(range(max = 7))]
    bit: usize,
    #[serde(skip)]
    value_type: EntryType,
    #[serde(skip)]
    placed: PlacedEntry,
}

#[derive(JsonSchema, Serialize)]
struct CycleValues {
    number: u32,
    working_counter: u32,
    expected_working_counter: u32,
    /// In the order of the entries, each by its type; a text of the bytes where these fit no type.
    values: Vec<Value>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    match options.devices.open()? {
        DeviceAccess::Segment(segment) => on_segment(options, *segment),
        #[cfg(target_os = "linux")]
        DeviceAccess::Loop(mut running) => in_loop(options, &mut running).map(Reply::from),
    }
}

fn on_segment(options: &Options, mut segment: Segment) -> anyhow::Result<Reply> {
    let descriptions = options.devices.esi.read()?;
    let mut met = segment.survey()?;
    let chosen = options.device.among(&met)?;
    let is_in_init = |it: &SurveyedDevice| it.status.state() == Some(State::Init);
    if options.watch.is_some() || !descriptions.is_empty() || met.iter().any(is_in_init) {
        segment.ensure_alone()?;
    }
    met = segment.adopt()?;
    let devices: Vec<_> = met.iter().map(|it| &it.device).collect();
    let matched = options.devices.esi.matched(&descriptions, &devices)?;
    let data = segment.process_data(&mut met, &matched);
    let devices: Vec<Device> = met.iter().map(Device::from).collect();
    let data = data.map_err(labelled)?;
    let mut report = ProcessData::of(segment.name().to_owned(), data, &devices, &chosen);
    let Some(cycles) = options.watch else {
        return Ok(report.into());
    };
    output::part(|| report.document());
    watch(&mut segment, &mut met, (cycles, &matched), &mut report)?;
    Ok(Reply::in_parts(report))
}

/// The process data in the layout of a running loop.
#[cfg(target_os = "linux")]
fn in_loop(options: &Options, running: &mut RunningLoop) -> anyhow::Result<ProcessData> {
    let devices = running.devices()?;
    let chosen = options.device.among(devices.iter().cloned())?;
    let data = running.client.layout()?.catalogue.process_data();
    Ok(ProcessData::of(running.segment(), data, &devices, &chosen))
}

impl ProcessData {
    /// The entries of the chosen devices.
    fn of(segment: String, data: ProcessDataMap, devices: &[Device], chosen: &[usize]) -> Self {
        let entries = data.entries.into_iter();
        let entries = entries.filter(|it| chosen.contains(&it.device));
        Self {
            version: Version,
            segment,
            outputs: data.outputs,
            inputs: data.inputs,
            entries: entries
                .map(|it| PdoEntry::of(devices[it.device].clone(), it))
                .collect(),
            cycles: Vec::new(),
            frames: data.frames,
        }
    }
}

impl PdoEntry {
    fn of(device: Device, placed: PlacedEntry) -> Self {
        let address = placed.entry.address;
        let r#type = placed.entry_type();
        Self {
            device,
            sync_manager: placed.manager,
            direction: match placed.direction {
                Direction::Outputs => "out",
                Direction::Inputs => "in",
            },
            pdo: placed.pdo,
            index: address.map(|it| it.index),
            sub: address.map(|it| it.sub),
            name: placed.entry.name.clone(),
            r#type: r#type.map(|it| it.to_string()),
            bits: placed.entry.bits,
            logical: (placed.logical_bit / 8) as u32,
            logical_bit: (placed.logical_bit % 8) as u8,
            byte: placed.bit / 8,
            bit: placed.bit % 8,
            value_type: r#type.unwrap_or(EntryType::Bytes),
            placed,
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let address = self.placed.entry.address;
        vec![
            self.device.position.to_string(),
            name.to_owned(),
            self.direction.to_owned(),
            format!("SM{}", self.sync_manager),
            format!("0x{:04X}", self.pdo),
            address.map_or_else(|| "gap".to_owned(), |it| it.to_string()),
            self.name.clone(),
            self.r#type.clone().unwrap_or_else(|| "-".to_owned()),
            self.bits.to_string(),
            format!("0x{:08X}.{}", self.logical, self.logical_bit),
            format!("{}.{}", self.byte, self.bit),
        ]
    }
}

impl Answer for ProcessData {
    fn document(&self) -> Document {
        let mut before = None;
        let rows = self.entries.iter().map(|it| {
            let position = it.device.position;
            let first = before.replace(position) != Some(position);
            it.row(if first { it.device.called() } else { "" })
        });
        let head = [
            "pos",
            "device",
            "direction",
            "SM",
            "PDO",
            "entry",
            "name",
            "type",
            "bits",
            "logical",
            "byte.bit",
        ];
        let frames = match self.frames {
            None => String::new(),
            Some(1) => ", 1 frame in a cycle".to_owned(),
            Some(frames) => format!(", {frames} frames in a cycle"),
        };
        Document::new()
            .table(Table::new(&head, 8, rows.collect()))
            .sentence(format!(
                "{} bytes of outputs, {} bytes of inputs{frames}",
                self.outputs, self.inputs
            ))
    }
}

/// Brings all devices to OP, exchanges cycles, and prints each.
fn watch(
    segment: &mut Segment,
    met: &mut [SurveyedDevice],
    (cycles, matched): (u32, &Matched),
    report: &mut ProcessData,
) -> anyhow::Result<()> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let all: Vec<usize> = (0..met.len()).collect();
    let cycle = segment.to_safe_op(met, &all, matched);
    let mut cycle = cycle.map_err(labelled)?;
    let brought = segment.to_op(&mut cycle, met, &all);
    brought.map_err(labelled)?;
    for number in 1..=cycles {
        if stop.requested() {
            break;
        }
        let outcome = segment.exchange(&mut cycle);
        let (inputs, outputs) = cycle.images();
        let images = (inputs, &*outputs);
        let entries = &report.entries;
        let values = entries
            .iter()
            .map(|it| it.value_type.json(&it.placed.value(images)));
        let values = CycleValues {
            number,
            working_counter: outcome.working_counter,
            expected_working_counter: outcome.expected,
            values: values.collect(),
        };
        output::part(|| values.document(entries, images));
        report.cycles.push(values);
    }
    Ok(())
}

impl CycleValues {
    fn document(&self, entries: &[PdoEntry], images: (&[u8], &[u8])) -> Document {
        let named = entries.iter().filter(|it| it.index.is_some());
        let rows = named.map(|it| {
            vec![
                it.device.position.to_string(),
                it.direction.to_owned(),
                it.name.clone(),
                it.value_type.shown(&it.placed.value(images)),
            ]
        });
        let head = ["pos", "direction", "name", "value"];
        Document::new()
            // An empty line separates the text from the part before.
            .sentence("")
            .sentence(format!(
                "cycle {}: working counter {} of {}",
                self.number, self.working_counter, self.expected_working_counter
            ))
            .table(Table::new(&head, 4, rows.collect()))
    }
}
