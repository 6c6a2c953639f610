//! The loop over a cable, its port of raw frames included, allocates nothing after its start.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod beside;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kadenz_ethercat::control::cyclic::{
    CycleContext, EndedBy, Loop, LoopMode, LoopSettings, RealTime,
};
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::port::{self, InterfacePort};

const DEVICES: u16 = 59;
/// Number of complete cycles after which a loop ends.
const WHOLE: u32 = 100;

/// Asserts that a loop on the interface `near`, in this thread, allocates nothing; the counter counts by thread.
fn judge(waiting: port::WaitMode) {
    let port = InterfacePort::open("near", waiting).unwrap();
    let mut link = Link::new(port, 1);
    let mut exchange = BlockingExchange {
        link: &mut link,
        retry: beside::BUSY_HOST,
    };
    let mut registers = Registers::by(&mut exchange);
    let mut found = find(&mut registers).unwrap();
    let mut cycle = prepare(&mut registers, &mut found, None).unwrap();
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    // A spinning thread keeps its CPU until the scheduler takes it away, and this may be the CPU on which the segment's
    // thread is to run. A busy machine takes it away after a slice of 3 ms or somewhat more, so waits are longer.
    let wait = Duration::from_millis(15);
    for mode in [LoopMode::Pipelined, LoopMode::Synchronous { wait }] {
        let settings = LoopSettings {
            mode,
            // A minute, longer than even a very busy machine needs.
            cycles: Some(3_000),
            ..LoopSettings::every(Duration::from_millis(20)).unwrap()
        };
        let mut time = RealTime::open(Duration::ZERO).unwrap();
        let mut whole = 0;
        let mut controller = |context: &mut CycleContext<'_>| {
            whole += u32::from(context.is_whole());
            if whole == WHOLE {
                context.stop();
            }
        };
        let mut ended = None;
        let counted = allocation_counter::measure(|| {
            ended = Some(bus.run(&settings, &mut time, &mut controller, &mut ()));
        });
        assert_eq!(counted.count_total, 0, "{mode:?}: {counted:?}");
        assert_eq!(ended.unwrap().by, EndedBy::Controller, "{mode:?}");
    }
}

#[test]
fn a_loop_over_a_cable_allocates_nothing_while_it_sleeps_for_its_answers() {
    let test = "a loop over a cable allocates nothing, blocking";
    beside::a_humanoid(DEVICES, test, || judge(port::WaitMode::Blocking));
}

#[test]
fn a_loop_over_a_cable_allocates_nothing_while_it_spins_for_its_answers() {
    let test = "a loop over a cable allocates nothing, spinning";
    beside::a_humanoid(DEVICES, test, || judge(port::WaitMode::Spinning));
}
