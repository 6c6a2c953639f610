use crate::host::{ReadFactError, Root};
use crate::net::interface::files_are_ours;

/// Frames of one interface since it came up. Source: the kernel documentation, `statistics.rst`
/// (`struct rtnl_link_stats64`). A counter that this kernel lacks is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterfaceCounters {
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that came broken; those with a wrong checksum or length are among them.
    pub receive_errors: u64,
    /// Frames that came whole and were thrown away, mostly for want of memory.
    pub receive_dropped: u64,
    /// Frames that the card threw away because the host had not made room.
    pub receive_missed: u64,
    /// Frames that came faster than the card's own buffer takes them.
    pub receive_overruns: u64,
    /// Frames that could not be sent: no link, for one.
    pub transmit_errors: u64,
    /// Frames that were thrown away instead of sent.
    pub transmit_dropped: u64,
    /// Collisions: only a half-duplex link has them.
    pub collisions: u64,
}

impl InterfaceCounters {
    /// The counters of one interface under `root`.
    ///
    /// # Errors
    /// When there is no such interface, or the system does not tell.
    pub fn read(root: &Root, interface: &str) -> Result<Self, ReadFactError> {
        let number = |file: &str| {
            let path = format!("/sys/class/net/{interface}/statistics/{file}");
            root.read_number(&path)
        };
        if !files_are_ours(root, interface) {
            let path = format!("/sys/class/net/{interface}");
            return Err(ReadFactError::Absent { path });
        }
        let natural = |value: i64| u64::try_from(value).unwrap_or(0);
        let optional = |file: &str| number(file).map_or(0, natural);
        Ok(Self {
            received: natural(number("rx_packets")?),
            sent: natural(number("tx_packets")?),
            receive_errors: optional("rx_errors"),
            receive_dropped: optional("rx_dropped"),
            receive_missed: optional("rx_missed_errors"),
            receive_overruns: optional("rx_fifo_errors"),
            transmit_errors: optional("tx_errors"),
            transmit_dropped: optional("tx_dropped"),
            collisions: optional("collisions"),
        })
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            received: self.received.saturating_sub(earlier.received),
            sent: self.sent.saturating_sub(earlier.sent),
            receive_errors: self.receive_errors.saturating_sub(earlier.receive_errors),
            receive_dropped: self.receive_dropped.saturating_sub(earlier.receive_dropped),
            receive_missed: self.receive_missed.saturating_sub(earlier.receive_missed),
            receive_overruns: self
                .receive_overruns
                .saturating_sub(earlier.receive_overruns),
            transmit_errors: self.transmit_errors.saturating_sub(earlier.transmit_errors),
            transmit_dropped: self
                .transmit_dropped
                .saturating_sub(earlier.transmit_dropped),
            collisions: self.collisions.saturating_sub(earlier.collisions),
        }
    }

    /// Frames lost at this interface. Drivers differ in whether they count a missed frame or an
    /// overrun among the errors as well, so this is the largest of the three and not their sum.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let receive = self
            .receive_errors
            .max(self.receive_missed)
            .max(self.receive_overruns);
        [
            self.receive_dropped,
            self.transmit_errors,
            self.transmit_dropped,
        ]
        .into_iter()
        .fold(receive, u64::saturating_add)
    }
}
