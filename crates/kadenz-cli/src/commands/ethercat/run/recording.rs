//! What the loop records of the reference clock that it follows.

use std::time::Duration;

use kadenz_ethercat::control::cyclic::{CycleReport, Phase};
use kadenz_ethercat::control::phase::{Follow, Step};
use kadenz_lab::measuring::Measuring;
use kadenz_record::run::folder::{RunWriter, SeriesRecorder, SeriesSpec};
use kadenz_record::run::model::{Kind, Series};
use kadenz_record::samples::Sample;
use kadenz_rt::clock::MonotonicTime;

/// Offset and drift of the reference clock, where the beat is its.
const CLOCK_OFFSET: &str = "clock-offset";
const CLOCK_DRIFT: &str = "clock-drift";

/// The ends of the series of the reference clock that the loop holds.
pub(super) struct ClockRecorders {
    offset: SeriesRecorder,
    drift: SeriesRecorder,
}

impl ClockRecorders {
    pub(super) fn of(
        run: &mut RunWriter,
        measuring: &Measuring,
        cycle: Duration,
    ) -> anyhow::Result<Self> {
        let mut series = |name: &str, description: &str| {
            run.series(SeriesSpec {
                series: Series {
                    name: name.to_owned(),
                    description: description.to_owned(),
                    kind: Kind::Jitter,
                    unit: "ns".to_owned(),
                    expected_interval_ns: u64::try_from(cycle.as_nanos()).ok(),
                    ..Series::default()
                },
                raw: measuring.session.raw,
            })
        };
        Ok(Self {
            offset: series(
                CLOCK_OFFSET,
                "how much later than its place in the reference clock's cycle a beat was",
            )?,
            drift: series(
                CLOCK_DRIFT,
                "how much faster than this computer's clock the reference runs, in ns a second",
            )?,
        })
    }
}

/// Keeps the beat with the reference clock, and records how well. Real-time safe.
pub(super) struct Following {
    pub(super) follow: Follow<fn(&Step)>,
    pub(super) recorders: ClockRecorders,
    pub(super) origin: MonotonicTime,
}

impl Phase for Following {
    fn correct(&mut self, report: &CycleReport<'_>) -> i64 {
        let correction = self.follow.correct(report);
        let step = self.follow.last();
        if step.seen {
            let sample = |value_ns| Sample {
                sequence: report.number,
                intended_ns: report.intended.since(self.origin),
                actual_ns: report.woken.since(self.origin),
                value_ns,
            };
            self.recorders.offset.record(sample(step.offset_ns));
            self.recorders.drift.record(sample(step.drift_ppb));
        }
        correction
    }
}
