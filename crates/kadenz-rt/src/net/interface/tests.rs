use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::doctor::fake::{self, FakeFile};
use crate::host::Root;

const HOST: &[FakeFile] = &[
    ("/sys/class/net/eth0/type", b"1\n"),
    ("/sys/class/net/eth0/device/vendor", b"0x10ec\n"),
    ("/sys/class/net/eth0/speed", b"1000\n"),
    ("/sys/class/net/eth0/mtu", b"1500\n"),
    ("/sys/class/net/eth1/type", b"1\n"),
    ("/sys/class/net/eth1/device/vendor", b"0x10ec\n"),
    ("/sys/class/net/eth1/speed", b"-1\n"),
    ("/sys/class/net/lo/type", b"772\n"),
    ("/sys/class/net/wlan0/type", b"1\n"),
    ("/sys/class/net/wlan0/wireless/", b""),
    ("/sys/class/net/wlan0/device/vendor", b"0x8086\n"),
    ("/sys/class/net/br0/bridge/bridge_id", b"8000\n"),
    ("/sys/class/net/tap0/tun_flags", b"0x1002\n"),
    ("/sys/class/net/dummy0/type", b"1\n"),
];

#[test]
fn a_card_reports_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let root = fake::write(folder.path(), HOST).unwrap();
    let facts = facts_at(&root, "eth0").unwrap();
    assert_eq!(facts.kind, InterfaceKind::Wired);
    assert_eq!((facts.speed_mbit_s, facts.mtu), (Some(1000), Some(1500)));
    let unplugged = facts_at(&root, "eth1").unwrap();
    assert_eq!(unplugged.speed_mbit_s, None);
}

#[test]
fn every_kind_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let root = fake::write(folder.path(), HOST).unwrap();
    let kinds = [
        ("lo", InterfaceKind::Loopback),
        ("wlan0", InterfaceKind::Wireless),
        ("br0", InterfaceKind::Bridge),
        ("tap0", InterfaceKind::Tap),
        ("dummy0", InterfaceKind::Virtual),
    ];
    for (name, kind) in kinds {
        assert_eq!(facts_at(&root, name).unwrap().kind, kind, "{name}");
    }
    let veth = InterfaceKind::of(&root, "/sys/class/net/dummy0", Some("veth"));
    assert_eq!(veth, InterfaceKind::Veth);
}

#[test]
fn a_path_or_an_unknown_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = fake::write(folder.path(), HOST).unwrap();
    for name in ["", ".", "..", "../../../etc", "eth0/device", "eth9"] {
        assert!(facts_at(&root, name).is_err(), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_loopback_of_this_machine_is_known_and_led_to() {
    let facts = facts("lo").unwrap();
    assert_eq!(facts.kind, InterfaceKind::Loopback);
    assert!(facts.mtu.unwrap() > 1000);
    let route = route_to(Ipv4Addr::new(127, 0, 0, 1).into()).unwrap();
    assert_eq!(route.interface.as_deref(), Some("lo"));
    assert_eq!(route.mtu, facts.mtu);
    assert!(route.stays_here);
}

#[cfg(target_os = "linux")]
#[test]
fn what_goes_to_an_own_address_stays_here() {
    let own = crate::os::linux::link::list();
    assert!(own.iter().any(|it| it.loopback && it.address.is_loopback()));
    // A link-local address leads nowhere without its interface.
    let global = |it: &IpAddr| match it {
        IpAddr::V4(_) => true,
        IpAddr::V6(it) => !it.is_unicast_link_local(),
    };
    for it in own.iter().filter(|it| it.up && global(&it.address)) {
        let route = route_to(it.address).unwrap();
        assert!(route.stays_here, "{it:?}");
        assert_eq!(route.interface.as_deref(), Some("lo"), "{it:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn broadcast_addresses_are_of_their_network() {
    for it in list_broadcast() {
        assert!(Root::system().has(&format!("/sys/class/net/{}", it.interface)));
        assert_ne!(it.local, it.broadcast);
        let route = route_to(it.broadcast.into()).unwrap();
        assert_eq!(route.interface.as_deref(), Some(it.interface.as_str()));
    }
}

#[test]
fn an_address_without_a_way_names_the_remedy() {
    // Reserved (RFC 1112, section 4): no host takes it for a destination.
    let nowhere = IpAddr::V4(Ipv4Addr::new(240, 0, 0, 1));
    if let Err(error) = route_to(nowhere) {
        assert!(
            error.to_string().contains("ip route get 240.0.0.1"),
            "{error}"
        );
    }
}
