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

/// What rustix answers, with the kernel's number where it failed.
pub(crate) fn number<T>(outcome: rustix::io::Result<T>) -> Result<T, i32> {
    outcome.map_err(rustix::io::Errno::raw_os_error)
}

/// The error number the last failed call left.
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
