//! Statistics as text and as JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Histogram;

/// Statistics of a loop at a time. By `serde` it is JSON with the names below; by [`Display`](fmt::Display)
/// one number a line, as `name: value unit`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// Time between two beats in ns, rounded.
    pub interval_ns: u64,
    /// Cycles.
    pub cycles: u64,
    /// Cycles that began late since the one before was not done.
    pub overruns: u64,
    /// Beats that were left out.
    pub skipped_beats: u64,
    /// Wake-ups before their time.
    pub early_wake_ups: u64,
    /// Cycles whose frames were taken in or given up.
    pub exchanges: u64,
    /// Those of them of which all came back with every SubDevice's part.
    pub whole_exchanges: u64,
    /// Frames.
    pub frames: Frames,
    /// Control period.
    pub period: Spread,
    /// Wake-up latency.
    pub wake_up: Spread,
    /// Time on the bus; see [`CycleReport::exchange_ns`](crate::control::cyclic::CycleReport::exchange_ns).
    pub exchange: Spread,
    /// Time in the controller.
    pub controller: Spread,
}

/// What became of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// Cyclic frames handed to the wire.
    pub sent: u64,
    /// Cyclic frames that did not come back in time.
    pub lost: u64,
    /// Cyclic frames that came back with a working counter that they should not have.
    pub working_counter_mismatches: u64,
    /// Frames of any kind that came after their time, or twice; since the link was made, as all below.
    pub late: u64,
    /// Frames of somebody else.
    pub foreign: u64,
    /// Frames that came back cut short or changed.
    pub damaged: u64,
    /// Frames that the wire did not take.
    pub refused: u64,
}

/// How values spread, in ns. A percentile that no value lies beyond is absent (`null`).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// How many values.
    pub count: u64,
    /// The least.
    pub min_ns: Option<u64>,
    /// Their mean.
    pub mean_ns: Option<f64>,
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9_ns")]
    pub p999_ns: Option<u64>,
    /// The greatest.
    pub max_ns: Option<u64>,
}

impl Spread {
    /// Of a histogram.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        Self {
            count,
            min_ns: histogram.least(),
            mean_ns: (count > 0).then(|| histogram.sum() as f64 / count as f64),
            p50_ns: histogram.percentile(500),
            p99_ns: histogram.percentile(990),
            p999_ns: histogram.percentile(999),
            max_ns: histogram.greatest(),
        }
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{name}.count: {} cycles", self.count)?;
        let values = [
            ("min", self.min_ns),
            ("p50", self.p50_ns),
            ("p99", self.p99_ns),
            ("p99.9", self.p999_ns),
            ("max", self.max_ns),
        ];
        for (what, value) in values {
            if let Some(value) = value {
                writeln!(f, "{name}.{what}: {value} ns")?;
            }
        }
        match self.mean_ns {
            Some(mean) => writeln!(f, "{name}.mean: {mean:.1} ns"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "interval: {} ns", self.interval_ns)?;
        let frames = &self.frames;
        for (name, value, unit) in [
            ("cycles", self.cycles, "cycles"),
            ("overruns", self.overruns, "cycles"),
            ("skipped_beats", self.skipped_beats, "beats"),
            ("early_wake_ups", self.early_wake_ups, "cycles"),
            ("exchanges", self.exchanges, "cycles"),
            ("whole_exchanges", self.whole_exchanges, "cycles"),
            ("frames.sent", frames.sent, "frames"),
            ("frames.lost", frames.lost, "frames"),
            (
                "frames.working_counter_mismatches",
                frames.working_counter_mismatches,
                "frames",
            ),
            ("frames.late", frames.late, "frames"),
            ("frames.foreign", frames.foreign, "frames"),
            ("frames.damaged", frames.damaged, "frames"),
            ("frames.refused", frames.refused, "frames"),
        ] {
            writeln!(f, "{name}: {value} {unit}")?;
        }
        self.period.write("period", f)?;
        self.wake_up.write("wake_up", f)?;
        self.exchange.write("exchange", f)?;
        self.controller.write("controller", f)
    }
}
