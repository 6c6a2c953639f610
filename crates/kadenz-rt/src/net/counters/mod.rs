//! The kernel's counters of datagrams and frames, above all of those that it dropped.
//!
//! A measurement takes a [`Snapshot`] before and after; the difference shows where on the way through this host
//! something was lost: at the card, in the backlog of a CPU, or at a full socket.
//!
//! The counters are of the whole host (or of the network namespace), so they include losses of other programs; only
//! [`UdpPort::dropped`](super::port::UdpPort::dropped) counts for one socket alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::interface::files_are_ours;
use crate::host::{ReadFactError, Root};

/// Counts since boot. Counters that the kernel does not report are absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Datagrams over IPv4, all sockets of the network namespace together.
    pub udp: Option<UdpCounters>,
    /// Datagrams over IPv6, all sockets of the network namespace together.
    pub udp6: Option<UdpCounters>,
    /// Frames on their way from the driver to the sockets, all CPUs together.
    pub softnet: Option<SoftnetCounters>,
    /// Frames of the requested interface; absent where none was requested.
    pub interface: Option<InterfaceCounters>,
}

impl Snapshot {
    /// Reads the counters of the machine under `root`, and of one of its interfaces.
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
    ///
    /// # Real-time safety
    /// Reads some ten files: not for a real-time path.
    #[must_use]
    pub fn read(root: &Root, interface: Option<&str>) -> Self {
        Self {
            udp: UdpCounters::read(root).ok(),
            udp6: UdpCounters::read_v6(root).ok(),
            softnet: SoftnetCounters::read(root).ok(),
            interface: interface.and_then(|name| InterfaceCounters::read(root, name).ok()),
        }
    }

    /// The counts since `earlier`; absent where either snapshot lacks them.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            udp: both(self.udp, earlier.udp, UdpCounters::since),
            udp6: both(self.udp6, earlier.udp6, UdpCounters::since),
            softnet: both(self.softnet, earlier.softnet, SoftnetCounters::since),
            interface: both(self.interface, earlier.interface, InterfaceCounters::since),
        }
    }

    /// All frames and datagrams that this host dropped, at any place.
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

const SNMP: &str = "/proc/net/snmp";
const SNMP6: &str = "/proc/net/snmp6";

/// UDP datagrams of one network namespace since boot. Source: RFC 4113 and `linux/snmp.h`; a counter
/// that this kernel lacks is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdpCounters {
    /// Delivered to sockets (`InDatagrams`).
    pub received: u64,
    /// Sent (`OutDatagrams`).
    pub sent: u64,
    /// Came for a port on which no socket listens (`NoPorts`).
    pub no_port: u64,
    /// Could not be delivered, for any reason; includes those below (`InErrors`).
    pub receive_errors: u64,
    /// Found a full receive buffer (`RcvbufErrors`).
    pub receive_buffer_errors: u64,
    /// Could not be sent for want of memory (`SndbufErrors`).
    pub send_buffer_errors: u64,
    /// Had a wrong checksum (`InCsumErrors`).
    pub checksum_errors: u64,
    /// Were dropped because all UDP sockets together held too much memory (`MemErrors`).
    pub memory_errors: u64,
}

impl UdpCounters {
    /// The counters of UDP over IPv4 under `root`.
    ///
    /// # Errors
    /// When the system does not report them, or reports something unknown.
    pub fn read(root: &Root) -> Result<Self, ReadFactError> {
        let text = root.read(SNMP)?;
        Self::parse(&text).ok_or_else(|| ReadFactError::strange(SNMP, &text, "two lines `Udp:`"))
    }

    /// The counters of UDP over IPv6 under `root`.
    ///
    /// # Errors
    /// As [`UdpCounters::read`].
    pub(crate) fn read_v6(root: &Root) -> Result<Self, ReadFactError> {
        let text = root.read(SNMP6)?;
        Self::parse_v6(&text).ok_or_else(|| ReadFactError::strange(SNMP6, &text, "lines `Udp6...`"))
    }

    /// Parses the text of `/proc/net/snmp`: a line of names, then a line of values, each beginning with the
    /// protocol. Returns `None` where it has no such lines.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
        let (names, values) = (lines.next()?, lines.next()?);
        let values = values.split_whitespace().map(str::parse::<u64>);
        let pairs = names.split_whitespace().zip(values);
        let mut counters = Self::default();
        for (name, value) in pairs {
            counters.note(name, value.ok()?);
        }
        Some(counters)
    }

    /// Parses the text of `/proc/net/snmp6`: a name and a value a line. Returns `None` where it has no counters of
    /// UDP.
    #[must_use]
    pub fn parse_v6(text: &str) -> Option<Self> {
        let mut counters = Self::default();
        let mut found = false;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let Some(name) = words.next().and_then(|name| name.strip_prefix("Udp6")) else {
                continue;
            };
            counters.note(name, words.next()?.parse().ok()?);
            found = true;
        }
        found.then_some(counters)
    }

    fn note(&mut self, name: &str, value: u64) {
        let counter = match name {
            "InDatagrams" => &mut self.received,
            "OutDatagrams" => &mut self.sent,
            "NoPorts" => &mut self.no_port,
            "InErrors" => &mut self.receive_errors,
            "RcvbufErrors" => &mut self.receive_buffer_errors,
            "SndbufErrors" => &mut self.send_buffer_errors,
            "InCsumErrors" => &mut self.checksum_errors,
            "MemErrors" => &mut self.memory_errors,
            _ => return,
        };
        *counter = value;
    }

    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            received: self.received.saturating_sub(earlier.received),
            sent: self.sent.saturating_sub(earlier.sent),
            no_port: self.no_port.saturating_sub(earlier.no_port),
            receive_errors: self.receive_errors.saturating_sub(earlier.receive_errors),
            receive_buffer_errors: self
                .receive_buffer_errors
                .saturating_sub(earlier.receive_buffer_errors),
            send_buffer_errors: self
                .send_buffer_errors
                .saturating_sub(earlier.send_buffer_errors),
            checksum_errors: self.checksum_errors.saturating_sub(earlier.checksum_errors),
            memory_errors: self.memory_errors.saturating_sub(earlier.memory_errors),
        }
    }

    /// Datagrams that were dropped although a socket listened, and those that could not leave.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.receive_errors.saturating_add(self.send_buffer_errors)
    }
}

const SOFTNET: &str = "/proc/net/softnet_stat";

/// Frames between the driver and the sockets since boot, all CPUs together. Source: the kernel's
/// `softnet_seq_show` (net/core/net-procfs.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoftnetCounters {
    /// Frames that the network stack handled, from all interfaces.
    pub processed: u64,
    /// Frames that found a full backlog (`net.core.netdev_max_backlog`).
    pub dropped: u64,
    /// How often a CPU stopped with frames left because its budget or its time was used up
    /// (`net.core.netdev_budget`, `net.core.netdev_budget_usecs`): a latency, not a loss.
    pub squeezed: u64,
}

impl SoftnetCounters {
    /// The counters of the machine under `root`.
    ///
    /// # Errors
    /// When the system does not report them, or reports something unknown.
    pub fn read(root: &Root) -> Result<Self, ReadFactError> {
        let text = root.read(SOFTNET)?;
        Self::parse(&text)
            .ok_or_else(|| ReadFactError::strange(SOFTNET, &text, "lines of hexadecimal numbers"))
    }

    /// Parses the text of `/proc/net/softnet_stat`: a line a CPU, its first three numbers in hexadecimal. Returns
    /// `None` for other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut all = None;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let mut number = || u64::from_str_radix(words.next()?, 16).ok();
            let cpu = Self {
                processed: number()?,
                dropped: number()?,
                squeezed: number()?,
            };
            all = Some(all.map_or(cpu, |all: Self| all.and(cpu)));
        }
        all
    }

    fn and(self, other: Self) -> Self {
        Self {
            processed: self.processed.saturating_add(other.processed),
            dropped: self.dropped.saturating_add(other.dropped),
            squeezed: self.squeezed.saturating_add(other.squeezed),
        }
    }

    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            processed: self.processed.saturating_sub(earlier.processed),
            dropped: self.dropped.saturating_sub(earlier.dropped),
            squeezed: self.squeezed.saturating_sub(earlier.squeezed),
        }
    }
}

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
    /// Collisions: only a half-duplex link has them.
    pub collisions: u64,
}

impl InterfaceCounters {
    /// The counters of one interface under `root`.
    ///
    /// # Errors
    /// When there is no such interface, or the system does not report its counters.
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

    /// The counts since `earlier`.
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

const SOCKETS: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];

/// One UDP socket of the host, of any process, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketRow {
    /// The address that it listens on.
    pub local: SocketAddr,
    /// Bytes that wait to be read, with the kernel's bookkeeping.
    pub receive_queue: u64,
    /// Its number among all files of the kernel, as in `/proc/PID/fd`.
    pub inode: u64,
    /// Datagrams that came to it and were dropped.
    pub dropped: u64,
}

/// The UDP sockets of the network namespace under `root`, IPv4 and then IPv6. Lines with unknown content are left
/// out.
///
/// # Errors
/// When the system lists none for either family.
pub fn sockets(root: &Root) -> Result<Vec<SocketRow>, ReadFactError> {
    let mut rows = Vec::new();
    let [v4, v6] = SOCKETS.map(|path| root.read(path));
    let found = v4.is_ok() || v6.is_ok();
    for text in [&v4, &v6].into_iter().flatten() {
        rows.extend(text.lines().filter_map(SocketRow::parse));
    }
    if found { Ok(rows) } else { v4.map(|_| rows) }
}

impl SocketRow {
    /// Parses a line of `/proc/net/udp` or `/proc/net/udp6`; returns `None` for other lines, such as the heading.
    /// Addresses stand there as numbers of 32 bits in the host's own order of bytes.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().take(13).collect();
        let [_, local, _, _, queues, _, _, _, _, inode, _, _, dropped] = words[..] else {
            return None;
        };
        let (_, receive_queue) = queues.split_once(':')?;
        Some(Self {
            local: address(local)?,
            receive_queue: u64::from_str_radix(receive_queue, 16).ok()?,
            inode: inode.parse().ok()?,
            dropped: dropped.parse().ok()?,
        })
    }
}

fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |digits: &str| {
        let word = u32::from_str_radix(digits, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(ip)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(ip.get(at * 8..at * 8 + 8)?)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests;
