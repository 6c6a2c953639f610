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
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Opens a socket, which programs that this process starts do not inherit.
pub(crate) fn socket(family: AddressFamily, kind: SocketType) -> rustix::io::Result<OwnedFd> {
    socket_with(family, kind, SocketFlags::CLOEXEC, None)
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
    // SAFETY: the calling thread keeps its descriptors.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// The network namespace of the calling thread; it lives as long as this is open.
pub(crate) fn own_network() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// Moves the calling thread into a network namespace. The kernel refuses a descriptor of anything else.
pub(crate) fn enter_network(network: BorrowedFd<'_>) -> io::Result<()> {
    let kind = Some(LinkNameSpaceType::Network);
    Ok(move_into_link_name_space(network, kind)?)
}

/// Makes the kernel kill the program of `command` when the thread that starts it ends.
pub(crate) fn die_with_thread(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The request does not notice a parent that died before it.
        if getppid().is_some_and(|now| now.as_raw_pid().unsigned_abs() == parent) {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ECHILD))
        }
    };
    // SAFETY: between fork and exec it makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(ask) };
}
