use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::host::{ReadFactError, Root};

const PATHS: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];

/// One UDP socket of the host, anyone's, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketRow {
    /// What it listens on.
    pub local: SocketAddr,
    /// Bytes that wait to be read, with the kernel's bookkeeping.
    pub receive_queue: u64,
    /// Its number among all files of the kernel, as in `/proc/PID/fd`.
    pub inode: u64,
    /// Datagrams that came to it and were thrown away.
    pub dropped: u64,
}

/// The UDP sockets of the network namespace under `root`, IPv4 and then IPv6. A line that says
/// something unknown is left out.
///
/// # Errors
/// When the system lists none for either family.
pub fn sockets(root: &Root) -> Result<Vec<SocketRow>, ReadFactError> {
    let mut rows = Vec::new();
    let [v4, v6] = PATHS.map(|path| root.read(path));
    let found = v4.is_ok() || v6.is_ok();
    for text in [&v4, &v6].into_iter().flatten() {
        rows.extend(text.lines().filter_map(SocketRow::parse));
    }
    if found { Ok(rows) } else { v4.map(|_| rows) }
}

impl SocketRow {
    /// Out of a line of `/proc/net/udp` or `/proc/net/udp6`; `None` where it is something else, such
    /// as the heading. Addresses stand there as numbers of 32 bits in the host's own order of bytes.
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
