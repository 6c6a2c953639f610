//! The segment of a command.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use kadenz::ethercat::main_device::bring_up::BringUpError;
use kadenz::ethercat::main_device::segment::OpenSegment;
use kadenz::ethercat::port::Port;
use kadenz::ethercat::sim::file::{MAX_DEVICES, SegmentPlan};
use kadenz::ethercat::sim::humanoid::humanoid;

use super::device::label;

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
pub(super) type Segment = OpenSegment;

impl SegmentOptions {
    pub(super) fn open(&self) -> anyhow::Result<Segment> {
        match self.place()? {
            SegmentLocation::Interface(interface) => open_interface(interface),
            SegmentLocation::Virtual(sim) => {
                let port: Box<dyn Port> = Box::new(sim.plan()?.port()?);
                Ok(Segment::new(port, &sim.to_string()))
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn open_interface(interface: &str) -> anyhow::Result<Segment> {
    Ok(Segment::open(interface)?)
}

#[cfg(not(target_os = "linux"))]
fn open_interface(interface: &str) -> anyhow::Result<Segment> {
    anyhow::bail!("frames on an interface such as `{interface}` need Linux; --sim works everywhere")
}

/// Refuses an interface that is missing or not permitted.
pub(crate) fn check_interface(interface: &str) -> anyhow::Result<()> {
    open_interface(interface).map(drop)
}

/// The error of a device, with its label.
pub(super) fn labelled(error: BringUpError) -> anyhow::Error {
    match error {
        BringUpError::Configure {
            position,
            name,
            source,
        } => anyhow::Error::from(source).context(label(position, &name)),
        error => error.into(),
    }
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
