//! Words of memory that one process writes and any number of others read.
//!
//! The memory is a file of `/dev/shm`. Its owner writes it without a system call; a viewer maps it for reading
//! alone, so that it can neither change nor lock anything: a viewer that is killed in the middle of a read leaves
//! nothing behind. How words become values that belong together is up to the caller's protocol, for example a
//! sequence number that a viewer checks before and after.
//!
//! ```
//! use std::sync::atomic::Ordering;
//! use kadenz_rt::shared::{Owner, Viewer};
//!
//! # let name = format!("kadenz-doc-{}", std::process::id());
//! let owner = Owner::create(&name, 4)?;
//! owner.words()[2].store(42, Ordering::Release);
//!
//! let viewer = Viewer::open(&name)?;
//! assert_eq!(viewer.load(2, Ordering::Acquire), 42);
//! assert!(viewer.owner_lives());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use crate::os::linux::memory::Mapping;
use crate::own_file::{self, Access, OwnFileError, Trusted, try_lock, try_lock_shared};

/// Where shared memory is on Linux.
const FOLDER: &str = "/dev/shm";
/// More words than this are a mistake: 1 GiB.
const MAX_WORDS: usize = 1 << 27;

/// Why memory cannot be shared.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// The name is not a file name.
    #[error("`{0}` names no shared memory; take letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// No words, or too many.
    #[error("shared memory has 1 to {MAX_WORDS} words, not {0}")]
    Size(usize),
    /// Another process has the memory.
    #[error("the shared memory `{0}` is in use by another process; end it, or take another name")]
    InUse(String),
    /// There is no memory of that name.
    #[error("there is no shared memory `{0}`; its owner is not running, or has another name")]
    Absent(String),
    /// The file of that name is not to be used.
    #[error(transparent)]
    File(#[from] OwnFileError),
    /// The operating system refused.
    #[error("cannot {what} the shared memory `{name}`: {source}")]
    Refused {
        /// The refused operation as a verb, for example `open`.
        what: &'static str,
        /// The name of the shared memory.
        name: String,
        /// The error that the system returned.
        source: io::Error,
    },
}

/// The one process that writes. Dropping it removes the memory's name; after `kill -9` the next owner of the name
/// takes it over.
#[derive(Debug)]
pub struct Owner {
    mapping: Mapping,
    path: PathBuf,
    /// Holds the lock that shows that the owner lives.
    file: File,
}

impl Owner {
    /// Makes memory of so many words, all zero, which processes of this user and of others may read. Its pages are
    /// in memory from then on.
    ///
    /// # Errors
    /// [`SharedError`], for example when another live process has the name.
    ///
    /// # Real-time safety
    /// Allocates and calls the system; not for a real-time path.
    pub fn create(name: &str, words: usize) -> Result<Self, SharedError> {
        let path = path_of(name)?;
        if words == 0 || words > MAX_WORDS {
            return Err(SharedError::Size(words));
        }
        let refused = |what| {
            let name = name.to_owned();
            move |source| SharedError::Refused { what, name, source }
        };
        remove_abandoned(&path, name, lock_soon)?;
        let file = own_file::create(&path, 0o644).map_err(|error| match error {
            OwnFileError::Refused { source, .. }
                if source.kind() == io::ErrorKind::AlreadyExists =>
            {
                SharedError::InUse(name.to_owned())
            }
            error => SharedError::File(error),
        })?;
        // Another process found it without a lock, just now, and took it for abandoned.
        if !lock_soon(&file).map_err(refused("lock"))? || !own_file::is_at(&file, &path) {
            return Err(SharedError::InUse(name.to_owned()));
        }
        let mapping = allocate(&file, words as u64 * 8)
            .map_err(refused("make"))
            .and_then(|()| Mapping::of(&file, words, true).map_err(refused("map")))
            .inspect_err(|_| {
                // It is this process's, and holds nothing.
                let _ = std::fs::remove_file(&path);
            })?;
        Ok(Self {
            mapping,
            path,
            file,
        })
    }

    /// The words of 64 bits, which viewers read while the owner writes.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor calls the system.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        self.mapping.words()
    }

    /// Bytes of the memory, for data other than words.
    ///
    /// # Panics
    /// Beyond the memory.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor calls the system.
    pub fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.mapping.bytes_mut(range)
    }

    /// Wakes all viewers that [wait](Viewer::wait) for a word.
    ///
    /// # Panics
    /// Beyond the memory.
    ///
    /// # Real-time safety
    /// It makes one system call, which does not block.
    pub fn wake(&self, place: usize) {
        self.mapping.wake(place);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Another program may have removed the file and made another: then this process must not remove that one.
        if own_file::is_at(&self.file, &self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
        // A child process that was just forked holds the descriptor, and so the lock, until it starts its program. The
        // file is removed first: another process may take over one that nobody has locked.
        let _ = self.file.unlock();
    }
}

/// A process that reads the memory.
#[derive(Debug)]
pub struct Viewer {
    mapping: Mapping,
    file: File,
}

impl Viewer {
    /// Maps the memory of that name for reading, if this user or root has made it.
    ///
    /// # Errors
    /// [`SharedError`], for example when there is none, or it belongs to another user.
    ///
    /// # Real-time safety
    /// It allocates and calls the system.
    pub fn open(name: &str) -> Result<Self, SharedError> {
        let path = path_of(name)?;
        let refused = |what| {
            let name = name.to_owned();
            move |source| SharedError::Refused { what, name, source }
        };
        let file = own_file::open(&path, Access::Read, Trusted::UserOrRoot)?
            .ok_or_else(|| SharedError::Absent(name.to_owned()))?;
        let length = file.metadata().map_err(refused("open"))?.len();
        let words = usize::try_from(length / 8).unwrap_or(usize::MAX);
        if words == 0 || words > MAX_WORDS {
            return Err(SharedError::Size(words));
        }
        let mapping = Mapping::of(&file, words, false).map_err(refused("map"))?;
        Ok(Self { mapping, file })
    }

    /// How many words there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.mapping.count()
    }

    /// A word's value.
    ///
    /// # Panics
    /// Beyond [`count`](Self::count).
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor calls the system.
    #[inline]
    #[must_use]
    pub fn load(&self, place: usize, order: Ordering) -> u64 {
        self.mapping.load(place, order)
    }

    /// Copies bytes into memory of the caller. If the owner writes meanwhile, they are a mixture: a protocol of
    /// words must show whether it did.
    ///
    /// # Panics
    /// Beyond the memory.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor calls the system.
    pub fn copy_to(&self, from: usize, into: &mut [u8]) {
        self.mapping.copy_to(from, into);
    }

    /// The bytes in place, each of which the owner may change at any time.
    ///
    /// # Panics
    /// Beyond the memory.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor calls the system.
    #[must_use]
    pub fn bytes(&self, range: Range<usize>) -> &[AtomicU8] {
        self.mapping.atomic_bytes(range)
    }

    /// Waits until the low 32 bits of a word are no longer `expected`, the owner [wakes](Owner::wake) its waiters,
    /// or the span is over. It may also return early without a reason: the caller must read the word again.
    ///
    /// # Panics
    /// Beyond the memory.
    ///
    /// # Real-time safety
    /// It makes one system call, which blocks.
    pub fn wait(&self, place: usize, expected: u32, span: Duration) {
        self.mapping.wait(place, expected, span);
    }

    /// Whether the owner's process lives.
    ///
    /// # Real-time safety
    /// It allocates and makes some system calls: it opens the file again, tries its lock without waiting, and closes
    /// it.
    #[must_use]
    pub fn owner_lives(&self) -> bool {
        // A lock belongs to its descriptor: this check opens one of its own, and closing it releases the lock that
        // the check may have taken. It shares that lock with others that look: only the owner's is exclusive.
        File::open(format!("/proc/self/fd/{}", number(&self.file)))
            .and_then(|file| try_lock_shared(&file))
            .is_ok_and(|free| !free)
    }
}

fn number(file: &File) -> i32 {
    use std::os::fd::AsRawFd as _;
    file.as_raw_fd()
}

fn path_of(name: &str) -> Result<PathBuf, SharedError> {
    let allowed = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let fits =
        (1..=200).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with('.');
    fits.then(|| Path::new(FOLDER).join(name))
        .ok_or_else(|| SharedError::Name(name.to_owned()))
}

/// Takes the lock that an owner holds, unless another owner has it. Viewers that check whether the owner lives share
/// the lock until the check is done, on a busy machine perhaps for seconds; a [`sweep`] holds it exclusively for a
/// moment.
fn lock_soon(file: &File) -> io::Result<bool> {
    /// Tries, 1 ms apart, while the lock is held exclusively: by an owner, or by a sweep.
    const MAX_OWNED: u32 = 20;
    /// Tries, 1 ms apart, while viewers share it.
    const MAX_VIEWED: u32 = 5000;
    let (mut owned, mut viewed) = (0, 0);
    while owned < MAX_OWNED && viewed < MAX_VIEWED {
        if try_lock(file)? {
            return Ok(true);
        }
        if try_lock_shared(file)? {
            file.unlock()?;
            viewed += 1;
        } else {
            owned += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    try_lock(file)
}

/// Removes what a killed owner left behind, instead of using it again: a viewer may still read it.
fn remove_abandoned(
    path: &Path,
    name: &str,
    lock: fn(&File) -> io::Result<bool>,
) -> Result<(), SharedError> {
    let Some(file) = own_file::open(path, Access::Read, Trusted::User)? else {
        return Ok(());
    };
    match lock(&file) {
        Ok(true) => {
            // Another process may have removed the file meanwhile, and made one that is in use.
            if own_file::is_at(&file, path) {
                let _ = std::fs::remove_file(path);
            }
            Ok(())
        }
        _ => Err(SharedError::InUse(name.to_owned())),
    }
}

/// The owner of a younger file may be about to lock it.
const YOUNG: Duration = Duration::from_secs(10);

/// Removes memory whose name has this prefix and which killed owners left behind some time ago, and returns how
/// many there were. Memory of other users stays.
///
/// # Real-time safety
/// Calls the system; not for a real-time path.
pub fn sweep(prefix: &str) -> usize {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|it| it.starts_with(prefix)) else {
            return false;
        };
        let path = entry.path();
        let age = entry
            .metadata()
            .and_then(|it| it.modified())
            .ok()
            .and_then(|it| it.elapsed().ok());
        let is_old = age.is_some_and(|age| age >= YOUNG);
        is_old && remove_abandoned(&path, name, try_lock).is_ok() && !path.exists()
    });
    left.count()
}

/// States that this process wants the memory of a name, until it is dropped or its process ends.
#[derive(Debug)]
pub struct Wanted {
    /// Holds the lock.
    file: File,
    name: String,
}

impl Wanted {
    /// States it; [`wanted`] then lists the name.
    ///
    /// # Errors
    /// [`SharedError`] where the name cannot be used.
    ///
    /// # Real-time safety
    /// Calls the system; not for a real-time path.
    pub fn say(name: &str) -> Result<Self, SharedError> {
        let path = path_of(&format!("{name}{WANTED}"))?;
        loop {
            let file = own_file::open_or_create(&path)?;
            file.lock_shared().map_err(|source| SharedError::Refused {
                what: "lock",
                name: name.to_owned(),
                source,
            })?;
            // The owner may have removed the file just now, as no process had wanted the name.
            if own_file::is_at(&file, &path) {
                let name = name.to_owned();
                return Ok(Self { file, name });
            }
        }
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        // A child process that was just forked holds the descriptor, and so the lock, until it starts its program.
        let _ = self.file.unlock();
        // Removes the file where no other process wants the name.
        let _ = is_wanted(&self.name);
    }
}

/// The names with this prefix that a process of this user wants now, in no order. Removes what killed processes
/// left.
///
/// # Real-time safety
/// Calls the system; not for a real-time path.
#[must_use]
pub fn wanted(prefix: &str) -> Vec<String> {
    let names = names(prefix).into_iter();
    let names = names.filter_map(|name| Some(name.strip_suffix(WANTED)?.to_owned()));
    names.filter(|name| is_wanted(name)).collect()
}

/// The suffix of the file whose lock says that a name is wanted.
const WANTED: &str = ".wanted";

fn is_wanted(name: &str) -> bool {
    let Ok(path) = path_of(&format!("{name}{WANTED}")) else {
        return false;
    };
    let Ok(Some(file)) = own_file::open(&path, Access::Read, Trusted::User) else {
        return false;
    };
    match try_lock(&file) {
        // Another process removed the file meanwhile; there may be a new one.
        Ok(true) if !own_file::is_at(&file, &path) => is_wanted(name),
        Ok(true) => {
            let _ = std::fs::remove_file(&path);
            false
        }
        Ok(false) => true,
        Err(_) => false,
    }
}

/// The names of shared memory with this prefix, in no order, of any user. Calls the system.
#[must_use]
pub fn names(prefix: &str) -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// Gives a file its length and its pages. Where only its length was set, and the file system is full, writing to the
/// memory would end the process by SIGBUS.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes),
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests;
