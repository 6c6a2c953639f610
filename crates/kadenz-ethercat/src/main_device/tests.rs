//! The MainDevice against the virtual segment, in virtual time.

use std::time::Duration;

use super::acyclic::AcyclicQueue;
use super::bring_up::{find, prepare};
use super::cycle::Cycle;
use super::device::SubDevice;
use super::discover::{self, DiscoverError};
use super::exchange::{BlockingExchange, Registers, RetryPolicy, Target};
use super::link::Link;
use super::states;
use crate::port::Port as _;
use crate::sim::Segment;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, FrameFault};
use crate::sim::humanoid::humanoid;
use crate::wire::register::{AL_CONTROL, FMMU, FMMU_SIZE, features};
use crate::wire::{AlControl, State};

/// Brings a humanoid to SAFEOP.
fn configured(devices: usize) -> (Link<WirePort>, Vec<SubDevice>, Cycle) {
    let port = WirePort::new(humanoid(devices).build().unwrap());
    let mut link = Link::new(port, 1);
    let mut waiting = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut waiting);
    let mut found = find(&mut registers).unwrap();
    let cycle = prepare(&mut registers, &mut found, None).unwrap();
    (link, found, cycle)
}

/// Runs cycles of a millisecond; returns the last outcome.
fn run(link: &mut Link<WirePort>, cycle: &mut Cycle, cycles: u32) -> super::cycle::Outcome {
    let queue = AcyclicQueue::default();
    let mut last = super::cycle::Outcome::default();
    for _ in 0..cycles {
        let beat = link.now() + Duration::from_millis(1);
        last = cycle.exchange(link, &queue, beat);
        while link.now() < beat {
            cycle.receive(link, &queue);
            link.port_mut().wait(beat).unwrap();
        }
    }
    last
}

fn to_op(link: &mut Link<WirePort>, cycle: &mut Cycle, count: u16) {
    run(link, cycle, 10);
    let mut waiting = BlockingExchange::over(link);
    let mut registers = Registers::by(&mut waiting);
    registers
        .put_u16(
            Target::All(count),
            AL_CONTROL,
            AlControl::request(State::Op).0,
        )
        .unwrap();
}

#[test]
fn the_papers_humanoid_comes_to_op_and_every_device_takes_part() {
    for devices in [1, 59, 128] {
        let (mut link, found, mut cycle) = configured(devices);
        assert_eq!(found.len(), devices);
        let count = found.len() as u16;
        to_op(&mut link, &mut cycle, count);
        let outcome = run(&mut link, &mut cycle, 50);
        let (states, there) = outcome.states.unwrap();
        assert_eq!(
            (states.state(), there),
            (Some(State::Op), count),
            "{devices}: {outcome:?}"
        );
        assert!(outcome.is_whole(), "{devices}: {outcome:?}");
        assert!(found.iter().all(|it| !it.name.is_empty()));
    }
}

#[test]
fn a_lost_frame_costs_one_cycle_and_nothing_else() {
    let (mut link, found, mut cycle) = configured(59);
    to_op(&mut link, &mut cycle, found.len() as u16);
    run(&mut link, &mut cycle, 20);
    for fault in [
        FrameFault::Lose { after: None },
        FrameFault::Lose { after: Some(20) },
        FrameFault::Corrupt { after: None },
        FrameFault::Delay { ns: 5_000_000 },
        FrameFault::Duplicate { ns: 100_000 },
        FrameFault::Truncate { length: 40 },
        FrameFault::Skew { by: -1 },
    ] {
        let now = link.port_mut().time();
        segment(&mut link).inject(Fault::Frame(fault), now);
        run(&mut link, &mut cycle, 1);
        let after = run(&mut link, &mut cycle, 1);
        assert!(after.is_whole(), "{fault:?}: {after:?}");
        // A delayed frame has come by then, and is not taken for another.
        assert!(run(&mut link, &mut cycle, 10).is_whole(), "{fault:?}");
    }
    let counts = link.counts();
    assert!(counts.lost >= 5 && counts.late >= 2, "{counts:?}");
}

fn segment(link: &mut Link<WirePort>) -> &mut Segment {
    link.port_mut().segment_mut()
}

#[test]
fn outputs_reach_the_device_and_inputs_come_back() {
    let (mut link, found, mut cycle) = configured(59);
    to_op(&mut link, &mut cycle, found.len() as u16);
    run(&mut link, &mut cycle, 20);
    let before = cycle.inputs().to_vec();
    run(&mut link, &mut cycle, 20);
    assert_ne!(cycle.inputs(), before, "sensors are noisy");
}

/// Maps a part of a drive's process data nowhere: 0 its outputs, 1 its inputs.
fn unmap(link: &mut Link<WirePort>, drive: &SubDevice, fmmu: u16) {
    let mut waiting = BlockingExchange::over(link);
    // The byte that says whether it works, and a reserved one.
    let register = FMMU + fmmu * FMMU_SIZE + 12;
    let mut registers = Registers::by(&mut waiting);
    registers.put_u16(drive.target(), register, 0).unwrap();
}

#[test]
fn participation_in_a_frame_is_known_whatever_another_does_not_show() {
    // The frames come back in one order or the other.
    for (known, other) in [(0, 1), (1, 0)] {
        let (mut link, found, mut cycle) = configured(128);
        to_op(&mut link, &mut cycle, found.len() as u16);
        run(&mut link, &mut cycle, 20);
        let [known, other] = [known, other].map(|frame| {
            let shares = cycle.layout().shares.iter().enumerate();
            let own = shares.filter(|(_, it)| it.frame == Some(frame) && it.inputs.len() >= 6);
            own.map(|it| it.0).collect::<Vec<_>>()
        });
        let is_drive = |it: &&usize| found[**it].name == "KZ-Drive";
        let absent = *known.iter().find(is_drive).unwrap();
        unmap(&mut link, &found[absent], 0);
        unmap(&mut link, &found[absent], 1);
        // Some more than devices of few inputs may be missing instead.
        for half in other.iter().filter(is_drive).take(4) {
            unmap(&mut link, &found[*half], 0);
        }
        let outcome = run(&mut link, &mut cycle, 3);
        assert_eq!((outcome.answered, outcome.whole), (2, 0), "{outcome:?}");
        // They gave inputs and took no outputs: in their frame that shows for no device.
        assert!(other.iter().all(|it| !cycle.took_part(*it)));
        let took_part = known.iter().filter(|it| cycle.took_part(**it));
        let others = known.iter().filter(|it| **it != absent);
        assert!(took_part.eq(others));
    }
}

#[test]
fn a_wire_without_devices_is_an_error_that_says_so() {
    let mut link = Link::new(WirePort::new(Segment::new(1)), 1);
    let mut waiting = BlockingExchange {
        link: &mut link,
        retry: RetryPolicy {
            answer: Duration::from_millis(1),
            tries: 2,
        },
    };
    let mut registers = Registers::by(&mut waiting);
    let error = discover::count(&mut registers).unwrap_err();
    assert!(
        matches!(
            error,
            DiscoverError::NoSubDevice | DiscoverError::Exchange(_)
        ),
        "{error}"
    );
}

#[test]
fn a_state_that_is_refused_is_reported_with_its_reason() {
    let port = WirePort::new(humanoid(6).build().unwrap());
    let mut link = Link::new(port, 1);
    let mut waiting = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut waiting);
    let found = discover::discover(&mut registers).unwrap();
    let drive = found
        .iter()
        .find(|it| it.name == "KZ-Drive")
        .unwrap()
        .target();
    let error = states::reach(&mut registers, drive, State::Op).unwrap_err();
    assert!(
        error.to_string().contains("invalid requested state change"),
        "{error}"
    );
    states::reach(&mut registers, drive, State::Init).unwrap();
}

#[test]
fn a_device_that_lacks_lrw_is_refused_by_name_unless_it_has_no_process_data() {
    let mut link = Link::new(WirePort::new(humanoid(6).build().unwrap()), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut found = find(&mut registers).unwrap();
    assert!(found[0].process_data.outputs.is_empty() && found[0].process_data.inputs.is_empty());
    found[0].features |= features::NO_LRW;
    prepare(&mut registers, &mut found, None).unwrap();
    found[5].features |= features::NO_LRW;
    let error = prepare(&mut registers, &mut found, None).unwrap_err();
    let words = error.to_string();
    assert!(
        words.starts_with("SubDevice 5 (waist pitch): ") && words.contains("does not support LRW"),
        "{words}"
    );
}
