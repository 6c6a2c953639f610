//! The fourteen commands of a datagram, and its four address bytes.

numbered! {
    /// The operation that a datagram requests of the SubDevices on its way (ETG.1000.4, table 12 and following).
    pub enum Command: u8 {
        /// Ignored by every SubDevice.
        Nop = 0,
        /// Auto increment read: of the SubDevice at a position.
        Aprd = 1,
        /// Auto increment write.
        Apwr = 2,
        /// Auto increment read and write.
        Aprw = 3,
        /// Configured address read.
        Fprd = 4,
        /// Configured address write.
        Fpwr = 5,
        /// Configured address read and write.
        Fprw = 6,
        /// Broadcast read: all SubDevices OR their bytes in.
        Brd = 7,
        /// Broadcast write.
        Bwr = 8,
        /// Broadcast read and write.
        Brw = 9,
        /// Logical memory read, by the SubDevices' FMMUs.
        Lrd = 10,
        /// Logical memory write.
        Lwr = 11,
        /// Logical memory read and write.
        Lrw = 12,
        /// Auto increment read, multiple write: one SubDevice reads, all behind and before it write.
        Armw = 13,
        /// Configured address read, multiple write.
        Frmw = 14,
    }
}

/// How a command addresses SubDevices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressing {
    /// No SubDevice.
    None,
    /// By position: the SubDevice that finds zero is addressed; each adds one.
    Position,
    /// By the configured station address or alias.
    Configured,
    /// All SubDevices; each adds one to the position.
    Broadcast,
    /// By 32 bits of the logical memory.
    Logical,
}

impl Command {
    /// How the command addresses SubDevices.
    #[must_use]
    pub(crate) const fn addressing(self) -> Addressing {
        match self {
            Self::Nop => Addressing::None,
            Self::Aprd | Self::Apwr | Self::Aprw | Self::Armw => Addressing::Position,
            Self::Fprd | Self::Fpwr | Self::Fprw | Self::Frmw => Addressing::Configured,
            Self::Brd | Self::Bwr | Self::Brw => Addressing::Broadcast,
            Self::Lrd | Self::Lwr | Self::Lrw => Addressing::Logical,
        }
    }

    /// Whether the addressed SubDevice puts its bytes into the datagram.
    #[must_use]
    pub const fn reads(self) -> bool {
        !matches!(
            self,
            Self::Nop | Self::Apwr | Self::Fpwr | Self::Bwr | Self::Lwr
        )
    }

    /// Whether the addressed SubDevice takes bytes from the datagram. The multiple writes count as reads: the other
    /// SubDevices write.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(
            self,
            Self::Apwr
                | Self::Aprw
                | Self::Fpwr
                | Self::Fprw
                | Self::Bwr
                | Self::Brw
                | Self::Lwr
                | Self::Lrw
        )
    }
}

/// Where a SubDevice is on the segment: 0 is the first after the MainDevice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u16);

/// The station address that the MainDevice configured, or the alias in the SubDevice's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Configured(pub u16);

/// A byte of the logical memory that FMMUs map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
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
    fn a_number_names_its_command_and_no_other() {
        for (number, command) in (0_u8..).zip(Command::ALL) {
            assert_eq!(command.number(), number);
            assert_eq!(Command::from_number(number), Some(command));
        }
        assert_eq!(Command::from_number(15), None);
        assert_eq!(Command::from_number(255), None);
    }

    #[test]
    fn all_but_nop_read_or_write() {
        for command in &Command::ALL[1..] {
            assert!(command.reads() || command.writes(), "{command:?}");
        }
        assert!(!Command::Nop.reads() && !Command::Nop.writes());
    }

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
