//! The four address bytes of a datagram.

/// Where a SubDevice is on the segment: 0 is the first after the MainDevice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u16);

/// The station address that the MainDevice configured, or the alias in the SubDevice's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Configured(pub u16);

/// A byte of the logical memory that FMMUs map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Logical(pub u32);

/// The address field, without the command that says how to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DatagramAddress(u32);

impl DatagramAddress {
    /// The field as it stands on the wire.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// For the commands by position. The field holds the negative position: the SubDevice that finds 0 is addressed.
    #[must_use]
    pub const fn position(position: Position, register: u16) -> Self {
        Self::pair(position.0.wrapping_neg(), register)
    }

    /// For the commands by configured address.
    #[must_use]
    pub const fn configured(station: Configured, register: u16) -> Self {
        Self::pair(station.0, register)
    }

    /// For the broadcast commands.
    #[must_use]
    pub const fn broadcast(register: u16) -> Self {
        Self::pair(0, register)
    }

    /// For the logical commands.
    #[must_use]
    pub const fn logical(logical: Logical) -> Self {
        Self(logical.0)
    }

    const fn pair(device: u16, register: u16) -> Self {
        Self(device as u32 | (register as u32) << 16)
    }

    /// The field as it stands on the wire.
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// ADP: which SubDevice, by position or configured address.
    #[must_use]
    pub const fn device(self) -> u16 {
        (self.0 & 0xFFFF) as u16
    }

    /// The ADO: which register of the device.
    #[must_use]
    pub const fn register(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The same with ADP one higher, as each SubDevice leaves it behind.
    #[cfg(test)]
    #[must_use]
    pub(crate) const fn passed(self) -> Self {
        Self::pair(self.device().wrapping_add(1), self.register())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_device_is_the_one_that_finds_zero() {
        let sent = DatagramAddress::position(Position(2), 0x0130);
        assert_eq!(sent.device(), 0xFFFE);
        assert_eq!(sent.passed().passed().device(), 0);
        assert_eq!(sent.passed().register(), 0x0130);
    }

    #[test]
    fn a_logical_address_takes_all_four_bytes() {
        assert_eq!(
            DatagramAddress::logical(Logical(0x0102_0304)).raw(),
            0x0102_0304
        );
    }
}
