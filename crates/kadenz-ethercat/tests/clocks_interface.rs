//! Distributed clocks over a cable, in real time: delays, alignment, and a loop that follows.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod beside;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kadenz_ethercat::control::cyclic::{CycleReport, Loop, LoopSettings, RealTime};
use kadenz_ethercat::control::phase::{self, ClockFollower, Step};
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Epoch, since_2000};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::port::Side;
use kadenz_ethercat::port::{self, InterfacePort};
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_rt::clock::WallTime;

const DEVICES: u16 = 59;
/// Longer than even a very busy machine needs.
const LONG: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(4);

fn align_and_follow() {
    let port = InterfacePort::open("near", port::WaitMode::Blocking).unwrap();
    let mut link = Link::new(port, 1);
    let mut exchange = BlockingExchange {
        link: &mut link,
        retry: beside::BUSY_HOST,
    };
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers).unwrap();
    let measured =
        clocks::measure(&mut registers, &devices, &clocks::ClockSettings::default()).unwrap();
    // The truth does not depend on when this machine serves a frame: hops are in the segment's own time.
    let truth = humanoid(DEVICES.into())
        .build()
        .unwrap()
        .delays(Side::Primary);
    for (clock, (_, ns)) in measured.devices().iter().zip(&truth) {
        let apart = (ns - truth[0].1).abs_diff(clock.delay_ns.into());
        assert!(!clock.measured || apart <= 10, "{clock:?}: {apart} ns");
    }
    let wall = since_2000(WallTime::now());
    measured.set(&mut registers, Epoch::Now(wall)).unwrap();
    let mut looks = 0;
    let aligned = measured
        .align(&mut registers, &Bounds::default(), &mut |_| looks += 1)
        .unwrap();
    assert!(looks >= 2 && aligned.worst_ns < 1_000, "{aligned:?}");
    let mut cycle = prepare(&mut registers, &mut devices, measured.reference()).unwrap();

    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let settings = LoopSettings::every(INTERVAL).unwrap();
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    let end = Instant::now() + LONG;
    let (mut locked, mut time_ns) = (false, None);
    let of_phase = phase::PhaseSettings {
        // A busy machine wakes late and serves frames late.
        lock_ns: 200_000,
        ..phase::PhaseSettings::every(INTERVAL.as_nanos() as u64)
    };
    let mut phase = ClockFollower::new(of_phase, |step: &Step| {
        locked |= step.locked;
        stop.store(locked || Instant::now() > end, Ordering::Relaxed);
    });
    let mut observer = |report: &CycleReport<'_>| {
        time_ns = report.outcome.and_then(|it| it.system_time_ns).or(time_ns);
    };
    let mut time = RealTime::open(settings.spin).unwrap();
    bus.run_locked(&settings, &mut time, &mut phase, &mut (), &mut observer);
    assert!(locked, "not within {LONG:?}");
    assert!(time_ns.unwrap() > wall, "the reference counts from 2000");
}

#[test]
fn a_loop_over_a_cable_follows_the_reference_clock() {
    let test = "a loop over a cable follows the reference clock";
    beside::a_humanoid(DEVICES, test, align_and_follow);
}
