//! A humanoid that is discovered and configured, in virtual time.
#![allow(unreachable_pub, reason = "a part of several tests, each a crate")]

use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::humanoid::humanoid;

/// A humanoid of `devices` devices in SAFEOP; `before` runs before their configuration.
pub fn prepared<R>(
    devices: usize,
    before: impl FnOnce(&mut Registers<'_>, &mut [SubDevice]) -> R,
) -> (Link<WirePort>, Cycle, R) {
    let mut link = Link::new(WirePort::new(humanoid(devices).build().unwrap()), 1);
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut found = find(&mut registers).unwrap();
    let done = before(&mut registers, &mut found);
    let cycle = prepare(&mut registers, &mut found, None).unwrap();
    (link, cycle, done)
}
