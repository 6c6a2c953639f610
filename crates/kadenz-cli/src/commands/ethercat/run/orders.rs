//! What the loop's thread does, from its first beat to its last.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz_ethercat::control::actuators::Actuators;
use kadenz_ethercat::control::cyclic::{
    Controller as _, CycleContext, CycleReport, Ended, Free, Loop, Phase, Settings, Timekeeper,
};
use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::phase::{Follow, Settings as PhaseSettings, Step};
use kadenz_ethercat::control::supervisor::DeviceTable;
use kadenz_ethercat::control::timing::Timing;
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, Target};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::motion::{AxisGroup, AxisRunner, MotionHandle, Policy};
use kadenz_ethercat::port::Port;
use kadenz_ethercat::wire::register::AL_CONTROL;
use kadenz_ethercat::wire::{AlControl, State};
use kadenz_lab::measuring_threads::LoopContext;
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::sleep::Sleeper;

use super::moving::Moved;
use super::process_image::ProcessImage;
use super::recording::{ClockRecorders, Following, Recorders};
use crate::commands::ethercat::segment::RETRY_POLICY;

/// What the loop and those beside it share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) queue: Arc<AcyclicQueue>,
    pub(super) timing: Arc<Timing>,
    pub(super) health: Arc<Health>,
    /// Ends the loop and the supervisor.
    pub(super) halt: Arc<AtomicBool>,
    /// Whether the loop's thread is at work, until its axes are at rest.
    pub(super) at_work: Arc<AtomicBool>,
    pub(super) ended: Arc<Mutex<Option<(Ended, Moved)>>>,
    pub(super) image: Arc<ProcessImage>,
    pub(super) actuators: Arc<Actuators>,
    pub(super) handle: Arc<MotionHandle>,
}

impl Shared {
    pub(super) fn new(settings: &Settings, image: ProcessImage) -> Self {
        Self {
            queue: Arc::default(),
            timing: Arc::new(Timing::new(settings)),
            health: Arc::new(Health::new()),
            halt: Arc::default(),
            at_work: Arc::default(),
            ended: Arc::default(),
            image: Arc::new(image),
            actuators: Arc::default(),
            handle: Arc::default(),
        }
    }
}

/// What the loop's thread is given.
pub(super) struct Orders<P> {
    pub(super) link: Link<P>,
    pub(super) cycle: Cycle,
    pub(super) recorders: Recorders,
    pub(super) phase: Option<(PhaseSettings, ClockRecorders)>,
    pub(super) runners: Vec<AxisRunner>,
    pub(super) policy: Policy,
    /// Which drives are in OP.
    pub(super) device_table: Arc<DeviceTable>,
    /// All of them, the warm-up's too.
    pub(super) beats: Option<u64>,
    pub(super) warm_up: Duration,
}

impl<P: Port> Orders<P> {
    /// Runs the loop to its end.
    pub(super) fn obey(
        mut self,
        settings: &Settings,
        context: &mut LoopContext<'_>,
        shared: &Shared,
    ) -> (Ended, Moved) {
        let settings = Settings {
            start: Some(context.start),
            ..*settings
        };
        let recording = self
            .recorders
            .begin(context.origin, settings.interval.as_duration())
            .between(context.start + self.warm_up, self.beats);
        let (stop, beats) = (context.stop, self.beats);
        let others = |report: &CycleReport<'_>| {
            shared.health.note_link(&report.counts);
            if let Some(outcome) = &report.outcome {
                shared.health.note(outcome);
            }
            if stop.requested() || beats.is_some_and(|beats| report.beat >= beats) {
                shared.halt.store(true, Ordering::Relaxed);
            }
        };
        let mut observer = (recording, &*shared.timing, shared.image.posting(), others);
        let mut phase: Box<dyn Phase> = match self.phase {
            None => Box::new(Free),
            Some((settings, recorders)) => Box::new(Following {
                follow: Follow::new(settings, |_: &Step| ()),
                recorders,
                origin: context.origin,
            }),
        };
        let group = AxisGroup::new(self.runners, self.policy, &shared.handle);
        let mut group = group.with_device_table(self.device_table);
        let mut hands = &*shared.actuators;
        let mut controller = |context: &mut CycleContext<'_>| {
            group.beat(context);
            hands.beat(context);
        };
        let mut bus = Loop {
            link: &mut self.link,
            cycle: &mut self.cycle,
            queue: &shared.queue,
            stop: &shared.halt,
        };
        let mut time = BySleeper(context.sleeper);
        let ended = bus.run_locked(
            &settings,
            &mut time,
            &mut *phase,
            &mut controller,
            &mut observer,
        );
        // Readers hear at once that this was the last cycle: what is left may take longer than one may be old.
        drop(observer);
        leave(&mut self.link);
        (ended, Moved::of(&group, &shared.handle))
    }
}

/// The measuring thread's sleeper, for the loop.
struct BySleeper<'s>(&'s mut dyn Sleeper);

impl<P> Timekeeper<P> for BySleeper<'_> {
    fn wait_until(&mut self, _: &mut P, time: MonotonicTime) {
        self.0.sleep_until(time);
    }
}

/// Leaves nobody in OP without process data.
fn leave<P: Port>(link: &mut Link<P>) {
    let mut way = BlockingExchange {
        link,
        patience: RETRY_POLICY,
    };
    let request = AlControl::request(State::PreOp).0.to_le_bytes();
    // Who does not answer any more has nobody to be told of it, and its watchdog.
    let _ = Registers::by(&mut way).count_writing(Target::All(0), AL_CONTROL, &request);
}
