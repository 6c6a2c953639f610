//! A cycle of process data allocates nothing after its construction, and neither does the segment that it passes.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::time::Duration;

use allocation_counter::measure;
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, Target};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::port::Port;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::wire::register::AL_CONTROL;
use kadenz_ethercat::wire::{AlControl, State};

fn cycles(link: &mut Link<WirePort>, cycle: &mut Cycle, count: u32) -> u32 {
    let queue = AcyclicQueue::default();
    let mut whole = 0;
    for _ in 0..count {
        let beat = link.now() + Duration::from_millis(1);
        whole += u32::from(cycle.exchange(link, &queue, beat).is_whole());
        queue.send_one(link);
        queue.expire(link);
        while link.now() < beat {
            cycle.receive(link, &queue);
            link.port_mut().wait(beat).unwrap();
        }
    }
    whole
}

#[test]
fn a_cycle_with_all_of_the_humanoid_allocates_nothing() {
    let mut link = Link::new(WirePort::new(humanoid(59).build().unwrap()), 1);
    let mut waiting = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut waiting);
    let mut found = find(&mut registers).unwrap();
    let mut cycle = prepare(&mut registers, &mut found, None).unwrap();
    cycles(&mut link, &mut cycle, 10);
    let mut waiting = BlockingExchange::over(&mut link);
    let all = Target::All(found.len() as u16);
    let op = AlControl::request(State::Op).0;
    Registers::by(&mut waiting)
        .put_u16(all, AL_CONTROL, op)
        .unwrap();
    cycles(&mut link, &mut cycle, 100);
    let mut whole = 0;
    let counted = measure(|| whole = cycles(&mut link, &mut cycle, 1000));
    assert_eq!((whole, counted.count_total), (1000, 0), "{counted:?}");
}
