//! `kadenz ethercat dc`.

#[cfg(target_os = "linux")]
mod running;

use clap::Args;
use kadenz_ethercat::main_device::clocks::{
    self, Alignment, Bounds, Clocks, DeviceClock, Epoch, Settings, Width, since_2000,
};
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{Registers, Target};
use kadenz_ethercat::wire::Position;
use kadenz_ethercat::wire::register::DC_OFFSET;
use kadenz_report::document::{Answer, Document, Table, Version};
use kadenz_rt::clock::WallTime;
use schemars::JsonSchema;
use serde::Serialize;

use super::device::ToldDevice;
use super::segment::{Segment, SegmentOrLoop};
use crate::output::{self, Outcome};

/// How far is each device, and what does its clock say?
///
/// Measures what a frame takes from the reference clock to every device and how fast each clock runs, and
/// reads how far each says that it is off. That changes nothing but what is latched for it.
///
/// With `--align`, delays and offsets are written, and the reference's time is let pass by all until every
/// clock follows it.
///
/// With `--loop` it is told what stands in the devices of a loop that runs: delays and offsets as somebody has set
/// them, and how far each says that it is off. Nothing is measured then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat dc --interface eth1                    delays, and how the clocks stand
  kadenz ethercat dc --interface eth1 --align            bring them together
  kadenz ethercat dc --sim 59 --align --json | jq '.devices[].difference_ns'
  kadenz ethercat dc --loop robot                        how they stand in a loop that runs, and goes on")]
pub(crate) struct Options {
    #[command(flatten)]
    place: SegmentOrLoop,

    /// Write delays and offsets, and let all clocks follow the reference
    #[arg(long, conflicts_with = "running")]
    align: bool,

    /// What time it is to be then
    #[arg(long, value_name = "EPOCH", default_value = "wall", requires = "align")]
    time: EpochOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EpochOption {
    /// This computer's wall time, from 2000-01-01 on as EtherCAT counts
    Wall,
    /// The reference's own: since it got power
    Own,
    /// What it is
    Kept,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct ClockReport {
    version: Version<1>,
    segment: String,
    reference: Option<u16>,
    /// A device that does not answer and may have the reference clock.
    #[serde(skip)]
    silent: Option<u16>,
    alignment: Option<ToldAlignment>,
    devices: Vec<ToldClock>,
}

#[derive(JsonSchema, Serialize)]
struct ToldAlignment {
    frames: u32,
    worst_ns: u64,
}

#[derive(JsonSchema, Serialize)]
struct ToldClock {
    #[serde(flatten)]
    device: ToldDevice,
    bits: Option<u8>,
    parent: Option<u16>,
    parent_port: Option<u8>,
    delay_ns: Option<u32>,
    delay_is_measured: Option<bool>,
    rate_ppb: Option<i64>,
    offset_ns: Option<u64>,
    difference_ns: Option<i64>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    output::answer(&told(options)?)?;
    Ok(Outcome::Kept)
}

fn told(options: &Options) -> anyhow::Result<ClockReport> {
    #[cfg(target_os = "linux")]
    if let Some(control) = options.place.control()? {
        return running::look(control);
    }
    #[cfg(not(target_os = "linux"))]
    options.place.ensure_none()?;
    let mut segment = Segment::open(&options.place.segment)?;
    if options.align {
        segment.ensure_alone()?;
    }
    let met = segment.adopt()?;
    let devices: Vec<SubDevice> = met.into_iter().map(|it| it.device).collect();
    let mut told = segment.ask(|registers| look(registers, &devices, options))?;
    told.segment = segment.name;
    Ok(told)
}

fn look(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    options: &Options,
) -> anyhow::Result<ClockReport> {
    let clocks = clocks::measure(registers, devices, &Settings::default())?;
    let alignment = match options.align {
        true => Some(align(registers, &clocks, options.time)?),
        false => None,
    };
    let differences = clocks.differences(registers)?;
    let mut told = Vec::with_capacity(devices.len());
    for ((clock, difference_ns), device) in clocks.devices().iter().zip(differences).zip(devices) {
        told.push(ToldClock {
            device: ToldDevice::of(device),
            bits: clock.width.map(bits),
            parent: clock.parent.map(|(Position(parent), _)| parent),
            parent_port: clock.parent.map(|(_, port)| port),
            delay_ns: Some(clock.delay_ns),
            delay_is_measured: Some(clock.measured),
            rate_ppb: clock.width.map(|_| clock.rate_ppb),
            offset_ns: offset(registers, clock)?,
            difference_ns,
        });
    }
    let reference = clocks.reference();
    let reference = clocks
        .devices()
        .iter()
        .find(|it| Some(it.station) == reference);
    Ok(ClockReport {
        version: Version,
        segment: String::new(),
        reference: reference.map(|it| it.position.0),
        silent: None,
        alignment: alignment.map(|it| ToldAlignment {
            frames: it.frames,
            worst_ns: it.worst_ns,
        }),
        devices: told,
    })
}

fn align(
    registers: &mut Registers<'_>,
    clocks: &Clocks,
    epoch: EpochOption,
) -> anyhow::Result<Alignment> {
    let epoch = match epoch {
        EpochOption::Wall => Epoch::Now(since_2000(WallTime::now())),
        EpochOption::Own => Epoch::Own,
        EpochOption::Kept => Epoch::Kept,
    };
    clocks.set(registers, epoch)?;
    Ok(clocks.align(registers, &Bounds::default(), &mut |_| {})?)
}

const fn bits(width: Width) -> u8 {
    match width {
        Width::Bits32 => 32,
        Width::Bits64 => 64,
    }
}

fn offset(registers: &mut Registers<'_>, clock: &DeviceClock) -> anyhow::Result<Option<u64>> {
    let whose = Target::Of(clock.station);
    Ok(match clock.width {
        None => None,
        Some(Width::Bits32) => Some(registers.get_u32(whose, DC_OFFSET)?.into()),
        Some(Width::Bits64) => Some(u64::from_le_bytes(registers.get(whose, DC_OFFSET)?)),
    })
}

impl Answer for ClockReport {
    fn document(&self) -> Document {
        let rows = self.devices.iter().map(|it| {
            let or_not = |it: Option<String>| it.unwrap_or_else(|| "-".to_owned());
            let about = match it.delay_is_measured {
                Some(false) => "~",
                _ => "",
            };
            let parent = it.parent.zip(it.parent_port);
            vec![
                it.device.position.to_string(),
                it.device.called().to_owned(),
                or_not(it.bits.map(|it| format!("{it} bits"))),
                or_not(parent.map(|(parent, port)| format!("{parent}.{port}"))),
                or_not(it.delay_ns.map(|it| format!("{about}{it}"))),
                or_not(it.rate_ppb.map(|it| format!("{:+.3}", it as f64 / 1e3))),
                or_not(it.difference_ns.map(|it| it.to_string())),
                or_not(it.offset_ns.map(|it| it.to_string())),
            ]
        });
        let head = [
            "pos",
            "device",
            "clock",
            "behind",
            "delay ns",
            "rate ppm",
            "off by ns",
            "offset ns",
        ];
        let reference = match (self.reference, self.silent) {
            (Some(it), _) => format!("the reference clock is that of device {it}"),
            (None, Some(it)) => {
                format!("the reference clock is not known: device {it} does not answer")
            }
            (None, None) => "no device has a clock".to_owned(),
        };
        let aligned = self.alignment.as_ref().map_or_else(String::new, |it| {
            format!(
                "; after {} frames no clock says that it is off by more than {} ns",
                it.frames, it.worst_ns
            )
        });
        Document::new()
            .table(Table::new(&head, 4, rows.collect()))
            .sentence(format!("{reference}{aligned}"))
    }
}
