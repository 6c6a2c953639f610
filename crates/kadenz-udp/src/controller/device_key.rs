//! By what a device is known.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// By what a device is known: its address and port, and for link-local IPv6 the interface's scope.
///
/// An IPv4 address inside IPv6 (RFC 4291 section 2.5.5.2), as sockets for both report it, is the same
/// device as the plain one.
///
/// ```
/// use kadenz_udp::controller::DeviceKey;
///
/// let plain: std::net::SocketAddr = "10.10.1.2:6176".parse().unwrap();
/// let mapped: std::net::SocketAddr = "[::ffff:10.10.1.2]:6176".parse().unwrap();
/// assert_eq!(DeviceKey::from(plain), DeviceKey::from(mapped));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceKey {
    address: IpAddr,
    port: u16,
    scope: u32,
}

impl DeviceKey {
    /// A device at this address and port.
    #[must_use]
    pub fn new(address: IpAddr, port: u16) -> Self {
        Self {
            address: address.to_canonical(),
            port,
            scope: 0,
        }
    }

    /// The same, reached through this interface (RFC 4007): for link-local IPv6. IPv4 has none.
    #[must_use]
    pub fn with_scope(self, scope: u32) -> Self {
        let scope = u32::from(self.address.is_ipv6()) * scope;
        Self { scope, ..self }
    }

    /// The interface it is reached through, 0 for any.
    #[must_use]
    pub fn scope(&self) -> u32 {
        self.scope
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Spreads keys over all 64 bits (FNV-1a, then a multiplication that carries upwards).
    pub(crate) fn spread(&self) -> u64 {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        let mut take = |bytes: &[u8]| {
            for byte in bytes {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
        };
        match self.address {
            IpAddr::V4(address) => take(&address.octets()),
            IpAddr::V6(address) => take(&address.octets()),
        }
        take(&self.port.to_be_bytes());
        take(&self.scope.to_be_bytes());
        hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl From<SocketAddr> for DeviceKey {
    fn from(address: SocketAddr) -> Self {
        let scope = match address {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(address) => address.scope_id(),
        };
        Self::new(address.ip(), address.port()).with_scope(scope)
    }
}

impl From<DeviceKey> for SocketAddr {
    fn from(key: DeviceKey) -> Self {
        let mut address = Self::new(key.address, key.port);
        if let Self::V6(address) = &mut address {
            address.set_scope_id(key.scope);
        }
        address
    }
}

impl fmt::Display for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
