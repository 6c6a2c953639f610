//! Requests to network drivers: the ioctls behind the programs `ethtool` and `iwconfig`.
//!
//! Values and layouts: `ethtool.h`, `sockios.h` and `wireless.h` of the kernel's user interface.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType};

const SIOCETHTOOL: u32 = 0x8946;
const SIOCGIWPOWER: u32 = 0x8b2d;

/// The request codes; each names its structure.
pub(crate) mod command {
    /// `struct ethtool_drvinfo`.
    pub(crate) const GET_DRIVER: u32 = 0x03;
    /// `struct ethtool_coalesce`.
    pub(crate) const GET_COALESCE: u32 = 0x0e;
    /// `struct ethtool_value`.
    pub(crate) const GET_FLAGS: u32 = 0x25;
    /// `struct ethtool_value`.
    pub(crate) const GET_GRO: u32 = 0x2b;
    /// `struct ethtool_eee`.
    pub(crate) const GET_EEE: u32 = 0x44;
}

/// `struct ifreq` with a pointer in its union; the union is 24 bytes on 64-bit systems and 16 on
/// 32-bit ones, and this is never shorter.
#[repr(C)]
struct PointerRequest {
    name: [u8; 16],
    data: *mut u32,
    rest: [usize; 3],
}

/// `struct iwreq` with a `struct iw_param` in its union of 16 bytes.
#[repr(C)]
struct PowerRequest {
    name: [u8; 16],
    value: i32,
    fixed: u8,
    disabled: u8,
    flags: u16,
    rest: [u64; 2],
}

/// A network interface whose driver can be queried. Queries need no rights.
pub(crate) struct Interface {
    socket: OwnedFd,
    name: [u8; 16],
}

impl Interface {
    /// `None` when the name is too long for the kernel, or sockets are refused.
    pub(crate) fn open(interface: &str) -> Option<Self> {
        let mut name = [0; 16];
        // The last byte stays zero.
        name[..15]
            .get_mut(..interface.len())?
            .copy_from_slice(interface.as_bytes());
        let socket = super::socket(AddressFamily::INET, SocketType::DGRAM).ok()?;
        Some(Self { socket, name })
    }

    /// Sends `words`, which begins with a command of [`command`] and holds the answer afterwards. `N` must be the
    /// number of words of the command's structure. Returns false when the driver does not answer this request.
    pub(crate) fn ask<const N: usize>(&self, words: &mut [u32; N]) -> bool {
        let data = words.as_mut_ptr();
        let mut request = PointerRequest {
            name: self.name,
            data,
            rest: [0; 3],
        };
        // SAFETY: the request is laid out like `struct ifreq`, its name ends with a zero, and its
        // pointer leads to the words of the command's structure, alive through the call.
        let result =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        result == 0
    }

    /// The driver's name; `None` when the driver does not report it.
    pub(crate) fn driver(&self) -> Option<String> {
        // `struct ethtool_drvinfo`: the command, the name in 32 bytes, and 160 bytes more.
        let mut words = [0_u32; 49];
        words[0] = command::GET_DRIVER;
        if !self.ask(&mut words) {
            return None;
        }
        let bytes: Vec<u8> = words[1..9]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .take_while(|byte| *byte != 0)
            .collect();
        let name = String::from_utf8_lossy(&bytes).into_owned();
        (!name.is_empty()).then_some(name)
    }

    /// Whether Wi-Fi power save is on; `None` when this is not a Wi-Fi interface or the driver does not report it.
    pub(crate) fn power_save(&self) -> Option<bool> {
        let mut request = PowerRequest {
            name: self.name,
            value: 0,
            fixed: 0,
            disabled: 0,
            flags: 0,
            rest: [0; 2],
        };
        // SAFETY: the request is not shorter than `struct iwreq` and begins like it; this command
        // writes the `iw_param` in it and follows no pointer.
        let result =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCGIWPOWER as _, &raw mut request) };
        (result == 0).then_some(request.disabled == 0)
    }
}
