//! Linux: here sockets, error numbers, network namespaces (network_namespaces(7)) and the death of programs with
//! their starter.

pub(crate) mod clock;
pub(crate) mod epoll;
pub(crate) mod ethtool;
pub(crate) mod launch;
pub(crate) mod link;
pub(crate) mod listener;
pub(crate) mod memory;
pub(crate) mod packet;
pub(crate) mod sched;
pub(crate) mod signals;
pub(crate) mod sleep;
pub(crate) mod tap;
pub(crate) mod trace;
pub(crate) mod udp;
pub(crate) mod video;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

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

/// Moves the calling thread into a new network namespace, which holds only a loopback interface that is down.
pub(crate) fn leave_network() -> io::Result<()> {
    // SAFETY: the call takes a number; it changes the calling thread alone.
    match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The network namespace of the calling thread; it lives as long as this is open.
pub(crate) fn own_network() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Moves the calling thread into a network namespace.
pub(crate) fn enter_network(network: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel refuses one that is no network
    // namespace.
    match unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the kernel kill the program of `command` when the thread that starts it ends.
pub(crate) fn die_with_thread(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || {
        // SAFETY: this request takes a number and no pointers.
        let outcome = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call takes nothing and cannot fail.
        let now = unsafe { libc::getppid() };
        // The request does not notice a parent that died before it.
        if now.unsigned_abs() == parent {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ECHILD))
        }
    };
    // SAFETY: between fork and exec it makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(ask) };
}
