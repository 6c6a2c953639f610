//! The route, interface and filters between this host and a multicast group, as far as the system shows them.

use std::net::{IpAddr, Ipv4Addr};

use super::interface::{InterfaceKind, Route, RouteError, facts_at, route_to};
use crate::host::Root;

/// The known facts about the way to a group. Facts that could not be read are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastFacts {
    /// The address of the multicast group.
    pub group: IpAddr,
    /// The route to the group.
    pub route: Result<Route, RouteError>,
    /// The interface in question: the requested one, or the route's.
    pub interface: Option<String>,
    /// Its state; `None` where there is no such interface.
    pub state: Option<LinkState>,
    /// Other interfaces that are up and no loopback.
    pub others: Vec<String>,
    /// The interfaces on which a socket of this host has joined the group.
    pub members: Vec<String>,
    /// The largest receive buffer that a socket gets without rights, in bytes.
    pub largest_receive_buffer: Option<u64>,
    /// Whether packets that come by another interface than the way back are dropped: 0 no, 1 yes, 2 only where
    /// there is no way back at all.
    pub reverse_path_filter: Option<u8>,
    /// The loaded packet filters, in words; `None` where none is seen.
    pub firewall: Option<String>,
}

/// The state of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// Whether it is up.
    pub up: bool,
    /// Whether it reports that it takes multicast.
    pub multicast: bool,
    /// Whether it is the loopback.
    pub loopback: bool,
    /// Its kind, where that is known.
    pub kind: Option<InterfaceKind>,
}

/// Reads the facts about the way to a group, by an interface or by the routes. Reads files and queries the kernel;
/// needs no rights.
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use kadenz_rt::net::multicast::situation;
///
/// let here = situation("239.255.76.67".parse()?, Some("lo"));
/// assert!(here.state.is_some_and(|lo| lo.loopback));
/// let nowhere = situation("239.255.76.67".parse()?, Some("nowhere0"));
/// assert_eq!(nowhere.state, None);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Not for a real-time path.
#[must_use]
pub fn situation(group: IpAddr, interface: Option<&str>) -> MulticastFacts {
    situation_at(&Root::system(), group, interface, route_to(group))
}

/// As [`situation`], of the Linux machine under `root` with the given route.
#[must_use]
pub(crate) fn situation_at(
    root: &Root,
    group: IpAddr,
    interface: Option<&str>,
    route: Result<Route, RouteError>,
) -> MulticastFacts {
    let by_route = || route.as_ref().ok()?.interface.clone();
    let interface = interface.map(str::to_owned).or_else(by_route);
    let is_other = |name: &String| {
        let state = state(root, name);
        Some(name) != interface.as_ref() && state.is_some_and(|it| it.up && !it.loopback)
    };
    let names = names(root);
    MulticastFacts {
        state: interface.as_ref().and_then(|name| state(root, name)),
        others: names.into_iter().filter(is_other).collect(),
        members: members(root, group),
        largest_receive_buffer: root
            .read_number("/proc/sys/net/core/rmem_max")
            .ok()
            .and_then(|bytes| u64::try_from(bytes).ok()),
        reverse_path_filter: interface.as_ref().and_then(|name| filter(root, name)),
        firewall: firewall(root),
        group,
        route,
        interface,
    }
}

fn names(root: &Root) -> Vec<String> {
    // Each line after the two headings begins with a name and a colon.
    let devices = root.read("/proc/thread-self/net/dev").unwrap_or_default();
    let lines = devices.lines().skip(2);
    lines
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect()
}

/// Bits of `if.h`.
const UP: u32 = 0x1;
const LOOPBACK: u32 = 0x8;
const MULTICAST: u32 = 0x1000;

fn state(root: &Root, name: &str) -> Option<LinkState> {
    let flags = flags(root, name)?;
    Some(LinkState {
        up: flags & UP != 0,
        multicast: flags & MULTICAST != 0,
        loopback: flags & LOOPBACK != 0,
        kind: facts_at(root, name).ok().map(|facts| facts.kind),
    })
}

fn flags(root: &Root, name: &str) -> Option<u32> {
    #[cfg(target_os = "linux")]
    if root.is_live() {
        return crate::os::linux::udp::multicast::flags_of(name);
    }
    let text = root.read(&format!("/sys/class/net/{name}/flags")).ok()?;
    u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

fn members(root: &Root, group: IpAddr) -> Vec<String> {
    let found = match group {
        IpAddr::V4(group) => root
            .read("/proc/thread-self/net/igmp")
            .map(|text| members_v4(&text, group)),
        IpAddr::V6(group) => root.read("/proc/thread-self/net/igmp6").map(|text| {
            let group: String = group
                .octets()
                .iter()
                .map(|it| format!("{it:02x}"))
                .collect();
            members_v6(&text, &group)
        }),
    };
    found.unwrap_or_default()
}

/// Parses `/proc/net/igmp`: the line of an interface, then one for each of its groups, whose address stands there
/// as a number of this machine's byte order.
fn members_v4(text: &str, group: Ipv4Addr) -> Vec<String> {
    let wanted = u32::from_ne_bytes(group.octets());
    let (mut interface, mut found) = ("", Vec::new());
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if !line.starts_with(char::is_whitespace) {
            interface = words.next().unwrap_or_default().trim_end_matches(':');
        } else if u32::from_str_radix(first, 16) == Ok(wanted) {
            found.push(interface.to_owned());
        }
    }
    found
}

/// Parses `/proc/net/igmp6`: number and name of an interface, and one of its groups, in each line.
fn members_v6(text: &str, group: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let interface = words.next()?;
        (words.next()? == group).then(|| interface.to_owned())
    };
    text.lines().filter_map(of_line).collect()
}

/// Returns the stricter of the settings for all interfaces and for this one (ip-sysctl.rst).
fn filter(root: &Root, interface: &str) -> Option<u8> {
    let of = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/conf/{name}/rp_filter");
        let number = root.read_number(&path).ok()?;
        u8::try_from(number).ok()
    };
    of("all").into_iter().chain(of(interface)).max()
}

fn firewall(root: &Root) -> Option<String> {
    let tables = root.read("/proc/thread-self/net/ip_tables_names");
    if let Ok(tables) = tables
        && !tables.is_empty()
    {
        let tables: Vec<&str> = tables.split_whitespace().collect();
        return Some(format!("iptables has the tables {}", tables.join(", ")));
    }
    let nft = root.has("/sys/module/nf_tables");
    nft.then(|| "nftables is loaded".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const IGMP: &str = "\
Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter
1\tlo        :     1      V3
\t\t\t\t010000E0     1 0:00000000\t\t0
4\teth0      :     2      V3
\t\t\t\t434CFFEF     1 0:00000000\t\t0
\t\t\t\t010000E0     1 0:00000000\t\t0
";

    #[test]
    fn members_are_found_by_interface() {
        if cfg!(target_endian = "little") {
            let of = |group: [u8; 4]| members_v4(IGMP, group.into());
            assert_eq!(of([239, 255, 76, 67]), ["eth0"]);
            assert_eq!(of([224, 0, 0, 1]), ["lo", "eth0"]);
            assert!(of([239, 255, 76, 68]).is_empty());
        }
        let v6 = "1    lo              ff020000000000000000000000000001     1 0000000C 0\n";
        assert_eq!(members_v6(v6, "ff020000000000000000000000000001"), ["lo"]);
    }

    #[test]
    fn a_machine_s_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            (
                "proc/thread-self/net/dev",
                "head\nhead\n    lo: 1 2\n  eth0: 1 2\n wlan0: 3 4\n",
            ),
            ("proc/thread-self/net/igmp", IGMP),
            ("proc/thread-self/net/ip_tables_names", "filter\nnat\n"),
            ("proc/sys/net/core/rmem_max", "212992\n"),
            ("proc/sys/net/ipv4/conf/all/rp_filter", "0\n"),
            ("proc/sys/net/ipv4/conf/eth0/rp_filter", "1\n"),
            ("sys/class/net/lo/flags", "0x9\n"),
            ("sys/class/net/eth0/flags", "0x1003\n"),
            ("sys/class/net/wlan0/flags", "0x1003\n"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let route = Route {
            interface: Some("eth0".to_owned()),
            source: "10.0.0.1".parse().unwrap(),
            mtu: None,
            stays_here: false,
        };
        let group = "239.255.76.67".parse().unwrap();
        let seen = situation_at(&Root::at(folder.path()), group, None, Ok(route));
        assert_eq!(seen.interface.as_deref(), Some("eth0"));
        assert!(
            seen.state
                .is_some_and(|it| it.up && it.multicast && !it.loopback)
        );
        assert_eq!(seen.others, ["wlan0"]);
        assert_eq!(seen.largest_receive_buffer, Some(212_992));
        assert_eq!(seen.reverse_path_filter, Some(1));
        assert_eq!(
            seen.firewall.as_deref(),
            Some("iptables has the tables filter, nat")
        );
    }
}
