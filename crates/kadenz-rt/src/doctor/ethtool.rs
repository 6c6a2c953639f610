//! Questions to network drivers: the ioctl behind the program `ethtool`.

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

#[cfg(target_os = "linux")]
pub(super) use ioctl::read;

#[cfg(target_os = "linux")]
mod ioctl {
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    use super::{Coalesce, EnergyEfficient, Settings};

    // Values and layouts: include/uapi/linux/ethtool.h, sockios.h and wireless.h.
    const SIOCETHTOOL: u64 = 0x8946;
    const SIOCGIWPOWER: u64 = 0x8b2d;
    const ETHTOOL_GCOALESCE: u32 = 0x0e;
    const ETHTOOL_GFLAGS: u32 = 0x25;
    const ETHTOOL_GGRO: u32 = 0x2b;
    const ETHTOOL_GEEE: u32 = 0x44;
    const ETH_FLAG_LRO: u32 = 1 << 15;

    /// `struct ethtool_coalesce`: the command and 22 numbers.
    type CoalesceWords = [u32; 23];
    /// `struct ethtool_eee`: the command, 7 numbers and 2 reserved ones.
    type EeeWords = [u32; 10];
    /// `struct ethtool_value`: the command and its answer.
    type ValueWords = [u32; 2];

    /// `struct ifreq` with a pointer in its union; the union is 24 bytes on 64-bit systems and 16
    /// on 32-bit ones.
    #[repr(C)]
    struct PointerRequest {
        name: [u8; 16],
        data: *mut u32,
        rest: [usize; 2],
    }

    /// `struct iwreq` with a `struct iw_param` in its union.
    #[repr(C)]
    struct PowerRequest {
        name: [u8; 16],
        value: i32,
        fixed: u8,
        disabled: u8,
        flags: u16,
        rest: [u64; 2],
    }

    /// Asks the driver of one interface everything. Needs no rights.
    pub(in super::super) fn read(interface: &str) -> Settings {
        let Some(name) = interface_name(interface) else {
            return Settings::default();
        };
        // Any socket serves; this one is bound to loopback and never used.
        let Ok(socket) = UdpSocket::bind(("127.0.0.1", 0)) else {
            return Settings::default();
        };
        let ask = |words: &mut [u32]| ask(&socket, name, words);
        Settings {
            coalesce: coalesce(ask),
            energy_efficient: energy_efficient(ask),
            generic_receive_offload: value(ask, ETHTOOL_GGRO).map(|value| value != 0),
            large_receive_offload: value(ask, ETHTOOL_GFLAGS).map(|f| f & ETH_FLAG_LRO != 0),
            power_save: power_save(&socket, name),
        }
    }

    fn coalesce(ask: impl Fn(&mut [u32]) -> bool) -> Option<Coalesce> {
        let mut words: CoalesceWords = [0; 23];
        words[0] = ETHTOOL_GCOALESCE;
        ask(&mut words).then(|| Coalesce {
            rx_us: words[1],
            rx_frames: words[2],
            tx_us: words[5],
            adaptive_rx: words[10] != 0,
        })
    }

    fn energy_efficient(ask: impl Fn(&mut [u32]) -> bool) -> Option<EnergyEfficient> {
        let mut words: EeeWords = [0; 10];
        words[0] = ETHTOOL_GEEE;
        ask(&mut words).then(|| EnergyEfficient {
            active: words[4] != 0,
            enabled: words[5] != 0,
        })
    }

    fn value(ask: impl Fn(&mut [u32]) -> bool, command: u32) -> Option<u32> {
        let mut words: ValueWords = [command, 0];
        ask(&mut words).then_some(words[1])
    }

    fn interface_name(interface: &str) -> Option<[u8; 16]> {
        let mut name = [0; 16];
        // The last byte stays zero.
        name[..15]
            .get_mut(..interface.len())?
            .copy_from_slice(interface.as_bytes());
        Some(name)
    }

    /// `words` begins with the command and is as long as the command's structure.
    #[expect(unsafe_code, reason = "a system call")]
    fn ask(socket: &UdpSocket, name: [u8; 16], words: &mut [u32]) -> bool {
        let mut request = PointerRequest {
            name,
            data: words.as_mut_ptr(),
            rest: [0; 2],
        };
        // SAFETY: the request has the layout of `struct ifreq`, its name ends with a zero, and its
        // pointer leads to as many words as the command's structure has, alive through the call.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        result == 0
    }

    #[expect(unsafe_code, reason = "a system call")]
    fn power_save(socket: &UdpSocket, name: [u8; 16]) -> Option<bool> {
        let mut request = PowerRequest {
            name,
            value: 0,
            fixed: 0,
            disabled: 0,
            flags: 0,
            rest: [0; 2],
        };
        // SAFETY: the request is at least as long as `struct iwreq` and begins like it; this
        // command writes the `iw_param` in it and follows no pointer.
        let result =
            unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGIWPOWER as _, &raw mut request) };
        (result == 0).then_some(request.disabled == 0)
    }
}
