//! What network drivers say of themselves.

/// What a driver answered; absent where it does not support the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) coalesce: Option<Coalesce>,
    pub(super) energy_efficient: Option<EnergyEfficient>,
    pub(super) generic_receive_offload: Option<bool>,
    pub(super) large_receive_offload: Option<bool>,
    pub(super) power_save: Option<bool>,
}

/// Interrupt coalescing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coalesce {
    pub(super) rx_us: u32,
    pub(super) rx_frames: u32,
    pub(super) tx_us: u32,
    pub(super) adaptive_rx: bool,
}

/// Energy-Efficient Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnergyEfficient {
    pub(super) enabled: bool,
    pub(super) active: bool,
}

#[cfg(not(target_os = "linux"))]
pub(super) fn read(_: &str) -> Settings {
    Settings::default()
}

/// Asks the driver of one interface everything. Needs no rights.
#[cfg(target_os = "linux")]
pub(super) fn read(interface: &str) -> Settings {
    use crate::os::linux::ethtool::{Interface, command};

    /// `ETH_FLAG_LRO` of `ethtool.h`.
    const LARGE_RECEIVE_OFFLOAD: u32 = 1 << 15;
    let Some(interface) = Interface::open(interface) else {
        return Settings::default();
    };
    let value = |command| {
        let mut words = [command, 0];
        interface.ask(&mut words).then_some(words[1])
    };
    Settings {
        coalesce: coalesce(&interface),
        energy_efficient: energy_efficient(&interface),
        generic_receive_offload: value(command::GET_GRO).map(|value| value != 0),
        large_receive_offload: value(command::GET_FLAGS).map(|f| f & LARGE_RECEIVE_OFFLOAD != 0),
        power_save: interface.power_save(),
    }
}

/// The command and the 22 numbers of `struct ethtool_coalesce`.
#[cfg(target_os = "linux")]
fn coalesce(interface: &crate::os::linux::ethtool::Interface) -> Option<Coalesce> {
    let mut words = [0; 23];
    words[0] = crate::os::linux::ethtool::command::GET_COALESCE;
    interface.ask(&mut words).then(|| Coalesce {
        rx_us: words[1],
        rx_frames: words[2],
        tx_us: words[5],
        adaptive_rx: words[10] != 0,
    })
}

/// The command, the 7 numbers and the 2 reserved ones of `struct ethtool_eee`.
#[cfg(target_os = "linux")]
fn energy_efficient(interface: &crate::os::linux::ethtool::Interface) -> Option<EnergyEfficient> {
    let mut words = [0; 10];
    words[0] = crate::os::linux::ethtool::command::GET_EEE;
    interface.ask(&mut words).then(|| EnergyEfficient {
        active: words[4] != 0,
        enabled: words[5] != 0,
    })
}
