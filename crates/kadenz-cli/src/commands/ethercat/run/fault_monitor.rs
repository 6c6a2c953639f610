//! Tells when axes were stopped, and why.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_ethercat::control::fault_codes::FaultCodes;
use kadenz_ethercat::control::supervisor::DeviceTable;
use kadenz_ethercat::main_device::acyclic::{AcyclicClient, AcyclicQueue};
use kadenz_ethercat::motion::MotionHandle;

use crate::commands::ethercat::segment::RETRY_POLICY;
use crate::output;

/// How often it is looked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Looks at the axes beside the loop, and asks drives that failed for the reason: nobody else does.
pub(super) struct DriveFaultMonitor<'w> {
    pub(super) handle: &'w MotionHandle,
    pub(super) device_table: &'w DeviceTable,
    pub(super) queue: &'w AcyclicQueue,
    /// By which others reach the loop.
    pub(super) name: Option<&'w str>,
    pub(super) quiet: bool,
}

impl DriveFaultMonitor<'_> {
    /// Watches until `stop` is set.
    pub(super) fn watch(&self, stop: &AtomicBool) {
        let (mut codes, mut told) = (FaultCodes::default(), 0);
        let mut way = AcyclicClient::of(self.queue, RETRY_POLICY);
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(POLL_INTERVAL);
            let Some(status) = self.handle.status() else {
                continue;
            };
            // One a look, first the one that stopped all: a mute drive delays nothing but the next.
            codes.learn_one(self.handle, self.device_table, &mut way);
            if status.stops > told && status.stopped.is_some() {
                told = status.stops;
                self.tell();
            }
        }
    }

    fn tell(&self) {
        let stopped = self.handle.status().and_then(|it| it.stopped);
        let (Some(stopped), false) = (stopped, self.quiet) else {
            return;
        };
        let remedy = self.name.map_or_else(String::new, |name| {
            format!("\n  `kadenz ethercat reset --loop {name}` lets them go on")
        });
        output::note(&format!("all axes are stopped: {}{remedy}", stopped.why));
    }
}
