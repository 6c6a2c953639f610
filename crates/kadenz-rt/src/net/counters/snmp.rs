use crate::host::{ReadFactError, Root};

const PATH: &str = "/proc/net/snmp";
const PATH_V6: &str = "/proc/net/snmp6";

/// UDP datagrams of one network namespace since boot. Source: RFC 4113 and `linux/snmp.h`; a counter
/// that this kernel lacks is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdpCounters {
    /// Delivered to sockets (`InDatagrams`).
    pub received: u64,
    /// Sent (`OutDatagrams`).
    pub sent: u64,
    /// Came for a port on which nobody listens (`NoPorts`).
    pub no_port: u64,
    /// Could not be delivered, for whatever reason; those below are among them (`InErrors`).
    pub receive_errors: u64,
    /// Found a full receive buffer (`RcvbufErrors`).
    pub receive_buffer_errors: u64,
    /// Could not be sent for want of memory (`SndbufErrors`).
    pub send_buffer_errors: u64,
    /// Had a wrong checksum (`InCsumErrors`).
    pub checksum_errors: u64,
    /// Were thrown away because all UDP sockets together held too much memory (`MemErrors`).
    pub memory_errors: u64,
}

impl UdpCounters {
    /// The counters of UDP over IPv4 under `root`.
    ///
    /// # Errors
    /// When the system does not tell, or tells something unknown.
    pub fn read(root: &Root) -> Result<Self, ReadFactError> {
        let text = root.read(PATH)?;
        Self::parse(&text).ok_or_else(|| ReadFactError::strange(PATH, &text, "two lines `Udp:`"))
    }

    /// The counters of UDP over IPv6 under `root`.
    ///
    /// # Errors
    /// As [`UdpCounters::read`].
    pub fn read_v6(root: &Root) -> Result<Self, ReadFactError> {
        let text = root.read(PATH_V6)?;
        Self::parse_v6(&text)
            .ok_or_else(|| ReadFactError::strange(PATH_V6, &text, "lines `Udp6...`"))
    }

    /// Out of the text of `/proc/net/snmp`: a line of names, then a line of values, each beginning
    /// with the protocol. `None` where it has no such lines.
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

    /// Out of the text of `/proc/net/snmp6`: a name and a value a line. `None` where it has none of
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

    /// What was counted since `earlier`.
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

    /// Datagrams that were thrown away although somebody listened, and those that could not leave.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.receive_errors.saturating_add(self.send_buffer_errors)
    }
}
