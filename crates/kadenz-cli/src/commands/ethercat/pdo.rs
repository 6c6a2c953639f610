//! `kadenz ethercat pdo`.

#[cfg(target_os = "linux")]
mod running;

use anyhow::Context as _;
use clap::Args;
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::main_device::from_esi::Matched;
use kadenz_ethercat::main_device::layout::{Layout, Share};
use kadenz_ethercat::main_device::mapping::{self, MappedManager};
use kadenz_ethercat::main_device::placed;
use kadenz_ethercat::main_device::survey::Surveyed;
use kadenz_ethercat::wire::State;
use kadenz_ethercat::wire::coe::Address;
use kadenz_ethercat::wire::sii::Direction;
use serde::Serialize;
use serde_json::Value;

use super::device::{ToldDevice, Which, whose};
use super::esi::DevicesOptions;
use super::operate;
use super::segment::Segment;
use super::value::{ValueType, bits_at};
use crate::commands::interrupt;
use crate::commands::msg::table::table;
use crate::output::{self, Outcome};

/// What lies where in the process data?
///
/// A row for each entry that is mapped: its SyncManager, PDO and object, its address in the segment's
/// logical memory, and byte and bit in the image of all outputs or all inputs, as Kadenz lays them out.
/// Devices that are in INIT are brought to PREOP to be asked, and with `--esi` those that a file describes,
/// to be set up as it says.
///
/// With `--watch N` all are brought to OP, and N cycles of 1 ms are exchanged, with outputs of 0; a line
/// for each entry of each cycle. With `--loop` it is told as the loop lays them out, without gaps; `kadenz ethercat
/// inputs --watch` shows their values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat pdo --interface eth1                            every device's
  kadenz ethercat pdo --sim 59 --device 'torso imu'
  kadenz ethercat pdo --sim 59 --device 3 --watch 10              ten cycles of an IMU's values
  kadenz ethercat pdo --interface eth1 --esi vendors/             as the vendors' ESI files say
  kadenz ethercat pdo --interface eth1 --esi vendors/ --pdos 8=0x1601,0x1A00      other PDOs of theirs
  kadenz ethercat pdo --sim 59 --watch 1 --json | jq .cycles
  kadenz ethercat pdo --loop robot --device 3                     of a loop that runs, and goes on")]
pub(crate) struct Options {
    #[command(flatten)]
    devices: DevicesOptions,

    /// Target: a position from 0, a name, alias:N, or all
    #[arg(long, value_name = "DEVICE", default_value = "all")]
    device: Which,

    /// Bring all to OP and show the values of so many cycles
    #[arg(long, value_name = "CYCLES", conflicts_with = "running",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    watch: Option<u32>,
}

/// An entry in its place.
struct Placed {
    /// Which device, by its place among those met.
    place: usize,
    manager: u8,
    direction: Direction,
    pdo: u16,
    entry: mapping::MappedEntry,
    /// Its first bit in the image of its direction.
    bit: usize,
    /// Its first bit in the logical memory.
    logical_bit: u64,
}

#[derive(Serialize)]
struct Told {
    version: u32,
    segment: String,
    outputs: usize,
    inputs: usize,
    entries: Vec<ToldEntry>,
    cycles: Vec<ToldCycle>,
}

#[derive(Serialize)]
struct ToldEntry {
    device: ToldDevice,
    sync_manager: u8,
    direction: &'static str,
    pdo: u16,
    index: Option<u16>,
    sub: Option<u8>,
    name: String,
    r#type: Option<String>,
    bits: u8,
    logical: u32,
    logical_bit: u8,
    byte: usize,
    bit: usize,
}

/// Values of a cycle, in the order of the entries.
#[derive(Serialize)]
struct ToldCycle {
    number: u32,
    working_counter: u32,
    expected_working_counter: u32,
    values: Vec<Value>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    #[cfg(target_os = "linux")]
    if let Some(control) = options.devices.control()? {
        return running::run(options, control);
    }
    #[cfg(not(target_os = "linux"))]
    options.devices.ensure_none()?;
    let descriptions = options.devices.esi.read()?;
    let mut segment = options.devices.open()?;
    let mut met = segment.survey()?;
    let chosen = options.device.among(&met)?;
    if options.watch.is_some() || !descriptions.is_empty() || met.iter().any(is_asleep) {
        segment.ensure_alone()?;
    }
    met = segment.adopt()?;
    let devices: Vec<_> = met.iter().map(|it| &it.device).collect();
    let matched = options.devices.esi.matched(&descriptions, &devices)?;
    let mapped = segment.ask(|registers| -> anyhow::Result<Vec<Vec<MappedManager>>> {
        let mut mapped = Vec::with_capacity(met.len());
        for met in &mut met {
            mapped.push(ask(registers, met, &matched)?);
        }
        Ok(mapped)
    })?;
    let all: Vec<usize> = (0..met.len()).collect();
    let layout = operate::layout(&met, &all)?;
    let entries: Vec<Placed> = chosen
        .iter()
        .flat_map(|place| placed(*place, &mapped[*place], &layout.shares[*place]))
        .collect();
    let mut told = Told {
        version: 1,
        segment: segment.name.clone(),
        outputs: layout.outputs,
        inputs: layout.inputs,
        entries: entries.iter().map(|it| ToldEntry::of(it, &met)).collect(),
        cycles: Vec::new(),
    };
    if !output::is_json() {
        output::say(&format!("{}, {}", rows(&told), frames(&layout)));
    }
    if let Some(cycles) = options.watch {
        watch(
            &mut segment,
            &mut met,
            &entries,
            (cycles, &matched),
            output::is_json().then_some(&mut told),
        )?;
    }
    if output::is_json() {
        output::json(&told)?;
    }
    Ok(Outcome::Kept)
}

fn is_asleep(met: &Surveyed) -> bool {
    met.status.state() == Some(State::Init)
}

/// What is in the process data of a device. One that an ESI file describes is set up for that in PREOP.
fn ask(
    registers: &mut Registers<'_>,
    met: &mut Surveyed,
    matched: &Matched,
) -> anyhow::Result<Vec<MappedManager>> {
    let is_described = matched.of(&met.device).is_some();
    if is_asleep(met) || is_described {
        operate::to_pre_op(registers, met, matched)?;
    }
    let mut managers = operate::learn(registers, &mut met.device, matched)
        .and_then(|()| mapping::read(registers, &mut met.device))
        .with_context(|| whose(&met.device))?;
    if let Some(described) = matched.of(&met.device) {
        described.name_entries(&mut managers);
    }
    Ok(managers)
}

/// The entries of a device.
fn placed(place: usize, managers: &[MappedManager], share: &Share) -> Vec<Placed> {
    let all = placed::placed(managers, share).into_iter();
    all.map(|it| Placed {
        place,
        manager: it.manager,
        direction: it.direction,
        pdo: it.pdo,
        entry: it.entry.clone(),
        bit: it.bit,
        logical_bit: it.logical_bit,
    })
    .collect()
}

/// Where everything is, and how many bytes that takes.
fn rows(told: &Told) -> String {
    let mut before = None;
    let rows = told.entries.iter().map(|it| {
        let position = it.device.position;
        let first = before.replace(position) != Some(position);
        let name = if first { it.device.called() } else { "" };
        let address = it
            .index
            .zip(it.sub)
            .map(|(index, sub)| Address::new(index, sub));
        vec![
            position.to_string(),
            name.to_owned(),
            it.direction.to_owned(),
            format!("SM{}", it.sync_manager),
            format!("0x{:04X}", it.pdo),
            address.map_or_else(|| "gap".to_owned(), |it| it.to_string()),
            it.name.clone(),
            it.r#type.clone().unwrap_or_else(|| "-".to_owned()),
            it.bits.to_string(),
            format!("0x{:08X}.{}", it.logical, it.logical_bit),
            format!("{}.{}", it.byte, it.bit),
        ]
    });
    let head = [
        "pos", "device", "way", "SM", "PDO", "entry", "name", "type", "bits", "logical", "byte.bit",
    ];
    format!(
        "{}\n\n{} bytes of outputs, {} bytes of inputs",
        table(&head, 8, rows.collect()),
        told.outputs,
        told.inputs
    )
}

fn frames(layout: &Layout) -> String {
    match layout.frames.len() {
        1 => "1 frame in a cycle".to_owned(),
        frames => format!("{frames} frames in a cycle"),
    }
}

const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Outputs => "out",
        Direction::Inputs => "in",
    }
}

fn type_of(entry: &Placed) -> Option<ValueType> {
    entry.entry.data_type.and_then(ValueType::of)
}

impl ToldEntry {
    fn of(placed: &Placed, met: &[Surveyed]) -> Self {
        let address = placed.entry.address;
        Self {
            device: ToldDevice::of(&met[placed.place].device),
            sync_manager: placed.manager,
            direction: direction(placed.direction),
            pdo: placed.pdo,
            index: address.map(|it| it.index),
            sub: address.map(|it| it.sub),
            name: placed.entry.name.clone(),
            r#type: type_of(placed).map(|it| it.to_string()),
            bits: placed.entry.bits,
            logical: (placed.logical_bit / 8) as u32,
            logical_bit: (placed.logical_bit % 8) as u8,
            byte: placed.bit / 8,
            bit: placed.bit % 8,
        }
    }
}

/// Brings all to OP and shows what goes to and fro. With `told`, it is kept there instead.
fn watch(
    segment: &mut Segment,
    met: &mut [Surveyed],
    entries: &[Placed],
    (cycles, matched): (u32, &Matched),
    mut told: Option<&mut Told>,
) -> anyhow::Result<()> {
    let stop = interrupt::quietly_stop_on_interrupt()?;
    let all: Vec<usize> = (0..met.len()).collect();
    let mut cycle = segment.ask(|registers| operate::to_safe_op(registers, met, &all, matched))?;
    let devices: Vec<_> = met.iter().map(|it| &it.device).collect();
    operate::to_op(segment, &mut cycle, &devices)?;
    for number in 1..=cycles {
        if stop.requested() {
            break;
        }
        let outcome = operate::cycle_once(segment, &mut cycle);
        let (inputs, outputs) = cycle.images();
        let values = entries.iter().map(|it| {
            let image = match it.direction {
                Direction::Outputs => &*outputs,
                Direction::Inputs => inputs,
            };
            let bits = usize::from(it.entry.bits);
            (it, bits_at(image, it.bit, bits))
        });
        if let Some(told) = told.as_deref_mut() {
            told.cycles.push(ToldCycle {
                number,
                working_counter: outcome.working_counter,
                expected_working_counter: outcome.expected,
                values: values
                    .map(|(it, bytes)| understood(it).json(&bytes))
                    .collect(),
            });
            continue;
        }
        output::say(&format!(
            "\ncycle {number}: working counter {} of {}",
            outcome.working_counter, outcome.expected
        ));
        let named = values.filter(|(it, _)| it.entry.address.is_some());
        let rows = named.map(|(it, bytes)| {
            vec![
                devices[it.place].position.0.to_string(),
                direction(it.direction).to_owned(),
                it.entry.name.clone(),
                understood(it).shown(&bytes),
            ]
        });
        output::say(&table(&["pos", "way", "name", "value"], 4, rows.collect()));
    }
    Ok(())
}

fn understood(entry: &Placed) -> ValueType {
    type_of(entry).unwrap_or(ValueType::Bytes)
}
