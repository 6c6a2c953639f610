//! Guarantees of `udpm://` beyond the promises of every provider.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use kadenz_msg::arrival::Stamps;
use kadenz_msg::channel::{Channel, Pattern};
use kadenz_msg::provider::parameters::Address;
use kadenz_msg::provider::{Inlet, More, Provider as _, ReceiveError, Received, Wait, udpm::Udpm};
use kadenz_rt::clock;
use kadenz_rt::net::namespace::Namespace;

const TIMEOUT: Duration = Duration::from_secs(10);

/// A group that no other process uses; `last` differs between the tests of this process.
fn group(last: u16) -> SocketAddr {
    let process = std::process::id();
    let ip = Ipv4Addr::new(239, 254, (process >> 8) as u8, process as u8);
    SocketAddr::from((ip, 7800 + last))
}

fn open(group: SocketAddr, query: &str) -> Udpm {
    let url = format!("udpm://{group}?{query}");
    Udpm::open(&Address::parse(&url).unwrap()).unwrap()
}

fn channel(name: &str) -> Channel {
    Channel::new(name).unwrap()
}

fn inlet(bus: &Udpm) -> Box<dyn Inlet> {
    let mut inlet = bus.inlet().unwrap();
    inlet.want(&[Pattern::new(".*").unwrap()]).unwrap();
    inlet
}

/// Receives `count` messages; returns channel, length and stamps of each.
fn receive(inlet: &mut dyn Inlet, count: usize) -> Vec<(String, usize, Stamps)> {
    let mut all = Vec::new();
    let end = clock::now() + TIMEOUT;
    while all.len() < count {
        let outcome = inlet.receive(Wait::Until(end), &mut |arrival| {
            all.push((
                arrival.channel.to_owned(),
                arrival.payload.bytes().len(),
                arrival.info.stamps,
            ));
            More::GoOn
        });
        assert!(
            clock::now() < end,
            "{} of {count} came: {outcome:?}",
            all.len()
        );
    }
    all
}

/// A socket that sends raw bytes to a group on the loopback interface.
fn raw() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_multicast_ttl_v4(0).unwrap();
    socket
}

/// In LCM's C library the stamps end after 2000 buffers have been used once.
#[test]
fn every_message_carries_the_kernel_s_stamp() {
    let bus = open(group(0), "iface=lo");
    let (mut outlet, mut inlet) = (bus.outlet().unwrap(), inlet(&bus));
    let large = vec![0; 100_000];
    for number in 0..5000 {
        let before = clock::now();
        let payload = if number % 100 == 0 {
            &large[..]
        } else {
            b"small"
        };
        outlet.publish(&channel("A"), payload).unwrap();
        let (_, _, stamps) = receive(&mut *inlet, 1)[0];
        let kernel = stamps.kernel.unwrap();
        // A stamp is converted from the wall clock, with a small error.
        assert!(
            kernel.since(before) > -1_000_000,
            "stamped before it was sent"
        );
        assert!(
            stamps.taken.since(kernel) > -1_000_000,
            "stamped after it was received"
        );
    }
    assert_eq!(inlet.counters().lost, 0);
}

#[test]
fn publishing_and_receiving_allocate_nothing_after_the_first_messages() {
    let bus = open(group(1), "iface=lo");
    let (mut outlet, mut inlet) = (bus.outlet().unwrap(), inlet(&bus));
    let payloads = [vec![1; 200], vec![2; 1_000_000]];
    let (mut kept, mut fill) = (Vec::with_capacity(1_000_000), true);
    let mut round = |count: usize| {
        for _ in 0..count {
            for payload in &payloads {
                outlet.publish(&channel("A"), payload).unwrap();
                outlet
                    .publish_in_place(&channel("B"), payload.len(), &mut |_| fill)
                    .unwrap();
                fill = !fill;
                let mut bytes = 0;
                while bytes < payload.len() {
                    let end = Wait::Until(clock::now() + TIMEOUT);
                    let received = inlet.receive(end, &mut |arrival| {
                        bytes += arrival.payload.bytes().len();
                        arrival.payload.put_into(&mut kept);
                        More::GoOn
                    });
                    assert_ne!(received, Ok(Received::Nothing));
                }
            }
        }
    };
    round(4);
    let used = allocation_counter::measure(|| round(20));
    assert_eq!(used.count_total, 0);
}

#[test]
fn lcm_s_self_test_is_not_a_message_but_its_number_counts() {
    let bus = open(group(2), "iface=lo");
    let mut inlet = inlet(&bus);
    let lcm = raw();
    for (number, name) in ["A", "LCM_SELF_TEST", "LCM_SELF_TEST", "B"]
        .iter()
        .enumerate()
    {
        let datagram = [b"LC02\0\0\0", &[number as u8][..], name.as_bytes(), b"\0x"].concat();
        lcm.send_to(&datagram, group(2)).unwrap();
    }
    let came = receive(&mut *inlet, 2);
    assert_eq!((came[0].0.as_str(), came[1].0.as_str()), ("A", "B"));
    assert_eq!(inlet.counters().lost, 0);
    let senders: Vec<_> = inlet.losses().unwrap().counters().collect();
    assert_eq!(senders.len(), 1);
    assert_eq!((senders[0].tally.received, senders[0].channel), (4, None));
}

#[test]
fn loss_duplicates_and_reordering_of_an_unmodified_sender_are_known() {
    let bus = open(group(3), "iface=lo");
    let mut inlet = inlet(&bus);
    let lcm = raw();
    let numbers = [0_u8, 1, 4, 3, 3, 5];
    for number in numbers {
        lcm.send_to(&[b"LC02\0\0\0", &[number][..], b"A\0x"].concat(), group(3))
            .unwrap();
    }
    receive(&mut *inlet, numbers.len());
    let counters = inlet.counters();
    let counts = (counters.lost, counters.duplicated, counters.reordered);
    assert_eq!(counts, (1, 1, 1));
}

#[test]
fn what_is_not_a_message_of_lcm_is_counted_and_harms_nothing() {
    let bus = open(group(4), "iface=lo");
    let mut inlet = inlet(&bus);
    let foreign = raw();
    let hostile: [&[u8]; 5] = [
        b"",
        b"hello",
        b"LC02\0\0\0\0no end",
        b"LC03\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\x01\0\x02x",
        &[b'L'; 65_000],
    ];
    for datagram in hostile {
        foreign.send_to(datagram, group(4)).unwrap();
    }
    foreign.send_to(b"LC02\0\0\0\0A\0x", group(4)).unwrap();
    assert_eq!(receive(&mut *inlet, 1)[0].0, "A");
    assert_eq!(inlet.counters().malformed, hostile.len() as u64);
}

#[test]
fn a_wait_whose_time_is_over_ends_also_during_endless_foreign_datagrams() {
    let group = group(13);
    let bus = open(group, "iface=lo");
    let mut inlet = inlet(&bus);
    let foreign = raw();
    for wait in [Wait::Poll, Wait::Until(clock::now())] {
        for _ in 0..400 {
            foreign.send_to(b"no LCM", group).unwrap();
        }
        bus.outlet()
            .unwrap()
            .publish(&channel("A"), b"late")
            .unwrap();
        let mut came = 0;
        let mut look = |wait| {
            let received = inlet.receive(wait, &mut |_| {
                came += 1;
                More::GoOn
            });
            received.unwrap()
        };
        assert_eq!(look(wait), Received::Nothing, "it goes on to the message");
        assert_eq!(
            look(Wait::Until(clock::now() + TIMEOUT)),
            Received::Messages(1)
        );
        assert_eq!(came, 1);
    }
}

#[test]
fn what_a_slow_inlet_does_not_fetch_is_counted_as_overrun_and_as_lost() {
    let bus = open(group(5), "iface=lo&recv_buf_size=20kB");
    let (mut outlet, mut inlet) = (bus.outlet().unwrap(), inlet(&bus));
    outlet.publish(&channel("A"), b"first").unwrap();
    receive(&mut *inlet, 1);
    for _ in 0..1000 {
        outlet.publish(&channel("A"), &[0; 200]).unwrap();
    }
    let mut came = 0;
    while inlet.receive(Wait::Poll, &mut |_| {
        came += 1;
        More::GoOn
    }) != Ok(Received::Nothing)
    {}
    outlet.publish(&channel("A"), b"last").unwrap();
    receive(&mut *inlet, 1);
    let counters = inlet.counters();
    assert!(came < 1000 && counters.overrun > 0, "{came}: {counters:?}");
    assert_eq!(
        (counters.overrun, counters.lost),
        (1000 - came, 1000 - came)
    );
}

#[test]
fn what_came_while_nothing_was_wanted_is_not_delivered_later() {
    let bus = open(group(6), "iface=lo");
    let (mut outlet, mut inlet) = (bus.outlet().unwrap(), inlet(&bus));
    inlet.want(&[]).unwrap();
    outlet.publish(&channel("OLD"), b"x").unwrap();
    inlet.want(&[Pattern::new(".*").unwrap()]).unwrap();
    outlet.publish(&channel("NEW"), b"x").unwrap();
    assert_eq!(receive(&mut *inlet, 1)[0].0, "NEW");
    assert_eq!(inlet.counters().lost, 0);
}

#[test]
fn a_buffer_that_the_kernel_grants_only_in_part_has_a_remedy() {
    let bus = open(group(7), "iface=lo&recv_buf_size=4GB");
    let _inlet = inlet(&bus);
    let measures = bus.measures();
    let buffer = measures
        .iter()
        .find(|it| it.name == "receive_buffer")
        .unwrap();
    assert!(!buffer.ok, "no kernel grants 4 GB");
    let remedy = buffer.remedy.as_deref().unwrap();
    assert!(
        remedy.contains("sysctl -w net.core.rmem_max=4000000000"),
        "{remedy}"
    );
}

#[test]
fn an_interface_that_does_not_exist_is_named() {
    let bus = open(group(8), "iface=nowhere0");
    let error = bus
        .inlet()
        .unwrap()
        .want(&[Pattern::new("A").unwrap()])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("nowhere0") && error.contains("kadenz msg doctor"),
        "{error}"
    );
    assert!(bus.outlet().is_err());
}

fn command(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let outcome = Command::new(words.next().unwrap()).args(words).output();
    match outcome {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(format!("`{line}`; install iproute2, on a kernel with veth")),
    }
}

fn cable() -> Result<(), String> {
    for line in [
        "ip link add robot0 type veth peer name robot1",
        "ip address add 10.9.7.1/24 dev robot0",
        "ip link set robot0 up",
        "ip link set robot1 up",
    ] {
        command(line)?;
    }
    Ok(())
}

fn interface_goes_and_comes() -> Result<(), String> {
    cable()?;
    let bus = open(group(9), "iface=robot0");
    let (mut outlet, mut inlet) = (bus.outlet().unwrap(), inlet(&bus));
    outlet.publish(&channel("BEFORE"), b"x").unwrap();
    receive(&mut *inlet, 1);
    command("ip link delete robot0")?;
    let end = Wait::Until(clock::now() + TIMEOUT);
    let result = inlet.receive(end, &mut |_| More::GoOn);
    assert!(
        matches!(result, Err(ReceiveError::Interface(_))),
        "{result:?}"
    );
    assert!(outlet.publish(&channel("MEANWHILE"), b"x").is_err());
    // The inlet reports the loss once, and then waits for the interface.
    let soon = Wait::Until(clock::now() + Duration::from_millis(300));
    assert_eq!(
        inlet.receive(soon, &mut |_| More::GoOn),
        Ok(Received::Nothing)
    );
    cable()?;
    let end = clock::now() + TIMEOUT;
    let mut came = None;
    while came.is_none() {
        assert!(clock::now() < end, "it does not come back");
        let _ = outlet.publish(&channel("AFTER"), b"x");
        let soon = Wait::Until(clock::now() + Duration::from_millis(50));
        inlet
            .receive(soon, &mut |arrival| {
                came = Some(arrival.channel.to_owned());
                More::GoOn
            })
            .unwrap();
    }
    assert_eq!(came.as_deref(), Some("AFTER"));
    assert_eq!(inlet.counters().rejoined, 1);
    Ok(())
}

#[test]
fn an_interface_that_goes_and_comes_is_joined_again_and_counted() {
    let test = "an_interface_that_goes_and_comes_is_joined_again_and_counted";
    let done = match Namespace::create() {
        Ok(network) => network.run(interface_goes_and_comes).unwrap(),
        Err(error) => Err(error.to_string()),
    };
    if let Err(missing) = done {
        skip(test, &missing);
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn skip(test: &str, missing: &str) {
    let nothing = std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1");
    assert!(!nothing, "{test} was to run: {missing}");
    eprintln!("skipped: {test}: {missing}");
}
