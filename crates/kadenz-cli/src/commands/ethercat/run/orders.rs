//! What the loop's thread does, from its first beat to its last.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kadenz::ethercat::CycleSeries;
use kadenz_ethercat::control::cyclic::{
    Controller as _, CycleContext, CycleReport, Ended, Free, Phase, Settings, Timekeeper,
};
use kadenz_ethercat::control::phase::{Follow, Settings as PhaseSettings, Step};
use kadenz_ethercat::control::supervisor::DeviceTable;
use kadenz_ethercat::control::threads::{LoopThreads, Prepared};
use kadenz_ethercat::motion::{AxisGroup, AxisRunner, Policy};
use kadenz_ethercat::port::Port;
use kadenz_lab::measuring_threads::LoopContext;
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::sleep::Sleeper;

use super::moving::Moved;
use super::process_image::ProcessImage;
use super::recording::{ClockRecorders, Following};
use crate::commands::ethercat::segment::RETRY_POLICY;

/// What the loop and those beside it share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) threads: LoopThreads,
    pub(super) ended: Arc<Mutex<Option<(Ended, Moved)>>>,
    pub(super) image: Arc<ProcessImage>,
}

impl Shared {
    pub(super) fn new(settings: &Settings, image: ProcessImage) -> Self {
        Self {
            threads: LoopThreads::new(settings, RETRY_POLICY),
            ended: Arc::default(),
            image: Arc::new(image),
        }
    }
}

/// What the loop's thread is given.
pub(super) struct Orders<P> {
    pub(super) prepared: Prepared<P>,
    pub(super) series: CycleSeries,
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
        let threads = &shared.threads;
        let recorder = self
            .series
            .begin(context.origin, settings.interval.as_duration())
            .between(context.start + self.warm_up, self.beats);
        let (stop, beats) = (context.stop, self.beats);
        let others = |report: &CycleReport<'_>| {
            if stop.requested() || beats.is_some_and(|beats| report.beat >= beats) {
                threads.halt.store(true, Ordering::Relaxed);
            }
        };
        let mut phase: Box<dyn Phase> = match self.phase {
            None => Box::new(Free),
            Some((settings, recorders)) => Box::new(Following {
                follow: Follow::new(settings, |_: &Step| ()),
                recorders,
                origin: context.origin,
            }),
        };
        let group = AxisGroup::new(self.runners, self.policy, &threads.handle);
        let mut group = group.with_device_table(self.device_table);
        let mut hands = &*threads.actuators;
        let mut controller = |context: &mut CycleContext<'_>| {
            group.beat(context);
            hands.beat(context);
        };
        let ended = threads.run_loop(
            &mut self.prepared,
            &settings,
            &mut BySleeper(context.sleeper),
            &mut *phase,
            &mut controller,
            (recorder, shared.image.posting(), others),
        );
        (ended, Moved::of(&group, &threads.handle))
    }
}

/// The measuring thread's sleeper, for the loop.
struct BySleeper<'s>(&'s mut dyn Sleeper);

impl<P> Timekeeper<P> for BySleeper<'_> {
    fn wait_until(&mut self, _: &mut P, time: MonotonicTime) {
        self.0.sleep_until(time);
    }
}
