use super::*;

fn memq() -> Bus {
    Bus::open("memq://").unwrap()
}

/// Joins two buses for seconds, which a busy machine may need, publishes messages meanwhile, and returns the counts.
fn carried(options: BridgeOptions, publish: impl FnOnce(&Bus, &Bus)) -> Vec<Carried> {
    let (from, to) = (memq(), memq());
    let options = BridgeOptions {
        duration: Some(Duration::from_secs(5)),
        ..options
    };
    let mut bridge = Bridge::join(&from, &to, &options).unwrap();
    publish(&from, &to);
    bridge.carry(&|notice| panic!("{notice:?}"))
}

#[test]
fn messages_go_both_ways_and_never_back() {
    let options = BridgeOptions {
        both: true,
        ..BridgeOptions::default()
    };
    let ways = carried(options, |from, to| {
        from.publish_bytes("THERE", b"12345678").unwrap();
        to.publish_bytes("BACK", b"123456789").unwrap();
    });
    let counts = |it: &Carried| (it.carried, it.bytes, it.own);
    assert_eq!(counts(&ways[0]), (1, 8, 1));
    assert_eq!(counts(&ways[1]), (1, 9, 1));
    assert!(!ways[0].is_lossy());
}

#[test]
fn messages_above_the_rate_and_of_other_channels_stay() {
    let options = BridgeOptions {
        channels: "ARM_.*".to_owned(),
        interval: Some(Duration::from_secs(3600)),
        ..BridgeOptions::default()
    };
    let ways = carried(options, |from, _| {
        for channel in ["ARM_LEFT", "ARM_LEFT", "ARM_RIGHT", "LEG"] {
            from.publish_bytes(channel, b"12345678").unwrap();
        }
    });
    let [there] = &ways[..] else {
        panic!("{ways:?}");
    };
    assert_eq!((there.received, there.carried, there.held_back), (3, 2, 1));
}

#[test]
fn one_bus_is_not_joined_with_itself() {
    let bus = memq();
    let refused = Bridge::join(&bus, &bus.clone(), &BridgeOptions::default());
    let refused = refused.unwrap_err();
    assert!(matches!(refused, BridgeError::OneBus { .. }), "{refused}");
    assert!(refused.to_string().contains("one bus"), "{refused}");
}

#[test]
fn buses_that_a_bridge_of_this_process_joins_are_not_joined_again() {
    let (from, to) = (memq(), memq());
    let options = BridgeOptions {
        both: true,
        ..BridgeOptions::default()
    };
    let mut first = Bridge::join(&from, &to, &options).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| first.carry(&|_| {}));
        let second = Bridge::join(&from, &to, &BridgeOptions::default());
        options
            .stop
            .store(true, std::sync::atomic::Ordering::Relaxed);
        let refused = second.unwrap_err();
        assert!(matches!(refused, BridgeError::OneBus { .. }), "{refused}");
    });
}

#[test]
fn a_bridge_ends_when_it_is_stopped() {
    let options = BridgeOptions::default();
    let mut bridge = Bridge::join(&memq(), &memq(), &options).unwrap();
    options
        .stop
        .store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(bridge.carry(&|_| {})[0].received, 0);
}
