//! The questions and answers of the control socket, one line of JSON each.

use serde::{Deserialize, Serialize};

use crate::control::catalogue::Catalogue;
use crate::control::health::HealthSnapshot;
use crate::control::notice::Notice;
use crate::control::supervisor::DeviceStatus;
use crate::control::timing::Snapshot;
use crate::motion::Status;

/// A question. Devices are numbered from 0, in the order in which they were configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// The identity of the loop.
    Hello {},
    /// The loop's statistics; see [`Snapshot`](crate::control::timing::Snapshot).
    Stats {},
    /// The same as text for people.
    StatsText {},
    /// What the loop notes of each cycle.
    Health {},
    /// The layout of the process data, and the memory in which the loop publishes it.
    Layout {},
    /// What the loop read and wrote last, for clients that cannot map that memory.
    #[serde(rename = "post")]
    ProcessImage {},
    /// Sets an output that no axis has, in the loop's next cycle; it stays so.
    Output {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The object's index in the device's dictionary, such as 0x6040.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        #[serde(default)]
        sub: u8,
        /// Its bytes, the lowest first.
        value: Vec<u8>,
    },
    /// Stops all axes.
    Stop {
        /// The asking program or user, for later readers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Lets the axes go on after a stop; faults are reset.
    Reset {},
    /// The states of all axes.
    Axes {},
    /// The states of all devices.
    Devices {},
    /// The last notices that the loop keeps.
    Recent {},
    /// All notices from now on, a line each, until the client disconnects.
    Notices {},
    /// The state of a device; with `state`, brings the device there first and keeps it there.
    State {
        /// The position of the device.
        device: usize,
        /// `INIT`, `PREOP`, `SAFEOP` or `OP`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<String>,
    },
    /// The description of an object's entry, by the device's dictionary.
    SdoInfo {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The object's index in the device's dictionary, such as 0x6040.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        #[serde(default)]
        sub: u8,
    },
    /// The unit of an entry, by the device's dictionary.
    Unit {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The object's index in the device's dictionary, such as 0x6040.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        #[serde(default)]
        sub: u8,
    },
    /// An object's value.
    SdoRead {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The object's index in the device's dictionary, such as 0x6040.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        #[serde(default)]
        sub: u8,
    },
    /// Writes the value of an entry.
    SdoWrite {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The object's index in the device's dictionary, such as 0x6040.
        index: u16,
        /// The sub-index of the entry in the object, from 0.
        #[serde(default)]
        sub: u8,
        /// Its bytes, the lowest first.
        value: Vec<u8>,
    },
    /// The indices of all objects, by the device's dictionary.
    SdoList {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
    },
    /// The description of an object, by the device's dictionary.
    SdoObject {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// The object's index in the device's dictionary, such as 0x6040.
        index: u16,
    },
    /// A device's memory, its SII, as the MainDevice read it when the loop began.
    Sii {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
    },
    /// Reads registers and memory of a device's controller, also where a mailbox lies: this read removes the
    /// message in it, so the client looks for one first.
    RegisterRead {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// Address of the first byte.
        address: u16,
        /// Bytes, 1 to 1024.
        length: u16,
    },
    /// Writes registers of a device's controller.
    RegisterWrite {
        /// The device's number, from 0 in the order of configuration.
        device: usize,
        /// Address of the first byte.
        address: u16,
        /// The bytes, 1 to 1024, the lowest first.
        value: Vec<u8>,
        /// Writes also where that disturbs a device that runs; see [`writing`](crate::wire::register::writing).
        /// [`writing`](crate::wire::register::writing).
        #[serde(default)]
        force: bool,
    },
}

/// The layout of the process data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessImageLayout {
    /// The shared memory in which the loop publishes it; `None` where the image is behind a lock, or there is none.
    pub memory: Option<String>,
    /// Time between two images.
    pub interval_ns: u64,
    /// The place of every entry in a process image.
    #[serde(flatten)]
    pub catalogue: Catalogue,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The identity of the loop.
    Hello {
        /// The loop's name.
        name: String,
        /// The process number of the loop's program.
        pid: u32,
        /// Kadenz's version.
        version: String,
        /// The shared memory in which the loop publishes process data; see [`ProcessImageLayout`].
        #[serde(default)]
        memory: Option<String>,
    },
    /// The layout of the process data.
    Layout(ProcessImageLayout),
    /// What the loop read and wrote last.
    #[serde(rename = "post")]
    ProcessImage {
        /// The number of the process image, from 1.
        number: u64,
        /// Its bytes: heading, inputs, outputs.
        bytes: Vec<u8>,
        /// Whether it was the last: the loop has ended.
        #[serde(default)]
        ended: bool,
    },
    /// An output is set.
    Set {
        /// The loop's cycle in which the value went into the outputs.
        cycle: u64,
    },
    /// The loop's statistics.
    Stats(Box<Snapshot>),
    /// Text for people.
    Text(String),
    /// What the loop notes of each cycle.
    Health(HealthSnapshot),
    /// The states of the axes.
    Axes(Box<Status>),
    /// The status of each device.
    Devices(Vec<DeviceStatus>),
    /// The status of one device.
    Device(DeviceStatus),
    /// Notices, oldest first.
    Notices(Vec<Notice>),
    /// The client listens now; notices follow.
    Listening,
    /// The description of an entry.
    Entry {
        /// The name of the entry in the device's dictionary.
        name: String,
        /// CoE's number of its type (ETG.1000.6, table 64).
        data_type: u16,
        /// The length of the value in bits.
        #[serde(default)]
        bits: u16,
        /// The access rights; see [`Access`](crate::wire::coe::Access).
        #[serde(default)]
        access: u16,
    },
    /// Indices of objects, in the device's order.
    Indices(Vec<u16>),
    /// The description of an object.
    Object {
        /// The name of the object in the device's dictionary.
        name: String,
        /// CoE's number of its kind; see [`ObjectCode`](crate::wire::coe::ObjectCode).
        code: u8,
        /// CoE's number of its type.
        data_type: u16,
        /// Its highest sub-index.
        highest_sub: u8,
    },
    /// A unit, as people write it; `None` where the device has none.
    Unit(Option<String>),
    /// An object's value, a memory, or registers; empty where the device does not answer there.
    Bytes(Vec<u8>),
    /// The request is done.
    Done,
}

/// A line that the control socket sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The answer, where the question was obeyed.
    Ok(Answer),
    /// The reason why there is no answer.
    Error(String),
    /// The reason why the control socket ends the connection. It has heard all questions that it answered, and no
    /// other.
    #[serde(rename = "bye")]
    Closed(String),
    /// A notice, for clients that listen.
    Notice(Notice),
    /// So many notices were lost up to now, since the client did not read them in time.
    Lost(u64),
}
