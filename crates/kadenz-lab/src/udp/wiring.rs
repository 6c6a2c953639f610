//! The links to the devices: which they are, the source of that information, and how long a packet is on them.

use std::net::IpAddr;

use kadenz_record::run::network::{Interface, ToldBy, WirePath};
use kadenz_record::run::testbed::Testbed;

use crate::testbed::LinkSpeed;
use crate::testbed::wire::{Chain, Payload, Tag};

/// How much longer an IPv6 header (RFC 8200, section 3) is than IPv4's, in bytes.
const LONGER_HEADER: u64 = 20;
/// Ethernet's maximum transmission unit (RFC 894), with which the arithmetic splits packets.
const MTU: u64 = 1500;
/// Headers of IPv4 (RFC 791) and UDP (RFC 768).
const HEADERS: u64 = 28;
/// The largest payload that is one frame over IPv6, whose fragments differ from IPv4's.
const ONE_FRAME: u64 = 1452;

/// The known links to the devices, before any packet is sent.
///
/// ```
/// use kadenz_lab::testbed::wire::Chain;
/// use kadenz_lab::udp::wiring::Wiring;
/// use kadenz_record::run::network::ToldBy;
///
/// let chain = Chain::new(vec!["100Mbit/s".parse()?, "1Gbit/s".parse()?])?;
/// let wiring = Wiring::stated(chain, ToldBy::User);
/// let path = wiring.path(200, [10, 0, 0, 5].into(), None).expect("it was stated");
/// assert_eq!(path.round_trip_ns, 2 * (20_320 + 2_032));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    stated: Option<(Chain, ToldBy)>,
    testbed: Option<Testbed>,
}

impl Wiring {
    /// These links, from this machine on.
    #[must_use]
    pub const fn stated(chain: Chain, by: ToldBy) -> Self {
        Self {
            stated: Some((chain, by)),
            testbed: None,
        }
    }

    /// The same, within a testbed.
    #[must_use]
    pub fn within(mut self, testbed: Testbed) -> Self {
        self.testbed = Some(testbed);
        self
    }

    /// The testbed around this program, if there is one.
    #[must_use]
    pub const fn testbed(&self) -> Option<&Testbed> {
        self.testbed.as_ref()
    }

    /// The path to `device` for a run, with the time that a packet of `payload_bytes` and its answer
    /// are on the wire.
    ///
    /// Without stated links, the time on the wire is zero over the loopback, and one link is assumed where a wired
    /// interface knows its speed. Absent where even that is unknown, and where the interface's MTU splits a packet into
    /// other frames than Ethernet's.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    #[must_use]
    pub fn path(
        &self,
        payload_bytes: u64,
        device: IpAddr,
        interface: Option<&Interface>,
    ) -> Option<WirePath> {
        let over_loopback = interface.is_some_and(|it| it.kind.as_deref() == Some("loopback"));
        if device.is_loopback() || over_loopback {
            return Some(WirePath {
                told_by: ToldBy::Loopback,
                ..WirePath::default()
            });
        }
        let (chain, told_by) = self.stated.clone().or_else(|| assumed(interface?))?;
        let payload = as_over_ipv4(payload_bytes, device)?;
        if !is_cut_as_usual(payload_bytes, device, interface.and_then(|it| it.mtu_bytes)) {
            return None;
        }
        Some(WirePath {
            links_bit_s: chain.links().iter().map(bits).collect(),
            told_by,
            round_trip_ns: chain.round_trip(payload, Tag::None).as_ns(),
        })
    }
}

impl Wiring {
    /// The path to all devices, each with the interface to it, as [`Wiring::path`]; absent where the paths differ:
    /// their round trips then have no common time on the wire.
    #[must_use]
    pub(crate) fn path_to_all<'i>(
        &self,
        payload_bytes: u64,
        devices: impl IntoIterator<Item = (IpAddr, Option<&'i Interface>)>,
    ) -> Option<WirePath> {
        let mut paths = devices
            .into_iter()
            .map(|(device, interface)| self.path(payload_bytes, device, interface));
        let first = paths.next()??;
        paths
            .all(|path| path.as_ref() == Some(&first))
            .then_some(first)
    }
}

/// Whether this MTU splits a packet into the same frames as Ethernet's: it fits into one frame under both. An unknown
/// MTU counts as Ethernet's.
fn is_cut_as_usual(payload_bytes: u64, device: IpAddr, mtu_bytes: Option<u32>) -> bool {
    let mtu_bytes = mtu_bytes.map_or(MTU, u64::from);
    let headers = match device {
        IpAddr::V4(_) => HEADERS,
        IpAddr::V6(_) => HEADERS + LONGER_HEADER,
    };
    mtu_bytes == MTU || payload_bytes.saturating_add(headers) <= MTU.min(mtu_bytes)
}

fn bits(link: &LinkSpeed) -> u64 {
    link.bits_per_second()
}

/// The cable of the interface. The speed that a tap or a tunnel reports means nothing, and radio is shared.
fn assumed(interface: &Interface) -> Option<(Chain, ToldBy)> {
    let wired = interface.kind.as_deref() == Some("wired");
    let speed = interface.speed_mbit_s.filter(|_| wired)?;
    let link = LinkSpeed::mbit(speed.into())?;
    Some((Chain::new(vec![link]).ok()?, ToldBy::Interface))
}

/// The payload that is as long on the wire over IPv4.
fn as_over_ipv4(payload_bytes: u64, device: IpAddr) -> Option<Payload> {
    let bytes = match device {
        IpAddr::V4(_) => payload_bytes,
        IpAddr::V6(_) if payload_bytes <= ONE_FRAME => payload_bytes + LONGER_HEADER,
        IpAddr::V6(_) => return None,
    };
    Payload::new(bytes).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const ROBOT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 5));

    fn interface(kind: &str, speed_mbit_s: Option<u32>) -> Interface {
        Interface {
            kind: Some(kind.to_owned()),
            speed_mbit_s,
            ..Interface::default()
        }
    }

    fn chain(links: &[&str]) -> Chain {
        Chain::new(links.iter().map(|it| it.parse().unwrap()).collect()).unwrap()
    }

    #[test]
    fn stated_links_go_before_what_the_interface_says() {
        let wiring = Wiring::stated(chain(&["100M", "100M"]), ToldBy::Testbed);
        let gigabit = interface("wired", Some(1000));
        let path = wiring.path(200, ROBOT, Some(&gigabit)).unwrap();
        assert_eq!(path.links_bit_s, [100_000_000, 100_000_000]);
        assert_eq!(
            (path.told_by, path.round_trip_ns),
            (ToldBy::Testbed, 81_280)
        );
    }

    #[test]
    fn a_wired_interface_that_knows_its_speed_is_one_link() {
        let of = |kind, speed| Wiring::default().path(200, ROBOT, Some(&interface(kind, speed)));
        let path = of("wired", Some(1000)).unwrap();
        assert_eq!(path.links_bit_s, [1_000_000_000]);
        assert_eq!(
            (path.told_by, path.round_trip_ns),
            (ToldBy::Interface, 4064)
        );
        assert_eq!(of("wired", None), None);
        assert_eq!(of("wired", Some(0)), None, "a cable that is not plugged in");
        assert_eq!(of("virtual", Some(10)), None);
        assert_eq!(of("wireless", Some(300)), None);
        assert_eq!(Wiring::default().path(200, ROBOT, None), None);
    }

    #[test]
    fn an_mtu_by_which_other_frames_are_cut_has_no_path() {
        let wiring = Wiring::stated(chain(&["100M"]), ToldBy::User);
        let v6 = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 5));
        let is_there = |bytes, device, mtu| {
            let interface = Interface {
                mtu_bytes: mtu,
                ..interface("wired", Some(100))
            };
            wiring.path(bytes, device, Some(&interface)).is_some()
        };
        for mtu in [None, Some(1500)] {
            assert!(is_there(1472, ROBOT, mtu) && is_there(9000, ROBOT, mtu));
        }
        assert!(is_there(1472, ROBOT, Some(9000)), "one frame in any case");
        assert!(!is_there(1473, ROBOT, Some(9000)), "one instead of two");
        assert!(is_there(1252, ROBOT, Some(1280)) && !is_there(1253, ROBOT, Some(1280)));
        assert!(is_there(1232, v6, Some(1280)) && !is_there(1233, v6, Some(1280)));
    }

    #[test]
    fn devices_by_different_paths_have_none_together() {
        let (fast, slow) = (
            interface("wired", Some(1000)),
            interface("wired", Some(100)),
        );
        let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 6));
        let own = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let of = |devices: &[(IpAddr, Option<&Interface>)]| {
            Wiring::default().path_to_all(200, devices.iter().copied())
        };
        assert!(of(&[(ROBOT, Some(&fast)), (other, Some(&fast))]).is_some());
        assert_eq!(of(&[(ROBOT, Some(&fast)), (other, Some(&slow))]), None);
        assert_eq!(of(&[(ROBOT, Some(&fast)), (other, None)]), None);
        assert_eq!(of(&[(ROBOT, Some(&fast)), (own, None)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn nothing_is_on_the_wire_of_the_loopback_whatever_is_said() {
        let wiring = Wiring::stated(chain(&["100M"]), ToldBy::User);
        let path = wiring.path(200, Ipv4Addr::LOCALHOST.into(), None).unwrap();
        assert_eq!((path.told_by, path.round_trip_ns), (ToldBy::Loopback, 0));
        assert!(path.links_bit_s.is_empty());
        let own = wiring.path(200, ROBOT, Some(&interface("loopback", None)));
        assert_eq!(own, Some(path), "this machine's own address");
    }

    #[test]
    fn a_longer_header_is_longer_on_the_wire() {
        let wiring = Wiring::stated(chain(&["100M"]), ToldBy::User);
        let robot = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 5));
        let of = |bytes, device| wiring.path(bytes, device, None).map(|it| it.round_trip_ns);
        let more = of(200, robot).unwrap() - of(200, ROBOT).unwrap();
        assert_eq!(more, 2 * 20 * 80, "20 bytes there and back, 80 ns each");
        assert_eq!(of(1453, robot), None, "fragments");
        assert!(of(1453, ROBOT).is_some());
    }
}
