//! Who is at the other end of a Unix socket.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use crate::os::linux::listener;

/// The user that connected, or that made the other end of a pair, as the kernel noted it then (`SO_PEERCRED`): the
/// peer cannot change it. One system call.
///
/// ```
/// use std::os::unix::fs::MetadataExt;
/// use std::os::unix::net::UnixStream;
///
/// let (near, _far) = UnixStream::pair()?;
/// let ours = std::fs::metadata("/proc/self")?.uid();
/// assert_eq!(kadenz_rt::net::peer::user(&near)?, ours);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// What the kernel says, for one of a socket that is not connected.
pub fn user(stream: &UnixStream) -> io::Result<u32> {
    Ok(listener::of_peer(stream.as_fd())?.uid)
}
