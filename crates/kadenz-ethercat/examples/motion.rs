//! Moves the virtual humanoid's drives in virtual time, and prints how far each was from where it should have been.
//!
//! `cargo run --example motion` plays a quintic there and back and a sine on every drive; `cargo run --example motion
//! -- motion.toml` plays that file, for 20 s of virtual time at most.
#![allow(clippy::print_stdout, reason = "an example prints for its user")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use kadenz_ethercat::control::cyclic::{Loop, LoopSettings, VirtualTime, operate};
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::motion::{self, AxisGroup, MotionHandle};
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::humanoid::{WHOLE, humanoid};

/// Virtual seconds after which the example ends a motion that has no end.
const MAX_S: f64 = 20.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut link = Link::new(WirePort::new(humanoid(WHOLE).build()?), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers)?;
    let plan = match std::env::args().nth(1) {
        Some(file) => motion::file::read(Path::new(&file))?,
        None => motion::demo(&mut registers, &mut devices)?.once(),
    };
    let runners = plan.commission(&mut registers, &mut devices)?;
    let mut cycle = prepare(&mut registers, &mut devices, None)?;
    let (queue, stop, handle) = (
        AcyclicQueue::default(),
        AtomicBool::new(false),
        MotionHandle::default(),
    );
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    let settings = plan.settings()?;
    operate(&mut bus, devices.len() as u16, &settings, &mut VirtualTime)?;
    let timing = Timing::new(&settings);
    let mut group = AxisGroup::new(runners, plan.safety, &handle).ending_when_played();
    let settings = LoopSettings {
        cycles: Some((MAX_S / plan.cycle.as_secs_f64()) as u64),
        ..settings
    };
    let mut observer = &timing;
    let ended = bus.run(&settings, &mut VirtualTime, &mut group, &mut observer);
    println!("{ended:?}\n\ndevice                         greatest error  root mean square");
    for runner in group.runners() {
        let device = runner.axis().device();
        let name = devices[device].called();
        let tracking = runner.tracking();
        println!(
            "{device:3} {name:<26} {:9.3} mrad {:12.3} mrad",
            tracking.greatest * 1e3,
            tracking.root_mean_square() * 1e3
        );
    }
    println!("\n{}", timing.snapshot());
    Ok(())
}
