//! The journal: the changes that a shield is about to make, written down before it makes them.
//!
//! One JSON object a line, the owner first. A line is on the disk before the change is made, so whatever ends the
//! program, the journal names every change that must be undone, and perhaps one that was never made.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::own_file::{self, Locked, OwnFileError, refused};

/// Where the journal of this machine lies.
pub const FOLDER: &str = "/run/kadenz";
/// The name of the journal in that folder.
pub const FILE_NAME: &str = "shield.journal";
/// Names another folder, for tests and for machines without `/run`.
pub(crate) const FOLDER_VARIABLE: &str = "KADENZ_JOURNAL_FOLDER";
/// Version of the journal's format.
pub const VERSION: u32 = 1;

/// The owner of a shield.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShieldOwner {
    /// Version of the format.
    pub version: u32,
    /// The number of the process that raised the shield.
    pub pid: u32,
    /// When that process started, in clock ticks since boot: numbers are used again.
    pub start: u64,
    /// `/proc/sys/kernel/random/boot_id`: what a shield changes does not outlast a boot.
    pub boot: String,
    /// The shielded CPUs as a list, for example `2-3`.
    pub cpus: String,
}

/// The file of a control group that takes members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Members {
    /// Threads, in the first version of control groups.
    #[serde(rename = "tasks")]
    Threads,
    /// Whole processes.
    #[serde(rename = "cgroup.procs")]
    Processes,
}

impl Members {
    /// The path of that file in a control group.
    #[must_use]
    pub fn of(self, folder: &str) -> String {
        match self {
            Self::Threads => format!("{folder}/tasks"),
            Self::Processes => format!("{folder}/cgroup.procs"),
        }
    }
}

/// A change that is about to be made, with all that is needed to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// A file below `/proc` or `/sys` gets another value.
    File {
        /// The path of the changed file.
        path: String,
        /// The text of the file before the change.
        before: String,
    },
    /// A control group is made; at the end its members move to `home`.
    Folder {
        /// The path of the control group.
        path: String,
        /// The control group that the members move back to.
        home: String,
        /// The file that takes members.
        members: Members,
    },
    /// The controller `cpuset` is switched on for a control group's children.
    Controller {
        /// The path of its `cgroup.subtree_control`.
        path: String,
    },
    /// A thread gets other CPUs.
    Affinity {
        /// The number of the thread.
        thread: u32,
        /// When the thread started, in clock ticks since boot: numbers are used again.
        start: u64,
        /// The CPUs it had.
        before: String,
    },
    /// A thread or process goes into the shield.
    Entered {
        /// The number of the thread or process.
        id: u32,
        /// When it started, in clock ticks since boot; 0 where that could not be read.
        start: u64,
        /// The shield's control group.
        shield: String,
        /// The control group it came from.
        from: String,
        /// The file that takes members.
        members: Members,
        /// The CPUs it had chosen itself.
        cpus: Option<String>,
    },
}

/// A journal as found on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Absent when its line is damaged; then nothing had been changed yet.
    pub owner: Option<ShieldOwner>,
    /// In the order in which they were made.
    pub changes: Vec<Change>,
    /// Lines that could not be parsed: the last one when its writer died, or more.
    pub damaged: usize,
}

impl Journal {
    /// Parses a journal line by line; damaged lines are counted and left out.
    ///
    /// ```
    /// use kadenz_rt::shield::journal::Journal;
    ///
    /// let text = br#"{"version":1,"pid":7,"start":1,"boot":"b","cpus":"1"}
    /// {"change":"file","path":"/proc/irq/24/smp_affinity_list","before":"0-1"}
    /// {"change":"file","path":"/proc/ir"#;
    /// let journal = Journal::parse(text);
    /// assert_eq!((journal.changes.len(), journal.damaged), (1, 1));
    /// ```
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let mut lines = bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty());
        let mut journal = Self::default();
        let Some(first) = lines.next() else {
            return journal;
        };
        match serde_json::from_slice(first) {
            Ok(owner) => journal.owner = Some(owner),
            Err(_) => journal.damaged += 1,
        }
        for line in lines {
            match serde_json::from_slice(line) {
                Ok(change) => journal.changes.push(change),
                Err(_) => journal.damaged += 1,
            }
        }
        journal
    }
}

/// A line of the journal.
pub(super) fn line(entry: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(entry)?;
    bytes.push(b'\n');
    Ok(bytes)
}

// The journal on the disk: locked by its owner, flushed before each change.

/// No journal is longer; a longer one is cut, so that a wild file costs bounded memory.
const MAX: u64 = 64 << 20;

/// The machine's only journal, held by this process until it is closed.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    path: PathBuf,
}

/// The result of opening the journal.
pub(super) enum Opened {
    /// This process owns it; with the lines that an earlier owner left in it.
    Ours(Writer, Journal),
    /// Its owner lives.
    Held(Journal),
}

impl Writer {
    /// Opens and locks the journal in `folder`, making both if they do not exist.
    pub(super) fn open(folder: &Path) -> Result<Opened, OwnFileError> {
        own_file::folder(folder)?;
        let path = folder.join(FILE_NAME);
        match own_file::lock(&path)? {
            Locked::Held(mut file) => Ok(Opened::Held(parse(&mut file, &path)?)),
            Locked::Ours(mut file) => {
                let journal = parse(&mut file, &path)?;
                Ok(Opened::Ours(Self { file, path }, journal))
            }
        }
    }

    /// Opens the existing journal, without making one.
    pub(super) fn find(folder: &Path) -> Result<Option<Opened>, OwnFileError> {
        let path = folder.join(FILE_NAME);
        match std::fs::symlink_metadata(&path) {
            Ok(_) => Self::open(folder).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused("look at", &path)(error)),
        }
    }

    /// Restarts, with the owner's line.
    pub(super) fn begin(&mut self, owner: &ShieldOwner) -> Result<(), OwnFileError> {
        self.write_first(owner)
            .map_err(refused("write", &self.path))
    }

    fn write_first(&mut self, owner: &ShieldOwner) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&line(owner)?)?;
        self.file.sync_all()
    }

    /// Writes changes down; only then may they be made.
    pub(super) fn append(&mut self, changes: &[Change]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for change in changes {
            bytes.extend(line(change)?);
        }
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }

    /// Removes the journal, once everything is undone.
    pub(super) fn close(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

fn parse(file: &mut File, path: &Path) -> Result<Journal, OwnFileError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(MAX).read_to_end(&mut bytes))
        .map_err(refused("read", path))?;
    Ok(Journal::parse(&bytes))
}
