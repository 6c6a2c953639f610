use std::net::SocketAddr;

use proptest::prelude::*;

use super::*;
use crate::doctor::fake::{self, FakeFile};

const HOST: &[FakeFile] = &[
    (
        "/proc/net/snmp",
        include_bytes!("../../../../../conformance/net/snmp"),
    ),
    (
        "/proc/net/snmp6",
        include_bytes!("../../../../../conformance/net/snmp6"),
    ),
    (
        "/proc/net/softnet_stat",
        include_bytes!("../../../../../conformance/net/softnet_stat"),
    ),
    (
        "/proc/net/udp",
        include_bytes!("../../../../../conformance/net/udp"),
    ),
    (
        "/proc/net/udp6",
        include_bytes!("../../../../../conformance/net/udp6"),
    ),
    ("/sys/class/net/eth0/statistics/rx_packets", b"1000\n"),
    ("/sys/class/net/eth0/statistics/tx_packets", b"900\n"),
    ("/sys/class/net/eth0/statistics/rx_errors", b"6\n"),
    ("/sys/class/net/eth0/statistics/rx_dropped", b"3\n"),
    ("/sys/class/net/eth0/statistics/rx_missed_errors", b"4\n"),
    ("/sys/class/net/eth0/statistics/tx_dropped", b"2\n"),
];

#[test]
fn everything_is_read_from_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let root = fake::write(folder.path(), HOST).unwrap();
    let snapshot = Snapshot::read(&root, Some("eth0"));
    let udp = UdpCounters {
        received: 12_000,
        sent: 11_000,
        no_port: 7,
        receive_errors: 30,
        receive_buffer_errors: 25,
        send_buffer_errors: 2,
        checksum_errors: 5,
        memory_errors: 1,
    };
    assert_eq!(snapshot.udp, Some(udp));
    let udp6 = snapshot.udp6.unwrap();
    assert_eq!(
        (udp6.received, udp6.no_port, udp6.receive_buffer_errors),
        (10, 1, 3)
    );
    let softnet = SoftnetCounters {
        processed: 256,
        dropped: 17,
        squeezed: 2,
    };
    assert_eq!(snapshot.softnet, Some(softnet));
    let interface = snapshot.interface.unwrap();
    assert_eq!((interface.received, interface.receive_missed), (1000, 4));
    // 6 errors (the 4 missed may be among them), 3 and 2 dropped.
    assert_eq!(interface.lost(), 11);
}

#[test]
#[cfg(target_endian = "little")]
fn sockets_are_listed_with_their_drops() {
    let folder = tempfile::tempdir().unwrap();
    let root = fake::write(folder.path(), HOST).unwrap();
    let rows = sockets(&root).unwrap();
    let local = |text: &str| text.parse::<SocketAddr>().unwrap();
    assert_eq!(
        rows,
        [
            SocketRow {
                local: local("127.0.0.1:6176"),
                receive_queue: 512,
                inode: 4711,
                dropped: 17,
            },
            SocketRow {
                local: local("[::1]:53"),
                receive_queue: 0,
                inode: 42,
                dropped: 0,
            },
        ]
    );
}

#[test]
fn a_difference_says_what_was_lost_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let root = fake::write(folder.path(), HOST).unwrap();
    let before = Snapshot::read(&root, Some("eth0"));
    assert_eq!(before.since(&before).lost(), 0);
    let later = Snapshot {
        udp: before.udp.map(|udp| UdpCounters {
            receive_errors: udp.receive_errors + 5,
            ..udp
        }),
        softnet: before.softnet.map(|softnet| SoftnetCounters {
            dropped: softnet.dropped + 3,
            squeezed: softnet.squeezed + 9,
            ..softnet
        }),
        udp6: None,
        ..before
    };
    let meanwhile = later.since(&before);
    assert_eq!(meanwhile.lost(), 8);
    assert_eq!(meanwhile.udp6, None);
    // A counter that restarts counts nothing rather than a large number.
    assert_eq!(before.since(&later).lost(), 0);
}

#[test]
fn what_is_not_there_is_absent_and_named() {
    let root = Root::at("/nowhere-at-all");
    assert_eq!(Snapshot::read(&root, Some("eth0")), Snapshot::default());
    let error = sockets(&root).unwrap_err().to_string();
    assert!(error.contains("/proc/net/udp"), "{error}");
}

#[test]
fn text_that_is_something_else_is_refused() {
    for text in ["", "Udp:", "Udp: InDatagrams", "Udp: A\nUdp: x"] {
        assert_eq!(UdpCounters::parse(text), None, "{text}");
    }
    assert_eq!(UdpCounters::parse_v6("Udp6InDatagrams"), None);
    assert_eq!(UdpCounters::parse_v6("Ip6InReceives 3"), None);
    for text in ["", "1 2", "1 2 x", "1 2 3\n\n"] {
        assert_eq!(SoftnetCounters::parse(text), None, "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_this_machine_counts_goes_up_with_what_is_sent() {
    use crate::net::port::{Inbox, PortOptions, UdpPort, Wait};

    let root = Root::system();
    let mut port = UdpPort::open(&PortOptions {
        receive_buffer: Some(4096),
        ..PortOptions::default()
    })
    .unwrap();
    let before = Snapshot::read(&root, Some("lo"));
    let to = port.local_address();
    for _ in 0..200 {
        port.send_to(&[0; 100], to).unwrap();
    }
    let dropped = port.dropped().unwrap();
    let meanwhile = Snapshot::read(&root, Some("lo")).since(&before);
    // Other programs may count as well.
    let udp = meanwhile.udp.unwrap();
    assert!(udp.sent >= 200 && dropped > 0);
    assert!(udp.receive_buffer_errors >= dropped, "{udp:?}");
    assert!(meanwhile.interface.unwrap().received >= 200);
    let rows = sockets(&root).unwrap();
    let row = rows.iter().find(|row| row.local == to).unwrap();
    assert_eq!(row.dropped, dropped);
    assert!(row.receive_queue > 0);
    port.receive_batch(&mut Inbox::new(1, 1), Wait::Poll)
        .unwrap();
}

proptest! {
    #[test]
    fn no_text_is_a_panic(text in "(Udp6?:?|[0-9A-Fa-f:]{0,40}| |\\t|\\n|InErrors|\\PC){0,40}") {
        let _ = UdpCounters::parse(&text);
        let _ = UdpCounters::parse_v6(&text);
        let _ = SoftnetCounters::parse(&text);
        for line in text.lines() {
            let _ = SocketRow::parse(line);
        }
    }

    #[test]
    fn softnet_lines_add_up(cpus in prop::collection::vec(any::<[u32; 3]>(), 1..64)) {
        let lines = cpus.iter().map(|[a, b, c]| format!("{a:08x} {b:08x} {c:08x} 00000000\n"));
        let read = SoftnetCounters::parse(&lines.collect::<String>()).unwrap();
        let sum = |at: usize| cpus.iter().map(|cpu| u64::from(cpu[at])).sum::<u64>();
        prop_assert_eq!((read.processed, read.dropped, read.squeezed), (sum(0), sum(1), sum(2)));
    }
}
