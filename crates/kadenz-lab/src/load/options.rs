//! Options of a load, and why it could not be started.

use std::path::PathBuf;
use std::str::FromStr;
use std::{fmt, io};

use super::LoadKind;

/// The maximum number of threads of one kind of load.
pub const MAX_THREADS: usize = 1024;
/// The maximum number of groups of senders and receivers.
pub const MAX_GROUPS: usize = 200;
/// The smallest file that a disk is loaded with: one block of Yoon's `dd`.
pub(super) const MIN_FILE: u64 = 1_024_000;

/// How much load. The default asks each kind for what the machine's size suggests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Threads of each kind, [`LoadKind::Processes`] left out: 1 to [`MAX_THREADS`]. Else one for
    /// each CPU, and one alone where Yoon had one program (disk, network, files).
    pub threads: Option<usize>,
    /// Groups of 20 senders and 20 receivers: 1 to [`MAX_GROUPS`]. Else five for each CPU, at most
    /// twenty.
    pub groups: Option<usize>,
    /// Folder in which the disk is written. Else the first one that is on a real disk of
    /// `/var/tmp`, the system's folder for temporary files, and the current folder.
    pub dir: Option<PathBuf>,
    /// Size of the file that is written, in bytes. Else 1 GiB, or half of what is free if that is
    /// less.
    pub size: Option<u64>,
    /// Whether what was written is brought to the disk each time the file is full.
    pub fsync: bool,
    /// The tree whose metadata is read. Else `/`.
    pub tree: Option<PathBuf>,
}

impl LoadOptions {
    /// Refuses what makes no sense, before anything is started.
    pub(super) fn check(&self) -> Result<(), StartLoadError> {
        within("threads", self.threads, MAX_THREADS)?;
        within("groups", self.groups, MAX_GROUPS)?;
        match self.size {
            Some(size) if size < MIN_FILE => Err(StartLoadError::OutOfRange {
                what: "size",
                given: format!("{size} bytes"),
                range: "one block of 1024000 bytes at least, for example 1GiB".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The requested threads, or one for each CPU that this process may use.
    pub(super) fn threads_or_cpus(&self) -> usize {
        self.threads.unwrap_or_else(cpus)
    }
}

/// CPUs that this process may use.
pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn within(what: &'static str, given: Option<usize>, most: usize) -> Result<(), StartLoadError> {
    match given {
        Some(number) if !(1..=most).contains(&number) => Err(StartLoadError::OutOfRange {
            what,
            given: number.to_string(),
            range: format!("1 to {most}"),
        }),
        _ => Ok(()),
    }
}

/// Why a load could not be started. Nothing of it runs then, and nothing is left.
#[derive(Debug, thiserror::Error)]
pub enum StartLoadError {
    /// An option is outside of its range.
    #[error("{what}: {given} is out of range; request {range}")]
    OutOfRange {
        /// The option, in words.
        what: &'static str,
        /// The value that was given.
        given: String,
        /// The values that the option may have, in words.
        range: String,
    },
    /// No kind was named.
    #[error(
        "no load was named; name one of cpu, disk, processes, network, files, memory, timer, heavy"
    )]
    Nothing,
    /// The system refused a thread.
    #[error(
        "cannot start a thread of the load `{kind}`: {error}; request fewer, or see `ulimit -u`"
    )]
    Thread {
        /// The kind of load.
        kind: LoadKind,
        /// What the system says.
        error: io::Error,
    },
    /// The file to write could not be made.
    #[error("cannot write in {}: {error}; name another folder (`--dir`)", dir.display())]
    Folder {
        /// The folder that the load was to write into.
        dir: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The disk is too full.
    #[error(
        "the disk of {} has {free} bytes free, and a load of {wanted} bytes must leave as much \
         again to others; ask for less (`--size`) or name another folder (`--dir`)",
        dir.display()
    )]
    DiskTooFull {
        /// The folder that the load was to write into.
        dir: PathBuf,
        /// What is free, in bytes.
        free: u64,
        /// What would be written, in bytes.
        wanted: u64,
    },
    /// Too little memory is free.
    #[error(
        "{available} bytes of memory are free, and the load must leave most of it to others: \
         {wanted} bytes would be needed free; end other programs"
    )]
    MemoryTooFull {
        /// What is free, in bytes.
        available: u64,
        /// What must be free, in bytes.
        wanted: u64,
    },
    /// The tree cannot be read.
    #[error("cannot read the folder {}: {error}; name another one (`--tree`)", tree.display())]
    Tree {
        /// The folder whose files the load was to read.
        tree: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The system refused sockets.
    #[error("cannot make the sockets of the load `{kind}`: {error}; {remedy}")]
    Sockets {
        /// The kind of load.
        kind: LoadKind,
        /// What the system says.
        error: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// There is no such load on this operating system.
    #[error("the load `{0}` needs {1}, which this operating system has not; measure on Linux")]
    Unsupported(LoadKind, &'static str),
    /// The other program is not installed.
    #[error("{program} is not installed (nothing by that name is on PATH); {remedy}")]
    NotInstalled {
        /// The other program that was to make the load.
        program: ForeignProgram,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The other program could not be started.
    #[error("cannot start {program}: {error}; leave `--with` out")]
    Program {
        /// The other program that was to make the load.
        program: ForeignProgram,
        /// What the system says.
        error: io::Error,
    },
    /// The other program has no load of this kind.
    #[error(
        "{program} makes no load of the kind `{kind}`; take `--with stress-ng`, or leave `--with` out"
    )]
    NoSuchLoad {
        /// The other program that was to make the load.
        program: ForeignProgram,
        /// The kind of load that the program cannot make.
        kind: LoadKind,
    },
}

/// Another program that makes load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProgram {
    /// `stress-ng`, for every kind.
    StressNg,
    /// `hackbench` of rt-tests, for [`LoadKind::Processes`](crate::load::LoadKind::Processes).
    Hackbench,
}

impl ForeignProgram {
    /// The programs that `--with` can name.
    pub const ALL: [Self; 2] = [Self::StressNg, Self::Hackbench];

    /// Its name, as it is called.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::StressNg => "stress-ng",
            Self::Hackbench => "hackbench",
        }
    }
}

impl fmt::Display for ForeignProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a program that makes load; write stress-ng or hackbench")]
pub struct ParseForeignProgramError(String);

impl FromStr for ForeignProgram {
    type Err = ParseForeignProgramError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|program| program.name() == word);
        found.ok_or_else(|| ParseForeignProgramError(word.to_owned()))
    }
}
