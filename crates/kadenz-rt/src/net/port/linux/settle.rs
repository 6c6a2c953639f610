//! Waiting until the kernel really stamps what comes in.
//!
//! The kernel turns its stamps on by rewriting its own code, which it puts off to a thread of its own
//! (`net_enable_timestamp`, net/core/dev.c): the first datagrams after the wish may come without a
//! stamp. Besides, a sandbox may accept the wish and never stamp anything.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::os::linux::udp::messages::{Messages, Queue, ReorderLimits};
use crate::os::linux::udp::socket::{Family, Socket};

/// Pauses between tries: the thread of the kernel is done within microseconds as a rule, but waits for
/// its turn on a busy machine like any other.
const PAUSES: [(u32, Duration); 2] = [
    (100, Duration::from_micros(100)),
    (1_000, Duration::from_millis(2)),
];

/// What was seen on the loopback interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    /// A datagram came with a stamp.
    Stamping,
    /// Many came, all without.
    Never,
    /// None could be sent: the loopback interface is down, or this is no IPv4 host.
    Unknown,
}

/// Sends datagrams to itself until one is stamped. `flags` turn the stamps on.
pub(super) fn wait(flags: u32) -> Settled {
    try_wait(flags).unwrap_or(Settled::Unknown)
}

/// Whether datagrams may carry keys of their own. A kernel that does not know them says so before it
/// looks for a way to the address, so it does not matter where that leads.
pub(super) fn takes_own_keys(flags: u32) -> bool {
    let option = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    let tried = Socket::open(Family::V4).and_then(|socket| {
        socket.set(option.0, option.1, flags.cast_signed())?;
        // Its own port: what arrives is thrown away with it.
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).ok();
        let to = socket.local_address().ok().filter(|own| own.port() > 0);
        socket.send([b"", &[]], to, Some(0))
    });
    !matches!(tried, Err(libc::EINVAL))
}

fn try_wait(flags: u32) -> Result<Settled, i32> {
    let socket = Socket::open(Family::V4)?;
    let option = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    socket.set(option.0, option.1, flags.cast_signed())?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let own = socket.local_address()?;
    let mut messages = Messages::for_receiving(1);
    let mut settled = Settled::Unknown;
    let pauses = PAUSES
        .iter()
        .flat_map(|(times, pause)| (0..*times).map(|_| *pause));
    for pause in pauses {
        socket.send([b"kadenz", &[]], Some(own), None)?;
        if let Ok(1..) = messages.receive(
            &socket,
            Queue::Datagrams,
            ReorderLimits::None,
            &mut [0; 8],
            8,
        ) {
            if messages.notes(0).software_ns.is_some() {
                return Ok(Settled::Stamping);
            }
            settled = Settled::Never;
        }
        std::thread::sleep(pause);
    }
    Ok(settled)
}
