//! Tells when axes were stopped, and why.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_ethercat::control::steward::Roster;
use kadenz_ethercat::main_device::postbox::{Correspondent, Postbox};
use kadenz_ethercat::motion::Switch;
use kadenz_ethercat::wire::coe::Address;

use crate::commands::ethercat::segment::PATIENCE;
use crate::output;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(100);
/// Error code of a drive (CiA 402-2).
const ERROR_CODE: Address = Address::new(0x603F, 0);

/// Looks at the axes beside the loop, and asks a drive that failed for the reason.
pub(super) struct Watchman<'w> {
    pub(super) switch: &'w Switch,
    pub(super) roster: &'w Roster,
    pub(super) postbox: &'w Postbox,
    /// By which others reach the loop.
    pub(super) name: Option<&'w str>,
    pub(super) quiet: bool,
}

impl Watchman<'_> {
    /// Watches until `stop` is set.
    pub(super) fn watch(&self, stop: &AtomicBool) {
        let mut told = 0;
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            let Some(status) = self.switch.status() else {
                continue;
            };
            if status.stops > told && status.stopped.is_some() {
                told = status.stops;
                self.learn();
                self.tell();
            }
        }
    }

    /// Before the loop ends: then there is nobody left to ask.
    fn learn(&self) {
        let mut way = Correspondent::of(self.postbox, PATIENCE);
        self.switch.learn_codes(|device| {
            let read = self.roster.read_object(&mut way, device, ERROR_CODE);
            let bytes = read.ok()?.try_into().ok()?;
            Some(u16::from_le_bytes(bytes))
        });
    }

    fn tell(&self) {
        let stopped = self.switch.status().and_then(|it| it.stopped);
        let (Some(stopped), false) = (stopped, self.quiet) else {
            return;
        };
        let remedy = self.name.map_or_else(String::new, |name| {
            format!("; `kadenz ethercat reset --loop {name}` lets them go on")
        });
        output::note(&format!("all axes are stopped: {}{remedy}", stopped.why));
    }
}
