use super::*;

const MS: std::time::Duration = std::time::Duration::from_millis(1);

fn network() -> Network<'static> {
    Network::sim(10).unwrap().bring_up().unwrap()
}

#[test]
fn a_device_that_is_not_there_is_an_error_that_lists_those_that_are() {
    let net = network();
    let refused = net.device("left elbow").unwrap_err().to_string();
    assert!(
        refused.starts_with("no device is called `left elbow`; there are EK1100 "),
        "{refused}"
    );
    assert_eq!(net.device("waist yaw").unwrap().position(), 4);
    assert_eq!(net.device_at(4).unwrap().name(), "waist yaw");
    let refused = net.device_at(10).unwrap_err();
    let expected = LookUpError::NoPosition {
        position: 10,
        last: 9,
    };
    assert_eq!(refused, expected);
}

#[test]
fn a_short_name_finds_its_only_device_and_lists_the_long_names_of_several() {
    let net = network();
    assert_eq!(net.device("EL2889").unwrap().position(), 1);
    let refused = net.device("KZ-Drive").unwrap_err().to_string();
    assert_eq!(
        refused,
        "6 devices are called `KZ-Drive`; take one by its position: 4, 5, 6, 7, 8, 9, or by its long name: \
         waist yaw, left hip yaw, left hip roll, left hip pitch, left knee, waist pitch"
    );
}

#[test]
fn devices_of_one_name_are_taken_by_their_position() {
    let mut plan = sim::humanoid::humanoid(6);
    plan.devices[5].name = "waist yaw".to_owned();
    let net = Network::simulated(&plan).unwrap().bring_up().unwrap();
    let refused = net.device("waist yaw").unwrap_err().to_string();
    assert_eq!(
        refused,
        "2 devices are called `waist yaw`; take one by its position: 4, 5"
    );
}

#[test]
fn an_object_that_is_not_mapped_so_is_an_error_that_says_what_is() {
    let net = network();
    let waist = net.device("waist yaw").unwrap();
    let text = |refused: LookUpError| refused.to_string();
    let refused = text(waist.input::<i32>(0x607A).unwrap_err());
    assert!(
        refused.starts_with("0x607A:00 is not in the inputs of `waist yaw`; mapped are 0x6041:00"),
        "{refused}"
    );
    assert!(refused.contains("0x6064:00"), "{refused}");
    let refused = text(waist.output::<i32>((0x607A, 1)).unwrap_err());
    assert!(refused.starts_with("0x607A:01 is not in"), "{refused}");
    for refused in [
        text(waist.input::<i16>(0x6064).unwrap_err()),
        text(waist.input::<u32>(0x6064).unwrap_err()),
        text(waist.input::<f32>(0x6064).unwrap_err()),
    ] {
        assert!(
            refused.contains("INTEGER32, 32 bits), which is not read as"),
            "{refused}"
        );
    }
    assert!(waist.output::<u16>(0x6040).is_ok());
}

#[test]
fn a_cycle_and_a_deadline_have_units_and_bounds() {
    let cycle = |rate: &str| Network::sim(1).unwrap().cycle(rate).map(drop);
    assert!(cycle("4kHz").is_ok());
    for rate in ["1000", "1MHz", "0.1Hz"] {
        assert!(cycle(rate).is_err(), "{rate}");
    }
    assert!(Network::sim(1).unwrap().deadline("5").is_err());
}

#[test]
fn a_virtual_segment_has_1_to_200_devices() {
    for devices in [0, 201] {
        let refused = Network::sim(devices).unwrap_err().to_string();
        let range = format!("a virtual segment has 1 to 200 devices, not {devices}");
        assert_eq!(refused, range);
        let refused = Network::open_segment(&format!("sim:{devices}")).unwrap_err();
        assert_eq!(refused.to_string(), range);
    }
    assert!(Network::sim(1).is_ok() && Network::sim(200).is_ok());
}

#[test]
fn a_stop_handle_ends_the_loop_after_its_shutdown_cycles_and_a_bring_up() {
    let net = Network::sim(5)
        .unwrap()
        .shutdown(5 * MS)
        .bring_up()
        .unwrap();
    let stop = net.stop_handle();
    let mut ending = 0;
    let report = net.run(|io| {
        ending += u32::from(io.is_ending());
        if io.number() == 20 {
            stop.stop();
        }
        Flow::Continue
    });
    let ended = report.unwrap().ended;
    assert_eq!(
        (ended.by, ended.cycles),
        (control::cyclic::EndedBy::Flag, 25)
    );
    assert_eq!(ending, 5);

    let net = Network::sim(5).unwrap();
    net.stop_handle().stop();
    let refused = net.bring_up().unwrap_err();
    assert!(
        matches!(refused, BringUpNetworkError::Stopped { .. }),
        "{refused}"
    );
}

#[test]
fn a_law_may_ask_for_the_shutdown_cycles_and_end_them() {
    let run = |rests_after: u64| {
        let net = Network::sim(5).unwrap().shutdown(5 * MS);
        let mut ending = 0;
        let report = net.bring_up().unwrap().run(|io| {
            ending += u64::from(io.is_ending());
            match (io.number(), ending) {
                (..20, _) => Flow::Continue,
                (_, ending) if ending == rests_after => Flow::Stop,
                _ => Flow::ShutDown,
            }
        });
        let ended = report.unwrap().ended;
        (ended.by, ended.cycles, ending)
    };
    use control::cyclic::EndedBy;
    assert_eq!(run(100), (EndedBy::Flag, 25, 5));
    assert_eq!(run(2), (EndedBy::Controller, 22, 2));
}

#[test]
#[should_panic(expected = "a handle of another network")]
fn a_handle_of_another_network_is_refused() {
    let (net, other) = (network(), network());
    let position = other.device_at(4).unwrap().input::<i32>(0x6064).unwrap();
    let _ = net.run(|io| {
        let _ = io.get(position);
        Flow::Stop
    });
}

#[test]
fn a_set_up_writes_and_reads_objects_and_an_error_names_the_device() {
    let net = network_with_window(0x2_0000_u32);
    assert!(net.bring_up().is_ok());
    let refused = network_with_window(1_u8).bring_up().unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.starts_with("set-up of waist yaw (position 4"),
        "{refused}"
    );
    let net = Network::sim(5)
        .unwrap()
        .setup(|device| match device.name() {
            name if name == "waist yaw" => device.read::<u16>(0x6065).map(drop),
            _ => Ok(()),
        });
    let refused = net.bring_up().unwrap_err().to_string();
    assert!(
        refused.contains("0x6065:00 has a length of 4 bytes and is not read as u16"),
        "{refused}"
    );
}

/// A network whose set-up writes the following error window of a drive, and reads it again.
fn network_with_window<T: ObjectValue + Send + Sync + 'static>(
    window: T,
) -> NetworkBuilder<'static> {
    Network::sim(5).unwrap().setup(move |device| {
        if device.name() == "waist yaw" {
            device.write(0x6065, window)?;
            assert_eq!(device.read::<u32>((0x6065, 0))?, 0x2_0000);
        }
        Ok(())
    })
}

#[test]
fn another_thread_reads_and_writes_objects_while_the_loop_runs_and_not_after_it() {
    let net = network().start(SharedValues::default(), None).unwrap();
    let monitor = net.monitor().clone();
    monitor
        .write_object("waist yaw", 0x6065, 0x2_0000_u32)
        .unwrap();
    let window = || monitor.read_object::<u32>("waist yaw", (0x6065, 0));
    assert_eq!(window().unwrap(), 0x2_0000);
    let refused = |refused: AccessObjectError| refused.to_string();
    let wrong = refused(monitor.read_object::<u16>("waist yaw", 0x6065).unwrap_err());
    assert!(wrong.contains("not read as u16"), "{wrong}");
    let wrong = refused(monitor.write_object("elbow", 0x6065, 1_u32).unwrap_err());
    assert!(wrong.starts_with("no device is called `elbow`"), "{wrong}");
    let wrong = refused(monitor.read_object::<u8>("EK1100", 0x6065).unwrap_err());
    assert!(wrong.contains("mailbox"), "{wrong}");
    net.stop().unwrap();
    let wrong = refused(window().unwrap_err());
    assert!(wrong.contains("the loop has ended"), "{wrong}");
}

#[test]
fn a_request_of_a_network_whose_loop_never_runs_ends_with_it() {
    let net = network();
    let monitor = net.monitor();
    let (done, result) = std::sync::mpsc::sync_channel(1);
    let request = std::thread::spawn(move || {
        let _ = done.send(monitor.read_object::<u32>("waist yaw", 0x6065));
    });
    drop(net);
    let read = result.recv_timeout(std::time::Duration::from_secs(60));
    let refused = read.expect("it waits").unwrap_err().to_string();
    assert!(refused.contains("the loop has ended"), "{refused}");
    request.join().unwrap();
}

#[test]
fn two_handles_on_one_output_set_one_value() {
    let net = network();
    let mut values = SharedValues::default();
    let waist = net.device("waist yaw").unwrap();
    let mut handle = || values.output(&waist, 0x6040, None).unwrap();
    let (first, second) = (handle(), handle());
    second.set(Value::Integer(6)).unwrap();
    first.set(Value::Integer(7)).unwrap();
    assert_eq!(second.get(), Value::Integer(7));
    let target = values.output(&waist, 0x607A, None).unwrap();
    assert_eq!(target.get(), Value::Integer(0));
}

#[test]
fn a_shared_network_says_why_it_does_not_run() {
    let net = SharedNetwork::open("sim:3", &SharedNetworkOptions::default()).unwrap();
    let refusals = |net: &SharedNetwork| {
        let value = net.input("1", 0x6064, None).unwrap_err();
        [net.running().map(drop).unwrap_err(), value].map(|it| it.to_string())
    };
    let refused = net.running().unwrap_err().to_string();
    assert!(refused.contains("not started"), "{refused}");
    net.start(None).unwrap();
    let refused = net.start(None).unwrap_err().to_string();
    assert!(refused.contains("has started"), "{refused}");
    net.stop().unwrap();
    for refused in refusals(&net) {
        assert!(refused.contains("has ended"), "{refused}");
    }
    for refused in refusals(&SharedNetwork::failed()) {
        assert!(refused.contains("failed"), "{refused}");
    }
}

#[test]
fn a_dropped_network_ends_its_loop_while_another_thread_waits() {
    let net = SharedNetwork::open("sim:3", &SharedNetworkOptions::default()).unwrap();
    net.start(None).unwrap();
    let running = net.running().unwrap();
    let timeout = std::time::Duration::from_secs(60);
    let waits = std::thread::spawn({
        let running = running.clone();
        move || running.wait_cycle(u64::MAX - 1, timeout)
    });
    drop(net);
    assert!(!running.state().is_running);
    assert_eq!(waits.join().unwrap(), None);
}

#[test]
fn a_loop_in_the_background_shares_values_records_and_ends_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = std::sync::Arc::new(crate::Recording::create(folder.path()).unwrap());
    let net = Network::sim(8).unwrap().cycle("500Hz").unwrap();
    let net = net.bring_up().unwrap();
    let mut values = SharedValues::default();
    let waist = net.device("waist yaw").unwrap();
    let actual = values.input(&waist, 0x6064, None).unwrap();
    let target = values.output(&waist, 0x607A, None).unwrap();
    let control = values.output(&waist, 0x6040, "u16".parse().ok()).unwrap();
    let mode = values.output(&waist, 0x6060, None);
    let refused = values.input(&waist, 0x6064, "f32".parse().ok());
    assert!(refused.unwrap_err().to_string().contains("not read as f32"));
    assert_eq!(actual.get(), Value::Integer(0));
    let net = net.start(values, Some(run.clone())).unwrap();
    let timeout = std::time::Duration::from_secs(20);
    // CiA 402: shutdown, switch on, enable operation; cyclic synchronous position.
    if let Ok(mode) = mode {
        mode.set(Value::Integer(8)).unwrap();
    }
    assert!(control.set(Value::Integer(-1)).is_err());
    let mut cycle = 0;
    let mut pass = |cycles: usize| {
        for _ in 0..cycles {
            let next = net.wait_cycle(cycle, timeout).unwrap();
            assert!(next > cycle);
            cycle = next;
        }
    };
    let end = std::time::Instant::now() + 3 * timeout;
    while net.state().operational < net.state().devices {
        assert!(std::time::Instant::now() < end, "{:?}", net.state());
        pass(1);
    }
    // A stall of the loop ends the drive's operation: then a fault reset and all words again.
    'rounds: for _ in 0..20 {
        for word in [0x80, 0x06, 0x07, 0x0F] {
            control.set(Value::Integer(word)).unwrap();
            pass(50);
        }
        target.set(Value::Integer(1_000)).unwrap();
        for _ in 0..2000 {
            if actual.get() == Value::Integer(1_000) {
                break 'rounds;
            }
            pass(1);
        }
    }
    // A frame may be lost in any one cycle.
    let is_fresh = (0..1000).any(|_| {
        pass(1);
        actual.is_fresh()
    });
    assert!(is_fresh);
    assert_eq!(actual.get(), Value::Integer(1_000));
    let state = net.state();
    assert!(
        state.is_running && state.cycles >= cycle && state.devices == 8,
        "{state:?}"
    );
    assert_eq!(net.stop().unwrap().devices, 8);
    assert!(!net.state().is_running && net.wait_cycle(cycle + 100_000, timeout).is_none());
    assert!(net.stop().unwrap_err().to_string().contains("already"));
    drop(net);
    let run = std::sync::Arc::into_inner(run).unwrap().finish().unwrap();
    assert!(
        run.run().series.iter().all(|it| it.counts.recorded > 100),
        "{run}"
    );
}
