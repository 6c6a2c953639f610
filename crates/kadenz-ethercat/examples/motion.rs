//! The virtual humanoid's drives, moved in virtual time; and how far each was from where it should have been.
//!
//! `cargo run --example motion` plays a quintic there and back and a sine on every drive; with a file,
//! `cargo run --example motion -- motion.toml`, what that says, for 20 s of virtual time at most.
#![allow(clippy::print_stdout, reason = "an example speaks to who runs it")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use kadenz_ethercat::control::cyclic::{Loop, Settings, VirtualTime, operate};
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::exchange::{Patience, Registers, Waiting};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::postbox::Postbox;
use kadenz_ethercat::motion::{self, Conductor, Switch};
use kadenz_ethercat::port::WirePort;
use kadenz_ethercat::sim::humanoid::{WHOLE, humanoid};

/// Virtual seconds after which a motion that never ends is ended.
const LONGEST_S: f64 = 20.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut link = Link::new(WirePort::new(humanoid(WHOLE).build()?), 1);
    let mut way = Waiting {
        link: &mut link,
        patience: Patience::default(),
    };
    let mut registers = Registers::by(&mut way);
    let mut devices = find(&mut registers)?;
    let plan = match std::env::args().nth(1) {
        Some(file) => motion::file::read(Path::new(&file))?,
        None => motion::demo(&mut registers, &mut devices)?.once(),
    };
    let players = plan.commission(&mut registers, &mut devices)?;
    let mut cycle = prepare(&mut registers, &mut devices, None)?;
    let (postbox, stop, switch) = (
        Postbox::default(),
        AtomicBool::new(false),
        Switch::default(),
    );
    let mut bus = Loop {
        link: &mut link,
        cycle: &mut cycle,
        postbox: &postbox,
        stop: &stop,
    };
    let settings = plan.settings()?;
    operate(&mut bus, devices.len() as u16, &settings, &mut VirtualTime)?;
    let timing = Timing::new(&settings);
    let mut conductor = Conductor::new(players, plan.safety, &switch).ending_when_played();
    let settings = Settings {
        cycles: Some((LONGEST_S / plan.cycle.as_secs_f64()) as u64),
        ..settings
    };
    let mut observer = &timing;
    let ended = bus.run(&settings, &mut VirtualTime, &mut conductor, &mut observer);
    println!("{ended:?}\n\ndevice                         greatest error  root mean square");
    for player in conductor.players() {
        let device = player.axis().device();
        let name = motion::name(&devices[device]);
        let tracking = player.tracking();
        println!(
            "{device:3} {name:<26} {:9.3} mrad {:12.3} mrad",
            tracking.greatest * 1e3,
            tracking.root_mean_square() * 1e3
        );
    }
    println!("\n{}", timing.snapshot());
    Ok(())
}
