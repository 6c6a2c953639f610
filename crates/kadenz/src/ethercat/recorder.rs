use std::time::Duration;

use kadenz_ethercat::control::cyclic::{CycleReport, Observer, Phase};
use kadenz_ethercat::control::phase::{ClockFollower, Step};
use kadenz_record::numbers;
use kadenz_record::run::folder::{AddSeriesError, RunningRun, SeriesRecorder, SeriesSpec};
use kadenz_record::run::model::{Kind, Series, Warning};
use kadenz_record::samples::Sample;
use kadenz_rt::beat::Overrun;
use kadenz_rt::clock::MonotonicTime;

use super::event::Events;
use super::network::RunRecording;
use super::network_loop::NetworkReport;

/// The series that a run keeps of a loop.
#[derive(Debug)]
pub struct CycleSeries {
    wake_up: SeriesRecorder,
    period: SeriesRecorder,
    exchange: SeriesRecorder,
    controller: SeriesRecorder,
}

impl CycleSeries {
    /// The lateness of wake-ups.
    pub const WAKE_UP: &'static str = "wake-up";
    /// The control period, less the cycle.
    pub const PERIOD: &'static str = "period";
    /// The time that the loop's thread spends on the bus.
    pub const EXCHANGE: &'static str = "exchange";
    /// The time that the control law takes.
    pub const CONTROLLER: &'static str = "controller";
    /// All of them, in the order of the run.
    pub const ALL: [&'static str; 4] = [
        Self::WAKE_UP,
        Self::PERIOD,
        Self::EXCHANGE,
        Self::CONTROLLER,
    ];

    /// Adds the series to a run, for a loop of that cycle.
    fn add(run: RunRecording<'_>, cycle: Duration) -> Result<Self, AddSeriesError> {
        let series = |name: &str, kind, description: &str| {
            let deadline = run.deadline.filter(|_| name == Self::WAKE_UP);
            add(run, (name, kind, description), cycle, deadline)
        };
        Ok(Self {
            wake_up: series(
                Self::WAKE_UP,
                Kind::Lateness,
                "beginning of a cycle against its beat; beats left out are as late as they would have been served",
            )?,
            period: series(
                Self::PERIOD,
                Kind::Jitter,
                "control period, from the beginning of a cycle to that of the next, less the cycle asked for",
            )?,
            exchange: series(
                Self::EXCHANGE,
                Kind::Latency,
                "what the loop's thread spends on the bus in a cycle: taking in what came, and sending; \
                 synchronous, from the first frame to the last answer",
            )?,
            controller: series(
                Self::CONTROLLER,
                Kind::Latency,
                "what the controller computes in a cycle",
            )?,
        })
    }
}

/// Adds a series, by its name, kind and description.
fn add(
    run: RunRecording<'_>,
    (name, kind, description): (&str, Kind, &str),
    cycle: Duration,
    deadline: Option<Duration>,
) -> Result<SeriesRecorder, AddSeriesError> {
    let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    run.running.series(SeriesSpec {
        series: Series {
            name: name.to_owned(),
            description: description.to_owned(),
            kind,
            unit: "ns".to_owned(),
            expected_interval_ns: Some(ns(cycle)),
            deadline_ns: deadline.map(ns),
            ..Series::default()
        },
        raw: run.raw,
    })
}

/// All that a run keeps of a loop, set up before the loop begins.
pub(super) struct NetworkRecorder {
    series: CycleSeries,
    /// The recorder of the reference clock, where the loop follows it.
    clock: Option<ClockRecorder>,
    origin: MonotonicTime,
    cycle: Duration,
}

impl NetworkRecorder {
    pub(super) fn add(
        run: RunRecording<'_>,
        cycle: Duration,
        follows_reference: bool,
    ) -> Result<Self, AddSeriesError> {
        let series = CycleSeries::add(run, cycle)?;
        let of_clock = |name, description| add(run, (name, Kind::Jitter, description), cycle, None);
        let clock = match follows_reference {
            false => None,
            true => Some(ClockRecorder {
                offset: of_clock(
                    "clock-offset",
                    "how much later than its place in the reference clock's cycle a beat was",
                )?,
                drift: of_clock(
                    "clock-drift",
                    "how much faster than this computer's clock the reference runs, in ns a second",
                )?,
                origin: run.start,
            }),
        };
        Ok(Self {
            series,
            clock,
            origin: run.start,
            cycle,
        })
    }

    /// The recorder of cycles after `warm` and up to the beat `last`, and that of the reference clock.
    pub(super) fn begin(
        self,
        overrun: Overrun,
        warm: MonotonicTime,
        last: Option<u64>,
    ) -> (CycleRecorder, Option<ClockRecorder>) {
        let cycles = CycleRecorder {
            recorders: self.series,
            origin: self.origin,
            is_relative: overrun == Overrun::Relative,
            warm,
            last: last.unwrap_or(u64::MAX),
            cycle_ns: i64::try_from(self.cycle.as_nanos()).unwrap_or(i64::MAX),
            beats: 0,
        };
        (cycles, self.clock)
    }
}

/// Records the reference clock.
pub(super) struct ClockRecorder {
    offset: SeriesRecorder,
    drift: SeriesRecorder,
    origin: MonotonicTime,
}

/// Keeps the loop in phase with the reference clock, and records offset and drift.
///
/// # Real-time safety
/// Real-time safe.
pub(super) struct Following {
    pub(super) follow: ClockFollower<fn(&Step)>,
    pub(super) recorder: Option<ClockRecorder>,
}

impl Phase for Following {
    fn correct(&mut self, report: &CycleReport<'_>) -> i64 {
        let correction = self.follow.correct(report);
        let step = self.follow.last();
        if let Some(recorder) = self.recorder.as_mut().filter(|_| step.seen) {
            let intended = report.intended.since(recorder.origin);
            let woken = report.woken.since(recorder.origin);
            let sample = |value_ns| sample(report.number, intended, woken, value_ns);
            recorder.offset.record(sample(step.offset_ns));
            recorder.drift.record(sample(step.drift_ppb));
        }
        correction
    }
}

/// Records every cycle, as an observer of the loop.
///
/// # Real-time safety
/// Nothing here allocates, locks or waits.
pub(super) struct CycleRecorder {
    recorders: CycleSeries,
    origin: MonotonicTime,
    is_relative: bool,
    /// Cycles with an intended time up to this one belong to the warm-up.
    warm: MonotonicTime,
    /// Cycles after this one belong to the shutdown.
    last: u64,
    cycle_ns: i64,
    beats: u64,
}

impl CycleRecorder {
    /// A stall is as long in every beat that it took: of these, those between warm-up and end. A relative loop takes
    /// one beat into a stall, and so also the one that a stall kept from warming up.
    fn wake_ups(&mut self, report: &CycleReport<'_>) {
        let intended = report.intended.since(self.origin);
        let woken = report.woken.since(self.origin);
        let warm = self.warm.since(self.origin);
        let stalls = self.is_relative && woken > warm.saturating_add(self.cycle_ns);
        for left_out in (0..=report.skipped).rev() {
            let before = i64::try_from(left_out).unwrap_or(i64::MAX);
            let beat = intended.saturating_sub(before.saturating_mul(self.cycle_ns));
            if (beat <= warm && !stalls) || report.beat.saturating_sub(left_out) > self.last {
                continue;
            }
            let sample = sample(self.beats, beat, woken, woken.saturating_sub(beat));
            self.recorders.wake_up.record(sample);
            self.beats += 1;
        }
    }
}

const fn sample(sequence: u64, intended_ns: i64, actual_ns: i64, value_ns: i64) -> Sample {
    Sample {
        sequence,
        intended_ns,
        actual_ns,
        value_ns,
    }
}

impl Observer for CycleRecorder {
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
            let sample = sample(sequence, due, woken, period - self.cycle_ns);
            self.recorders.period.record(sample);
        }
        let exchange = sample(sequence, intended, woken, report.exchange_ns());
        self.recorders.exchange.record(exchange);
        let controller = sample(sequence, intended, woken, report.controller_ns());
        self.recorders.controller.record(controller);
    }
}

/// Writes the loop's counts and the axes' events into the run, with a warning where frames were lost or axes stopped;
/// `waits` is the number of cycles that waited for a reader of the process image.
pub(super) fn note(running: &RunningRun, report: &NetworkReport, waits: Option<u64>) {
    running.update(|run| {
        let found = [
            ("bus", serde_json::to_value(report.timing).ok()),
            ("motion", serde_json::to_value(&report.axes).ok()),
            ("reader_waits", waits.map(Into::into)),
        ];
        for (name, value) in found {
            if let Some(value) = value {
                run.insert_found(name, value);
            }
        }
    });
    if let Some(cause) = &report.axes.stopped {
        running.add_warning(Warning::new(
            "axes_stopped",
            format!("all axes were stopped: {cause}"),
            Some("[safety] of the motion file says what is tolerated (docs/ethercat-motion.md)"),
        ));
    }
    let frames = &report.timing.frames;
    let wrong = frames.lost + frames.working_counter_mismatches;
    if wrong > 0 {
        let text = format!(
            "{} did not come back in time and {} came back with a wrong working counter: in \
             those cycles the controller saw older inputs",
            numbers::counted(frames.lost, "frame"),
            numbers::thousands(frames.working_counter_mismatches)
        );
        let remedy = Some("kadenz ethercat scan lists the devices and their links");
        running.add_warning(Warning::new("frames_lost", text, remedy));
    }
}

/// Warns of drives that nothing enables, in the run and by an event.
pub(super) fn warn_of_idle_drives(record: Option<RunRecording<'_>>, events: &Events, names: &str) {
    let text = format!(
        "the law sets a target of {names} and not the controlword (0x6040): the drive is not enabled and does not move"
    );
    let remedy = "write the controlword, in Rust by Io::control (docs/ethercat.md, Enable a drive)";
    events.note(&format!("{text}; {remedy}"));
    if let Some(record) = record {
        let warning = Warning::new("drives_not_enabled", text, Some(remedy));
        record.running.add_warning(warning);
    }
}

#[cfg(test)]
mod tests {
    use kadenz_ethercat::control::cyclic::LoopMode;
    use kadenz_ethercat::main_device::layout::Layout;
    use kadenz_ethercat::main_device::link::LinkCounts;
    use kadenz_record::run::folder::RunWriter;
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
            mode: LoopMode::Pipelined,
            outcome: None,
            overrun: false,
            skipped,
            counts: LinkCounts::default(),
            layout,
            inputs: &[],
            outputs: &[],
        }
    }

    /// How many samples each series has of these reports: two beats warm up, eight are recorded.
    fn recorded(overrun: Overrun, reports: &[CycleReport<'_>]) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let run = RunWriter::create(&folder.path().join("run"), Run::default()).unwrap();
        let running = run.start(Duration::from_secs(1)).unwrap();
        let recording = RunRecording {
            running: &running,
            start: MonotonicTime::from_ns(0),
            deadline: None,
            raw: false,
        };
        let recorder = NetworkRecorder::add(recording, CYCLE, false).unwrap();
        let (mut recording, _) =
            recorder.begin(overrun, MonotonicTime::from_ns(2_000_000), Some(10));
        reports.iter().for_each(|it| recording.cycle(it));
        drop(recording);
        let run = running.finish(EndedBy::Finished).unwrap();
        run.series.iter().map(|it| it.counts.recorded).collect()
    }

    #[test]
    fn a_stall_across_the_end_of_the_warm_up_or_of_the_run_counts_in_between_alone() {
        let layout = Layout::of(&[], 100).unwrap();
        let reports =
            [(5, 4), (6, 0), (12, 5)].map(|(beat, skipped)| report(beat, skipped, &layout));
        assert_eq!(recorded(Overrun::Skip, &reports), [8, 0, 2, 2]);
    }

    #[test]
    fn a_relative_loop_hides_no_stall_that_begins_while_warming_up() {
        let layout = Layout::of(&[], 100).unwrap();
        let stalled = CycleReport {
            woken: MonotonicTime::from_ns(400_000_000),
            ..report(2, 0, &layout)
        };
        assert_eq!(recorded(Overrun::Relative, &[stalled]), [1, 0, 0, 0]);
    }
}
