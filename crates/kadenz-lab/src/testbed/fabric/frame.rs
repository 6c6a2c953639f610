//! A frame as the fabric sees it.

use std::fmt;

use crate::testbed::wire::EthernetFrame;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

/// A frame: the addresses and the length that the network acts on, and whatever it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<T> {
    /// Who sent it.
    pub source: Mac,
    /// For whom it is.
    pub destination: Mac,
    /// How long it is on Ethernet.
    pub length: EthernetFrame,
    /// Copied where the network copies the frame.
    pub content: T,
}

impl Mac {
    /// Everybody's.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// That of a testbed's host, by its place: locally administered (second bit of the first byte,
    /// IEEE 802-2014, clause 8.2), then `KDZ`.
    #[must_use]
    pub const fn of_host(host: usize) -> Self {
        let [high, low] = (host as u16).to_be_bytes();
        Self([0x02, b'K', b'D', b'Z', high, low])
    }

    /// Whether it stands for several hosts: the first bit on the wire.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
