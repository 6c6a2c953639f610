//! `kadenz ethercat dc`.

use clap::Args;
#[cfg(target_os = "linux")]
use kadenz::ethercat::main_device::clocks::ReferenceClock;
use kadenz::ethercat::main_device::clocks::{self, Alignment, ClockStatus, Epoch, since_2000};
use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::report::document::{Answer, Document, Version};
use kadenz::rt::clock::WallTime;
use schemars::JsonSchema;
use serde::Serialize;

use super::access::DeviceAccess;
use super::device::Device;
#[cfg(target_os = "linux")]
use super::device::DeviceSelector;
use super::segment::{Segment, SegmentOrLoop};
use crate::output::{self, Column};

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
    alignment: Option<Alignment>,
    devices: Vec<DeviceClock>,
}

/// A device of the segment, and its clock.
#[derive(JsonSchema, Serialize)]
struct DeviceClock {
    #[serde(flatten)]
    device: Device,
    #[serde(flatten)]
    clock: ClockStatus,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<ClockReport> {
    let mut access = DeviceAccess::open(&options.place)?;
    match &mut access {
        DeviceAccess::Segment(segment) => measured(segment, options),
        #[cfg(target_os = "linux")]
        DeviceAccess::Loop(_) => as_set(&mut access),
    }
}

fn measured(segment: &mut Segment, options: &Options) -> anyhow::Result<ClockReport> {
    if options.align {
        segment.ensure_alone()?;
    }
    let met = segment.adopt()?;
    let devices: Vec<SubDevice> = met.into_iter().map(|it| it.device).collect();
    let found = segment.ask(|registers| clocks::survey(registers, &devices, options.epoch()))?;
    let all = devices.iter().zip(found.devices);
    Ok(ClockReport {
        version: Version,
        segment: segment.name().to_owned(),
        reference: found.reference.map(|it| devices[it].position.0),
        silent: None,
        alignment: found.alignment,
        devices: all
            .map(|(device, clock)| DeviceClock {
                device: Device::from(device),
                clock,
            })
            .collect(),
    })
}

/// Reads the clocks as they are configured.
#[cfg(target_os = "linux")]
fn as_set(access: &mut DeviceAccess) -> anyhow::Result<ClockReport> {
    let devices = access.among(&DeviceSelector::All)?;
    let mut all = Vec::with_capacity(devices.len());
    for device in &devices {
        let clock = access.ask(device, clocks::configured)?;
        if clock.is_none() {
            output::note(&format!("{} does not answer", device.label()));
        }
        all.push(clock);
    }
    let (reference, silent) = match ReferenceClock::among(&all) {
        ReferenceClock::Device(at) => (Some(devices[at].position), None),
        ReferenceClock::Unknown(at) => (None, Some(devices[at].position)),
        ReferenceClock::Nowhere => (None, None),
    };
    let all = devices.into_iter().zip(all);
    Ok(ClockReport {
        version: Version,
        segment: access.name(),
        reference,
        silent,
        alignment: None,
        devices: all
            .map(|(device, clock)| DeviceClock {
                device,
                clock: clock.unwrap_or_default(),
            })
            .collect(),
    })
}

impl Options {
    /// The time to set the reference clock to, where the clocks are to be aligned.
    fn epoch(&self) -> Option<Epoch> {
        self.align.then(|| match self.time {
            EpochOption::Wall => Epoch::Now(since_2000(WallTime::now())),
            EpochOption::Own => Epoch::Own,
            EpochOption::Kept => Epoch::Kept,
        })
    }
}

const COLUMNS: [Column<DeviceClock>; 8] = [
    ("pos", |it| it.device.position.to_string()),
    ("device", |it| it.device.called().to_owned()),
    ("clock", |it| {
        or_not(it.clock.bits.map(|it| format!("{it} bits")))
    }),
    ("parent", |DeviceClock { clock: it, .. }| {
        let parent = it.parent.zip(it.parent_port);
        or_not(parent.map(|(parent, port)| format!("{parent}.{port}")))
    }),
    ("delay ns", |DeviceClock { clock: it, .. }| {
        let about = if it.delay_is_measured == Some(false) {
            "~"
        } else {
            ""
        };
        or_not(it.delay_ns.map(|it| format!("{about}{it}")))
    }),
    ("rate ppm", |it| {
        or_not(
            it.clock
                .rate_ppb
                .map(|it| format!("{:+.3}", it as f64 / 1e3)),
        )
    }),
    ("deviation ns", |it| {
        or_not(it.clock.difference_ns.map(|it| it.to_string()))
    }),
    ("offset ns", |it| {
        or_not(it.clock.offset_ns.map(|it| it.to_string()))
    }),
];

fn or_not(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

impl Answer for ClockReport {
    fn document(&self) -> Document {
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
            .table(output::table(&COLUMNS, 4, &self.devices))
            .sentence(format!("{reference}{aligned}"))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use kadenz::ethercat::running_loop::control_socket::{
        Answer as Reply, Question, Reply as Line,
    };
    use kadenz::ethercat::wire::register::{FEATURES, features};
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
        assert_eq!(report.devices[1].clock.bits, None);
    }
}
