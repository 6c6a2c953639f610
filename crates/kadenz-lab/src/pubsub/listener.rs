//! One subscriber: receives, keeps its arrivals and records.

use std::time::Duration;

use kadenz_msg::bus::{Bus, RecvError, Subscription};
use kadenz_msg::provider::InletCounters;
use kadenz_record::run::messages::Subscriber;
use kadenz_rt::clock::MonotonicTime;

use super::arrivals::{ArrivalCounts, Heard};
use super::plan::Receiving;
use super::probe::Probe;
use super::series::Recorders;
use crate::stop::Stop;

/// How long a wait lasts until it is looked whether anything will come still.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A pause after an error, which would else be had again at once.
const PAUSE: Duration = Duration::from_millis(5);

/// The receiving side.
pub(super) struct Listener {
    /// Its name.
    pub(super) name: String,
    pub(super) bus: Bus,
    pub(super) subscription: Subscription<Probe>,
    pub(super) receiving: Receiving,
    pub(super) arrivals: ArrivalCounts,
    pub(super) recorders: Recorders,
    /// Requested when nothing more will come.
    pub(super) quit: Stop,
    /// What became of messages before any was measured: greetings may have come too fast.
    pub(super) before: InletCounters,
    /// What went wrong while receiving, and how often.
    pub(super) trouble: Option<(RecvError, u64)>,
}

impl Listener {
    /// Receives until every message has come, or nothing more will.
    ///
    /// Real-time safety: no allocation and no lock but priority-inheriting ones; its system calls are
    /// the provider's.
    pub(super) fn run(&mut self, origin: MonotonicTime) {
        let timeout = match self.receiving {
            Receiving::Blocking => POLL_INTERVAL,
            Receiving::Spinning => Duration::ZERO,
        };
        self.before = self.bus.inlet_counters();
        let mut probe = Probe::default();
        while !self.arrivals.is_complete() {
            match self.subscription.recv_into(&mut probe, timeout) {
                Ok(Some(delivery)) => {
                    if self.arrivals.heard(&probe) == Heard::First {
                        self.recorders.record(&probe, &delivery, origin);
                    }
                }
                Ok(None) if self.quit.requested() => return,
                Ok(None) => {}
                Err(RecvError::Decode { .. }) => self.arrivals.heard_a_stranger(),
                Err(error) => {
                    let count = self.trouble.take().map_or(0, |(_, count)| count);
                    self.trouble = Some((error, count + 1));
                    if self.quit.requested() {
                        return;
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// What became of the first `published` messages.
    pub(super) fn close(self, published: u64) -> Subscriber {
        let counters = self.subscription.counters();
        let inlet = self.bus.inlet_counters();
        Subscriber {
            dropped: counters.dropped_oldest + counters.dropped_newest,
            overrun: inlet.overrun.saturating_sub(self.before.overrun),
            incomplete: inlet.incomplete.saturating_sub(self.before.incomplete),
            ..self.arrivals.close(&self.name, published)
        }
    }
}
