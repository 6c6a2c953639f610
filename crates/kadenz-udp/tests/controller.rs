//! Answers and their devices: outstanding questions, the table, and the order of a burst.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use kadenz_udp::controller::{
    Burst, BurstSlot, DeviceId, DeviceKey, DeviceTable, DeviceTableFull, DeviceTableSlot,
    InvalidReply, NoPlace, Outstanding, OutstandingSlot, Place, Sending,
};
use kadenz_udp::wire::{Packet, Probe, RunId, Sequence, Stamp};
use proptest::prelude::*;

fn key(text: &str) -> DeviceKey {
    text.parse::<SocketAddr>().unwrap().into()
}

fn answer(run: u32, sequence: u32, stamp: u64) -> [u8; 18] {
    let mut bytes = [0; 18];
    let probe = Probe {
        run: RunId(run),
        sequence: Sequence(sequence),
        stamp: Stamp(stamp),
        stamps: false,
        token: None,
    };
    probe.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn only_what_was_sent_is_believed() {
    let mut outstanding = Outstanding::over([OutstandingSlot::default(); 4], RunId(7));
    let sending = |stamp| Sending {
        intended_ns: stamp - 1,
        stamp: Stamp(stamp),
    };
    for number in 0..6 {
        outstanding.sent(Sequence(number), sending(1000 + u64::from(number)));
    }
    let verify = |run, sequence, stamp| {
        outstanding.verify(&Packet::parse(&answer(run, sequence, stamp)).unwrap())
    };
    assert_eq!(verify(7, 5, 1005), Ok(sending(1005)));
    assert_eq!(verify(7, 2, 1002), Ok(sending(1002)));
    assert_eq!(
        verify(7, 1, 1001),
        Err(InvalidReply::Unknown(Sequence(1))),
        "its slot was taken"
    );
    assert_eq!(verify(7, 9, 1005), Err(InvalidReply::Unknown(Sequence(9))));
    assert_eq!(verify(6, 5, 1005), Err(InvalidReply::OtherRun(RunId(6))));
    let forged = InvalidReply::Stamp {
        sent: Stamp(1005),
        returned: Stamp(1006),
    };
    assert_eq!(verify(7, 5, 1006), Err(forged));
}

#[test]
fn without_slots_nothing_is_remembered() {
    let mut outstanding = Outstanding::over(Vec::new(), RunId(7));
    outstanding.sent(Sequence(0), Sending::default());
    assert_eq!(outstanding.find(Sequence(0)), None);
}

#[test]
fn keys_distinguish_devices_and_unite_forms() {
    let distinct = [
        key("10.10.1.2:6176"),
        key("10.10.1.2:6177"),
        key("10.10.1.3:6176"),
        key("[fe80::2%1]:6176"),
        key("[fe80::2%2]:6176"),
        key("[2001:db8::a0a:102]:6176"),
    ];
    for (at, one) in distinct.iter().enumerate() {
        for other in &distinct[at + 1..] {
            assert_ne!(one, other);
        }
        assert_eq!(DeviceKey::from(SocketAddr::from(*one)), *one);
    }
    assert_eq!(key("[::ffff:10.10.1.2]:6176"), key("10.10.1.2:6176"));
    assert_eq!(key("[fe80::2%1]:6176").to_string(), "[fe80::2%1]:6176");
    assert_eq!(key("10.10.1.2:6176").with_scope(3), key("10.10.1.2:6176"));
}

#[test]
fn a_full_table_says_so_and_keeps_its_devices() {
    let mut table = DeviceTable::over([DeviceTableSlot::default(); 4]);
    let devices = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"].map(key);
    assert_eq!(table.add(devices[0]), Ok(DeviceId(0)));
    assert_eq!(table.add(devices[1]), Ok(DeviceId(1)));
    assert_eq!(table.add(devices[2]), Err(DeviceTableFull { most: 2 }));
    assert_eq!(table.add(devices[0]), Ok(DeviceId(0)), "it has its place");
    let listed: Vec<_> = table.devices().collect();
    assert_eq!(
        listed,
        [(DeviceId(0), devices[0]), (DeviceId(1), devices[1])]
    );
    assert_eq!(
        (table.count_datagram(&devices[2]), table.unknown_senders()),
        (None, 1)
    );
    let mut none = DeviceTable::over(Vec::new());
    assert_eq!(none.add(devices[0]), Err(DeviceTableFull { most: 0 }));
    assert_eq!(none.find(&devices[0]), None);
}

#[test]
fn a_burst_without_a_broadcast_has_no_answers() {
    let mut burst = Burst::over([BurstSlot::default(); 2]);
    let early = burst.answered(Sequence(0), DeviceId(0), 0);
    assert_eq!(early, Err(NoPlace::OtherBroadcast));
    assert_eq!((burst.first_ns(), burst.last_ns()), (None, None));
    assert!(!burst.is_complete());
}

#[test]
fn a_new_broadcast_forgets_the_answers_to_the_last() {
    let mut burst = Burst::over([BurstSlot::default(); 2]);
    burst.begin(Sequence(1), 100);
    burst.answered(Sequence(1), DeviceId(1), 150).unwrap();
    burst.begin(Sequence(2), 200);
    assert_eq!(
        burst.answered(Sequence(1), DeviceId(0), 210),
        Err(NoPlace::OtherBroadcast)
    );
    let place = burst.answered(Sequence(2), DeviceId(1), 260);
    assert_eq!(
        place,
        Ok(Place {
            place: 0,
            round_trip_ns: 60
        })
    );
    assert_eq!(
        burst.answered(Sequence(2), DeviceId(1), 270),
        Err(NoPlace::Again)
    );
    assert_eq!(
        burst.answered(Sequence(2), DeviceId(2), 280),
        Err(NoPlace::NotInTable)
    );
    burst.answered(Sequence(2), DeviceId(0), 290).unwrap();
    assert!(burst.is_complete());
}

fn any_key() -> impl Strategy<Value = DeviceKey> {
    // Few of each, so that keys repeat and chains of the table meet.
    let v4 = (0_u32..20, 1_u16..4)
        .prop_map(|(low, port)| (IpAddr::V4((0x0a00_0000 + low).into()), port));
    let v6 = (0_u128..20, 1_u16..4)
        .prop_map(|(low, port)| (IpAddr::V6((0xfe80 << 112 | low).into()), port));
    prop_oneof![v4, v6].prop_map(|(address, port)| DeviceKey::new(address, port))
}

proptest! {
    #[test]
    fn a_table_finds_what_a_map_finds(
        slots in 0_usize..60,
        added in prop::collection::vec(any_key(), 0..60),
        heard in prop::collection::vec(any_key(), 0..60),
    ) {
        let mut table = DeviceTable::over(vec![DeviceTableSlot::default(); slots]);
        let mut map = HashMap::new();
        for key in added {
            let next = DeviceId(map.len() as u16);
            let expected = match map.get(&key) {
                Some(id) => Ok(*id),
                None if map.len() < slots / 2 => Ok(next),
                None => Err(DeviceTableFull { most: slots / 2 }),
            };
            prop_assert_eq!(table.add(key), expected);
            if let Ok(id) = expected {
                map.insert(key, id);
            }
        }
        let mut unknown_senders = 0;
        for key in heard {
            prop_assert_eq!(table.count_datagram(&key), map.get(&key).copied());
            unknown_senders += u64::from(!map.contains_key(&key));
        }
        prop_assert_eq!(table.unknown_senders(), unknown_senders);
        prop_assert_eq!(table.len(), map.len());
        for (id, key) in table.devices() {
            prop_assert_eq!(map.get(&key), Some(&id));
            prop_assert_eq!(table.device(id), Some(key));
        }
    }

    #[test]
    fn a_burst_keeps_the_order_of_the_answers(
        devices in 1_usize..50,
        answers in prop::collection::vec((0_u16..60, 0_u64..1000), 0..120),
    ) {
        let mut burst = Burst::over(vec![BurstSlot::default(); devices]);
        burst.begin(Sequence(9), 500);
        let mut expected: Vec<(DeviceId, u64)> = Vec::new();
        for (device, received_ns) in answers {
            let id = DeviceId(device);
            let round_trip_ns = received_ns.saturating_sub(500);
            let wanted = if id.index() >= devices {
                Err(NoPlace::NotInTable)
            } else if expected.iter().any(|(it, _)| *it == id) {
                Err(NoPlace::Again)
            } else {
                expected.push((id, round_trip_ns));
                Ok(Place { place: expected.len() - 1, round_trip_ns })
            };
            prop_assert_eq!(burst.answered(Sequence(9), id, received_ns), wanted);
        }
        prop_assert_eq!(burst.order().collect::<Vec<_>>(), expected.clone());
        prop_assert_eq!(burst.first_ns(), expected.iter().map(|it| it.1).min());
        prop_assert_eq!(burst.last_ns(), expected.iter().map(|it| it.1).max());
        prop_assert_eq!(burst.missing().count(), devices - expected.len());
        prop_assert_eq!(burst.is_complete(), expected.len() == devices);
    }
}
