//! The kernel's counters of an interface's frames, above all of those that it lost.
//!
//! A measurement reads them before and after. They are of the whole interface, so they include losses of other
//! programs; only [`UdpPort::dropped`](super::port::UdpPort::dropped) counts for one socket alone.

use super::interface::files_are_ours;
use crate::host::{ReadFactError, Root};

/// Frames of one interface since it came up. Source: the kernel documentation, `statistics.rst`
/// (`struct rtnl_link_stats64`). A counter that this kernel lacks is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterfaceCounters {
    /// Frames received without an error.
    pub received: u64,
    /// Frames sent successfully.
    pub sent: u64,
    /// Frames that came broken; those with a wrong checksum or length are among them.
    pub receive_errors: u64,
    /// Frames that came whole and were dropped, mostly for want of memory.
    pub receive_dropped: u64,
    /// Frames that the card dropped because the host had freed no buffer for them.
    pub receive_missed: u64,
    /// Frames that came faster than the card's own buffer takes them.
    pub receive_overruns: u64,
    /// Frames that could not be sent: no link, for one.
    pub transmit_errors: u64,
    /// Frames that were dropped instead of sent.
    pub transmit_dropped: u64,
}

impl InterfaceCounters {
    /// The counters of one interface under `root`.
    ///
    /// ```
    /// use kadenz_rt::host::Root;
    /// use kadenz_rt::net::counters::InterfaceCounters;
    ///
    /// let root = Root::system();
    /// let before = InterfaceCounters::read(&root, "lo").unwrap_or_default();
    /// // ... the measurement ...
    /// let after = InterfaceCounters::read(&root, "lo").unwrap_or_default();
    /// println!("{} frames were lost at lo", after.since(&before).lost());
    /// ```
    ///
    /// # Errors
    /// When there is no such interface, or the system does not report its counters.
    ///
    /// # Real-time safety
    /// Reads some eight files: not for a real-time path.
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
        })
    }

    /// The counts since `earlier`; a counter that restarted meanwhile counts nothing.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let grown = |counter: fn(&Self) -> u64| counter(self).saturating_sub(counter(earlier));
        Self {
            received: grown(|it| it.received),
            sent: grown(|it| it.sent),
            receive_errors: grown(|it| it.receive_errors),
            receive_dropped: grown(|it| it.receive_dropped),
            receive_missed: grown(|it| it.receive_missed),
            receive_overruns: grown(|it| it.receive_overruns),
            transmit_errors: grown(|it| it.transmit_errors),
            transmit_dropped: grown(|it| it.transmit_dropped),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::fake::{self, FakeFile};

    const HOST: &[FakeFile] = &[
        ("/sys/class/net/eth0/statistics/rx_packets", b"1000\n"),
        ("/sys/class/net/eth0/statistics/tx_packets", b"900\n"),
        ("/sys/class/net/eth0/statistics/rx_errors", b"6\n"),
        ("/sys/class/net/eth0/statistics/rx_dropped", b"3\n"),
        ("/sys/class/net/eth0/statistics/rx_missed_errors", b"4\n"),
        ("/sys/class/net/eth0/statistics/tx_dropped", b"2\n"),
    ];

    #[test]
    fn everything_is_read_from_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let root = fake::write(folder.path(), HOST).unwrap();
        let interface = InterfaceCounters::read(&root, "eth0").unwrap();
        assert_eq!((interface.received, interface.receive_missed), (1000, 4));
        // 6 errors (the 4 missed may be among them), 3 and 2 dropped.
        assert_eq!(interface.lost(), 11);
        assert!(InterfaceCounters::read(&root, "eth1").is_err());
    }

    #[test]
    fn a_difference_says_what_was_lost_meanwhile() {
        let before = InterfaceCounters {
            receive_errors: 6,
            receive_dropped: 3,
            ..InterfaceCounters::default()
        };
        assert_eq!(before.since(&before).lost(), 0);
        let later = InterfaceCounters {
            receive_errors: 11,
            receive_dropped: 6,
            ..before
        };
        assert_eq!(later.since(&before).lost(), 8);
        // A counter that restarts counts nothing rather than a large number.
        assert_eq!(before.since(&later).lost(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_this_machine_counts_goes_up_with_what_is_sent() {
        use crate::net::port::{Inbox, PortOptions, UdpPort, Wait};

        let root = Root::system();
        let mut port = UdpPort::open(&PortOptions {
            receive_buffer: Some(4096),
            ..PortOptions::default()
        })
        .unwrap();
        let before = InterfaceCounters::read(&root, "lo").unwrap();
        let to = port.local_address();
        for _ in 0..200 {
            port.send_to(&[0; 100], to).unwrap();
        }
        // Other programs may count as well.
        let meanwhile = InterfaceCounters::read(&root, "lo").unwrap().since(&before);
        assert!(meanwhile.received >= 200);
        assert!(port.dropped().unwrap() > 0);
        port.receive_batch(&mut Inbox::new(1, 1), Wait::Poll)
            .unwrap();
    }
}
