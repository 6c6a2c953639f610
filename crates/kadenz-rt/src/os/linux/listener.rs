//! System calls of a server of many connections: listen(2), tcp(7), getrlimit(2), setrlimit(2); and the credentials
//! of a Unix socket's peer.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use rustix::process::Resource;

use super::sched::raise_limit;
use super::{errno, number};

/// Lets so many connections wait to be accepted, as far as `net.core.somaxconn` allows.
pub(crate) fn listen(socket: impl AsFd, backlog: i32) -> Result<(), i32> {
    // On a socket that listens already it changes the backlog alone.
    number(rustix::net::listen(socket, backlog))
}

/// Limits the bytes that the kernel holds unsent on each connection that is accepted: `TCP_NOTSENT_LOWAT`, which
/// connections inherit.
pub(crate) fn limit_unsent(fd: i32, bytes: u32) -> Result<(), i32> {
    let length = size_of_val(&bytes) as libc::socklen_t;
    let value = (&raw const bytes).cast();
    // SAFETY: the value is live and of that length; the kernel copies it.
    let outcome = unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            value,
            length,
        )
    };
    if outcome < 0 { Err(errno()) } else { Ok(()) }
}

/// Raises the soft limit of open files to the hard one, and returns that.
pub(crate) fn raise_open_files() -> Result<u64, i32> {
    Ok(raise_limit(Resource::Nofile)?.unwrap_or(libc::RLIM_INFINITY))
}

/// Whether accept(2) failed for want of descriptors or memory: the connection still waits.
pub(crate) const fn is_exhausted(error: i32) -> bool {
    matches!(
        error,
        libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM
    )
}

// The credentials of a Unix socket's peer: unix(7), `SO_PEERCRED`.

/// Process, user and group of the peer when it connected.
pub(crate) fn of_peer(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the structure is live and as large as `length` says; the kernel writes
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
