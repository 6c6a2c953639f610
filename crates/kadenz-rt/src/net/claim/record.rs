//! What a claim says.

use std::io;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::VERSION;
use crate::shield::start_of;

/// What an owner says of its testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Version of the format.
    pub version: u32,
    /// The owner's process.
    pub pid: u32,
    /// When that process started, in clock ticks since boot: numbers are used again.
    pub start: u64,
    /// `/proc/sys/kernel/random/boot_id`: nothing of a testbed outlasts a boot.
    pub boot: String,
    /// The topology's name.
    pub topology: String,
    /// Whether all programs have been started.
    pub ready: bool,
    /// Its hosts.
    pub hosts: Vec<HostRecord>,
    /// Its programs.
    pub programs: Vec<ProgramRecord>,
}

/// A host of a testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRecord {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The owner's descriptor of its network.
    pub descriptor: i32,
    /// The kernel's number of its network.
    pub inode: u64,
}

/// A program of a testbed: the leader of a process group of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramRecord {
    /// The host it runs on.
    pub host: String,
    /// Its process, and its process group.
    pub pid: u32,
}

impl Record {
    /// The last whole line of a claim; `None` when there is none.
    ///
    /// ```
    /// use kadenz_rt::net::claim::Record;
    ///
    /// let text = br#"{"version":1,"pid":7,"start":1,"boot":"b","topology":"t","ready":true,"hosts":[],"programs":[]}
    /// {"version":1,"pid":7,"sta"#;
    /// assert_eq!(Record::parse(text).map(|record| record.pid), Some(7));
    /// assert_eq!(Record::parse(b"{"), None);
    /// ```
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let lines = bytes.split(|byte| *byte == b'\n').rev();
        lines
            .filter_map(|line| serde_json::from_slice::<Self>(line).ok())
            .find(|record| record.version == VERSION)
    }

    /// A record of this process, with nothing in it yet.
    ///
    /// # Errors
    /// When `/proc` does not tell of this process.
    pub fn of_this_process(topology: &str) -> io::Result<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let start =
            start_of(&stat).ok_or_else(|| io::Error::other("/proc/self/stat is strange"))?;
        Ok(Self {
            version: VERSION,
            pid: std::process::id(),
            start,
            boot: boot(),
            topology: topology.to_owned(),
            ready: false,
            hosts: Vec::new(),
            programs: Vec::new(),
        })
    }
}

pub(super) fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}
