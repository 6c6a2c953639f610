//! The segment, the loop and the steward, from the first frame to the last.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use kadenz_ethercat::control::cyclic::{CycleReport, Ended, Loop, Settings, Timekeeper};
use kadenz_ethercat::control::health::Health;
use kadenz_ethercat::control::steward::Steward;
use kadenz_ethercat::control::timing::{Snapshot, Timing};
use kadenz_ethercat::main_device::bring_up;
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{Patience, Registers, Waiting, Whose};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::postbox::{Correspondent, Postbox};
use kadenz_ethercat::port::{self, PairPort, Port};
use kadenz_ethercat::sim::file::Plan;
use kadenz_ethercat::sim::serve::{Pace, Server};
use kadenz_ethercat::wire::register::AL_CONTROL;
use kadenz_ethercat::wire::{AlControl, State};
use kadenz_lab::crew::{self, Member, Station};
use kadenz_lab::measuring::Measuring;
use kadenz_lab::session;
use kadenz_lab::stop::Stop;
use kadenz_record::run::folder::RunningRun;
use kadenz_record::run::model::Warning;
use kadenz_report::numbers;
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::sleep::Sleeper;
use kadenz_rt::tuning::{self, Policy, Tuning};

use super::live::Live;
use super::recording::{Recorders, SERIES};
use super::{Options, load};
use crate::commands::ethercat::segment::Place;
use crate::options::Progress;

/// How long and how often is asked before the loop runs, and by the steward.
const PATIENCE: Patience = Patience {
    answer: Duration::from_millis(100),
    tries: 10,
};
/// Notices that may wait to be told.
const NOTICES: usize = 4_096;

/// What became of the segment.
pub(super) struct Driven {
    devices: usize,
    frames_a_cycle: usize,
    snapshot: Snapshot,
    ended: Option<Ended>,
}

impl Driven {
    /// A sentence for people.
    pub(super) fn words(&self) -> String {
        let frames = &self.snapshot.frames;
        format!(
            "{} devices, {} in a cycle; {} cycles, {} frames lost, {} late, {} wrong working counters, {} \
             overruns, {} beats left out\n",
            self.devices,
            numbers::counted(self.frames_a_cycle as u64, "frame"),
            numbers::thousands(self.snapshot.cycles),
            numbers::thousands(frames.lost),
            numbers::thousands(frames.late),
            numbers::thousands(frames.working_counter_mismatches),
            numbers::thousands(self.snapshot.overruns),
            numbers::thousands(self.snapshot.skipped_beats),
        )
    }
}

/// Runs the loop where the options say.
pub(super) fn drive(
    options: &Options,
    measuring: &Measuring,
    settings: &Settings,
    stop: &Stop,
) -> anyhow::Result<Driven> {
    let plan = Drive {
        options,
        measuring,
        settings,
        stop,
    };
    match options.segment.place()? {
        Place::Interface(interface) => plan.on_interface(interface),
        Place::Virtual(sim) => plan.on_virtual(&sim.plan()?, &sim.to_string()),
    }
}

#[derive(Clone, Copy)]
struct Drive<'d> {
    options: &'d Options,
    measuring: &'d Measuring,
    settings: &'d Settings,
    stop: &'d Stop,
}

/// What is known before the loop runs.
struct Ready<P> {
    link: Link<P>,
    devices: Vec<SubDevice>,
    cycle: Cycle,
}

/// What the loop and those beside it share.
#[derive(Clone)]
struct Shared {
    postbox: Arc<Postbox>,
    timing: Arc<Timing>,
    health: Arc<Health>,
    /// Ends the loop and the steward.
    halt: Arc<AtomicBool>,
    ended: Arc<Mutex<Option<Ended>>>,
}

impl Drive<'_> {
    #[cfg(target_os = "linux")]
    fn on_interface(self, interface: &str) -> anyhow::Result<Driven> {
        let port = port::InterfacePort::open(interface, port::Waiting::Blocking)?;
        self.over(port, interface)
    }

    #[cfg(not(target_os = "linux"))]
    fn on_interface(self, interface: &str) -> anyhow::Result<Driven> {
        anyhow::bail!(
            "frames on an interface such as `{interface}` need Linux; --sim works everywhere"
        )
    }

    /// A thread of this program is the segment.
    fn on_virtual(self, plan: &Plan, name: &str) -> anyhow::Result<Driven> {
        let segment = plan.build()?;
        let (near, far) = port::pair();
        let done = AtomicBool::new(false);
        let policy = self.measuring.tuning.policy;
        let mut server = Server::new(far, segment, Pace::AtOnce);
        std::thread::scope(|scope| {
            scope.spawn(|| serve(&mut server, policy, &done));
            let driven = self.over(near, name);
            done.store(true, Ordering::Relaxed);
            driven
        })
    }

    fn over<P: Port + Send + 'static>(self, port: P, name: &str) -> anyhow::Result<Driven> {
        let ready = bring_up(port)?;
        let devices = ready.devices.len();
        let layout = ready.cycle.layout().clone();
        let cycle = self.settings.interval.as_duration();
        let mut run = session::begin(&self.measuring.session)?;
        let parameters = &mut run.run_mut().parameters;
        parameters.insert("segment".to_owned(), name.into());
        parameters.insert("devices".to_owned(), devices.into());
        parameters.insert("output_bytes".to_owned(), layout.outputs.into());
        parameters.insert("input_bytes".to_owned(), layout.inputs.into());
        let recorders = Recorders::of(&mut run, self.measuring, cycle)?;
        let shared = Shared {
            postbox: Arc::default(),
            timing: Arc::new(Timing::new(self.settings)),
            health: Arc::new(Health::new()),
            halt: Arc::default(),
            ended: Arc::default(),
        };
        let load = self
            .options
            .load
            .map(|kind| load::start(kind, self.stop))
            .transpose()?;
        let interval = self.measuring.session.interval;
        let ongoing = session::start(run, interval, self.measuring.shield.as_ref())?;
        let health = Arc::clone(&shared.health);
        let mut steward = Steward::new(ready.devices, ready.cycle.layout(), health);
        let mut live = Live {
            timing: Arc::clone(&shared.timing),
            health: Arc::clone(&shared.health),
            notices: steward.notices().subscribe(NOTICES),
            devices: u16::try_from(devices).unwrap_or(u16::MAX),
            quiet: self.options.quiet,
            progress: Progress::new("driving the segment", self.options.duration.map(|it| it.0)),
            shown_s: 0,
        };
        let member = self.member(ready.link, ready.cycle, recorders, &shared);
        let worked = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut way = Correspondent::of(&shared.postbox, PATIENCE);
                // It ends with the loop.
                let _ = steward.run(&mut way, &shared.halt);
            });
            let worked = crew::work(&ongoing, vec![member], self.stop, &mut live);
            shared.halt.store(true, Ordering::Relaxed);
            shared.postbox.end();
            worked
        });
        drop(live);
        let loaded = load.map(load::end).transpose()?;
        let snapshot = shared.timing.snapshot();
        note(&ongoing.running, &snapshot, loaded)?;
        let ended = *shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ongoing.finish(worked?)?;
        Ok(Driven {
            devices,
            frames_a_cycle: layout.frames.len(),
            snapshot,
            ended,
        })
        .and_then(Driven::checked)
    }

    /// The thread that is the loop.
    fn member<P: Port + Send + 'static>(
        self,
        mut link: Link<P>,
        mut cycle: Cycle,
        recorders: Recorders,
        shared: &Shared,
    ) -> Member {
        let shared = shared.clone();
        let settings = *self.settings;
        let work = move |station: &mut Station<'_>| {
            let recording = recorders.begin(station.origin, settings.interval.as_duration());
            let settings = Settings {
                start: Some(station.start),
                ..settings
            };
            let stop = station.stop;
            let others = |report: &CycleReport<'_>| {
                shared.health.note_link(&report.counts);
                if let Some(outcome) = &report.outcome {
                    shared.health.note(outcome);
                }
                if stop.requested() {
                    shared.halt.store(true, Ordering::Relaxed);
                }
            };
            let mut observer = (recording, &*shared.timing, others);
            let mut bus = Loop {
                link: &mut link,
                cycle: &mut cycle,
                postbox: &shared.postbox,
                stop: &shared.halt,
            };
            let mut time = BySleeper(station.sleeper);
            let ended = bus.run(&settings, &mut time, &mut (), &mut observer);
            *shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
            shared.halt.store(true, Ordering::Relaxed);
            shared.postbox.end();
            leave(&mut link);
        };
        Member {
            series: SERIES.map(str::to_owned).to_vec(),
            tuning: self.measuring.tuning.clone(),
            shielded: self.measuring.shield.is_some(),
            sleeper: self.measuring.sleeper,
            sleeper_options: self.measuring.sleeper_options,
            clock: self.measuring.session.clock,
            work: Box::new(work),
        }
    }
}

impl Driven {
    /// An error where the loop ended for want of time and not by anybody's wish.
    fn checked(self) -> anyhow::Result<Self> {
        use kadenz_ethercat::control::cyclic::EndedBy;
        match self.ended.map(|it| it.by) {
            Some(EndedBy::Overrun) => anyhow::bail!(
                "the loop ended, as --overrun stop asks: cycle {} was not done when the next was due",
                self.snapshot.cycles
            ),
            _ => Ok(self),
        }
    }
}

/// The crew's sleeper, for the loop.
struct BySleeper<'s>(&'s mut dyn Sleeper);

impl<P> Timekeeper<P> for BySleeper<'_> {
    fn wait_until(&mut self, _: &mut P, time: MonotonicTime) {
        self.0.sleep_until(time);
    }
}

/// Finds and configures everybody, up to SAFEOP.
fn bring_up<P: Port>(port: P) -> anyhow::Result<Ready<P>> {
    let mut link = Link::new(port, 1);
    let mut way = Waiting {
        link: &mut link,
        patience: PATIENCE,
    };
    let mut registers = Registers::by(&mut way);
    let mut devices = bring_up::find(&mut registers)?;
    let cycle = bring_up::prepare(&mut registers, &mut devices, None)?;
    Ok(Ready {
        link,
        devices,
        cycle,
    })
}

/// Leaves nobody in OP without process data.
fn leave<P: Port>(link: &mut Link<P>) {
    let mut way = Waiting {
        link,
        patience: PATIENCE,
    };
    let request = AlControl::request(State::PreOp).0.to_le_bytes();
    // Who does not answer any more has nobody to be told of it, and its watchdog.
    let _ = Registers::by(&mut way).count_writing(Whose::All(0), AL_CONTROL, &request);
}

/// The life of the thread that is the segment: as urgent as the loop less one, so that a loaded machine
/// delays the wire as little as it can.
fn serve(server: &mut Server<PairPort>, policy: Policy, done: &AtomicBool) {
    let _applied = match policy {
        Policy::Fifo(priority) if priority > 1 => Some(tuning::apply(&Tuning {
            policy: Policy::Fifo(priority - 1),
            ..Tuning::default()
        })),
        _ => None,
    };
    while !done.load(Ordering::Relaxed) {
        if server.step().is_err() {
            break;
        }
    }
}

/// What the run is to keep besides its series.
fn note(
    running: &RunningRun,
    snapshot: &Snapshot,
    load: Option<serde_json::Value>,
) -> anyhow::Result<()> {
    let told = serde_json::to_value(snapshot).context("cannot note what the loop counted")?;
    running.update(|run| {
        run.parameters.insert("bus".to_owned(), told);
        if let Some(load) = load {
            run.parameters.insert("load_done".to_owned(), load);
        }
    });
    let frames = &snapshot.frames;
    let wrong = frames.lost + frames.working_counter_mismatches;
    if wrong > 0 {
        running.add_warning(Warning {
            id: "frames_lost".to_owned(),
            text: format!(
                "{} frames did not come back in time and {} came back with a wrong working counter: in \
                 those cycles the controller saw older inputs",
                numbers::thousands(frames.lost),
                numbers::thousands(frames.working_counter_mismatches)
            ),
            remedy: Some("kadenz ethercat scan says who is there, and how each is linked".to_owned()),
        });
    }
    Ok(())
}
