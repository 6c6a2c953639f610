//! The hardware of a SubDevice controller: its FMMUs, SyncManagers, memory, ports and features.

use crate::wire::register::features;

/// Features of Beckhoff's controllers: clocks of 64 bits with low jitter, enhanced link detection on both kinds of
/// ports, check sequence errors counted apart. FMMUs map bits.
const FEATURES: u16 = features::DC
    | features::DC_64
    | features::LOW_JITTER
    | features::ENHANCED_LINK
    | features::ENHANCED_CABLE_LINK
    | features::COUNTS_CHECK_SEQUENCES;

/// The kind of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortKind {
    /// The controller does not have it.
    Absent,
    /// The port is there, and the SII sets it up.
    Unconfigured,
    /// Between terminals of one coupler.
    Ebus,
    /// A cable, 100BASE-TX.
    Cable,
}

impl PortKind {
    const fn number(self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Unconfigured => 1,
            Self::Ebus => 2,
            Self::Cable => 3,
        }
    }
}

/// A kind of controller, as its information registers 0x0000 to 0x0009 describe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hardware {
    /// Register 0x0000.
    pub kind: u8,
    /// Register 0x0001.
    pub revision: u8,
    /// Register 0x0002.
    pub build: u16,
    /// How many FMMUs, at most 16.
    pub fmmus: u8,
    /// How many SyncManagers, at most 16.
    pub sync_managers: u8,
    /// Process memory in KiB, at most 60.
    pub ram_kib: u8,
    /// The kinds of the four ports.
    pub ports: [PortKind; 4],
    /// Bits of [`features`].
    pub features: u16,
    /// Bytes that one read of the SII gives: 4 or 8.
    pub sii_read: u8,
    /// Whether the clock gets power only where the SII enables SYNC or latch. Such a device may have clocks by its
    /// features, yet answer in their registers with its receive times alone.
    pub saves_clock_power: bool,
}

impl Hardware {
    /// Most FMMUs and SyncManagers of any controller.
    pub(crate) const MAX: u8 = 16;

    /// Beckhoff's ET1100, the chip of \[Yoon2009\]: 8 FMMUs, 8 SyncManagers, 8 KiB, distributed clocks of 64 bits,
    /// two cables.
    #[must_use]
    pub const fn et1100() -> Self {
        Self {
            kind: 0x11,
            revision: 0,
            build: 2,
            fmmus: 8,
            sync_managers: 8,
            ram_kib: 8,
            ports: [
                PortKind::Cable,
                PortKind::Cable,
                PortKind::Absent,
                PortKind::Absent,
            ],
            features: FEATURES,
            sii_read: 8,
            saves_clock_power: false,
        }
    }

    /// Beckhoff's ET1200, as in terminals: 3 FMMUs, 4 SyncManagers, 1 KiB.
    #[must_use]
    pub const fn et1200() -> Self {
        Self {
            kind: 0x12,
            fmmus: 3,
            sync_managers: 4,
            ram_kib: 1,
            ports: [
                PortKind::Ebus,
                PortKind::Ebus,
                PortKind::Absent,
                PortKind::Absent,
            ],
            ..Self::et1100()
        }
    }

    /// The same with other ports.
    #[must_use]
    pub const fn with_ports(self, ports: [PortKind; 4]) -> Self {
        Self { ports, ..self }
    }

    /// The same without distributed clocks.
    #[must_use]
    pub const fn without_clock(self) -> Self {
        Self {
            features: self.features & !(features::DC | features::DC_64),
            ..self
        }
    }

    /// Whether it has distributed clocks.
    #[must_use]
    pub(crate) const fn has_clock(&self) -> bool {
        self.features & features::DC != 0
    }

    /// Registers 0x0000 to 0x0009.
    #[must_use]
    pub(crate) fn information(&self) -> [u8; 10] {
        let build = self.build.to_le_bytes();
        let features = self.features.to_le_bytes();
        let ports = self
            .ports
            .iter()
            .rev()
            .fold(0, |all, port| all << 2 | port.number());
        [
            self.kind,
            self.revision,
            build[0],
            build[1],
            self.fmmus,
            self.sync_managers,
            self.ram_kib,
            ports,
            features[0],
            features[1],
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_registers_show_what_it_is_made_of() {
        let information = Hardware::et1100().information();
        assert_eq!(information[..2], [0x11, 0]);
        assert_eq!(information[4..7], [8, 8, 8]);
        assert_eq!(information[7], 0b0000_1111, "two cables, two absent");
        assert_eq!(information[8] & 0x0C, 0x0C, "clocks of 64 bits");
        assert_eq!(
            Hardware::et1200().without_clock().information()[8] & 0x0C,
            0
        );
    }
}
