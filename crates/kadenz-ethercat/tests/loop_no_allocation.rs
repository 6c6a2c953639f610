//! The loop allocates nothing after its start, whatever happens on the wire.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod prepared;

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use allocation_counter::measure;
use kadenz_ethercat::control::cyclic::{
    CycleContext, CycleReport, LockedPublisher, Loop, LoopMode, LoopSettings, SeqlockPublisher,
    VirtualTime, image_bytes, operate,
};
use kadenz_ethercat::control::locked::Locked;
use kadenz_ethercat::control::output_requests::{Change, OutputRequests};
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::motion::{self, AxisGroup, MotionHandle, Stage};
use kadenz_ethercat::sim::fault::{Fault, FrameFault, When};

use prepared::prepared;

const MS: Duration = Duration::from_millis(1);

#[test]
fn the_loop_allocates_nothing_not_even_when_frames_are_lost() {
    let (mut link, mut cycle, ()) = prepared(59, |_, _| ());
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    let every = LoopSettings::every(MS).unwrap();
    operate(&mut bus, 59, &every, &mut VirtualTime).unwrap();
    let lose = Fault::Frame(FrameFault::Lose { after: None });
    let faults = bus.link.port_mut().segment_mut().faults();
    faults.add(When::Chance(0.1), lose).unwrap();
    // The virtual segment's list of frame faults allocates with its first entry.
    let some = LoopSettings {
        cycles: Some(100),
        ..every
    };
    bus.run(&some, &mut VirtualTime, &mut (), &mut ());
    for mode in [LoopMode::Pipelined, LoopMode::Synchronous { wait: MS / 2 }] {
        let settings = LoopSettings {
            mode,
            cycles: Some(1000),
            ..every
        };
        let mut whole = 0;
        let counted = measure(|| {
            bus.run(
                &settings,
                &mut VirtualTime,
                &mut |context: &mut CycleContext<'_>| {
                    let number = context.number() as u8;
                    context.outputs_of(1).fill(number);
                },
                &mut |report: &CycleReport<'_>| whole += u32::from(report.is_whole()),
            );
        });
        assert_eq!(counted.count_total, 0, "{counted:?}");
        assert!((800..1000).contains(&whole), "{whole}");
    }
}

#[test]
fn posting_and_obeying_others_allocates_nothing() {
    let (mut link, mut cycle, ()) = prepared(59, |_, _| ());
    let layout = cycle.layout().clone();
    let words: Vec<_> = (0..SeqlockPublisher::words(&layout))
        .map(|_| AtomicU64::new(0))
        .collect();
    let locked = Locked::new(image_bytes(&layout)).unwrap();
    let mut observer = (
        SeqlockPublisher::begin(&words, &layout).unwrap(),
        LockedPublisher::begin(&locked, &layout),
    );
    let output_requests = OutputRequests::default();
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    let settings = LoopSettings {
        cycles: Some(1000),
        ..LoopSettings::every(MS).unwrap()
    };
    let change = Change {
        bit: 3,
        bits: 8,
        value: 0xA5,
    };
    std::thread::scope(|scope| {
        // The request waits for the first cycle.
        let asks = scope.spawn(|| output_requests.set(change, Duration::from_secs(60)));
        while !asks.is_finished() {
            let mut controller = &output_requests;
            let counted = measure(|| {
                bus.run(&settings, &mut VirtualTime, &mut controller, &mut observer);
            });
            assert_eq!(counted.count_total, 0, "{counted:?}");
        }
        let set = asks.join().unwrap().unwrap();
        assert!((1..=1000).contains(&set), "{set}");
    });
    assert_eq!(cycle.outputs()[..2], [0x28, 0x05]);
}

#[test]
fn all_axes_of_the_humanoid_move_without_an_allocation() {
    let (mut link, mut cycle, (plan, runners)) = prepared(59, |registers, found| {
        let plan = motion::demo(registers, found).unwrap();
        let runners = plan.commission(registers, found).unwrap();
        (plan, runners)
    });
    let settings = plan.settings().unwrap();
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    operate(&mut bus, 59, &settings, &mut VirtualTime).unwrap();
    let (handle, timing) = (MotionHandle::default(), Timing::new(&settings));
    let mut group = AxisGroup::new(runners, plan.safety, &handle);
    let some = LoopSettings {
        cycles: Some(5_000),
        ..settings
    };
    let mut observer = &timing;
    let counted = measure(|| {
        bus.run(&some, &mut VirtualTime, &mut group, &mut observer);
    });
    assert!(
        matches!(group.stage(), Stage::Playing(_)),
        "{:?}",
        group.stage()
    );
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert_eq!(timing.snapshot().whole_exchanges, 4_999);
}
