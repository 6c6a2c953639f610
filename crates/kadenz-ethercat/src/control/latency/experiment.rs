//! The robot of \[Yoon2009\] with a stamp device, in virtual time.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kadenz_rt::beat::IntervalError;

use super::{Latencies, LatencyController, Meter};
use crate::control::cyclic::{
    CycleReport, Loop, LoopMode, LoopSettings, NotInOp, Observer as _, VirtualTime, operate,
};
use crate::control::phase::{self, ClockFollower};
use crate::main_device::acyclic::AcyclicQueue;
use crate::main_device::bring_up::{BringUpError, find, prepare};
use crate::main_device::clocks::{self, Bounds, ClockError, Epoch, Sync, SyncError, start_sync};
use crate::main_device::exchange::{BlockingExchange, Registers};
use crate::main_device::link::Link;
use crate::sim::WirePort;
use crate::sim::file::{BuildError, Kind, SegmentPlan};
use crate::sim::humanoid::humanoid;
use crate::sim::model::stamp;

/// The cycle in which a controller's outputs go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sends {
    /// In the same cycle, as soon as the loop sends.
    #[default]
    AtOnce,
    /// A cycle later: the request of \[Yoon2009\] sends what was computed after the previous one.
    NextCycle,
}

/// The settings of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experiment {
    /// Number of devices of the humanoid; the last one is the stamp device.
    pub devices: u16,
    /// Time between two beats.
    pub interval: Duration,
    /// The mode in which the loop takes in answers.
    pub mode: LoopMode,
    /// The cycle in which the loop sends what the controller computed.
    pub sends: Sends,
    /// How long the device's microcontroller works from its wake-up until it acts and samples.
    pub work: Duration,
    /// The shift of the SYNC0 that wakes the device, behind whole cycles of system time, to which the loop
    /// is locked; `None` for a device that its outputs wake.
    pub sync0: Option<Duration>,
    /// Cycles that are measured.
    pub cycles: u64,
    /// Seed of the events' times.
    pub seed: u64,
}

impl Experiment {
    /// The experiment of \[Yoon2009\]: 59 devices, 1 ms, pipelined, commands a cycle later, devices that act and sample
    /// in the middle of the cycle: the frame has passed the last device after 0.16 ms, the rest is work.
    #[must_use]
    pub const fn yoon2009() -> Self {
        Self {
            devices: 59,
            interval: Duration::from_millis(1),
            mode: LoopMode::Pipelined,
            sends: Sends::NextCycle,
            work: Duration::from_micros(340),
            sync0: None,
            cycles: 20_000,
            seed: 2009,
        }
    }
}

/// The reason why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The segment does not exist.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The interval is not valid.
    #[error(transparent)]
    Interval(#[from] IntervalError),
    /// Devices were not brought up.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// Clocks were not aligned.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// Pulses did not start.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// The segment is not in OP.
    #[error(transparent)]
    Op(#[from] NotInOp),
    /// No device stamps events.
    #[error("no device of the segment stamps events; give one `model = \"stamp\"`")]
    NoStamp,
}

/// Cycles before the measurement begins: the loop locks to the reference clock.
const BEFORE: u64 = 1_000;

/// Measures in virtual time: the result depends on the experiment alone. Allocates; a minute of the robot
/// takes some seconds.
///
/// # Errors
/// [`ExperimentError`].
pub fn measure(experiment: &Experiment) -> Result<Latencies, ExperimentError> {
    let mut plan = humanoid(experiment.devices.into());
    if let Some(last) = plan.devices.last_mut() {
        last.kind = Kind::Stamp(stamp::StampSettings::default());
        "stamp".clone_into(&mut last.name);
    }
    measure_on(experiment, plan)
}

/// As [`measure`], on the caller's own segment: it asks the first device that stamps. The experiment's work
/// and seed apply to that device, and its `devices` do not count.
///
/// # Errors
/// [`ExperimentError`], for example when no device stamps.
pub fn measure_on(
    experiment: &Experiment,
    plan: SegmentPlan,
) -> Result<Latencies, ExperimentError> {
    let interval_ns = u64::try_from(experiment.interval.as_nanos()).unwrap_or(u64::MAX);
    let mut settings = LoopSettings {
        mode: experiment.mode,
        ..LoopSettings::every(experiment.interval)?
    };
    let mut link = segment(experiment, interval_ns, plan)?;
    let mut exchange = BlockingExchange::over(&mut link);
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers)?;
    let stamps = devices
        .iter()
        .position(|it| it.identity.product == stamp::STAMP);
    let device = stamps.ok_or(ExperimentError::NoStamp)?;
    let clocks = clocks::measure(&mut registers, &devices, &clocks::ClockSettings::default())?;
    clocks.set(&mut registers, Epoch::Own)?;
    clocks.align(&mut registers, &Bounds::default(), &mut |_| {})?;
    if let Some(shift) = experiment.sync0 {
        let cycle = u32::try_from(interval_ns).unwrap_or(u32::MAX);
        let shift = i32::try_from(shift.as_nanos()).unwrap_or(i32::MAX);
        let wanted = [(devices[device].position, Sync::sync0(cycle, shift))];
        start_sync(&mut registers, &clocks, &wanted, Duration::from_millis(50))?;
    }
    let mut cycle = prepare(&mut registers, &mut devices, clocks.reference())?;
    let (queue, stop) = (AcyclicQueue::default(), AtomicBool::new(false));
    let mut bus = Loop::new(&mut link, &mut cycle, &queue, &stop);
    operate(&mut bus, devices.len() as u16, &settings, &mut VirtualTime)?;
    let mut phase = ClockFollower::new(
        phase::PhaseSettings::every(interval_ns),
        |_: &phase::Step| (),
    );
    let mut answer = LatencyController::of(device, experiment.sends);
    let mut latencies = Latencies::with_room(interval_ns, experiment.cycles as usize / 4 + 16);
    settings.cycles = Some(BEFORE.saturating_add(experiment.cycles));
    let mut meter = Meter::of(device, &mut latencies);
    let mut observer = |report: &CycleReport<'_>| {
        if report.number > BEFORE {
            meter.cycle(report);
        }
    };
    bus.run_locked(
        &settings,
        &mut VirtualTime,
        &mut phase,
        &mut answer,
        &mut observer,
    );
    Ok(latencies)
}

/// The segment, with its stamp's events from 8 to 13 cycles apart.
fn segment(
    experiment: &Experiment,
    interval_ns: u64,
    mut plan: SegmentPlan,
) -> Result<Link<WirePort>, ExperimentError> {
    let mut kinds = plan.devices.iter_mut().map(|it| &mut it.kind);
    let stamps = kinds.find_map(|it| match it {
        Kind::Stamp(settings) => Some(settings),
        _ => None,
    });
    *stamps.ok_or(ExperimentError::NoStamp)? = stamp::StampSettings {
        work_ns: u64::try_from(experiment.work.as_nanos()).unwrap_or(u64::MAX),
        least_gap_ns: interval_ns.saturating_mul(8),
        more_gap_ns: interval_ns.saturating_mul(5),
        seed: experiment.seed,
    };
    Ok(Link::new(WirePort::new(plan.build()?), 1))
}
