//! The clocks of network cards: PTP hardware clocks.

use super::WallTime;

/// A point on a network card's own clock, in nanoseconds since that clock's epoch: TAI where PTP sets it, else the
/// clock's value at power-on. It is comparable with stamps of the same card only.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhcTime(i64);

impl PhcTime {
    /// The point `ns` nanoseconds after the clock's epoch.
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the clock's epoch.
    #[must_use]
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Nanoseconds from `earlier` to `self`, negative when `self` is the earlier one; saturates.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A card's clock and the wall clock at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PhcPair {
    /// The card's clock.
    pub phc: PhcTime,
    /// The wall clock at that moment.
    pub wall: WallTime,
    /// How far the wall clock may be from that moment, either way, in nanoseconds. Zero where the
    /// hardware itself took both (`PTP_SYS_OFFSET_PRECISE`).
    pub error_ns: u64,
}

/// Why a card's clock cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPhcError {
    /// The system offers no such clock.
    #[error("only Linux offers the clocks of network cards; use software stamps")]
    Unsupported,
    /// The device cannot be opened, or does not answer.
    #[error("the network card's clock {device} cannot be read: {reason}; {remedy}")]
    Refused {
        /// The device file.
        device: String,
        /// The system's error.
        reason: String,
        /// The remedy.
        remedy: &'static str,
    },
}

/// A network card's clock, read beside the wall clock.
///
/// # Real-time safety
/// [`PhcClock::pair`] is for a loop, as stated there. [`PhcClock::open`] is not: it opens a device.
#[derive(Debug)]
pub struct PhcClock {
    #[cfg(target_os = "linux")]
    device: crate::os::linux::clock::Device,
}

impl PhcClock {
    /// Opens `/dev/ptp<index>`; [`InterfaceFacts::phc`](crate::net::interface::InterfaceFacts::phc)
    /// gives the index.
    ///
    /// # Errors
    /// Where there is no such device, or this user may not read it.
    #[cfg(target_os = "linux")]
    pub fn open(index: u32) -> Result<Self, OpenPhcError> {
        let path = format!("/dev/ptp{index}");
        match crate::os::linux::clock::Device::open(&path) {
            Ok(device) => Ok(Self { device }),
            Err(error) => Err(refused(path, &error)),
        }
    }

    /// Opens a network card's clock, which this system does not offer.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub fn open(_index: u32) -> Result<Self, OpenPhcError> {
        Err(OpenPhcError::Unsupported)
    }

    /// Reads both clocks; the tightest of several readings. Takes some microseconds, as each reading
    /// crosses the bus to the card.
    ///
    /// `None` when the driver no longer answers: the card was removed.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, one or two system calls.
    #[must_use]
    pub fn pair(&mut self) -> Option<PhcPair> {
        #[cfg(target_os = "linux")]
        return self.device.pair().map(|reading| PhcPair {
            phc: PhcTime::from_ns(reading.device_ns),
            wall: WallTime::from_unix_ns(reading.system_ns),
            error_ns: reading.width_ns.div_ceil(2),
        });
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(target_os = "linux")]
fn refused(device: String, error: &std::io::Error) -> OpenPhcError {
    let remedy = match error.kind() {
        std::io::ErrorKind::NotFound => {
            "`ethtool -T INTERFACE` shows whether the card has one; use software stamps else"
        }
        std::io::ErrorKind::PermissionDenied => {
            "run as root, or give your group the right to read it by a udev rule"
        }
        _ => "use software stamps",
    };
    OpenPhcError::Refused {
        device,
        reason: error.to_string(),
        remedy,
    }
}
