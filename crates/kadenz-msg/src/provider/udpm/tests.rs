use super::inlet::sender_of;
use super::*;
use crate::wire::{Added, Packet, Reassembly};

fn options(url: &str) -> Result<Options, ProviderError> {
    Options::read(&Address::parse(url).unwrap())
}

#[test]
fn a_url_without_anything_is_lcm_s_own() {
    let plain = options("udpm://").unwrap();
    assert_eq!(plain.group.to_string(), "239.255.76.67:7667");
    assert_eq!(
        (plain.ttl, plain.fragment, plain.interface),
        (0, 65_487, None)
    );
    assert_eq!(plain.reassembly, 16 << 20);
    let also = options("udpm://239.255.76.67:7667?ttl=0&recv_buf_size=&iface=").unwrap();
    assert_eq!(also.group, plain.group);
}

#[test]
fn every_parameter_reaches_the_sockets() {
    let url = "udpm://239.1.2.3:99?ttl=2&iface=eth7&recv_buf_size=1MB&send_buf_size=2MB\
               &busy_poll=50us&priority=6&dscp=46&reassembly=4MB&fragment=1423&send_wait=1ms";
    let options = options(url).unwrap();
    let (sending, receiving) = (options.sending(), options.receiving());
    assert_eq!(
        (sending.type_of_service, sending.priority),
        (Some(0xb8), Some(6))
    );
    assert_eq!(sending.send_buffer, Some(2_000_000));
    let multicast = sending.multicast.unwrap();
    assert_eq!(
        (multicast.hops, multicast.interface.as_deref()),
        (2, Some("eth7"))
    );
    assert_eq!(receiving.receive_buffer, Some(1_000_000));
    assert_eq!(receiving.busy_poll, Some(Duration::from_micros(50)));
    assert_eq!(receiving.local.to_string(), "239.1.2.3:99");
    assert_eq!((options.reassembly, options.fragment), (4_000_000, 1423));
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    for (url, word) in [
        ("udpm://127.0.0.1:7667", "not a multicast group"),
        ("udpm://robot:7667", "not a valid IP address"),
        ("udpm://?ttl=256", "0 to 255"),
        ("udpm://?tll=1", "it has ttl, iface"),
        ("udpm://?fragment=20", "from 65 to 65487"),
    ] {
        let error = options(url).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn the_longest_message_that_is_promised_can_be_put_together() {
    for url in [
        "udpm://?reassembly=1MB",
        "udpm://?reassembly=1MB&fragment=1423",
        "udpm://",
    ] {
        let options = options(url).unwrap();
        let payload = vec![7; options.longest()];
        let channel = "A".parse().unwrap();
        let fragments = Fragments::new(0, &channel, &payload, options.fragment).unwrap();
        let bytes = options.reassembly;
        let mut reassembly = Reassembly::new(ReassemblyLimits {
            bytes,
            ..ReassemblyLimits::default()
        });
        let mut whole = 0;
        for (header, part) in fragments {
            let datagram = [header.bytes(), part].concat();
            let Ok(Packet::Fragment(fragment)) = Packet::parse(&datagram) else {
                panic!()
            };
            let now = kadenz_rt::clock::now();
            if let Added::Complete(complete) =
                reassembly.add(sender_of(options.group), &fragment, now, None)
            {
                whole = complete.payload.len();
            }
        }
        assert_eq!(whole, payload.len(), "{url}");
    }
}

#[test]
fn senders_are_distinguished_by_address_and_port() {
    let of = |text: &str| sender_of(text.parse().unwrap());
    let all = [
        "10.0.0.1:1",
        "10.0.0.1:2",
        "10.0.0.2:1",
        "[fe80::1]:1",
        "[fe80::2]:1",
    ];
    for (at, one) in all.iter().enumerate() {
        for other in &all[..at] {
            assert_ne!(of(one), of(other));
        }
    }
}
