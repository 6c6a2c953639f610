//! The kernel's counters of datagrams and frames, above all of those that it threw away.
//!
//! A measurement takes a [`Snapshot`] before and after; the difference says where on the way through
//! this host something was lost: at the card, in the backlog of a CPU, or at a full socket.
//!
//! The counters are of the whole host (or of the network namespace), so what other programs lose is
//! in them too; only [`UdpPort::dropped`](super::port::UdpPort::dropped) is of one socket alone.

mod interface;
mod snmp;
mod socket;
mod softnet;

pub use interface::InterfaceCounters;
pub use snmp::UdpCounters;
pub use socket::{SocketRow, sockets};
pub use softnet::SoftnetCounters;

use crate::host::Root;

/// What was counted since boot. What the kernel does not tell is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// UDP over IPv4.
    pub udp: Option<UdpCounters>,
    /// UDP over IPv6.
    pub udp6: Option<UdpCounters>,
    /// Frames on their way from the driver to the sockets, all CPUs together.
    pub softnet: Option<SoftnetCounters>,
    /// The interface asked for.
    pub interface: Option<InterfaceCounters>,
}

impl Snapshot {
    /// Reads the counters of the machine under `root`, and of one of its interfaces. Reads some ten
    /// files: not for a real-time path.
    ///
    /// ```
    /// use kadenz_rt::host::Root;
    /// use kadenz_rt::net::counters::Snapshot;
    ///
    /// let root = Root::system();
    /// let before = Snapshot::read(&root, Some("lo"));
    /// // ... the measurement ...
    /// let meanwhile = Snapshot::read(&root, Some("lo")).since(&before);
    /// if let Some(udp) = meanwhile.udp {
    ///     println!("{} datagrams found a full socket", udp.receive_buffer_errors);
    /// }
    /// ```
    #[must_use]
    pub fn read(root: &Root, interface: Option<&str>) -> Self {
        Self {
            udp: UdpCounters::read(root).ok(),
            udp6: UdpCounters::read_v6(root).ok(),
            softnet: SoftnetCounters::read(root).ok(),
            interface: interface.and_then(|name| InterfaceCounters::read(root, name).ok()),
        }
    }

    /// What was counted since `earlier`; absent where either of them does not tell.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            udp: both(self.udp, earlier.udp, UdpCounters::since),
            udp6: both(self.udp6, earlier.udp6, UdpCounters::since),
            softnet: both(self.softnet, earlier.softnet, SoftnetCounters::since),
            interface: both(self.interface, earlier.interface, InterfaceCounters::since),
        }
    }

    /// Everything that this host threw away, at whichever place.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let udp = [self.udp, self.udp6].into_iter().flatten();
        let at_sockets = udp.map(|udp| udp.lost());
        let before = [
            self.softnet.map(|softnet| softnet.dropped),
            self.interface.map(|interface| interface.lost()),
        ];
        at_sockets
            .chain(before.into_iter().flatten())
            .fold(0, u64::saturating_add)
    }
}

fn both<T>(later: Option<T>, earlier: Option<T>, since: fn(&T, &T) -> T) -> Option<T> {
    Some(since(&later?, &earlier?))
}

#[cfg(test)]
mod tests;
