//! Who made the other end of a Unix socket: unix(7), `SO_PEERCRED`.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Process, user and group of the peer when it connected.
pub(crate) fn of_peer(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the structure is live and as large as `length` tells; the kernel writes
    // numbers.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    match outcome {
        0 => Ok(peer),
        _ => Err(io::Error::last_os_error()),
    }
}
