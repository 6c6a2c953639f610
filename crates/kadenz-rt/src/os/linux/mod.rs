//! Linux.

pub(crate) mod clock;
pub(crate) mod epoll;
pub(crate) mod ethtool;
pub(crate) mod launch;
pub(crate) mod link;
pub(crate) mod listener;
pub(crate) mod memory;
pub(crate) mod namespace;
pub(crate) mod packet;
pub(crate) mod sched;
pub(crate) mod signals;
pub(crate) mod sleep;
pub(crate) mod tap;
pub(crate) mod trace;
pub(crate) mod udp;
pub(crate) mod video;

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// Opens a socket, which programs that this process starts do not inherit.
pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let number = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above has just opened this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Converts the result of rustix to one with the kernel's error number.
pub(crate) fn number<T>(outcome: rustix::io::Result<T>) -> Result<T, i32> {
    outcome.map_err(rustix::io::Errno::raw_os_error)
}

/// The error number of the last failed call.
pub(crate) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
