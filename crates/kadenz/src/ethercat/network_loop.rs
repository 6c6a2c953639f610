use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kadenz_ethercat::control::cyclic::{
    Controller as _, CycleContext, CycleReport, Ended, Free, LoopSettings, Observer as _, Phase,
    Timekeeper,
};
use kadenz_ethercat::control::phase::{ClockFollower, PhaseSettings, Step};
use kadenz_ethercat::control::supervisor::DeviceTable;
use kadenz_ethercat::control::timing::Snapshot;
use kadenz_ethercat::motion::{AxisGroup, AxisRunner, MotionHandle, Policy};
use kadenz_ethercat::port::Port;
use kadenz_ethercat::running_loop::threads::{LoopThreads, Prepared};
use kadenz_record::numbers;
use kadenz_rt::clock::{self, MonotonicTime};
use kadenz_rt::sleep::Sleeper;

use super::io::{Flow, Io};
use super::network::{Beside, StopHandle};
use super::process_image::ProcessImage;
use super::recorder::{Following, NetworkRecorder};

/// The settings of the loop, and the axes that it moves.
pub(super) struct LoopParts {
    pub(super) settings: LoopSettings,
    pub(super) runners: Vec<AxisRunner>,
    pub(super) policy: Policy,
    /// How the loop follows the reference clock, where it does.
    pub(super) phase: Option<PhaseSettings>,
}

/// The loop of a [`Network`](super::Network), for the thread that is to run it. From
/// [`Network::with_loop`](super::Network::with_loop).
pub struct NetworkLoop {
    id: u64,
    prepared: Prepared<Box<dyn Port + Send>>,
    parts: LoopParts,
    recorder: Option<NetworkRecorder>,
    threads: LoopThreads,
    device_table: Arc<DeviceTable>,
    image: Arc<ProcessImage>,
    stop: StopHandle,
    /// Number of cycles, with those of the warm-up.
    beats: Option<u64>,
    warm_up: Duration,
    outcome: Outcome,
}

/// Where a loop leaves its result.
#[derive(Clone, Default)]
pub(super) struct Outcome(Arc<Mutex<Option<(Ended, AxesReport)>>>);

impl NetworkLoop {
    pub(super) fn new(
        id: u64,
        prepared: Prepared<Box<dyn Port + Send>>,
        parts: LoopParts,
        recorder: Option<NetworkRecorder>,
        beside: &Beside<'_>,
    ) -> Self {
        Self {
            id,
            prepared,
            parts,
            recorder,
            threads: beside.threads.clone(),
            device_table: beside.supervisor.device_table(),
            image: Arc::clone(&beside.image),
            stop: beside.plan.stop.clone(),
            beats: beside.plan.beats(),
            warm_up: beside.plan.warm_up,
            outcome: Outcome::default(),
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }

    /// Runs the loop on the calling thread to its end, with cycle 0 at `start`, or now; the law as in
    /// [`Network::run`](super::Network::run). Then it requests PREOP of all devices, also where the law panics.
    ///
    /// # Real-time safety
    /// As [`Network::run`](super::Network::run).
    pub fn run(
        mut self,
        start: Option<MonotonicTime>,
        sleeper: &mut dyn Sleeper,
        mut law: impl FnMut(&mut Io<'_, '_>) -> Flow,
    ) {
        let start = start.unwrap_or_else(clock::now);
        let settings = LoopSettings {
            start: Some(start),
            ..self.parts.settings
        };
        let threads = &self.threads;
        let (mut recorder, following) = match self.recorder {
            None => (None, None),
            Some(recorder) => {
                let warm = start + self.warm_up;
                let (cycles, clock) = recorder.begin(settings.overrun, warm, self.beats);
                (Some(cycles), clock)
            }
        };
        let mut phase: Box<dyn Phase> = match self.parts.phase {
            None => Box::new(Free),
            Some(settings) => Box::new(Following {
                follow: ClockFollower::new(settings, |_: &Step| ()),
                recorder: following,
            }),
        };
        let record = |report: &CycleReport<'_>| {
            if let Some(recorder) = &mut recorder {
                recorder.cycle(report);
            }
        };
        let (stop, beats) = (&self.stop, self.beats);
        let ends = |report: &CycleReport<'_>| {
            if stop.is_set() || beats.is_some_and(|beats| report.beat >= beats) {
                threads.halt.store(true, Ordering::Relaxed);
            }
        };
        let (id, has_axes) = (self.id, !self.parts.runners.is_empty());
        let group = AxisGroup::new(self.parts.runners, self.parts.policy, &threads.handle);
        let mut group = group.with_device_table(self.device_table);
        let mut requests = &*threads.output_requests;
        let mut controller = |context: &mut CycleContext<'_>| {
            if has_axes {
                group.beat(context);
            }
            match law(&mut Io::new(context, id)) {
                Flow::Continue => {}
                Flow::Stop if !has_axes => context.stop(),
                // The axes of a motion come to rest first; then their group ends the loop.
                Flow::Stop | Flow::ShutDown => threads.halt.store(true, Ordering::Relaxed),
            }
            requests.beat(context);
        };
        let ended = threads.run_loop(
            &mut self.prepared,
            &settings,
            &mut BySleeper(sleeper),
            &mut *phase,
            &mut controller,
            (record, self.image.publisher(), ends),
        );
        let axes = AxesReport::of(&group, &threads.handle);
        let mut outcome = self
            .outcome
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *outcome = Some((ended, axes));
    }
}

impl fmt::Debug for NetworkLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkLoop")
            .field("settings", &self.parts.settings)
            .finish_non_exhaustive()
    }
}

impl Outcome {
    /// The loop's report, where it ran.
    pub(super) fn report(
        &self,
        devices: usize,
        frames: usize,
        threads: &LoopThreads,
    ) -> Option<NetworkReport> {
        let mut outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, axes) = outcome.take()?;
        Some(NetworkReport {
            devices,
            frames,
            ended,
            timing: threads.timing.snapshot(),
            axes,
        })
    }
}

/// A sleeper of the caller, for the loop.
struct BySleeper<'s>(&'s mut dyn Sleeper);

impl<P> Timekeeper<P> for BySleeper<'_> {
    fn wait_until(&mut self, _: &mut P, time: MonotonicTime) {
        self.0.sleep_until(time);
    }
}

/// The report of a loop. It displays as a line for the loop, and one for its axes.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkReport {
    /// Devices on the segment.
    pub devices: usize,
    /// Frames in a cycle.
    pub frames: usize,
    /// How the loop ended.
    pub ended: Ended,
    /// The timing of its cycles, and the lost frames.
    pub timing: Snapshot,
    /// The report of the motion's axes.
    pub axes: AxesReport,
}

impl fmt::Display for NetworkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (timing, frames) = (&self.timing, &self.timing.frames);
        write!(
            f,
            "{}, {} in a cycle; {}, {} lost, {} late, {}, {}, {} skipped",
            numbers::counted(self.devices as u64, "device"),
            numbers::counted(self.frames as u64, "frame"),
            numbers::counted(timing.cycles, "cycle"),
            numbers::counted(frames.lost, "frame"),
            numbers::thousands(frames.late),
            numbers::counted(frames.working_counter_mismatches, "wrong working counter"),
            numbers::counted(timing.overruns, "overrun"),
            numbers::counted(timing.skipped_beats, "beat"),
        )?;
        match self.axes.axes.is_empty() {
            true => Ok(()),
            false => write!(f, "\n{}", self.axes),
        }
    }
}

/// The axes of a motion, at the end of their loop. It displays as one line.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxesReport {
    /// One report per axis, in the order of the group.
    pub axes: Vec<AxisReport>,
    /// How often all axes were stopped.
    pub stops: u64,
    /// Why they were stopped at the end; `None` where they were not.
    pub stopped: Option<String>,
}

/// How well an axis followed its trajectory.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisReport {
    /// The position of its drive.
    pub position: usize,
    /// Cycles in which it followed a trajectory.
    pub cycles: u64,
    /// The greatest distance from the trajectory, in rad.
    pub greatest_error_rad: f64,
    /// The root mean square of the distances, in rad.
    pub rms_error_rad: f64,
}

impl AxesReport {
    fn of(group: &AxisGroup<'_>, handle: &MotionHandle) -> Self {
        let status = handle.status();
        let axes = group.runners().iter().map(|it| {
            let tracking = it.tracking();
            AxisReport {
                position: it.axis().device(),
                cycles: tracking.cycles,
                greatest_error_rad: tracking.greatest,
                rms_error_rad: tracking.root_mean_square(),
            }
        });
        Self {
            axes: axes.collect(),
            stops: group.stops(),
            stopped: status.and_then(|it| it.stopped).map(|it| it.why),
        }
    }
}

impl fmt::Display for AxesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.axes.iter();
        let worst = all.max_by(|a, b| a.greatest_error_rad.total_cmp(&b.greatest_error_rad));
        match self.axes.len() {
            1 => f.write_str("1 axis")?,
            count => write!(f, "{count} axes")?,
        }
        match worst {
            None => {}
            Some(_) if self.axes.iter().all(|it| it.cycles == 0) => {
                write!(f, "; no axis was moved")?;
            }
            Some(worst) => write!(
                f,
                "; largest following error: position {}, {:.2} mrad (RMS {:.2} mrad)",
                worst.position,
                worst.greatest_error_rad * 1e3,
                worst.rms_error_rad * 1e3,
            )?,
        }
        match self.stops {
            0 => Ok(()),
            stops => write!(f, "; all were stopped {}", numbers::counted(stops, "time")),
        }
    }
}
