//! What the loop records of each cycle.

use std::time::Duration;

use kadenz_ethercat::control::cyclic::{CycleReport, Observer, Phase};
use kadenz_ethercat::control::phase::{Follow, Step};
use kadenz_lab::measuring::Measuring;
use kadenz_record::run::folder::{RunWriter, SeriesRecorder, SeriesSpec};
use kadenz_record::run::model::{Kind, Series};
use kadenz_record::samples::Sample;
use kadenz_rt::clock::MonotonicTime;

/// The control period, less the cycle.
pub(super) const PERIOD: &str = "period";
/// Wake-ups against the beat.
pub(super) const WAKE_UP: &str = "wake-up";
const EXCHANGE: &str = "exchange";
const CONTROLLER: &str = "controller";

/// All of them, in the order of the run.
pub(super) const SERIES: [&str; 4] = [WAKE_UP, PERIOD, EXCHANGE, CONTROLLER];

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

/// The ends of the series that the loop holds.
pub(super) struct Recorders {
    wake_up: SeriesRecorder,
    period: SeriesRecorder,
    exchange: SeriesRecorder,
    controller: SeriesRecorder,
}

impl Recorders {
    /// Makes the series.
    pub(super) fn of(
        run: &mut RunWriter,
        measuring: &Measuring,
        cycle: Duration,
    ) -> anyhow::Result<Self> {
        let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let mut series = |name: &str, kind, description: &str| {
            let deadline = measuring.deadline.filter(|_| name == WAKE_UP);
            run.series(SeriesSpec {
                series: Series {
                    name: name.to_owned(),
                    description: description.to_owned(),
                    kind,
                    unit: "ns".to_owned(),
                    expected_interval_ns: Some(ns(cycle)),
                    deadline_ns: deadline.map(ns),
                    ..Series::default()
                },
                raw: measuring.session.raw,
            })
        };
        Ok(Self {
            wake_up: series(
                WAKE_UP,
                Kind::Lateness,
                "beginning of a cycle against its beat; beats left out are as late as they would have been served",
            )?,
            period: series(
                PERIOD,
                Kind::Jitter,
                "control period, from the beginning of a cycle to that of the next, less the cycle asked for",
            )?,
            exchange: series(
                EXCHANGE,
                Kind::Latency,
                "what the loop's thread spends on the bus in a cycle: taking in what came, and sending; \
                 synchronous, from the first frame to the last answer",
            )?,
            controller: series(
                CONTROLLER,
                Kind::Latency,
                "what the controller computes in a cycle",
            )?,
        })
    }

    /// The observer of a loop whose sample times count from `origin`.
    pub(super) fn begin(self, origin: MonotonicTime, cycle: Duration) -> Recording {
        Recording {
            recorders: self,
            origin,
            warm: origin,
            last: u64::MAX,
            cycle_ns: i64::try_from(cycle.as_nanos()).unwrap_or(i64::MAX),
            beats: 0,
        }
    }
}

/// Records every cycle. Real-time safe: nothing here allocates, locks or waits.
pub(super) struct Recording {
    recorders: Recorders,
    origin: MonotonicTime,
    /// What is intended for then or earlier only warms up.
    warm: MonotonicTime,
    /// Beats behind this one let the axes come to rest.
    last: u64,
    cycle_ns: i64,
    beats: u64,
}

impl Recording {
    /// Only what comes after `warm`, and up to that beat.
    pub(super) fn between(self, warm: MonotonicTime, last: Option<u64>) -> Self {
        Self {
            warm,
            last: last.unwrap_or(u64::MAX),
            ..self
        }
    }

    /// A stall is as long in every beat that it took: of these, those between warm-up and end.
    fn wake_ups(&mut self, report: &CycleReport<'_>) {
        let intended = report.intended.since(self.origin);
        let woken = report.woken.since(self.origin);
        let warm = self.warm.since(self.origin);
        for left_out in (0..=report.skipped).rev() {
            let before = i64::try_from(left_out).unwrap_or(i64::MAX);
            let beat = intended.saturating_sub(before.saturating_mul(self.cycle_ns));
            if beat <= warm || report.beat.saturating_sub(left_out) > self.last {
                continue;
            }
            let sample = self.sample(self.beats, beat, woken, woken.saturating_sub(beat));
            self.recorders.wake_up.record(sample);
            self.beats += 1;
        }
    }

    fn sample(&self, sequence: u64, intended_ns: i64, actual_ns: i64, value_ns: i64) -> Sample {
        Sample {
            sequence,
            intended_ns,
            actual_ns,
            value_ns,
        }
    }
}

impl Observer for Recording {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        self.wake_ups(report);
        if report.intended <= self.warm || report.beat > self.last {
            return;
        }
        let intended = report.intended.since(self.origin);
        let woken = report.woken.since(self.origin);
        let sequence = report.number;
        if let (Some(period), Some(before)) = (report.period_ns(), report.before) {
            let due = before.since(self.origin) + self.cycle_ns;
            let sample = self.sample(sequence, due, woken, period - self.cycle_ns);
            self.recorders.period.record(sample);
        }
        let exchange = self.sample(sequence, intended, woken, report.exchange_ns());
        self.recorders.exchange.record(exchange);
        let controller = self.sample(sequence, intended, woken, report.controller_ns());
        self.recorders.controller.record(controller);
    }
}

#[cfg(test)]
mod tests {
    use kadenz_ethercat::control::cyclic::Mode;
    use kadenz_ethercat::main_device::layout::Layout;
    use kadenz_ethercat::main_device::link::LinkCounts;
    use kadenz_record::run::model::{EndedBy, Run};

    use super::*;

    const CYCLE: Duration = Duration::from_millis(1);

    /// A beat that was served at once, after others that were not.
    fn report(beat: u64, skipped: u64, layout: &Layout) -> CycleReport<'_> {
        let at = MonotonicTime::from_ns(beat * 1_000_000);
        CycleReport {
            number: beat,
            beat,
            intended: at,
            woken: at,
            received: at,
            controlled: at,
            sent: at,
            ended: at,
            before: None,
            mode: Mode::Pipelined,
            outcome: None,
            overrun: false,
            skipped,
            counts: LinkCounts::default(),
            layout,
            inputs: &[],
            outputs: &[],
        }
    }

    #[test]
    fn a_stall_across_the_end_of_the_warm_up_or_of_the_run_counts_in_between_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunWriter::create(&folder.path().join("run"), Run::default()).unwrap();
        let mut series = |name: &str| {
            let series = Series {
                name: name.to_owned(),
                ..Series::default()
            };
            run.series(SeriesSpec { series, raw: false }).unwrap()
        };
        let recorders = Recorders {
            wake_up: series(WAKE_UP),
            period: series(PERIOD),
            exchange: series(EXCHANGE),
            controller: series(CONTROLLER),
        };
        let running = run.start(Duration::from_secs(1)).unwrap();
        let origin = MonotonicTime::from_ns(0);
        // Two beats warm up, eight are recorded.
        let mut recording = recorders.begin(origin, CYCLE);
        recording = recording.between(MonotonicTime::from_ns(2_000_000), Some(10));
        let layout = Layout::of(&[], 100).unwrap();
        for (beat, skipped) in [(5, 4), (6, 0), (12, 5)] {
            recording.cycle(&report(beat, skipped, &layout));
        }
        drop(recording);
        let run = running.finish(EndedBy::Finished).unwrap();
        let recorded: Vec<_> = run.series.iter().map(|it| it.counts.recorded).collect();
        assert_eq!(recorded, [8, 0, 2, 2]);
    }
}
