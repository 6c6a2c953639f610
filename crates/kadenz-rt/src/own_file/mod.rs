//! Files of our own under predictable names, in folders that other users can write.
//!
//! In `/dev/shm`, `/tmp` and `/run` another user may have made a file of the wanted name before: a FIFO on which
//! open(2) waits forever, a link into a foreign folder, a file whose content this process would trust, or a file
//! that the other user can change while this process reads it. So every function here opens without waiting and
//! without following a link, checks the opened file rather than its name, and accepts only a regular file with one
//! name that only its trusted owner may write. New files are created exclusively, for their owner alone.
//!
//! All of it allocates and calls the system; nothing is for a real-time path. On systems other than Unix, where
//! files have no owner and mode, the file is opened as it is.
//!
//! ```
//! use kadenz_rt::own_file::{self, Access, OwnFileError, Trusted};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("state");
//! own_file::create(&path, 0o600)?;
//! assert!(own_file::open(&path, Access::Read, Trusted::User)?.is_some());
//! # #[cfg(unix)] {
//! let link = folder.path().join("link");
//! std::os::unix::fs::symlink(&path, &link)?;
//! let refused = own_file::open(&link, Access::Read, Trusted::User);
//! assert!(matches!(refused, Err(OwnFileError::Kind { found: "a symbolic link", .. })));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The access that a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read.
    Read,
    /// To be read and written.
    ReadWrite,
}

/// The owners whose files are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trusted {
    /// The effective user of this process.
    User,
    /// That user and root.
    UserOrRoot,
    /// Any user: for a file whose content is not used.
    Anyone,
}

/// Why a file or folder is not used.
#[derive(Debug)]
pub enum OwnFileError {
    /// The name belongs to something other than a file or folder of the wanted kind.
    Kind {
        /// The path of what was found.
        path: PathBuf,
        /// The kind that was found.
        found: &'static str,
        /// The wanted kind, in words.
        wanted: &'static str,
    },
    /// The file belongs to another user.
    Owner {
        /// The path of the refused file or folder.
        path: PathBuf,
        /// The number of the user who owns the file.
        theirs: u32,
        /// The effective user of this process.
        ours: u32,
    },
    /// Other users may write it.
    Writable {
        /// The path of the refused file or folder.
        path: PathBuf,
        /// The lower 12 bits of the mode, for example 0o666.
        mode: u32,
    },
    /// The same file has other names, perhaps in a folder where it means something else.
    Linked {
        /// The path of the refused file or folder.
        path: PathBuf,
    },
    /// The operating system refused.
    Refused {
        /// The refused operation as a verb, for example `open`.
        what: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
}

impl OwnFileError {
    /// The remedy, where one step is enough.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Kind { path, .. } | Self::Linked { path } => {
                let path = path.display();
                format!("look which user put it there, and remove it (rm -r {path})")
            }
            Self::Owner { theirs: 0, .. } => "run as root (sudo)".to_owned(),
            Self::Owner { path, .. } => format!(
                "if that user runs Kadenz, run as that user; else remove it (sudo rm -r {})",
                path.display()
            ),
            Self::Writable { path, .. } => {
                let path = path.display();
                format!("make sure of its content, then chmod go-w {path}")
            }
            Self::Refused { source, .. } => match source.kind() {
                ErrorKind::PermissionDenied => "run as its owner, or as root (sudo)".to_owned(),
                ErrorKind::StorageFull => "make room there".to_owned(),
                _ => return None,
            },
        };
        Some(remedy)
    }
}

impl fmt::Display for OwnFileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind {
                path,
                found,
                wanted,
            } => write!(out, "{} is {found}, not {wanted}", path.display()),
            Self::Owner { path, theirs, ours } => {
                let path = path.display();
                write!(out, "{path} belongs to user {theirs}, not to user {ours}")
            }
            Self::Writable { path, mode } => {
                let path = path.display();
                write!(out, "others may write {path} (mode {mode:04o})")
            }
            Self::Linked { path } => {
                write!(out, "{} is one of several names of a file", path.display())
            }
            Self::Refused { what, path, source } => {
                write!(out, "cannot {what} {}: {source}", path.display())
            }
        }?;
        match self.remedy() {
            Some(remedy) => write!(out, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OwnFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(unix)]
pub use crate::os::user;

/// Returns a function that turns the system's error into an [`OwnFileError`] with the attempted operation and the
/// path.
pub fn refused(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OwnFileError {
    let path = path.to_owned();
    move |source| OwnFileError::Refused { what, path, source }
}

/// The result of a try to lock a file.
#[derive(Debug)]
pub enum Locked {
    /// This process holds it as long as the file is open.
    Ours(File),
    /// Another process holds it; the file can be read.
    Held(File),
}

/// Opens an existing file; returns `None` where there is none.
///
/// # Errors
/// [`OwnFileError`] for anything other than a regular file with one name, for a file of an untrusted user, and for
/// a file that other users may write.
pub fn open(path: &Path, access: Access, trusted: Trusted) -> Result<Option<File>, OwnFileError> {
    let mut options = options();
    options.read(true).write(access == Access::ReadWrite);
    match options.open(path) {
        Ok(file) => {
            let about = file.metadata().map_err(refused("look at", path))?;
            check_file(path, &about, trusted)?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            // The kind of the file says more than that it cannot be opened.
            if let Ok(about) = fs::symlink_metadata(path) {
                check_file(path, &about, trusted)?;
            }
            Err(refused("open", path)(error))
        }
    }
}

/// Creates a file for reading and writing with at most this mode, where there is none yet.
///
/// # Errors
/// [`OwnFileError::Refused`], as [`ErrorKind::AlreadyExists`] when anything has that name, also a link.
pub fn create(path: &Path, mode: u32) -> Result<File, OwnFileError> {
    let mut options = options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path).map_err(refused("make", path))
}

/// Opens a file of this user for reading and writing; creates it, for this user alone, where there is none.
///
/// # Errors
/// As [`open`] and [`create`].
pub fn open_or_create(path: &Path) -> Result<File, OwnFileError> {
    loop {
        if let Some(file) = open(path, Access::ReadWrite, Trusted::User)? {
            return Ok(file);
        }
        match create(path, 0o600) {
            Err(OwnFileError::Refused { source, .. })
                if source.kind() == ErrorKind::AlreadyExists => {}
            // The file cannot be opened: it belongs to another user, or this user created it just now.
            other => return other,
        }
    }
}

/// Opens a file as [`open_or_create`] and locks it for this process. Closing the returned file releases the lock,
/// so a killed process releases it too.
///
/// # Errors
/// As [`open_or_create`].
pub fn lock(path: &Path) -> Result<Locked, OwnFileError> {
    loop {
        let file = open_or_create(path)?;
        if !try_lock(&file).map_err(refused("lock", path))? {
            return Ok(Locked::Held(file));
        }
        // Its previous holder may have removed the file between our open and our lock.
        if is_at(&file, path) {
            return Ok(Locked::Ours(file));
        }
    }
}

/// Locks a file for its open descriptor; returns false when another descriptor has the lock.
///
/// # Errors
/// The operating system's error.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Locks a file together with others that do so; returns false when another descriptor has the lock of [`try_lock`].
///
/// # Errors
/// The operating system's error.
pub fn try_lock_shared(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Makes a folder that only this user may enter, and the missing folders above it. An existing folder must be this
/// user's or root's, with no right to write for others.
///
/// # Errors
/// [`OwnFileError`] for anything other than a folder, for a folder of another user, and for one that others may
/// write.
pub fn folder(path: &Path) -> Result<(), OwnFileError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(refused("make", path)(error));
        }
        _ => {}
    }
    let about = fs::symlink_metadata(path).map_err(refused("look at", path))?;
    check_kind(path, &about, "a folder")?;
    check_rights(path, &about, Trusted::UserOrRoot)
}

/// Whether the path still leads to this file.
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => is_same(&ours, &there),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

/// Options by which open(2) neither waits nor follows a link. Programs that are started do not inherit the file:
/// the standard library always sets close-on-exec.
fn options() -> OpenOptions {
    #[allow(unused_mut, reason = "elsewhere than on Unix there is nothing to add")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    }
    options
}

fn check_file(path: &Path, about: &Metadata, trusted: Trusted) -> Result<(), OwnFileError> {
    check_kind(path, about, "a file")?;
    check_rights(path, about, trusted)?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(about) > 1 {
        return Err(OwnFileError::Linked {
            path: path.to_owned(),
        });
    }
    Ok(())
}

fn check_kind(path: &Path, about: &Metadata, wanted: &'static str) -> Result<(), OwnFileError> {
    let found = kind(about);
    if found == wanted {
        return Ok(());
    }
    let path = path.to_owned();
    Err(OwnFileError::Kind {
        path,
        found,
        wanted,
    })
}

fn kind(about: &Metadata) -> &'static str {
    let kind = about.file_type();
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_file() {
        "a file"
    } else {
        special_kind(kind)
    }
}

#[cfg(unix)]
fn special_kind(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special_kind(_kind: fs::FileType) -> &'static str {
    "a device"
}

#[cfg(unix)]
fn check_rights(path: &Path, about: &Metadata, trusted: Trusted) -> Result<(), OwnFileError> {
    use std::os::unix::fs::MetadataExt as _;
    if trusted == Trusted::Anyone {
        return Ok(());
    }
    let (theirs, ours) = (about.uid(), crate::os::user());
    let path = || path.to_owned();
    if theirs != ours && !(trusted == Trusted::UserOrRoot && theirs == 0) {
        let path = path();
        return Err(OwnFileError::Owner { path, theirs, ours });
    }
    if about.mode() & 0o022 != 0 {
        let (path, mode) = (path(), about.mode() & 0o7777);
        return Err(OwnFileError::Writable { path, mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_rights(_path: &Path, _about: &Metadata, _trusted: Trusted) -> Result<(), OwnFileError> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
