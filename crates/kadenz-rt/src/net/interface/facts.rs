use std::fmt;

use crate::host::{ReadFactError, Root};

/// The known facts of an interface. Facts that could not be read are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceFacts {
    /// The name of the interface, for example `eth0`.
    pub name: String,
    /// The kind of link, such as wired, Wi-Fi or loopback.
    pub kind: InterfaceKind,
    /// The driver, for example `r8169`.
    pub driver: Option<String>,
    /// Speed of the link in Mbit/s; absent without a link, and on interfaces that have no speed.
    pub speed_mbit_s: Option<u32>,
    /// The longest IP packet that it takes, in bytes.
    pub mtu: Option<u32>,
}

/// Returns the known facts of an interface of this machine.
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use kadenz_rt::net::interface::{self, InterfaceKind};
///
/// let facts = interface::facts("lo")?;
/// assert_eq!(facts.kind, InterfaceKind::Loopback);
/// # }
/// # Ok::<(), kadenz_rt::host::ReadFactError>(())
/// ```
///
/// # Errors
/// When there is no such interface, or this system does not report it.
///
/// # Real-time safety
/// Reads files and queries the driver, which needs no rights: not for a real-time path.
pub fn facts(name: &str) -> Result<InterfaceFacts, ReadFactError> {
    facts_at(&Root::system(), name)
}

/// Returns the known facts of an interface of the Linux machine under `root`. Drivers are queried only on a live
/// machine.
///
/// # Errors
/// When there is no such interface.
pub(crate) fn facts_at(root: &Root, name: &str) -> Result<InterfaceFacts, ReadFactError> {
    let folder = format!("/sys/class/net/{name}");
    let path = |file: &str| format!("{folder}/{file}");
    // A name must not contain a path that leads out of the folder.
    if name.is_empty() || name.contains('/') || name.starts_with('.') || !root.has(&folder) {
        return Err(ReadFactError::Absent { path: folder });
    }
    if !super::files_are_ours(root, name) {
        return Err(ReadFactError::Absent { path: folder });
    }
    let linked = root.link_name(&path("device/driver"));
    let driver = linked.or_else(|| asked_driver(root, name));
    let natural = |file: &str| {
        let number = root.read_number(&path(file)).ok()?;
        u32::try_from(number).ok()
    };
    Ok(InterfaceFacts {
        name: name.to_owned(),
        kind: InterfaceKind::of(root, &folder, driver.as_deref()),
        speed_mbit_s: natural("speed").filter(|speed| *speed > 0),
        mtu: natural("mtu"),
        driver,
    })
}

/// The name that the driver itself gives, on a live Linux machine.
fn asked_driver(root: &Root, name: &str) -> Option<String> {
    #[cfg(target_os = "linux")]
    if root.is_live() {
        return crate::os::linux::ethtool::Interface::open(name)?.driver();
    }
    let _ = (root, name);
    None
}

/// The kind of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterfaceKind {
    /// The host itself: no frame leaves it.
    Loopback,
    /// A network card with a cable.
    Wired,
    /// A network card for Wi-Fi.
    Wireless,
    /// One end of a virtual cable (`veth`).
    Veth,
    /// Frames go to a program instead of a cable (`tap`, `tun`).
    Tap,
    /// A switch in the kernel.
    Bridge,
    /// Another interface without hardware of its own: VLAN, bond, tunnel, dummy.
    Virtual,
}

impl InterfaceKind {
    /// The word that a report says.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Wired => "wired",
            Self::Wireless => "wireless",
            Self::Veth => "veth",
            Self::Tap => "tap",
            Self::Bridge => "bridge",
            Self::Virtual => "virtual",
        }
    }

    /// Derives the kind from sysfs and the driver's name.
    pub(super) fn of(root: &Root, folder: &str, driver: Option<&str>) -> Self {
        /// `ARPHRD_LOOPBACK` of `if_arp.h`.
        const LOOPBACK: i64 = 772;
        let has = |file: &str| root.has(&format!("{folder}/{file}"));
        if root
            .read_number(&format!("{folder}/type"))
            .is_ok_and(|number| number == LOOPBACK)
        {
            return Self::Loopback;
        }
        if has("wireless") || has("phy80211") {
            return Self::Wireless;
        }
        if has("bridge") {
            return Self::Bridge;
        }
        if has("tun_flags") {
            return Self::Tap;
        }
        if driver == Some("veth") {
            return Self::Veth;
        }
        if has("device") {
            Self::Wired
        } else {
            Self::Virtual
        }
    }
}

impl fmt::Display for InterfaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
