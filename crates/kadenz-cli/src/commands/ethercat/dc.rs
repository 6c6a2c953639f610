//! `kadenz ethercat dc`.

use clap::Args;
use kadenz::ethercat::main_device::clocks::{
    self, Alignment, Bounds, ClockSettings, Clocks, Epoch, Width, since_2000,
};
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::main_device::exchange::{ExchangeError, Registers, Target};
use kadenz::ethercat::wire::Position;
use kadenz::ethercat::wire::register::DC_OFFSET;
#[cfg(target_os = "linux")]
use kadenz::ethercat::wire::register::{
    DC_DELAY, DC_DIFFERENCE, DC_SYSTEM_TIME, FEATURES, features,
};
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::rt::clock::WallTime;
use schemars::JsonSchema;
use serde::Serialize;

use super::access::DeviceAccess;
use super::device::Device;
#[cfg(target_os = "linux")]
use super::device::DeviceSelector;
use super::segment::{Segment, SegmentOrLoop};
use crate::output::{self, Outcome};

/// Measure the delay to each device, and read its clock
///
/// Measures how long a frame takes from the reference clock to every device and how fast each clock runs, and reads
/// each device's own figure of its deviation. This changes nothing but the latched receive times.
///
/// With `--align`, it writes delays and offsets, and distributes the reference's time until every clock follows it.
///
/// With `--loop` it measures nothing: it reads delays, offsets and deviations from the devices of a running loop.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz ethercat dc --interface eth1                    delays, and the state of the clocks
  kadenz ethercat dc --interface eth1 --align            align the clocks
  kadenz ethercat dc --sim 59 --align --json | jq '.devices[].difference_ns'
  kadenz ethercat dc --loop robot                        in a running loop")]
pub(crate) struct Options {
    #[command(flatten)]
    place: SegmentOrLoop,

    /// Write delays and offsets, and make all clocks follow the reference
    #[arg(long, conflicts_with = "running")]
    align: bool,

    /// Time to set the reference clock to
    #[arg(long, value_name = "EPOCH", default_value = "wall", requires = "align")]
    time: EpochOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EpochOption {
    /// This computer's wall time, from 2000-01-01 on, the epoch of EtherCAT
    Wall,
    /// The reference's own time: since its power-on
    Own,
    /// The present time of the reference
    Kept,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct ClockReport {
    version: Version<1>,
    /// The interface, or `sim:59`, `sim:FILE`, `loop:NAME`.
    segment: String,
    /// Position of the device with the reference clock.
    reference: Option<u16>,
    /// A device that does not answer and may have the reference clock.
    #[serde(skip)]
    silent: Option<u16>,
    /// Result of `--align`.
    alignment: Option<Aligned>,
    devices: Vec<ClockStatus>,
}

#[derive(JsonSchema, Serialize)]
struct Aligned {
    frames: u32,
    worst_ns: u64,
}

#[derive(JsonSchema, Serialize)]
struct ClockStatus {
    #[serde(flatten)]
    device: Device,
    /// Width of its time, 32 or 64; null without a clock, and where the device does not answer.
    #[schemars(extend("enum" = [32, 64, null]))]
    bits: Option<u8>,
    parent: Option<u16>,
    parent_port: Option<u8>,
    delay_ns: Option<u32>,
    delay_is_measured: Option<bool>,
    /// How much faster than the reference the clock ran.
    rate_ppb: Option<i64>,
    /// The offset in the device's register; it wraps around.
    offset_ns: Option<u64>,
    /// How far ahead of the reference the device reports its time.
    difference_ns: Option<i64>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut access = DeviceAccess::open(&options.place)?;
    let report = match &mut access {
        DeviceAccess::Segment(segment) => measured(segment, options)?,
        #[cfg(target_os = "linux")]
        DeviceAccess::Loop(_) => as_set(&mut access)?,
    };
    output::answer(&report)
}

fn measured(segment: &mut Segment, options: &Options) -> anyhow::Result<ClockReport> {
    if options.align {
        segment.ensure_alone()?;
    }
    let met = segment.adopt()?;
    let devices: Vec<SubDevice> = met.into_iter().map(|it| it.device).collect();
    let mut report = segment.ask(|registers| measure(registers, &devices, options))?;
    report.segment.clone_from(&segment.name);
    Ok(report)
}

fn measure(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    options: &Options,
) -> anyhow::Result<ClockReport> {
    let clocks = clocks::measure(registers, devices, &ClockSettings::default())?;
    let alignment = match options.align {
        true => Some(align(registers, &clocks, options.time)?),
        false => None,
    };
    let differences = clocks.differences(registers)?;
    let mut all = Vec::with_capacity(devices.len());
    for ((clock, difference_ns), device) in clocks.devices().iter().zip(differences).zip(devices) {
        let bits = clock.width.map(bits);
        all.push(ClockStatus {
            device: Device::from(device),
            bits,
            parent: clock.parent.map(|(Position(parent), _)| parent),
            parent_port: clock.parent.map(|(_, port)| port),
            delay_ns: Some(clock.delay_ns),
            delay_is_measured: Some(clock.measured),
            rate_ppb: clock.width.map(|_| clock.rate_ppb),
            offset_ns: match bits {
                Some(bits) => offset(registers, Target::Of(clock.station), bits)?,
                None => None,
            },
            difference_ns,
        });
    }
    let reference = clocks.reference();
    let mut clocks = clocks.devices().iter();
    let reference = clocks.find(|it| Some(it.station) == reference);
    Ok(ClockReport {
        version: Version,
        segment: String::new(),
        reference: reference.map(|it| it.position.0),
        silent: None,
        alignment: alignment.map(|it| Aligned {
            frames: it.frames,
            worst_ns: it.worst_ns,
        }),
        devices: all,
    })
}

/// Reads the clocks as they are configured, without a measurement: that would latch new receive times under the running
/// loop's own measurement.
#[cfg(target_os = "linux")]
fn as_set(access: &mut DeviceAccess) -> anyhow::Result<ClockReport> {
    let devices = access.among(&DeviceSelector::All)?;
    let mut all = Vec::with_capacity(devices.len());
    let mut silent = None;
    for device in devices {
        let found = access.ask(&device, find)?;
        if found == DeviceClock::Silence {
            output::note(&format!("{} does not answer", device.label()));
            silent = silent.or(Some(all.len()));
        }
        let set = access.ask(&device.clone(), |registers, target| {
            set(registers, target, device, found)
        });
        all.push(set?);
    }
    // The other clocks follow the first device that has one; a silent device may have one or not.
    let heard = &all[..silent.unwrap_or(all.len())];
    let reference = heard.iter().find(|it: &&ClockStatus| it.bits.is_some());
    let silent = silent.filter(|_| reference.is_none());
    Ok(ClockReport {
        version: Version,
        segment: access.name(),
        reference: reference.map(|it| it.device.position),
        silent: silent.map(|it| all[it].device.position),
        alignment: None,
        devices: all,
    })
}

/// Clock of a device.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceClock {
    /// The device does not answer.
    Silence,
    /// The device has no clock, or its features report one, but its registers do not answer.
    NoClock,
    /// A clock with a time of this many bits.
    Clock(u8),
}

#[cfg(target_os = "linux")]
fn find(registers: &mut Registers<'_>, target: Target) -> Result<DeviceClock, ExchangeError> {
    let Some(features) = read(registers, target, FEATURES)?.map(u16::from_le_bytes) else {
        return Ok(DeviceClock::Silence);
    };
    let is_there = read::<4>(registers, target, DC_SYSTEM_TIME)?.is_some();
    Ok(
        match (features & features::DC, features & features::DC_64) {
            (0, _) => DeviceClock::NoClock,
            _ if !is_there => DeviceClock::NoClock,
            (_, 0) => DeviceClock::Clock(32),
            _ => DeviceClock::Clock(64),
        },
    )
}

#[cfg(target_os = "linux")]
fn set(
    registers: &mut Registers<'_>,
    target: Target,
    device: Device,
    found: DeviceClock,
) -> Result<ClockStatus, ExchangeError> {
    let mut status = ClockStatus {
        device,
        bits: None,
        parent: None,
        parent_port: None,
        delay_ns: None,
        delay_is_measured: None,
        rate_ppb: None,
        offset_ns: None,
        difference_ns: None,
    };
    if let DeviceClock::Clock(bits) = found {
        status.bits = Some(bits);
        status.delay_ns = read(registers, target, DC_DELAY)?.map(u32::from_le_bytes);
        status.offset_ns = offset(registers, target, bits)?;
        let difference = read(registers, target, DC_DIFFERENCE)?.map(u32::from_le_bytes);
        status.difference_ns = difference.map(clocks::difference_ns);
    }
    Ok(status)
}

/// `None` where the device does not answer there.
fn read<const N: usize>(
    registers: &mut Registers<'_>,
    target: Target,
    address: u16,
) -> Result<Option<[u8; N]>, ExchangeError> {
    let mut bytes = [0; N];
    let count = registers.count_reading(target, address, &mut bytes)?;
    Ok((count > 0).then_some(bytes))
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

fn offset(
    registers: &mut Registers<'_>,
    target: Target,
    bits: u8,
) -> Result<Option<u64>, ExchangeError> {
    Ok(match bits {
        32 => read(registers, target, DC_OFFSET)?.map(|it| u32::from_le_bytes(it).into()),
        _ => read(registers, target, DC_OFFSET)?.map(u64::from_le_bytes),
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
            "parent",
            "delay ns",
            "rate ppm",
            "deviation ns",
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
                "; largest clock deviation after {} frames: {} ns",
                it.frames, it.worst_ns
            )
        });
        Document::new()
            .table(Table::new(&head, 4, rows.collect()))
            .sentence(format!("{reference}{aligned}"))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use kadenz::ethercat::running_loop::control_socket::{
        Answer as Reply, Question, Reply as Line,
    };
    use kadenz::report::text::Style;

    use super::*;
    use crate::commands::ethercat::running_loop::scripted::with_a_server;

    /// The clocks of three devices with clocks, of which one does not answer.
    fn with_a_silent_one(silent: usize) -> ClockReport {
        let answer = |question| match question {
            Question::RegisterRead {
                device,
                address,
                length,
            } => Line::Ok(Reply::Bytes(match (device == silent, address) {
                (true, _) => Vec::new(),
                (false, FEATURES) => features::DC.to_le_bytes().to_vec(),
                (false, _) => [&[7][..], &vec![0; usize::from(length) - 1]].concat(),
            })),
            other => panic!("{other:?}"),
        };
        with_a_server(3, answer, |running| {
            as_set(&mut DeviceAccess::Loop(Box::new(running))).unwrap()
        })
    }

    #[test]
    fn the_reference_is_not_known_where_a_device_before_it_is_silent() {
        let report = with_a_silent_one(0);
        assert_eq!(report.reference, None);
        let said = report.document().terminal(Style::plain()).to_string();
        assert!(
            said.contains("not known: device 0 does not answer"),
            "{said}"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["devices"][0]["delay_ns"], serde_json::Value::Null);
        assert_eq!(json["devices"][1]["delay_ns"], 7);
    }

    #[test]
    fn a_silent_device_behind_the_reference_hides_it_not() {
        let report = with_a_silent_one(1);
        assert_eq!(report.reference, Some(0));
        let said = report.document().terminal(Style::plain()).to_string();
        assert!(said.contains("clock is that of device 0"), "{said}");
        assert_eq!(report.devices[1].bits, None);
    }
}
