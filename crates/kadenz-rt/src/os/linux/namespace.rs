//! Network namespaces: network_namespaces(7).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

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
