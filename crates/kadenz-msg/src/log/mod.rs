//! Logs of messages: LCM's event logs, MCAP, and ROS bags; recording and playing.
//!
//! [`open`] reads any of these formats; [`create`] writes MCAP or LCM's event log. Both hand over [`Entry`]s,
//! whatever the format. Only [`record::Recorder::record`] is for a real-time path.
//!
//! ```
//! use kadenz_msg::log::{self, Entry, LogWriter as _, Format};
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("drive.mcap");
//! let mut writer = log::create(&path, Format::Mcap)?;
//! let mut entry = Entry::default();
//! entry.channel = log::LoggedChannel::lcm("FEEDBACK").into();
//! entry.payload.extend_from_slice(b"12345678");
//! writer.write(&entry)?;
//! writer.finish()?;
//!
//! let mut reader = log::open(&path)?;
//! let mut found = Entry::default();
//! assert!(reader.read(&mut found)? && found.channel.name == "FEEDBACK");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod channel_writer;
mod chunks;
pub mod compression;
pub mod copy;
mod dictionary;
mod error;
pub mod event;
mod faulty;
mod file;
pub mod foxglove;
mod info;
mod limits;
pub mod mcap;
pub mod merge;
pub mod play;
pub mod record;
pub mod rosbag1;
pub(crate) mod rosbag2;
pub mod table;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

pub use channel_writer::ChannelWriter;
pub use dictionary::{Dictionary, NoJson};
pub use error::LogError;
pub use event::append;
pub use faulty::{Fault, Faults, FaultyFile, FileCall};
pub use file::{LogFile, SmallDisk};
pub use info::{ChannelInfo, Damage, Info, Survey, survey};
use kadenz_rt::clock::WallTime;
use kadenz_rt::regular_file;
pub use limits::Limits;
pub(crate) use limits::{MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES};

/// A source of a log's bytes.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// Reads a log from its beginning to its end, in bounded memory: a message, or a few chunks of a format that
/// has chunks; at most 512 MiB beyond the file's own length, whatever the file contains.
pub trait LogReader: Send {
    /// Reads the next message into an existing one; `false` at the end. Damaged parts are skipped and
    /// counted.
    ///
    /// # Errors
    /// If the file system fails, and if more comes out of the log than its [`Limits`] allow.
    fn read(&mut self, entry: &mut Entry) -> Result<bool, LogError>;

    /// Goes to the first message that was logged at or after a time; by the index if the format has one, by
    /// bisection in an event log.
    ///
    /// # Errors
    /// If the file system fails.
    fn seek(&mut self, time: WallTime) -> Result<(), LogError>;

    /// Sets other limits than [`Limits::default`] on the bytes that come out of the log. A format that is not
    /// compressed needs none.
    fn set_limits(&mut self, _limits: Limits) {}

    /// Returns the summary of the log without reading it, with nothing counted.
    fn outline(&self) -> Info;

    /// Returns the parts that could not be read since the beginning or the last seek.
    fn damage(&self) -> Damage;

    /// Returns how many bytes of the file have been read and how many there are, for showing progress.
    fn progress(&self) -> (u64, u64);

    /// Returns the summary of the log, from its index if it has one. The reader is at its beginning
    /// afterwards.
    ///
    /// # Errors
    /// If the file system fails.
    fn info(&mut self) -> Result<Info, LogError> {
        survey_all(self)
    }
}

/// Writes a log. Whatever happens, what was written stays readable.
pub trait LogWriter: Send {
    /// Takes one message. It may stay in memory until [`LogWriter::flush`].
    ///
    /// # Errors
    /// [`LogError::NoRoom`] if the disk is full: the message was not taken, no earlier message is lost, and
    /// the next call tries again. [`LogError::Unfit`] if the format cannot hold it.
    fn write(&mut self, entry: &Entry) -> Result<(), LogError>;

    /// Writes the taken messages to the file, though not through the kernel's cache to the disk.
    ///
    /// # Errors
    /// As [`LogWriter::write`].
    fn flush(&mut self) -> Result<(), LogError>;

    /// Returns how long the file will be with what was taken, in bytes, without its end.
    fn length(&self) -> u64;

    /// Finishes the file, index and all. If the disk is full, the last messages are given up for the index.
    /// Returns the number of messages that were given up.
    ///
    /// # Errors
    /// [`LogError::NoEnd`] if not even that is possible; its reader can read the file nevertheless.
    fn finish(self: Box<Self>) -> Result<u64, LogError> {
        self.finish_by_channel(&mut |_, _| {})
    }

    /// As [`LogWriter::finish`], and returns for each channel by its name the amount that was given up, also
    /// if the file could not be finished.
    ///
    /// # Errors
    /// As [`LogWriter::finish`].
    fn finish_by_channel(
        self: Box<Self>,
        given_up: &mut dyn FnMut(&str, Amount),
    ) -> Result<u64, LogError>;
}

/// An amount of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Number of messages.
    pub messages: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.messages += more.messages;
        self.bytes += more.bytes;
    }
}

/// Surveys a log from its beginning, where the reader is again afterwards.
fn survey_all<R: LogReader + ?Sized>(reader: &mut R) -> Result<Info, LogError> {
    reader.seek(WallTime::from_unix_ns(i64::MIN))?;
    let info = survey(reader)?;
    reader.seek(WallTime::from_unix_ns(i64::MIN))?;
    Ok(info)
}

/// Opens a log for reading, of any format: a file, or a folder of ROS 2.
///
/// # Errors
/// If it cannot be read or is not a log.
pub fn open(path: &Path) -> Result<Box<dyn LogReader>, LogError> {
    if path.is_dir() {
        return rosbag2::open(path);
    }
    let mut file = regular_file::open(path).map_err(LogError::at(path))?;
    let format = recognise(&mut file).map_err(LogError::at(path))?;
    Ok(match format {
        Some(Format::EventLog) => Box::new(event::EventReader::open(file)?),
        Some(Format::Mcap) => Box::new(mcap::McapReader::open(file)?),
        Some(Format::Rosbag1) => Box::new(rosbag1::Rosbag1Reader::open(file)?),
        Some(Format::Rosbag2Sqlite) => rosbag2::open_sqlite(path)?,
        Some(Format::Several) | None => {
            // A damaged event log need not begin with an event.
            let path = path.to_owned();
            let reader = event::EventReader::open_damaged(file)?;
            Box::new(reader.ok_or(LogError::NoLog { path })?)
        }
    })
}

/// How much is read from a file at a time.
const READ_AHEAD: usize = 1 << 16;

fn recognise(file: &mut File) -> io::Result<Option<Format>> {
    let mut begin = Vec::new();
    file.by_ref().take(16).read_to_end(&mut begin)?;
    file.rewind()?;
    Ok(Format::of(&begin))
}

/// Creates a log; an existing file is overwritten.
///
/// # Errors
/// If the file cannot be made, or the format is only read.
pub fn create(path: &Path, format: Format) -> Result<Box<dyn LogWriter>, LogError> {
    let mut open = File::options();
    open.read(true).write(true).create(true).truncate(true);
    let file = open.open(path).map_err(LogError::at(path))?;
    write_to(Box::new(file), format)
}

/// Begins a log in an empty file.
///
/// # Errors
/// If it cannot be written, or the format is only read.
pub fn write_to(file: Box<dyn LogFile>, format: Format) -> Result<Box<dyn LogWriter>, LogError> {
    match format {
        Format::EventLog => Ok(Box::new(event::EventWriter::new(file))),
        Format::Mcap => {
            let writer = mcap::McapWriter::new(file, &mcap::McapOptions::default())?;
            Ok(Box::new(writer))
        }
        other => Err(LogError::Unsupported {
            what: format!("{other} as an output"),
            remedy: "write MCAP or LCM's event log",
        }),
    }
}

/// The formats of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// LCM's event log, as lcm-logger writes it.
    EventLog,
    /// MCAP, Kadenz's own choice.
    Mcap,
    /// A bag of ROS 1, version 2.0.
    Rosbag1,
    /// A bag of ROS 2 in SQLite.
    Rosbag2Sqlite,
    /// Several files that are read as one.
    Several,
}

impl Format {
    /// Returns the format by the first bytes; sixteen are enough.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const BEGINNINGS: [(&[u8], Format); 4] = [
            (&[0xed, 0xa1, 0xda, 0x01], Format::EventLog),
            (b"\x89MCAP0\r\n", Format::Mcap),
            (b"#ROSBAG V2.0\n", Format::Rosbag1),
            (b"SQLite format 3\0", Format::Rosbag2Sqlite),
        ];
        let known = BEGINNINGS
            .iter()
            .find(|(begin, _)| bytes.starts_with(begin));
        known.map(|(_, format)| *format)
    }

    /// Returns the format by the file's name: MCAP if it ends in `.mcap`, else LCM's event log.
    pub(crate) fn of_name(path: &Path) -> Self {
        match path.extension().is_some_and(|it| it == "mcap") {
            true => Self::Mcap,
            false => Self::EventLog,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::EventLog => "LCM event log",
            Self::Mcap => "MCAP",
            Self::Rosbag1 => "ROS 1 bag",
            Self::Rosbag2Sqlite => "ROS 2 bag (sqlite3)",
            Self::Several => "several logs",
        })
    }
}

// Values that many messages share, distinguished by their addresses in memory: comparing a long description
// for every message of a log would take longer than reading it.

/// A shared thing, equal to itself alone.
#[derive(Debug)]
pub(crate) struct ByAddress<T>(Arc<T>);

impl<T> ByAddress<T> {
    pub(crate) fn new(of: &Arc<T>) -> Self {
        Self(Arc::clone(of))
    }
}

impl<T> PartialEq for ByAddress<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for ByAddress<T> {}

impl<T> Hash for ByAddress<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Arc::as_ptr(&self.0).hash(hasher);
    }
}

/// Remembers a value for a shared key, and forgets all before if a hostile log has named very many of them.
pub(crate) fn remember<K: Hash + Eq, V: Clone>(known: &mut HashMap<K, V>, key: K, value: V) -> V {
    const MAX_KNOWN: usize = 1 << 14;
    if known.len() >= MAX_KNOWN {
        known.clear();
    }
    known.insert(key, value.clone());
    value
}

// The content of every log, whatever its format.

/// The layout of a channel's messages, in some schema language.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Schema {
    /// The full name of the type, as `package.type`.
    pub name: String,
    /// The language of the text: `lcm`, `jsonschema`, `ros1msg`, `ros2msg`, `protobuf`, ...
    pub encoding: String,
    /// The text; binary for some languages.
    pub data: Vec<u8>,
}

/// A channel as a log describes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LoggedChannel {
    /// Its name; ROS calls it topic. It may be longer than LCM allows.
    pub name: String,
    /// The encoding of payloads: `lcm`, `json`, `ros1`, `cdr`, ...
    pub encoding: String,
    /// The description of its type, if the log has one.
    pub schema: Option<Arc<Schema>>,
    /// Further metadata of the log about it.
    pub metadata: Vec<(String, String)>,
}

impl LoggedChannel {
    /// Returns a channel of LCM messages whose type is not known.
    #[must_use]
    pub fn lcm(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            encoding: LCM_ENCODING.to_owned(),
            ..Self::default()
        }
    }

    /// A channel of LCM messages of a type with that name and `.lcm` text.
    #[must_use]
    pub fn lcm_of_type(name: &str, type_name: &str, text: &str) -> Self {
        let schema = Schema {
            name: type_name.to_owned(),
            encoding: LCM_ENCODING.to_owned(),
            data: text.as_bytes().to_vec(),
        };
        Self {
            schema: Some(Arc::new(schema)),
            ..Self::lcm(name)
        }
    }
}

/// The name of LCM's encoding and of its descriptions in MCAP files.
pub(crate) const LCM_ENCODING: &str = "lcm";

/// One message of a log. Readers fill the same one again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The channel it was published to.
    pub channel: Arc<LoggedChannel>,
    /// When it was recorded or received.
    pub log_time: WallTime,
    /// The time of its publication; the log time if the format does not record it.
    pub publish_time: WallTime,
    /// Its number, as the recorder counted; 0 if the format does not record it.
    pub sequence: u32,
    /// The message as it was sent, encoded.
    pub payload: Vec<u8>,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            channel: Arc::default(),
            log_time: WallTime::from_unix_ns(0),
            publish_time: WallTime::from_unix_ns(0),
            sequence: 0,
            payload: Vec::new(),
        }
    }
}

impl Entry {
    /// The fingerprint of an LCM message: its first eight bytes.
    #[must_use]
    pub fn fingerprint(&self) -> Option<crate::message::Fingerprint> {
        let is_lcm = self.channel.encoding == LCM_ENCODING;
        crate::message::Fingerprint::of(&self.payload).filter(|_| is_lcm)
    }
}
