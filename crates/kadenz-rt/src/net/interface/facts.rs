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
    /// Whether both ends of the link may send at once.
    pub duplex: Option<Duplex>,
    /// The longest IP packet that it takes, in bytes.
    pub mtu: Option<u32>,
    /// How many receive and transmit queues it has.
    pub queues: Queues,
    /// How long the card waits before it interrupts.
    pub coalescing: Option<Coalescing>,
    /// Whether the card can stamp datagrams.
    pub hardware_stamps: HardwareStamps,
    /// The number of the card's own clock, the `N` of `/dev/ptpN`.
    pub phc: Option<u32>,
}

/// Whether both ends of a link may send at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duplex {
    /// They take turns, and frames can collide.
    Half,
    /// Both ends may send at once.
    Full,
}

/// How many queues an interface has each way; 0 where that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Queues {
    /// For frames that come.
    pub receive: u32,
    /// For frames that leave.
    pub transmit: u32,
}

/// How a card gathers frames before it interrupts (ethtool(8), `--coalesce`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Coalescing {
    /// How long a frame that came waits, in microseconds.
    pub receive_us: u32,
    /// After how many frames that came it interrupts at once; 0 for no such number.
    pub receive_frames: u32,
    /// How long a frame that left waits to be reported, in microseconds.
    pub transmit_us: u32,
    /// Whether the driver changes these by the present load.
    pub adaptive: bool,
}

/// Whether a card can stamp datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HardwareStamps {
    /// Not known: not a live Linux machine, or the driver does not report it.
    #[default]
    Unknown,
    /// The card stamps no datagrams.
    None,
    /// Stamps any sent frame on request, but only received frames of the Precision Time Protocol.
    PtpOnly,
    /// Any frame, either way.
    Every,
}

impl InterfaceFacts {
    /// A name and its kind, everything else unknown.
    pub(super) fn unknown(name: &str, kind: InterfaceKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            driver: None,
            speed_mbit_s: None,
            duplex: None,
            mtu: None,
            queues: Queues::default(),
            coalescing: None,
            hardware_stamps: HardwareStamps::default(),
            phc: None,
        }
    }
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
pub fn facts_at(root: &Root, name: &str) -> Result<InterfaceFacts, ReadFactError> {
    let folder = format!("/sys/class/net/{name}");
    let path = |file: &str| format!("{folder}/{file}");
    // A name must not contain a path that leads out of the folder.
    if name.is_empty() || name.contains('/') || name.starts_with('.') || !root.has(&folder) {
        return Err(ReadFactError::Absent { path: folder });
    }
    if !super::files_are_ours(root, name) {
        return Err(ReadFactError::Absent { path: folder });
    }
    let asked = ask(root, name);
    let linked = root.link_name(&path("device/driver"));
    let driver = linked.or(asked.driver);
    let natural = |file: &str| {
        let number = root.read_number(&path(file)).ok()?;
        u32::try_from(number).ok()
    };
    let kind = InterfaceKind::of(root, &folder, driver.as_deref());
    Ok(InterfaceFacts {
        speed_mbit_s: natural("speed").filter(|speed| *speed > 0),
        duplex: duplex(root, &path("duplex")),
        mtu: natural("mtu"),
        queues: queues(root, &path("queues")),
        coalescing: asked.coalescing,
        hardware_stamps: asked.hardware_stamps,
        phc: asked.phc,
        driver,
        ..InterfaceFacts::unknown(name, kind)
    })
}

fn duplex(root: &Root, path: &str) -> Option<Duplex> {
    match root.read(path).ok()?.as_str() {
        "full" => Some(Duplex::Full),
        "half" => Some(Duplex::Half),
        _ => None,
    }
}

fn queues(root: &Root, folder: &str) -> Queues {
    let names = root.list(folder).unwrap_or_default();
    let count = |prefix: &str| {
        let of_kind = names.iter().filter(|name| name.starts_with(prefix));
        u32::try_from(of_kind.count()).unwrap_or(u32::MAX)
    };
    Queues {
        receive: count("rx-"),
        transmit: count("tx-"),
    }
}

/// The facts that only the driver knows.
#[derive(Default)]
struct DriverFacts {
    driver: Option<String>,
    coalescing: Option<Coalescing>,
    hardware_stamps: HardwareStamps,
    phc: Option<u32>,
}

#[cfg(not(target_os = "linux"))]
fn ask(_root: &Root, _name: &str) -> DriverFacts {
    DriverFacts::default()
}

#[cfg(target_os = "linux")]
fn ask(root: &Root, name: &str) -> DriverFacts {
    use crate::os::linux::ethtool::{Interface, command};

    if !root.is_live() {
        return DriverFacts::default();
    }
    let Some(interface) = Interface::open(name) else {
        return DriverFacts::default();
    };
    let mut stamping = [0; command::STAMPING_WORDS];
    stamping[0] = command::GET_TS_INFO;
    let stamping = interface.ask(&mut stamping).then_some(stamping);
    DriverFacts {
        driver: interface.driver(),
        coalescing: coalescing(&interface),
        hardware_stamps: stamping.map_or(HardwareStamps::Unknown, hardware_stamps),
        // -1 stands for no clock.
        phc: stamping.and_then(|words| u32::try_from(words[2].cast_signed()).ok()),
    }
}

/// The command and the 22 numbers of `struct ethtool_coalesce`.
#[cfg(target_os = "linux")]
fn coalescing(interface: &crate::os::linux::ethtool::Interface) -> Option<Coalescing> {
    let mut words = [0; 23];
    words[0] = crate::os::linux::ethtool::command::GET_COALESCE;
    interface.ask(&mut words).then(|| Coalescing {
        receive_us: words[1],
        receive_frames: words[2],
        transmit_us: words[5],
        adaptive: words[10] != 0 || words[11] != 0,
    })
}

/// From `struct ethtool_ts_info`: the bits of `SOF_TIMESTAMPING_*`, and those of `HWTSTAMP_FILTER_*`.
#[cfg(target_os = "linux")]
pub(super) fn hardware_stamps(
    words: [u32; crate::os::linux::ethtool::command::STAMPING_WORDS],
) -> HardwareStamps {
    const BOTH_WAYS: u32 = libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE;
    let (kinds, filters) = (words[1], words[7]);
    if kinds & BOTH_WAYS != BOTH_WAYS {
        HardwareStamps::None
    } else if filters & (1 << libc::HWTSTAMP_FILTER_ALL) != 0 {
        HardwareStamps::Every
    } else {
        HardwareStamps::PtpOnly
    }
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
