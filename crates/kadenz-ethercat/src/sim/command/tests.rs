use super::*;
use crate::port::Side;
use crate::sim::humanoid::humanoid;
use crate::sim::{CableId, DeviceId};

fn names() -> SegmentNames {
    let plan = humanoid(59);
    SegmentNames::of(&plan, &mut plan.build().unwrap(), false)
}

/// The same, with the cable that closes a ring.
fn names_of_ring() -> SegmentNames {
    let mut plan = humanoid(59);
    assert!(plan.close_ring());
    SegmentNames::of(&plan, &mut plan.build().unwrap(), true)
}

impl FaultInjection {
    /// A fault of one frame, at once.
    fn now(fault: Fault) -> Self {
        Self {
            fault,
            start: FaultStart::Now,
            frames: 1,
            lasts: None,
            chance: None,
        }
    }
}

fn now(fault: FrameFault) -> SimCommand {
    SimCommand::Inject(FaultInjection::now(Fault::Frame(fault)))
}

fn wire(fault: WireFault) -> SimCommand {
    SimCommand::Inject(FaultInjection::now(Fault::Wire(fault)))
}

#[test]
fn every_fault_has_its_words() {
    let names = names();
    let (knee, cable) = names.device("left knee").unwrap();
    let lose = |after| Fault::Frame(FrameFault::Lose { after });
    let frames = |frames, fault| {
        SimCommand::Inject(FaultInjection {
            frames,
            ..FaultInjection::now(fault)
        })
    };
    for (line, command) in [
        ("lose", now(FrameFault::Lose { after: None })),
        ("lose 3", frames(3, lose(None))),
        ("lose after 5", now(FrameFault::Lose { after: Some(5) })),
        ("lose 2 after 5", frames(2, lose(Some(5)))),
        ("corrupt", now(FrameFault::Corrupt { after: None })),
        ("garble 4", now(FrameFault::Garble { bits: 4 })),
        ("truncate 40", now(FrameFault::Truncate { length: 40 })),
        ("delay 5ms", now(FrameFault::Delay { ns: 5_000_000 })),
        ("duplicate 10us", now(FrameFault::Duplicate { ns: 10_000 })),
        ("skew -1", now(FrameFault::Skew { by: -1 })),
        ("cut 0", wire(WireFault::Cut(CableId(0)))),
        ("heal 'left knee'", wire(WireFault::Heal(cable))),
        (
            "flap \"Left Knee\" 300ms",
            wire(WireFault::Flap(cable, 300_000_000)),
        ),
        ("power 0 off", wire(WireFault::PowerOff(DeviceId(0)))),
        ("power 'left knee' on", wire(WireFault::PowerOn(knee))),
        (
            "power 0 cycle 1s",
            wire(WireFault::PowerCycle(DeviceId(0), 1_000_000_000)),
        ),
        (
            "leave 0 safeop 0x1B",
            wire(WireFault::Leave(
                DeviceId(0),
                State::SafeOp,
                AlStatusCode::WATCHDOG,
            )),
        ),
        ("fail 0 0x7305", wire(WireFault::Fail(DeviceId(0), 0x7305))),
        ("drift 0 -20.5", wire(WireFault::Drift(DeviceId(0), -20.5))),
        (
            "spoil 0 0x1E 255",
            wire(WireFault::Spoil(DeviceId(0), 0x1E, 255)),
        ),
        ("help", SimCommand::Help),
        ("  clear ", SimCommand::Clear),
    ] {
        assert_eq!(parse(line, &names), Ok(Some(command)), "{line}");
    }
    assert_eq!(parse("", &names), Ok(None));
    assert_eq!(parse("# a remark", &names), Ok(None));
}

#[test]
fn when_it_strikes_is_said_before() {
    let names = names();
    let now = Time(10_000_000_000);
    let lose = Fault::Frame(FrameFault::Lose { after: None });
    let during = |from, until, probability| When::During {
        from: Time(from),
        until,
        probability,
    };
    for (line, when, frames) in [
        ("lose 3", When::Frames(101, 104), 1),
        ("next 3 lose", When::Frames(101, 104), 1),
        ("after 50 lose", When::Frame(151), 1),
        ("after 50 lose 2", When::Frames(151, 153), 1),
        ("in 2s lose", When::At(Time(12_000_000_000)), 1),
        ("at 2s next 5 lose", When::At(Time(2_000_000_000)), 5),
        ("chance 0.01 lose", When::Chance(0.01), 1),
        (
            "every 10s lose # at night",
            When::Every {
                first: Time(20_000_000_000),
                period: 10_000_000_000,
            },
            1,
        ),
        (
            "for 1s lose",
            during(10_000_000_000, Time(11_000_000_000), 1.0),
            1,
        ),
        (
            "in 5s for 2s chance 0.1 lose",
            during(15_000_000_000, Time(17_000_000_000), 0.1),
            1,
        ),
        ("at 0s chance 0.1 lose", during(0, Time::NEVER, 0.1), 1),
    ] {
        let Ok(Some(SimCommand::Inject(order))) = parse(line, &names) else {
            panic!("{line}");
        };
        let planned = order.planned(now, 100).unwrap();
        assert_eq!(
            planned,
            Planned {
                when,
                fault: lose,
                frames
            },
            "{line}"
        );
    }
    assert_eq!(
        FaultInjection::now(lose).planned(now, 100),
        None,
        "it strikes now"
    );
}

#[test]
fn the_cable_of_a_ring_has_a_name_where_there_is_one() {
    let cut = wire(WireFault::Cut(CableId(59)));
    assert_eq!(parse("cut ring", &names_of_ring()), Ok(Some(cut)));
    assert!(parse("cut ring", &names()).is_err());
    assert!(parse("power ring off", &names_of_ring()).is_err());
}

#[test]
fn positions_are_those_of_the_wire_and_not_of_the_file() {
    let plan = humanoid(59);
    let mut segment = plan.build().unwrap();
    let names = SegmentNames::of(&plan, &mut segment, false);
    for (position, id) in segment_positions(&mut segment).into_iter().enumerate() {
        assert_eq!(names.device(&position.to_string()).unwrap().0, id);
        let name = &plan.devices[usize::from(id.0)].name;
        assert_eq!(names.device(name).unwrap().0, id);
    }
}

fn segment_positions(segment: &mut Segment) -> Vec<DeviceId> {
    segment.positions(Side::Primary)
}

#[test]
fn nonsense_is_refused_with_words_and_never_ends_the_segment() {
    let names = names();
    let long = "lose ".repeat(1_000);
    for line in [
        "explode",
        "lose x",
        "lose 0",
        "lose -1",
        "lose 1 2",
        "delay 5",
        "delay",
        "skew 40000",
        "cut",
        "cut 59",
        "cut 'nobody'",
        "cut 'left",
        "flap 1 1",
        "power 1",
        "power 1 maybe",
        "leave 1 OP",
        "leave 1",
        "fail 1 0x10000",
        "drift 1 NaN",
        "drift 1 1e9",
        "chance 2 lose",
        "chance 0.1 cut 1",
        "every 0s lose",
        "in 1s in 2s lose",
        "in 1s every 2s lose",
        "every 1s chance 0.5 lose",
        "after 5 for 1s lose",
        "for 1s lose 2",
        "for 1s cut 1",
        "next 2 cut 1",
        "next 2 lose 2",
        "next 0 lose",
        "after 5",
        "skew --5",
        "skew 0x-5",
        "skew -0x-5",
        "skew +-5",
        "spoil 1 2",
        "spoil 1 2 256",
        "spoil 1 -2 1",
        "every 1s",
        "in lose",
        "truncate -1",
        "garble 256",
        "truncate 0xFFFFFFFFFFFFFFFFFF",
        "lose \u{0}",
        "'",
        "power 'ü' off",
        &long,
    ] {
        let error = parse(line, &names).unwrap_err().to_string();
        assert!(!error.is_empty(), "{line}");
    }
}
