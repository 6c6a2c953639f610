//! What may be asked, and what is answered: one line of JSON each.

use serde::{Deserialize, Serialize};

use crate::control::health::Vitals;
use crate::control::notice::Notice;
use crate::control::steward::DeviceStatus;

/// A question. Devices are numbered from 0, in the order in which they were configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// Who is there.
    Hello {},
    /// The loop's statistics; see [`Snapshot`](crate::control::timing::Snapshot).
    Stats {},
    /// The same for people.
    StatsText {},
    /// What the loop notes of each cycle.
    Health {},
    /// How all devices are.
    Devices {},
    /// The last notices.
    Recent {},
    /// All notices from now on, a line each, until the client goes.
    Notices {},
    /// How a device is; with a state, brings it there first and keeps it there.
    State {
        /// Which.
        device: usize,
        /// `INIT`, `PREOP`, `SAFEOP` or `OP`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<String>,
    },
    /// What an entry of an object is, as the device's dictionary tells.
    SdoInfo {
        /// Whose.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
    },
    /// An object's value.
    SdoRead {
        /// Whose.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
    },
    /// Writes an object.
    SdoWrite {
        /// Whose.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
        /// Its bytes, the lowest first.
        value: Vec<u8>,
    },
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Who it is.
    Hello {
        /// The loop's name.
        name: String,
        /// Its process.
        pid: u32,
        /// Kadenz's version.
        version: String,
    },
    /// Statistics, by the names of [`Snapshot`](crate::control::timing::Snapshot).
    Stats(serde_json::Value),
    /// For people.
    Text(String),
    /// What the loop notes.
    Health(Vitals),
    /// All devices.
    Devices(Vec<DeviceStatus>),
    /// One device.
    Device(DeviceStatus),
    /// Notices, oldest first.
    Notices(Vec<Notice>),
    /// Notices follow.
    Listening,
    /// What an entry is.
    Entry {
        /// Its name.
        name: String,
        /// CoE's number of its type (ETG.1000.6, table 64).
        data_type: u16,
    },
    /// An object's value.
    Bytes(Vec<u8>),
    /// It is done.
    Done,
}

/// A line that the desk sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The answer.
    Ok(Answer),
    /// Why there is none.
    Error(String),
    /// A notice, for who asked for them.
    Notice(Notice),
    /// So many notices were lost up to now, since the client did not read them in time.
    Lost(u64),
}
