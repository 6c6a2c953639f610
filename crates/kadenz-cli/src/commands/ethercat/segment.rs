//! The segment of a command.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use kadenz::ethercat::main_device::bring_up;
use kadenz::ethercat::main_device::exchange::{BlockingExchange, Registers, RetryPolicy};
use kadenz::ethercat::main_device::link::Link;
use kadenz::ethercat::main_device::survey::{self, SurveyedDevice};
use kadenz::ethercat::port::Port;
use kadenz::ethercat::sim::WirePort;
use kadenz::ethercat::sim::file::{MAX_DEVICES, SegmentPlan};
use kadenz::ethercat::sim::humanoid::humanoid;

/// Where the segment is.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SegmentOptions {
    /// Network interface of the segment, for example eth1; needs the right to raw frames (root, or CAP_NET_RAW)
    #[arg(long, value_name = "NAME", help_heading = "Segment")]
    interface: Option<String>,

    /// A virtual segment in place of an interface, without any rights and in virtual time: this many devices of the
    /// humanoid, or a segment's TOML file
    #[arg(long, value_name = "N|FILE", help_heading = "Segment")]
    sim: Option<Virtual>,
}

/// A segment, or a running loop in its place.
#[derive(Clone, Debug, Args)]
pub(crate) struct SegmentOrLoop {
    #[command(flatten)]
    pub(super) segment: SegmentOptions,

    /// The devices of a running `kadenz ethercat run`, by its name as with `stats`, while it continues (Linux);
    /// without a name the only running one
    #[arg(
        long = "loop",
        value_name = "NAME",
        group = "SegmentOptions",
        help_heading = "Segment"
    )]
    pub(super) running: Option<Option<String>>,
}

/// A virtual segment, as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Virtual {
    /// The humanoid, with this many devices.
    Humanoid(usize),
    /// The segment of a file.
    File(PathBuf),
}

impl FromStr for Virtual {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<i64>() {
            Ok(count) => usize::try_from(count)
                .ok()
                .filter(|count| (1..=MAX_DEVICES).contains(count))
                .map(Self::Humanoid)
                .ok_or_else(|| {
                    format!("a virtual segment has 1 to {MAX_DEVICES} devices, not {text}")
                }),
            Err(_) if text.is_empty() => Err("name a number of devices, or a file".to_owned()),
            Err(_) => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

impl Virtual {
    /// The plan of the segment.
    pub(crate) fn plan(&self) -> anyhow::Result<SegmentPlan> {
        match self {
            Self::Humanoid(devices) => Ok(humanoid(*devices)),
            Self::File(path) => Ok(SegmentPlan::read(Path::new(path))?),
        }
    }
}

impl std::fmt::Display for Virtual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Humanoid(devices) => write!(f, "sim:{devices}"),
            Self::File(path) => write!(f, "sim:{}", path.display()),
        }
    }
}

impl SegmentOptions {
    /// The named interface, or else the virtual segment.
    pub(super) fn place(&self) -> anyhow::Result<SegmentLocation<'_>> {
        match (&self.interface, &self.sim) {
            (Some(interface), _) => Ok(SegmentLocation::Interface(interface)),
            (None, Some(sim)) => Ok(SegmentLocation::Virtual(sim)),
            (None, None) => anyhow::bail!("name a segment: --interface NAME, or --sim 59"),
        }
    }
}

/// Location of a segment.
pub(super) enum SegmentLocation<'o> {
    Interface(&'o str),
    Virtual(&'o Virtual),
}

/// A segment that this process has opened.
pub(super) struct Segment {
    /// The link that carries frames.
    pub(super) link: Link<Box<dyn Port>>,
    /// Name for people: that of the interface, or `sim:59`.
    pub(super) name: String,
}

impl Segment {
    pub(super) fn open(options: &SegmentOptions) -> anyhow::Result<Self> {
        let (port, name) = match options.place()? {
            SegmentLocation::Interface(interface) => {
                (interface_port(interface)?, interface.to_owned())
            }
            SegmentLocation::Virtual(sim) => {
                let plan = sim.plan()?;
                let segment = plan.build()?;
                // In a ring frames return at the other end.
                let port = match plan.ring {
                    Some(_) => WirePort::ring(segment),
                    None => WirePort::new(segment),
                };
                (Box::new(port) as Box<dyn Port>, sim.to_string())
            }
        };
        Ok(Self {
            link: Link::of_process(port),
            name,
        })
    }

    /// Accesses registers.
    pub(super) fn ask<R>(&mut self, work: impl FnOnce(&mut Registers<'_>) -> R) -> R {
        let mut exchange = BlockingExchange {
            link: &mut self.link,
            retry: RetryPolicy::BUSY_HOST,
        };
        work(&mut Registers::by(&mut exchange))
    }

    /// All devices; changes none.
    pub(super) fn survey(&mut self) -> anyhow::Result<Vec<SurveyedDevice>> {
        Ok(self.ask(survey::survey)?)
    }

    /// All devices; assigns each a station address of its own.
    pub(super) fn adopt(&mut self) -> anyhow::Result<Vec<SurveyedDevice>> {
        self.ask(|registers| {
            let mut met = survey::survey(registers)?;
            survey::adopt(registers, &mut met)?;
            Ok(met)
        })
    }

    /// Refuses an interface on which another MainDevice exchanges frames: changed states would stop its running
    /// robot, or worse.
    pub(super) fn ensure_alone(&mut self) -> anyhow::Result<()> {
        Ok(bring_up::ensure_alone(&mut self.link, &self.name)?)
    }
}

#[cfg(target_os = "linux")]
fn interface_port(interface: &str) -> anyhow::Result<Box<dyn Port>> {
    use kadenz::ethercat::port::{InterfacePort, WaitMode};
    Ok(Box::new(InterfacePort::open(
        interface,
        WaitMode::Blocking,
    )?))
}

/// Refuses an interface that is missing or not permitted.
pub(crate) fn check_interface(interface: &str) -> anyhow::Result<()> {
    interface_port(interface).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn interface_port(interface: &str) -> anyhow::Result<Box<dyn Port>> {
    anyhow::bail!("frames on an interface such as `{interface}` need Linux; --sim works everywhere")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_segment_is_a_number_or_a_file() {
        assert_eq!("59".parse(), Ok(Virtual::Humanoid(59)));
        assert_eq!("a.toml".parse(), Ok(Virtual::File("a.toml".into())));
        for text in ["0", "201", "-3", "", "99999999999"] {
            assert!(text.parse::<Virtual>().is_err(), "{text}");
        }
    }
}
