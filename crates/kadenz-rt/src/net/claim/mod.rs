//! The owner of the testbed on this machine, and the parts of it that could outlast a killed process.
//!
//! One testbed at a time: its owner holds the lock on a file, which the kernel releases with its process, and
//! writes into it what other processes need to enter the testbed or to clear it away: one JSON object a line, the
//! last whole line counts. Networks and interfaces go with the owner by themselves; processes that its programs
//! have started may stay, and [`restore`] ends those.

mod clear;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;

pub use clear::{Ending, end_program};

use clear::clear;

use crate::os::linux::signals;
use crate::own_file::{self, Access, Locked, OwnFileError, Trusted, refused};
use crate::shield::{journal_folder, start_of};

/// The file's name, in the folder of the journals.
pub(crate) const FILE_NAME: &str = "testbed.claim";
/// The name of the file beside it that holds the testbed's status.
pub(crate) const STATUS_NAME: &str = "testbed.status";
/// Version of its format.
pub const VERSION: u32 = 1;
/// No valid claim is longer; a longer one is cut.
const MAX: u64 = 4 << 20;
/// How often a claim is tried whose owner is dead or not known: a process that only looks at a claim holds its lock
/// for a moment.
const TRIES: u32 = 2000;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// The machine's only testbed. This process holds it until this is dropped.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
}

/// Why a testbed can be neither built nor cleared away.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another process has one, and has not written its number yet.
    #[error(
        "another process is building a testbed; try again in a moment, or end it: kadenz testbed down"
    )]
    Starting,
    /// Another process has one.
    #[error("process {pid} has built the testbed {topology}; end it first: kadenz testbed down")]
    Held {
        /// The number of that process.
        pid: u32,
        /// The topology that it has built.
        topology: String,
    },
    /// The file is unavailable or not to be used.
    #[error(transparent)]
    File(#[from] OwnFileError),
}

/// A claim that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundClaim {
    /// Its last record, where that can be read.
    pub record: Option<Record>,
    /// Whether its owner lives.
    pub alive: bool,
}

impl Claim {
    /// Takes the machine's claim, and first clears away what a killed owner left.
    ///
    /// # Errors
    /// [`ClaimError`].
    pub fn take() -> Result<Self, ClaimError> {
        Self::take_in(&journal_folder())
    }

    /// As [`Claim::take`], in any folder.
    ///
    /// # Errors
    /// [`ClaimError`].
    pub fn take_in(folder: &Path) -> Result<Self, ClaimError> {
        own_file::folder(folder)?;
        let path = folder.join(FILE_NAME);
        for tries_left in (0..TRIES).rev() {
            match own_file::lock(&path)? {
                Locked::Held(mut file) => {
                    let record = read(&mut file, &path)?;
                    if tries_left == 0 || record.as_ref().is_some_and(lives) {
                        return Err(held(record));
                    }
                }
                Locked::Ours(mut file) => {
                    clear(read(&mut file, &path)?.as_ref());
                    file.set_len(0).map_err(refused("empty", &path))?;
                    return Ok(Self { file, path });
                }
            }
            std::thread::sleep(PAUSE);
        }
        Err(held(None))
    }

    /// Publishes the status of the testbed for other processes, which read it by [`read_status`].
    ///
    /// # Errors
    /// When the disk is full.
    pub fn publish_status(&self, status: &[u8]) -> Result<(), ClaimError> {
        let path = self.path.with_file_name(STATUS_NAME);
        let new = path.with_extension("new");
        let mut file = own_file::open_or_create(&new)?;
        let written = file.set_len(0).and_then(|()| file.write_all(status));
        let put = written.and_then(|()| std::fs::rename(&new, path));
        Ok(put.map_err(refused("write", &new))?)
    }

    /// Writes the present state.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&line)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.path.with_file_name(STATUS_NAME));
        // If the file cannot be removed, it names a process that has ended.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The claim on this machine; `None` when there is none.
///
/// # Errors
/// The claim exists and this user may not read it.
pub fn find() -> Result<Option<FoundClaim>, ClaimError> {
    find_in(&journal_folder())
}

/// As [`find`], in any folder.
///
/// # Errors
/// As [`find`].
pub(crate) fn find_in(folder: &Path) -> Result<Option<FoundClaim>, ClaimError> {
    let path = folder.join(FILE_NAME);
    let Some(mut file) = own_file::open(&path, Access::Read, Trusted::User)? else {
        return Ok(None);
    };
    // Shared with others that look: only the owner's lock is exclusive.
    let alive = !own_file::try_lock_shared(&file).map_err(refused("lock", &path))?;
    let record = read(&mut file, &path)?;
    Ok(Some(FoundClaim { record, alive }))
}

/// The status that the present testbed has published; empty where it has published none yet.
///
/// # Errors
/// The file exists and this user may not read it.
pub fn read_status() -> Result<Vec<u8>, ClaimError> {
    let path = journal_folder().join(STATUS_NAME);
    match own_file::open(&path, Access::Read, Trusted::User)? {
        Some(mut file) => Ok(bytes(&mut file, &path)?),
        None => Ok(Vec::new()),
    }
}

/// Clears away what a killed owner left, and returns what that was. Nothing to clear is not an error.
///
/// # Errors
/// Its owner lives, or the file is unavailable.
pub fn restore() -> Result<Vec<String>, ClaimError> {
    restore_in(&journal_folder())
}

/// As [`restore`], in any folder.
fn restore_in(folder: &Path) -> Result<Vec<String>, ClaimError> {
    let path = folder.join(FILE_NAME);
    let Some(mut file) = own_file::open(&path, Access::Read, Trusted::User)? else {
        return Ok(Vec::new());
    };
    for tries_left in (0..TRIES).rev() {
        let is_free = own_file::try_lock(&file).map_err(refused("lock", &path))?;
        let record = read(&mut file, &path)?;
        if is_free {
            return restore_locked(&file, record.as_ref(), &path);
        }
        // A process that only looks has the lock for a moment.
        if tries_left == 0 || record.as_ref().is_some_and(lives) {
            return Err(held(record));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Vec::new())
}

/// Clears away what a killed owner left. The caller holds the lock on the claim: no other process can take the claim
/// meanwhile, unless it removed the file before.
fn restore_locked(
    file: &File,
    record: Option<&Record>,
    path: &Path,
) -> Result<Vec<String>, ClaimError> {
    if !own_file::is_at(file, path) {
        return Ok(Vec::new());
    }
    let mut done = clear(record);
    let _ = std::fs::remove_file(path.with_file_name(STATUS_NAME));
    std::fs::remove_file(path).map_err(refused("remove", path))?;
    let name = record.map_or_else(String::new, |record| format!(" {}", record.topology));
    done.push(format!(
        "the claim of the testbed{name}, whose process has ended"
    ));
    Ok(done)
}

/// Asks the owner of a testbed to end it; returns false when it has just ended by itself.
#[must_use]
pub fn ask_to_end(record: &Record) -> bool {
    lives(record) && signals::send(record.pid, libc::SIGTERM).is_ok()
}

/// Whether the process that wrote the record lives.
fn lives(record: &Record) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", record.pid));
    stat.is_ok_and(|stat| start_of(&stat) == Some(record.start))
}

fn held(record: Option<Record>) -> ClaimError {
    match record {
        Some(Record { pid, topology, .. }) => ClaimError::Held { pid, topology },
        None => ClaimError::Starting,
    }
}

fn read(file: &mut File, path: &Path) -> Result<Option<Record>, OwnFileError> {
    Ok(Record::parse(&bytes(file, path)?))
}

fn bytes(file: &mut File, path: &Path) -> Result<Vec<u8>, OwnFileError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(MAX).read_to_end(&mut bytes))
        .map_err(refused("read", path))?;
    Ok(bytes)
}

/// The record that an owner writes of its testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Version of the format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
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
    /// The hosts of the topology, each in a network namespace of its own.
    pub hosts: Vec<HostRecord>,
    /// The programs that run on the hosts.
    pub programs: Vec<ProgramRecord>,
}

/// A host of a testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRecord {
    /// The host's name in the topology.
    pub name: String,
    /// The host's IPv4 address in the testbed.
    pub address: Ipv4Addr,
    /// The owner's descriptor of its network.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
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
    /// When `/proc` does not list this process.
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

fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record::of_this_process("test").unwrap()
    }

    #[test]
    fn a_second_owner_learns_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Claim::take_in(folder.path()).unwrap();
        first.write(&record()).unwrap();
        let error = Claim::take_in(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("testbed down") && error.contains("testbed test"),
            "{error}"
        );
        let found = find_in(folder.path()).unwrap().unwrap();
        assert!(found.alive && found.record == Some(record()));
        assert!(restore_in(folder.path()).is_err());
        drop(first);
        assert_eq!(find_in(folder.path()).unwrap(), None);
        assert!(Claim::take_in(folder.path()).is_ok());
    }

    #[test]
    fn what_a_dead_owner_left_is_cleared_away() {
        let folder = tempfile::tempdir().unwrap();
        let mut line = serde_json::to_vec(&record()).unwrap();
        line.push(b'\n');
        line.extend(b"{\"version\":1,\"pid\"");
        std::fs::write(folder.path().join(FILE_NAME), line).unwrap();
        let found = find_in(folder.path()).unwrap().unwrap();
        assert!(!found.alive && found.record.is_some());
        assert_eq!(restore_in(folder.path()).unwrap().len(), 1);
        assert_eq!(restore_in(folder.path()).unwrap().len(), 0);
    }

    /// A record of a process that has ended.
    fn leave_behind(folder: &Path) -> PathBuf {
        let mut dead = record();
        dead.start += 1;
        let path = folder.join(FILE_NAME);
        std::fs::write(&path, serde_json::to_vec(&dead).unwrap()).unwrap();
        path
    }

    #[test]
    fn a_process_that_looks_at_what_a_dead_owner_left_keeps_no_new_owner_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = leave_behind(folder.path());
        let file = File::open(&path).unwrap();
        assert!(own_file::try_lock(&file).unwrap());
        let looks = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            drop(file);
        });
        assert!(Claim::take_in(folder.path()).is_ok());
        looks.join().unwrap();
    }

    #[test]
    fn two_that_look_at_once_both_see_that_the_owner_is_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = leave_behind(folder.path());
        let other = File::open(&path).unwrap();
        assert!(own_file::try_lock_shared(&other).unwrap());
        assert!(!find_in(folder.path()).unwrap().unwrap().alive);
    }

    #[test]
    fn a_claim_that_replaced_what_a_dead_owner_left_is_not_cleared_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = leave_behind(folder.path());
        let left = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let _new = Claim::take_in(folder.path()).unwrap();
        assert!(own_file::try_lock(&left).unwrap());
        assert!(restore_locked(&left, None, &path).unwrap().is_empty());
        assert!(path.exists());
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("precious");
        std::fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join(FILE_NAME)).unwrap();
        assert!(Claim::take_in(folder.path()).is_err());
        assert_eq!(std::fs::read_to_string(elsewhere).unwrap(), "precious");
    }
}
