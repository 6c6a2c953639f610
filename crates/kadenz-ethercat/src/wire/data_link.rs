//! A SubDevice's four ports: whether each has a link, and where frames turn around (ETG.1000.4, tables 34 and 35).

/// The state of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortStatus {
    /// No link: the loop is closed, frames turn around.
    Unplugged,
    /// The port has a link but its loop is closed, by setting or because no frames come.
    Closed,
    /// Frames go out and come in.
    Open,
}

/// Register [`DL_STATUS`](super::register::DL_STATUS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DlStatus(pub u16);

impl DlStatus {
    /// The SII is loaded; the process data interface works.
    pub const READY: u16 = 1 << 0;
    /// The application triggers its watchdog in time.
    pub const WATCHDOG_FED: u16 = 1 << 1;

    /// The same with a port's link, loop and communication set.
    ///
    /// # Panics
    /// For a port above 3.
    #[must_use]
    pub(crate) const fn with_port(self, port: u8, status: PortStatus) -> Self {
        assert!(port < 4);
        let cleared = self.0 & !(1 << (4 + port) | 3 << (8 + 2 * port));
        let link = 1 << (4 + port);
        Self(match status {
            PortStatus::Unplugged => cleared | 1 << (8 + 2 * port),
            PortStatus::Closed => cleared | link | 1 << (8 + 2 * port),
            PortStatus::Open => cleared | link | 2 << (8 + 2 * port),
        })
    }

    /// Whether a signal is on the port.
    ///
    /// # Panics
    /// For a port above 3.
    #[must_use]
    pub const fn link(self, port: u8) -> bool {
        assert!(port < 4);
        self.0 & 1 << (4 + port) != 0
    }

    /// The state of a port.
    ///
    /// # Panics
    /// For a port above 3.
    #[must_use]
    pub const fn port(self, port: u8) -> PortStatus {
        match (self.link(port), self.0 >> (8 + 2 * port) & 1 != 0) {
            (_, false) => PortStatus::Open,
            (true, true) => PortStatus::Closed,
            (false, true) => PortStatus::Unplugged,
        }
    }
}

/// How a port's loop is controlled: two bits of [`DlControl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopControl {
    /// Opens and closes with the link.
    Auto,
    /// Closes with the link; opens when the MainDevice writes or a frame comes in.
    AutoClose,
    /// Open, whatever the link.
    AlwaysOpen,
    /// Closed, whatever the link.
    AlwaysClosed,
}

/// Register [`DL_CONTROL`](super::register::DL_CONTROL).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DlControl(pub u32);

impl DlControl {
    /// The value after power on: only EtherCAT is passed on, loops are automatic.
    pub const POWER_ON: Self = Self(0x0007_0001);
    /// Frames of other protocols are destroyed, and those of EtherCAT are marked as returned.
    pub const ONLY_ETHERCAT: u32 = 1 << 0;
    /// The station alias counts beside the configured address.
    pub const ALIAS: u32 = 1 << 24;

    /// How a port's loop is controlled.
    ///
    /// # Panics
    /// For a port above 3.
    #[must_use]
    pub const fn port(self, port: u8) -> LoopControl {
        assert!(port < 4);
        match self.0 >> (8 + 2 * port) & 3 {
            0 => LoopControl::Auto,
            1 => LoopControl::AutoClose,
            2 => LoopControl::AlwaysOpen,
            _ => LoopControl::AlwaysClosed,
        }
    }

    /// The same with another setting of a port.
    ///
    /// # Panics
    /// For a port above 3.
    #[must_use]
    pub(crate) const fn with_port(self, port: u8, control: LoopControl) -> Self {
        assert!(port < 4);
        let number = match control {
            LoopControl::Auto => 0,
            LoopControl::AutoClose => 1,
            LoopControl::AlwaysOpen => 2,
            LoopControl::AlwaysClosed => 3,
        };
        Self(self.0 & !(3 << (8 + 2 * port)) | number << (8 + 2 * port))
    }

    /// Whether the alias counts.
    #[must_use]
    pub const fn alias(self) -> bool {
        self.0 & Self::ALIAS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_line_has_one_open_port() {
        let last = DlStatus(DlStatus::READY)
            .with_port(0, PortStatus::Open)
            .with_port(1, PortStatus::Unplugged)
            .with_port(2, PortStatus::Unplugged)
            .with_port(3, PortStatus::Unplugged);
        assert_eq!(last.0, 0x5611);
        assert_eq!(last.port(0), PortStatus::Open);
        assert_eq!(last.port(3), PortStatus::Unplugged);
        assert!(last.link(0) && !last.link(1));
    }

    #[test]
    fn a_port_changes_alone() {
        for port in 0..4 {
            for status in [PortStatus::Unplugged, PortStatus::Closed, PortStatus::Open] {
                let one = DlStatus(0xFFFF).with_port(port, status);
                assert_eq!(one.port(port), status);
                let other = (port + 1) % 4;
                assert_eq!(one.with_port(other, PortStatus::Open).port(port), status);
            }
        }
    }

    #[test]
    fn loops_are_governed_apart_from_the_rest() {
        let closed = DlControl::POWER_ON.with_port(2, LoopControl::AlwaysClosed);
        assert_eq!(closed.0, 0x0007_3001);
        assert_eq!(closed.port(2), LoopControl::AlwaysClosed);
        assert_eq!(closed.port(1), LoopControl::Auto);
        assert!(!closed.alias() && DlControl(1 << 24).alias());
    }
}
