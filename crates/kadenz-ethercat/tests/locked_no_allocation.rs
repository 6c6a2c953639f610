//! A loop that follows the reference clock, and measures latencies, allocates nothing after its start.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kadenz_ethercat::control::cyclic::{Loop, LoopSettings, VirtualTime, operate};
use kadenz_ethercat::control::latency::{Latencies, LatencyController, Meter, Sends};
use kadenz_ethercat::control::phase::{self, ClockFollower, Step};
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Epoch};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::file::Kind;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::model::stamp;

#[test]
fn a_loop_that_follows_a_clock_allocates_nothing() {
    let mut plan = humanoid(59);
    plan.devices[58].kind = Kind::Stamp(stamp::StampSettings::default());
    let mut link = Link::new(WirePort::new(plan.build().unwrap()), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers).unwrap();
    let clocks =
        clocks::measure(&mut registers, &devices, &clocks::ClockSettings::default()).unwrap();
    clocks.set(&mut registers, Epoch::Own).unwrap();
    clocks
        .align(&mut registers, &Bounds::default(), &mut |_| {})
        .unwrap();
    let mut cycle = prepare(&mut registers, &mut devices, clocks.reference()).unwrap();
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    let every = LoopSettings::every(Duration::from_millis(1)).unwrap();
    operate(&mut bus, 59, &every, &mut VirtualTime).unwrap();
    let mut locked = 0;
    let mut phase = ClockFollower::new(phase::PhaseSettings::every(1_000_000), |step: &Step| {
        locked += u32::from(step.locked);
    });
    let mut latencies = Latencies::with_room(1_000_000, 500);
    let mut answer = LatencyController::of(58, Sends::AtOnce);
    let mut meter = Meter::of(58, &mut latencies);
    let settings = LoopSettings {
        cycles: Some(1_000),
        ..every
    };
    let counted = allocation_counter::measure(|| {
        let time = &mut VirtualTime;
        bus.run_locked(&settings, time, &mut phase, &mut answer, &mut meter);
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert!(locked > 500, "{locked} of 1000");
    assert!(latencies.reaction.values().len() > 50);
}
