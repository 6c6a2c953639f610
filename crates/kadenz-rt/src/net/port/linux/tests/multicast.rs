//! Multicast membership.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use super::super::super::tests::long;
use super::super::super::{
    Inbox, MembershipState, Multicast, OpenPortError, PortOptions, Reception, UdpPort, Wait,
};
use crate::net::namespace::Namespace;
use crate::testing::skip;

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 77, 2);

fn receiver(group_port: u16, interface: Option<&str>) -> Result<UdpPort, OpenPortError> {
    UdpPort::open(&PortOptions {
        local: SocketAddr::from((GROUP, group_port)),
        share_address: true,
        wakers_may_be_late: true,
        multicast: Some(Multicast {
            join: Some(GROUP.into()),
            interface: interface.map(str::to_owned),
            ..Multicast::default()
        }),
        ..PortOptions::default()
    })
}

fn sender(interface: Option<&str>) -> UdpPort {
    UdpPort::open(&PortOptions {
        local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        multicast: Some(Multicast {
            interface: interface.map(str::to_owned),
            ..Multicast::default()
        }),
        ..PortOptions::default()
    })
    .unwrap()
}

#[test]
fn every_port_of_a_group_receives_what_is_sent_in_two_parts() {
    let mut first = receiver(0, Some("lo")).unwrap();
    let group = first.local_address();
    let mut second = receiver(group.port(), Some("lo")).unwrap();
    sender(Some("lo"))
        .send_parts([b"head ", b"and rest"], group)
        .unwrap();
    for receiver in [&mut first, &mut second] {
        let mut inbox = Inbox::new(2, 100);
        assert_eq!(
            receiver.receive_batch(&mut inbox, long()),
            Ok(Reception::Datagrams(1))
        );
        assert_eq!(inbox.datagram(0).unwrap().bytes, b"head and rest");
        assert_eq!(receiver.renew_membership(), MembershipState::Kept);
    }
}

#[test]
fn what_is_not_an_interface_or_not_a_group_is_refused_with_its_fix() {
    let error = receiver(0, Some("nowhere0")).unwrap_err();
    assert!(matches!(error, OpenPortError::Interface { .. }), "{error}");
    let error = UdpPort::open(&PortOptions {
        multicast: Some(Multicast {
            join: Some(Ipv4Addr::LOCALHOST.into()),
            interface: Some("lo".to_owned()),
            ..Multicast::default()
        }),
        ..PortOptions::default()
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("224.0.0.0 to 239"), "{error}");
}

#[test]
fn a_waker_that_may_be_late_ends_a_wait_all_the_same() {
    let mut receiver = receiver(0, Some("lo")).unwrap();
    let waker = receiver.waker();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            waker.wake();
        });
        let woken = receiver.receive_batch(&mut Inbox::new(1, 100), Wait::Forever);
        assert_eq!(woken, Ok(Reception::Woken));
    });
}

fn command(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let outcome = Command::new(words.next().unwrap()).args(words).output();
    if outcome.is_ok_and(|it| it.status.success()) {
        Ok(())
    } else {
        Err(format!("`{line}`; install iproute2, on a kernel with veth"))
    }
}

fn cable() -> Result<(), String> {
    for line in [
        "ip link add robot0 type veth peer name robot1",
        "ip address add 10.9.7.1/24 dev robot0",
        "ip link set robot0 up",
        "ip link set robot1 up",
        "ip route replace 224.0.0.0/4 dev robot0",
    ] {
        command(line)?;
    }
    Ok(())
}

fn heard(receiver: &mut UdpPort, interface: Option<&str>) -> bool {
    let mut sender = sender(interface);
    let group = receiver.local_address();
    sender.send_parts([b"again", b""], group).unwrap();
    let soon = Wait::Until(crate::clock::now() + Duration::from_secs(5));
    receiver.receive_batch(&mut Inbox::new(4, 100), soon) == Ok(Reception::Datagrams(1))
}

/// Removes the interface and brings it back.
fn vanish_and_return(interface: Option<&str>) -> Result<(), String> {
    cable()?;
    let mut receiver = receiver(0, interface).unwrap();
    assert!(heard(&mut receiver, interface));
    assert_eq!(receiver.renew_membership(), MembershipState::Kept);
    command("ip link set robot0 down")?;
    assert_eq!(receiver.renew_membership(), MembershipState::Lost);
    assert_eq!(receiver.renew_membership(), MembershipState::Lost);
    command("ip link set robot0 up")?;
    command("ip route replace 224.0.0.0/4 dev robot0")?;
    assert_eq!(receiver.renew_membership(), MembershipState::Regained);
    assert!(heard(&mut receiver, interface));
    command("ip link delete robot0")?;
    assert_eq!(receiver.renew_membership(), MembershipState::Lost);
    cable()?;
    assert_eq!(receiver.renew_membership(), MembershipState::Regained);
    assert_eq!(receiver.renew_membership(), MembershipState::Kept);
    assert!(heard(&mut receiver, interface));
    Ok(())
}

#[test]
fn a_group_is_joined_again_when_its_interface_has_gone_and_come_back() {
    let test = "a_group_is_joined_again_when_its_interface_has_gone_and_come_back";
    for interface in [Some("robot0"), None] {
        let network = match Namespace::create() {
            Ok(network) => network,
            Err(error) => return skip(test, &error.to_string()),
        };
        let done = network.run(|| vanish_and_return(interface));
        if let Err(missing) = done.map_err(|error| error.to_string()).and_then(|it| it) {
            return skip(test, &missing);
        }
    }
}
