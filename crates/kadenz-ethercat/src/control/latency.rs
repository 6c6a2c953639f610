//! The age of the inputs that a controller sees, and the time until its commands take effect, in cycles.
//!
//! \[Yoon2009\] (figure 4 and the text beside it) counts so: a sensor's latency is from an event outside to the
//! controller's read-write request that brings it; a command's from the request that brought what it answers to
//! the moment when the actuator acts on it. A frame takes along what was sampled before, and is fetched a cycle
//! later; what the controller computes goes out with the next request. It states: sensor 1.5 to 2.5 cycles,
//! command 1.5, and 3 to 4 from an event until the robot reacts. It does not state when in a cycle its devices
//! sample and act; these figures are those of the middle.
//!
//! With devices that act and sample a part `d` of a cycle behind the beat, for a loop that does not wake late:
//!
//! | loop | sensor | command | reaction |
//! |---|---|---|---|
//! | \[Yoon2009\]: pipelined, sends what was computed the cycle before | 2 - d to 3 - d | 1 + d | 3 to 4 |
//! | pipelined, sends at once | 2 - d to 3 - d | d | 2 to 3 |
//! | synchronous, answers are there after a part `w` | 1 - d + w to 2 - d + w | 1 + d - w | 2 to 3 |
//!
//! A [stamp device](crate::sim::model::stamp) measures these latencies; they are not computed: events happen by
//! chance, and the command is the number of events that the controller saw. [`LatencyController`] is the
//! controller, [`Meter`] the observer, [`measure`](fn@measure) all of it in virtual time.
//!
//! ```
//! use kadenz_ethercat::control::latency::{Experiment, measure};
//!
//! let latencies = measure(&Experiment { cycles: 2_000, ..Experiment::yoon2009() })?;
//! let sensor = latencies.sensor.summary().expect("some events");
//! assert!((1.45..1.65).contains(&sensor.min) && (2.35..2.55).contains(&sensor.max));
//! let command = latencies.command.summary().expect("some commands");
//! assert!((1.45..1.55).contains(&command.p50));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod experiment;

#[cfg(test)]
mod tests;

use kadenz_rt::clock::MonotonicTime;
use serde::Serialize;

use super::cyclic::{Controller, CycleContext, CycleReport, LoopMode, Observer};
use crate::sim::model::stamp::StampOutput;

pub use experiment::{Experiment, ExperimentError, Sends, measure, measure_on};

/// The figures of \[Yoon2009\], in cycles: from and to.
pub mod yoon2009 {
    /// From an event to the controller.
    pub const SENSOR: (f64, f64) = (1.5, 2.5);
    /// From the controller to the actuator.
    pub const COMMAND: (f64, f64) = (1.5, 1.5);
    /// From an event until the robot reacts.
    pub const REACTION: (f64, f64) = (3.0, 4.0);
}

/// A controller whose command is the number of events that it has seen.
#[derive(Debug, Clone, Copy)]
pub struct LatencyController {
    device: usize,
    sends: Sends,
    computed: [u8; 2],
}

impl LatencyController {
    /// A controller for the stamp device at a position.
    #[must_use]
    pub const fn of(device: usize, sends: Sends) -> Self {
        Self {
            device,
            sends,
            computed: [0; 2],
        }
    }
}

impl Controller for LatencyController {
    fn beat(&mut self, context: &mut CycleContext<'_>) {
        let stamp = StampOutput::read(context.inputs_of(self.device));
        let events = stamp.map_or(self.computed, |it| it.events.to_le_bytes());
        let before = std::mem::replace(&mut self.computed, events);
        let out = match self.sends {
            Sends::AtOnce => events,
            Sends::NextCycle => before,
        };
        if let Some(command) = context.outputs_of(self.device).first_chunk_mut() {
            *command = out;
        }
    }
}

/// Values of a latency, in ns, in memory that is allocated before; further values are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    interval_ns: u64,
    values: Vec<i64>,
    left_out: u64,
}

/// A latency in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The number of values.
    pub count: usize,
    /// The smallest latency, in cycles.
    pub min: f64,
    /// The median of the latencies, in cycles.
    pub p50: f64,
    /// The 99th percentile; `None` for fewer than a thousand values.
    pub p99: Option<f64>,
    /// The largest latency, in cycles.
    pub max: f64,
}

impl Latency {
    /// For cycles of that many ns. Allocates room for that many values.
    #[must_use]
    pub fn with_room(interval_ns: u64, values: usize) -> Self {
        Self {
            interval_ns: interval_ns.max(1),
            values: Vec::with_capacity(values),
            left_out: 0,
        }
    }

    /// Adds a value.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor waits.
    pub fn add(&mut self, ns: i64) {
        if self.values.len() < self.values.capacity() {
            self.values.push(ns);
        } else {
            self.left_out += 1;
        }
    }

    /// The values in the order in which they came, in ns.
    #[must_use]
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Values for which there was no room.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The summary of the values, in cycles; `None` without any. Allocates.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable();
        let count = sorted.len();
        let last = count.checked_sub(1)?;
        let cycles = |ns: i64| ns as f64 / self.interval_ns as f64;
        let above = |permille: usize| cycles(sorted[(count * permille / 1000).min(last)]);
        Some(Summary {
            count,
            min: cycles(sorted[0]),
            p50: above(500),
            p99: (count >= 1_000).then(|| above(990)),
            max: cycles(sorted[last]),
        })
    }
}

/// The three latencies, computed from a stamp device's outputs. Pure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    /// From an event to the controller.
    pub sensor: Latency,
    /// From the controller to the device's action.
    pub command: Latency,
    /// From an event to the device's action on the command that answers it.
    pub reaction: Latency,
    /// Events of unknown time, since others came before the controller looked.
    pub missed: u64,
    before: Option<StampOutput>,
    /// The last event that the controller saw: its number, its time, and when the controller saw it.
    seen: Option<(u16, u64, u64)>,
}

impl Latencies {
    /// For cycles of that many ns. Allocates room for that many events.
    #[must_use]
    pub fn with_room(interval_ns: u64, events: usize) -> Self {
        let latency = || Latency::with_room(interval_ns, events);
        Self {
            sensor: latency(),
            command: latency(),
            reaction: latency(),
            missed: 0,
            before: None,
            seen: None,
        }
    }

    /// Adds a cycle: the stamp device's output, and the system time in ns at which the controller had it.
    ///
    /// # Real-time safety
    /// It neither allocates, locks nor waits.
    pub fn cycle(&mut self, read_ns: u64, stamp: StampOutput) {
        let Some(before) = self.before.replace(stamp) else {
            return;
        };
        let new = stamp.events.wrapping_sub(before.events);
        if let Some((event, event_ns, seen_ns)) = self.seen
            && stamp.command == event
            && before.command != event
        {
            self.command
                .add(stamp.command_ns.wrapping_sub(seen_ns).cast_signed());
            self.reaction
                .add(stamp.command_ns.wrapping_sub(event_ns).cast_signed());
            self.seen = None;
        }
        if new > 0 {
            self.missed += u64::from(new) - 1;
            self.sensor
                .add(read_ns.wrapping_sub(stamp.event_ns).cast_signed());
            self.seen = Some((stamp.events, stamp.event_ns, read_ns));
        }
    }
}

/// An observer that measures in the loop, by the reference clock's time.
#[derive(Debug)]
pub struct Meter<'l> {
    device: usize,
    latencies: &'l mut Latencies,
    /// The time at which frames that are still out were sent.
    out: Option<MonotonicTime>,
    /// System time minus the loop's clock.
    ahead: Option<u64>,
}

impl<'l> Meter<'l> {
    /// A meter for the stamp device at a position.
    #[must_use]
    pub const fn of(device: usize, latencies: &'l mut Latencies) -> Self {
        Self {
            device,
            latencies,
            out: None,
            ahead: None,
        }
    }
}

impl Observer for Meter<'_> {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        let sent = match report.mode {
            LoopMode::Synchronous { .. } => Some(report.sent),
            LoopMode::Pipelined => self.out.replace(report.sent),
        };
        let system = report.outcome.and_then(|it| it.system_time_ns);
        if let (Some(sent), Some(system)) = (sent, system) {
            self.ahead = Some(system.wrapping_sub(sent.as_ns()));
        }
        let share = report.layout.shares.get(self.device);
        let inputs = share.map_or(&[][..], |it| &report.inputs[it.inputs.clone()]);
        if let (Some(ahead), Some(stamp), true) =
            (self.ahead, StampOutput::read(inputs), report.is_whole())
        {
            let read = report.received.as_ns().wrapping_add(ahead);
            self.latencies.cycle(read, stamp);
        }
    }
}
