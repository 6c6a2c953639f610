use crate::host::Root;

/// What an interface is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterfaceKind {
    /// The host itself: nothing leaves it.
    Loopback,
    /// A network card with a cable.
    Wired,
    /// Wi-Fi.
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

    /// Whether a datagram that leaves by it crosses a physical medium.
    #[must_use]
    pub const fn is_physical(self) -> bool {
        matches!(self, Self::Wired | Self::Wireless)
    }

    /// From what sysfs shows, and the driver's name.
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

impl std::fmt::Display for InterfaceKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
