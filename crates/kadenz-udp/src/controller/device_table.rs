//! The devices of a run.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use crate::memory::Memory;

/// A device's number in its table: 0 for the first that was added, one more for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u16);

impl DeviceId {
    /// The number as an index into the caller's data of each device.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// One slot of a [`DeviceTable`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceTableSlot {
    /// The device whose number is the slot's own.
    device: Option<DeviceKey>,
    /// The number of the device whose key hashes to this slot.
    leads_to: Option<DeviceId>,
}

/// The table has no room for another device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {most} devices answered: request fewer, or make room for more")]
pub struct DeviceTableFull {
    /// The number of devices that have room.
    pub most: usize,
}

/// The devices of a run, found by address and port.
///
/// Devices are added before the start. From then on the table only counts datagrams of unknown devices, so that
/// they cannot fill it. It has room for half as many devices as slots, and for at most 32,767.
///
/// ```
/// use kadenz_udp::controller::{DeviceId, DeviceKey, DeviceTable, DeviceTableSlot};
///
/// let key = |text: &str| DeviceKey::from(text.parse::<std::net::SocketAddr>().unwrap());
/// let mut table = DeviceTable::over([DeviceTableSlot::default(); 80]);
/// let knee = table.add(key("10.10.1.2:6176"))?;
/// assert_eq!(table.count_datagram(&key("10.10.1.2:6176")), Some(knee));
/// assert_eq!(table.count_datagram(&key("10.10.1.3:6176")), None);
/// assert_eq!((table.len(), table.unknown_senders()), (1, 1));
/// # Ok::<(), kadenz_udp::controller::DeviceTableFull>(())
/// ```
///
/// # Real-time safety
/// Real-time safe: a look-up follows a short chain and allocates nothing.
#[derive(Clone, Debug)]
pub struct DeviceTable<M> {
    slots: M,
    devices: u16,
    unknown_senders: u64,
}

impl<M: Memory<DeviceTableSlot>> DeviceTable<M> {
    /// An empty table over these slots.
    pub fn over(mut slots: M) -> Self {
        slots.as_mut().fill(DeviceTableSlot::default());
        Self {
            slots,
            devices: 0,
            unknown_senders: 0,
        }
    }

    /// Adds a device, or finds the one that is there already.
    ///
    /// # Errors
    /// [`DeviceTableFull`] if there is no more room.
    pub fn add(&mut self, key: DeviceKey) -> Result<DeviceId, DeviceTableFull> {
        if let Some(known) = self.find(&key) {
            return Ok(known);
        }
        let most = self.most();
        let id = DeviceId(self.devices);
        if id.index() >= most {
            return Err(DeviceTableFull { most });
        }
        let free = |slot: &DeviceTableSlot| slot.leads_to.is_none();
        let at = self.chain(&key).find(|(_, slot)| free(slot));
        let at = at.map(|(at, _)| at).ok_or(DeviceTableFull { most })?;
        let slots = self.slots.as_mut();
        if let Some(slot) = slots.get_mut(at) {
            slot.leads_to = Some(id);
        }
        if let Some(slot) = slots.get_mut(id.index()) {
            slot.device = Some(key);
        }
        self.devices += 1;
        Ok(id)
    }

    /// The number of a device; `None` for an unknown device.
    #[must_use]
    pub fn find(&self, key: &DeviceKey) -> Option<DeviceId> {
        self.chain(key)
            .map_while(|(_, slot)| slot.leads_to)
            .find(|id| self.device(*id) == Some(*key))
    }

    /// The number of the device that sent a datagram; counts the datagram of an unknown device.
    pub fn count_datagram(&mut self, key: &DeviceKey) -> Option<DeviceId> {
        let found = self.find(key);
        self.unknown_senders = self
            .unknown_senders
            .saturating_add(u64::from(found.is_none()));
        found
    }

    /// The device that has this number.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> Option<DeviceKey> {
        self.slots.as_ref().get(id.index())?.device
    }

    /// The devices in the order in which they were added.
    pub fn devices(&self) -> impl Iterator<Item = (DeviceId, DeviceKey)> + '_ {
        let keys = self.slots.as_ref().iter().map_while(|slot| slot.device);
        (0..).map(DeviceId).zip(keys)
    }

    /// How many devices there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.devices.into()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.devices == 0
    }

    /// How many devices the table has room for.
    #[must_use]
    pub fn most(&self) -> usize {
        (self.slots.as_ref().len() / 2).min(usize::from(u16::MAX / 2))
    }

    /// Datagrams of unknown devices, counted by [`count_datagram`](Self::count_datagram).
    #[must_use]
    pub fn unknown_senders(&self) -> u64 {
        self.unknown_senders
    }

    /// The slots a key may lead to, in the order in which they are tried (linear probing).
    fn chain(&self, key: &DeviceKey) -> impl Iterator<Item = (usize, &DeviceTableSlot)> {
        let slots = self.slots.as_ref();
        let start = start_of_chain(key.spread(), slots.len());
        let (before, from) = slots.split_at(start);
        let from = from
            .iter()
            .enumerate()
            .map(move |(at, it)| (start + at, it));
        from.chain(before.iter().enumerate())
    }
}

/// The upper bits of the hash, scaled to the slots; 0 if there are none.
fn start_of_chain(hash: u64, slots: usize) -> usize {
    let upper = u128::from(hash) * u128::try_from(slots).unwrap_or(0);
    usize::try_from(upper >> 64).unwrap_or(0)
}

// The key of a device.

/// The identity of a device: its address and port, and for link-local IPv6 the interface's scope.
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

    /// The same device, reached through this interface (RFC 4007): for link-local IPv6. IPv4 has no scope.
    #[must_use]
    pub fn with_scope(self, scope: u32) -> Self {
        let scope = u32::from(self.address.is_ipv6()) * scope;
        Self { scope, ..self }
    }

    /// The interface through which the device is reached, 0 for any.
    #[must_use]
    pub fn scope(&self) -> u32 {
        self.scope
    }

    /// The IP address of the device.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The UDP port of the device.
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
