//! The MainDevice and the virtual segment at the two ends of a cable, in real time.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod beside;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_ethercat::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, Target};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::states;
use kadenz_ethercat::port::{self, InterfacePort};
use kadenz_ethercat::wire::State;

const DEVICES: u16 = 59;

fn link() -> Link<InterfacePort> {
    Link::new(
        InterfacePort::open("near", port::WaitMode::Blocking).unwrap(),
        1,
    )
}

fn configured(link: &mut Link<InterfacePort>) -> Cycle {
    let mut waiting = BlockingExchange {
        link,
        retry: beside::BUSY_HOST,
    };
    let mut registers = Registers::by(&mut waiting);
    let mut found = find(&mut registers).unwrap();
    assert_eq!(found.len(), usize::from(DEVICES));
    prepare(&mut registers, &mut found, None).unwrap()
}

#[test]
fn the_humanoid_comes_to_op_over_a_cable_while_the_loop_goes_on() {
    beside::a_humanoid(DEVICES, "the humanoid comes to OP over a cable", || {
        let mut link = link();
        let mut cycle = configured(&mut link);
        let queue = AcyclicQueue::default();
        let asked = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Another thread requests OP; the loop carries its acyclic frames beside the process data.
            scope.spawn(|| {
                let mut exchange = AcyclicClient::of(&queue, beside::BUSY_HOST);
                let mut registers = Registers::by(&mut exchange);
                states::reach(&mut registers, Target::All(DEVICES), State::Op).unwrap();
                asked.store(true, Ordering::Relaxed);
            });
            let mut whole = 0;
            // Cycles of a millisecond, for so long as even a very busy machine needs.
            for _ in 0..60_000 {
                let latest = link.now() + Duration::from_millis(5);
                let outcome = cycle.exchange(&mut link, &queue, latest);
                queue.send_one(&mut link);
                queue.expire(&mut link);
                let in_op = outcome
                    .states
                    .is_some_and(|(it, count)| it.state() == Some(State::Op) && count == DEVICES);
                whole += u32::from(asked.load(Ordering::Relaxed) && in_op && outcome.is_whole());
                if whole == 100 {
                    break;
                }
                std::thread::sleep(Duration::from_micros(500));
            }
            queue.end();
            assert_eq!(whole, 100, "{:?}", link.counts());
        });
    });
}
