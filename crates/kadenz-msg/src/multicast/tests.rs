use kadenz_rt::net::interface::{Route, RouteError};

use super::*;

fn asked(ttl: u8, interface: Option<&str>) -> Options {
    let interface = interface.unwrap_or_default();
    let url = format!("udpm://?ttl={ttl}&iface={interface}");
    Options::read(&Address::parse(&url).unwrap()).unwrap()
}

/// A network in which all is well.
fn well() -> MulticastFacts {
    MulticastFacts {
        group: "239.255.76.67".parse().unwrap(),
        route: Ok(Route {
            interface: Some("eth0".to_owned()),
            source: "10.0.0.1".parse().unwrap(),
            mtu: Some(1500),
            stays_here: false,
        }),
        interface: Some("eth0".to_owned()),
        state: Some(LinkState {
            up: true,
            multicast: true,
            loopback: false,
            kind: Some(InterfaceKind::Wired),
        }),
        others: Vec::new(),
        members: Vec::new(),
        largest_receive_buffer: Some(8_000_000),
        reverse_path_filter: Some(0),
        firewall: None,
    }
}

fn received() -> SelfTest {
    SelfTest::Heard {
        after: std::time::Duration::from_micros(50),
    }
}

/// The worst finding, as `id severity`, and its remedy.
fn worst(asked: &Options, seen: &MulticastFacts, tested: &SelfTest) -> (String, String) {
    let mut findings = network(asked, seen, tested);
    findings.sort_by_key(|it| std::cmp::Reverse(it.severity));
    let worst = &findings[0];
    assert!(!worst.cost.is_empty() && !worst.evidence.is_empty());
    let what = format!("{} {:?}", worst.id, worst.severity);
    (what, worst.remedy.clone().unwrap_or_default())
}

#[test]
fn a_network_that_is_well_has_no_finding_that_costs() {
    let findings = network(&asked(1, None), &well(), &received());
    assert!(
        findings.iter().all(|it| it.severity == Severity::Fine),
        "{findings:?}"
    );
    assert!(works(&findings));
}

/// Returns the worst finding of a network with a single fault.
fn but(ttl: u8, spoil: impl FnOnce(&mut MulticastFacts)) -> (String, String) {
    let mut seen = well();
    spoil(&mut seen);
    worst(&asked(ttl, None), &seen, &received())
}

fn link(spoil: impl FnOnce(&mut LinkState)) -> Option<LinkState> {
    let mut state = well().state.unwrap();
    spoil(&mut state);
    Some(state)
}

fn is(found: &(String, String), what: &str, remedy: &str) {
    assert_eq!(found.0, what);
    assert!(found.1.contains(remedy), "{what}: {}", found.1);
}

#[test]
fn a_way_that_leads_nowhere_is_named_with_the_command_that_fixes_it() {
    let found = but(1, |seen| {
        let (to, reason) = (seen.group, "unreachable".to_owned());
        seen.route = Err(RouteError::NoRoute { to, reason });
        (seen.interface, seen.state) = (None, None);
    });
    is(
        &found,
        "multicast-route Spoils",
        "ip route add 224.0.0.0/4 dev lo",
    );
    let found = but(1, |seen| seen.state = link(|it| it.up = false));
    is(&found, "multicast-interface Spoils", "ip link set eth0 up");
    let found = but(1, |seen| seen.state = link(|it| it.multicast = false));
    is(
        &found,
        "multicast-flag Costs",
        "ip link set eth0 multicast on",
    );
    let found = but(1, |seen| seen.state = link(|it| it.loopback = true));
    is(&found, "multicast-ttl Costs", "iface=");
    is(&but(0, |_| {}), "multicast-ttl Note", "?ttl=1");
    let mut gone = well();
    gone.state = None;
    let found = worst(&asked(1, Some("eth0")), &gone, &received());
    is(&found, "multicast-interface Spoils", "ip -br link");
}

#[test]
fn what_loses_some_messages_is_named_with_the_command_that_fixes_it() {
    let wlan = || vec!["wlan0".to_owned()];
    let found = but(1, |seen| seen.others = wlan());
    is(&found, "multicast-several-interfaces Costs", "iface=");
    let found = but(1, |seen| seen.members = wlan());
    is(&found, "multicast-members Costs", "start it again");
    let radio = link(|it| it.kind = Some(InterfaceKind::Wireless));
    is(
        &but(1, |seen| seen.state = radio),
        "multicast-wireless Costs",
        "cable",
    );
    let found = but(1, |seen| seen.largest_receive_buffer = Some(212_992));
    is(
        &found,
        "multicast-receive-buffer Costs",
        "sysctl -w net.core.rmem_max=8000000",
    );
    let found = but(1, |seen| {
        seen.firewall = Some("nftables is loaded".to_owned());
    });
    is(
        &found,
        "multicast-firewall Note",
        "-d 239.255.76.67 -p udp --dport 7667",
    );
    let mut strict = well();
    (strict.reverse_path_filter, strict.others) = (Some(1), wlan());
    let found = worst(&asked(1, Some("eth0")), &strict, &received());
    is(&found, "multicast-reverse-path Costs", "rp_filter=2");
}

#[test]
fn a_self_test_that_fails_means_that_nothing_works() {
    let silent = SelfTest::Silent { sent: 5 };
    let refused = SelfTest::Refused {
        why: "no such device".to_owned(),
    };
    for tested in [silent, refused] {
        let found = worst(&asked(1, None), &well(), &tested);
        assert_eq!(found.0, "multicast-self-test Spoils");
        assert!(!works(&network(&asked(1, None), &well(), &tested)));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_the_loopback_of_this_host_the_self_test_is_heard() {
    let address = Address::parse("udpm://239.255.77.9:7909?iface=lo").unwrap();
    let findings = examine(&address).unwrap();
    let tested = findings
        .iter()
        .find(|it| it.id == "multicast-self-test")
        .unwrap();
    assert_eq!(tested.severity, Severity::Fine, "{tested:?}");
    assert!(examine(&Address::parse("tcpq://").unwrap()).is_err());
}
