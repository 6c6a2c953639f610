//! The description of a network: hosts, switches, links, faults, cuts and traffic, from a TOML file.
//!
//! [`Topology::parse`] reads a file into a model in which every name is defined and every number is in range. The
//! [model](crate::testbed::model) computes it; the live testbed builds it. docs/testbed.md describes every field.
//!
//! ```
//! use kadenz_lab::testbed::topology::{self, Topology};
//!
//! let topology = Topology::parse(topology::ready("baseline").expect("it is built in"))?;
//! assert_eq!(topology.switches.len(), 1);
//!
//! let error = Topology::parse("[[host]]\nname = \"a\"\n").unwrap_err();
//! assert!(error.to_string().contains("line 1"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod file;
mod tree;

use serde::Deserialize;

use super::quantity::{ByteSize, LinkSpeed, Picoseconds};
use super::wire::Payload;
use crate::file_error;

pub use crate::file_error::FileError;
pub(crate) use tree::spanning_tree;

/// A checked topology: hosts, switches, links and traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its name, from the file.
    pub name: String,
    /// Its purpose, in one line.
    pub summary: String,
    /// How long the switches take to notice that a link went down or came up, and to find another path.
    pub detection: Picoseconds,
    /// The hosts, in the order of the file; each has one link.
    pub hosts: Vec<Host>,
    /// The switches, in the order of the file. The first is the root of the spanning tree.
    pub switches: Vec<Switch>,
    /// The links, in the order of the file.
    pub links: Vec<Link>,
    /// Links that are cut, and when.
    pub cuts: Vec<Cut>,
    /// Traffic besides that of the measurement.
    pub traffic: Vec<Traffic>,
}

/// A computer of the testbed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name that links refer to.
    pub name: String,
    /// What the host does in a measurement.
    pub role: Role,
    /// Command that the live testbed starts on it; empty for none.
    pub program: Vec<String>,
    /// Time from a packet to its answer in the model.
    pub answer: Picoseconds,
}

/// Role of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The host sends packets.
    Controller,
    /// The host answers packets.
    Device,
    /// Neither: a logger, a camera.
    #[default]
    Bystander,
}

/// A store-and-forward switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The name that links refer to.
    pub name: String,
    /// Time from receiving a frame until it may be sent on.
    pub forwarding: Picoseconds,
    /// Maximum of an additional, evenly distributed time. Frames of one port keep their order.
    pub jitter: Picoseconds,
    /// Bytes that each of its ports may hold of frames that are not sent yet.
    pub buffer: ByteSize,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// By its place among the hosts.
    Host(usize),
    /// By its place among the switches.
    Switch(usize),
}

/// A cable, full duplex.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name: its ends with a dash between, unless the file gives another.
    pub name: String,
    /// The nodes that it joins.
    pub ends: [Node; 2],
    /// Speed of both directions.
    pub speed: LinkSpeed,
    /// Propagation delay of a bit.
    pub propagation: Picoseconds,
    /// Faults of frames on it.
    pub faults: Faults,
}

/// Faults that a link causes, in each direction independently.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// This share of frames is lost.
    pub loss: Share,
    /// This share arrives twice.
    pub duplicate: Share,
    /// This share is held back until the next frame has passed.
    pub reorder: Share,
    /// Maximum of an additional delay, evenly distributed; frames keep their order.
    pub jitter: Picoseconds,
    /// Seed of the generator of the faults: the same seed gives the same faults.
    pub seed: u64,
}

/// A share of all frames, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// Makes a share; `None` outside of 0 to 1.
    ///
    /// ```
    /// use kadenz_lab::testbed::topology::Share;
    /// assert!(Share::new(0.01).is_some());
    /// assert!(Share::new(1.5).is_none());
    /// ```
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// Between 0 and 1.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

/// A cut of a link, possibly restored later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// By its place among the links.
    pub link: usize,
    /// Time since the testbed's start.
    pub at: Picoseconds,
    /// Duration; `None` forever.
    pub lasts: Option<Picoseconds>,
}

impl Cut {
    /// Whether it begins before the other one has ended, or the other way round, on the same link.
    fn overlaps(&self, other: &Self) -> bool {
        let ends = |cut: &Self| cut.lasts.map_or(Picoseconds::NEVER, |lasts| cut.at + lasts);
        self.link == other.link && self.at <= ends(other) && other.at <= ends(self)
    }
}

/// Traffic beside the measured one, such as a video: a burst of datagrams back to back in every interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The host that sends, by its place.
    pub from: usize,
    /// The host that receives, by its place.
    pub to: usize,
    /// Time between two bursts.
    pub interval: Picoseconds,
    /// Datagrams of a burst.
    pub packets: u32,
    /// The payload of each datagram.
    pub payload: Payload,
}

/// Limits of a topology; a file beyond one is refused.
pub mod limits {
    /// Maximum number of hosts: as many as one address range and one process hold easily.
    pub const HOSTS: usize = 64;
    /// Maximum number of switches.
    pub const SWITCHES: usize = 16;
    /// Maximum number of links.
    pub const LINKS: usize = 128;
    pub(crate) const CUTS: usize = 64;
    /// Kinds of other traffic.
    pub const TRAFFIC: usize = 16;
    /// Letters of a name: the kernel's limit for the name of an interface.
    pub const NAME: usize = 15;
    /// Bytes of a file.
    pub const FILE: usize = 256 << 10;
}

impl Topology {
    /// Reads and checks a topology.
    ///
    /// # Errors
    /// [`FileError`] with the line, the cause and what to write instead.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let remedy =
            "docs/testbed.md has every field, and `kadenz testbed show baseline` an example";
        let file = file_error::read(text, "a topology", limits::FILE, remedy)?;
        check::topology(&file, text)
    }

    /// The place of a host by its name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }

    /// The name of a node.
    #[must_use]
    pub fn name_of(&self, node: Node) -> &str {
        match node {
            Node::Host(at) => &self.hosts[at].name,
            Node::Switch(at) => &self.switches[at].name,
        }
    }

    /// The places of the hosts with this role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = usize> + '_ {
        let all = self.hosts.iter().enumerate();
        all.filter(move |(_, host)| host.role == role)
            .map(|(at, _)| at)
    }
}

// The built-in topologies.

macro_rules! ready {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../topology/ready/", $name, ".toml")),
        )
    };
}

/// Name and text of each.
pub const READY: &[(&str, &str)] = &[
    ready!("baseline"),
    ready!("baseline-gigabit"),
    ready!("extra-ksz8863"),
    ready!("extra-gs105"),
    ready!("extra-rb750"),
    ready!("forty-devices"),
    ready!("daisy-chain"),
    ready!("redundant-path"),
    ready!("two-switches"),
    ready!("cross-traffic"),
    ready!("cut-cable"),
];

/// The text of a built-in topology.
#[must_use]
pub fn ready(name: &str) -> Option<&'static str> {
    let found = READY.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// The bursts of a topology's traffic, in the order of time.
///
/// ```
/// use kadenz_lab::testbed::Picoseconds;
/// use kadenz_lab::testbed::topology::{self, Bursts, Topology};
///
/// let topology = Topology::parse(topology::ready("cross-traffic").expect("it is built in"))?;
/// let mut bursts = Bursts::new(&topology);
/// let (at, video) = bursts.take(Picoseconds::ZERO).expect("the first is due at once");
/// assert_eq!((at, video.packets), (Picoseconds::ZERO, 43));
/// assert_eq!(bursts.take(Picoseconds::ZERO), None);
/// # Ok::<(), kadenz_lab::testbed::topology::FileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bursts {
    kinds: Vec<(Picoseconds, Traffic)>,
}

impl Bursts {
    /// Makes the bursts of all kinds, the first of each at the start.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let kinds = topology.traffic.iter();
        Self {
            kinds: kinds.map(|traffic| (Picoseconds::ZERO, *traffic)).collect(),
        }
    }

    /// When the next burst is due; `None` without traffic.
    #[must_use]
    pub(crate) fn next_time(&self) -> Option<Picoseconds> {
        self.kinds.iter().map(|(at, _)| *at).min()
    }

    /// The next burst that is due by `until`.
    pub fn take(&mut self, until: Picoseconds) -> Option<(Picoseconds, Traffic)> {
        let (at, traffic) = self.kinds.iter_mut().min_by_key(|(at, _)| *at)?;
        if *at > until {
            return None;
        }
        let due = *at;
        *at += traffic.interval.max(Picoseconds::from_ps(1));
        Some((due, *traffic))
    }
}

#[cfg(test)]
mod tests;
