//! What may be asked, and what is answered: one line of JSON each.

use serde::{Deserialize, Serialize};

use crate::control::catalogue::Catalogue;
use crate::control::health::Vitals;
use crate::control::notice::Notice;
use crate::control::supervisor::DeviceStatus;
use crate::control::timing::Snapshot;
use crate::motion::Status;

/// A question. Devices are numbered from 0, in the order in which they were configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// What lies where in the process data, and in which memory the loop posts it.
    Layout {},
    /// What the loop read and wrote last, for who cannot map that memory.
    Post {},
    /// Sets an output that no axis has, in the loop's next cycle; it stays so.
    Output {
        /// Target.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
        /// Its bytes, the lowest first.
        value: Vec<u8>,
    },
    /// Stops all axes.
    Stop {
        /// Who asks, for whoever wants to know later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Lets them go on after a stop; faults are reset.
    Reset {},
    /// How all axes are.
    Axes {},
    /// How all devices are.
    Devices {},
    /// The last notices.
    Recent {},
    /// All notices from now on, a line each, until the client goes.
    Notices {},
    /// How a device is; with a state, brings it there first and keeps it there.
    State {
        /// The position of the device.
        device: usize,
        /// `INIT`, `PREOP`, `SAFEOP` or `OP`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<String>,
    },
    /// What an entry of an object is, as the device's dictionary tells.
    SdoInfo {
        /// Target.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
    },
    /// The unit of an entry, as the device's dictionary tells.
    Unit {
        /// Target.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
    },
    /// An object's value.
    SdoRead {
        /// Target.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
    },
    /// Writes an object.
    SdoWrite {
        /// Target.
        device: usize,
        /// Index.
        index: u16,
        /// Sub-index.
        #[serde(default)]
        sub: u8,
        /// Its bytes, the lowest first.
        value: Vec<u8>,
    },
    /// The indices of all objects, as the device's dictionary tells.
    SdoList {
        /// Target.
        device: usize,
    },
    /// What an object is, as the device's dictionary tells.
    SdoObject {
        /// Target.
        device: usize,
        /// Index.
        index: u16,
    },
    /// A device's memory, its SII, as it was read when the loop began.
    Sii {
        /// Target.
        device: usize,
    },
    /// Registers of a device's controller, and its memory. Also where a mailbox lies: the message in it is taken
    /// away so, and who asks looks for one first.
    RegisterRead {
        /// Target.
        device: usize,
        /// Address of the first byte.
        address: u16,
        /// Bytes, 1 to 1024.
        length: u16,
    },
    /// Writes registers of a device's controller.
    RegisterWrite {
        /// Target.
        device: usize,
        /// Address of the first byte.
        address: u16,
        /// The bytes, 1 to 1024, the lowest first.
        value: Vec<u8>,
        /// Also where that disturbs a device that runs; see
        /// [`writing`](crate::wire::register::writing).
        #[serde(default)]
        force: bool,
    },
}

/// What lies where in the process data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessImageLayout {
    /// The shared memory on which it is posted; `None` where it is behind a lock, or there is none.
    pub memory: Option<String>,
    /// Time between two posts.
    pub interval_ns: u64,
    /// Where every entry lies in a post.
    #[serde(flatten)]
    pub catalogue: Catalogue,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        /// The shared memory on which the loop posts process data; see [`ProcessImageLayout`].
        #[serde(default)]
        memory: Option<String>,
    },
    /// What lies where.
    Layout(ProcessImageLayout),
    /// What the loop read and wrote last.
    Post {
        /// Which post it is, from 1.
        number: u64,
        /// Its bytes: heading, inputs, outputs.
        bytes: Vec<u8>,
        /// Whether it was the last: the loop has ended.
        #[serde(default)]
        ended: bool,
    },
    /// An output is set.
    Set {
        /// In which of the loop's cycles.
        cycle: u64,
    },
    /// Statistics.
    Stats(Box<Snapshot>),
    /// For people.
    Text(String),
    /// What the loop notes.
    Health(Vitals),
    /// All axes.
    Axes(Box<Status>),
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
        /// Its bits.
        #[serde(default)]
        bits: u16,
        /// Who may do what with it, when; see [`Access`](crate::wire::coe::Access).
        #[serde(default)]
        access: u16,
    },
    /// Indices of objects, in the device's order.
    Indices(Vec<u16>),
    /// What an object is.
    Object {
        /// Its name.
        name: String,
        /// CoE's number of its kind; see [`ObjectCode`](crate::wire::coe::ObjectCode).
        code: u8,
        /// CoE's number of its type.
        data_type: u16,
        /// Its highest sub-index.
        highest_sub: u8,
    },
    /// A unit, as people write it; `None` where the device tells none.
    Unit(Option<String>),
    /// An object's value, a memory, or registers; none of these where the device does not answer there.
    Bytes(Vec<u8>),
    /// It is done.
    Done,
}

/// A line that the control socket sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The answer.
    Ok(Answer),
    /// Why there is none.
    Error(String),
    /// Why the control socket ends the connection, which has heard all questions that were answered, and no other.
    Bye(String),
    /// A notice, for who asked for them.
    Notice(Notice),
    /// So many notices were lost up to now, since the client did not read them in time.
    Lost(u64),
}
