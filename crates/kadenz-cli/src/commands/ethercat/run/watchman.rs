//! Tells when axes were stopped, and why.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_ethercat::control::fault_codes::FaultCodes;
use kadenz_ethercat::control::steward::Roster;
use kadenz_ethercat::main_device::postbox::{Correspondent, Postbox};
use kadenz_ethercat::motion::Switch;

use crate::commands::ethercat::segment::PATIENCE;
use crate::output;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(100);

/// Looks at the axes beside the loop, and asks drives that failed for the reason: nobody else does.
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
        let (mut codes, mut told) = (FaultCodes::default(), 0);
        let mut way = Correspondent::of(self.postbox, PATIENCE);
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            let Some(status) = self.switch.status() else {
                continue;
            };
            // One a look, first the one that stopped all: a mute drive delays nothing but the next.
            codes.learn_one(self.switch, self.roster, &mut way);
            if status.stops > told && status.stopped.is_some() {
                told = status.stops;
                self.tell();
            }
        }
    }

    fn tell(&self) {
        let stopped = self.switch.status().and_then(|it| it.stopped);
        let (Some(stopped), false) = (stopped, self.quiet) else {
            return;
        };
        let remedy = self.name.map_or_else(String::new, |name| {
            format!("\n  `kadenz ethercat reset --loop {name}` lets them go on")
        });
        output::note(&format!("all axes are stopped: {}{remedy}", stopped.why));
    }
}
