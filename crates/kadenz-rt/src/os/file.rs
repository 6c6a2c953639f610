//! Locks on files, and whose they are.

use std::fs::File;
use std::io;

/// Locks the file for this open descriptor; false when another holds it. The lock goes with the
/// descriptor, so also with a killed process.
#[cfg(unix)]
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: the descriptor is open as long as `file` is borrowed; no pointers are taken.
    let outcome = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if outcome == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock {
        return Ok(false);
    }
    Err(error)
}

/// Nothing is raised on this system, so nobody is met.
#[cfg(not(unix))]
pub(crate) fn try_lock(_file: &File) -> io::Result<bool> {
    Ok(true)
}

/// The effective user of this process.
#[cfg(unix)]
pub(crate) fn user() -> u32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}
