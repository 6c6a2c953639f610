//! The segment, the loop and the supervisor, from the first frame to the last.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use kadenz_ethercat::control::cyclic::{Ended, EndedBy as LoopEndedBy, Settings};
use kadenz_ethercat::control::notice::Incidents;
use kadenz_ethercat::control::phase::Settings as PhaseSettings;
use kadenz_ethercat::control::supervisor::{SegmentSupervisor, Settings as SupervisorSettings};
use kadenz_ethercat::control::timing::Snapshot;
use kadenz_ethercat::main_device::acyclic::AcyclicClient;
use kadenz_ethercat::motion;
use kadenz_ethercat::port::{self, PairPort, Port, WirePort};
use kadenz_ethercat::sim::file::Plan;
use kadenz_ethercat::sim::serve::{Pace, Server};
use kadenz_lab::measuring::Measuring;
use kadenz_lab::measuring_threads::{self, LoopContext, MeasuringThreadError, Member};
use kadenz_lab::session::{self, Ongoing};
use kadenz_lab::stop::Stop;
use kadenz_record::run::folder::{RunWriter, RunningRun};
use kadenz_record::run::model::{EndedBy, Warning};
use kadenz_report::numbers;
use kadenz_rt::clock;
use kadenz_rt::tuning::{self, Policy, Tuning};

use super::control_socket::{ControlServer, Told};
use super::fault_monitor::DriveFaultMonitor;
use super::lines::Lines;
use super::live::Live;
use super::moving::Moved;
use super::orders::{Orders, Shared};
use super::process_image::ProcessImage;
use super::ready::{self, Motion, Ready};
use super::recording::{ClockRecorders, Recorders, SERIES};
use super::shutdown::{AtWork, ShutdownGuard};
use super::{Options, load};
use crate::commands::ethercat::segment::{Place, RETRY_POLICY};
use crate::options::Progress;
use crate::output;

/// Notices that may wait to be told.
const NOTICES: usize = 4_096;

/// What became of the segment.
pub(super) struct Driven {
    devices: usize,
    frames_a_cycle: usize,
    snapshot: Snapshot,
    ended: Option<Ended>,
    moved: Moved,
}

impl Driven {
    /// Sentences for people.
    pub(super) fn words(&self) -> String {
        let frames = &self.snapshot.frames;
        let bus = format!(
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
        );
        bus + &self.moved.words().unwrap_or_default()
    }

    /// Why all axes stood at the end; `None` where they did not.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.moved.stopped()
    }
}

/// Runs the loop where the options say.
pub(super) fn drive(
    options: &Options,
    file: Option<motion::Plan>,
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
    let place = options.segment.place()?;
    let motion = match (file, &place) {
        (Some(file), _) => Motion::Planned(file),
        (None, Place::Virtual(_)) => Motion::Demo,
        (None, Place::Interface(_)) if options.demo => Motion::Demo,
        (None, Place::Interface(_)) => Motion::None,
    };
    match place {
        Place::Interface(interface) => plan.on_interface(interface, &motion),
        Place::Virtual(sim) => plan.on_virtual(&sim.plan()?, &sim.to_string(), &motion),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Drive<'d> {
    pub(super) options: &'d Options,
    measuring: &'d Measuring,
    pub(super) settings: &'d Settings,
    pub(super) stop: &'d Stop,
}

/// A run with the series of the loop, and those of the clock that it follows, if it does.
type Begun = (
    RunWriter,
    Recorders,
    Option<(PhaseSettings, ClockRecorders)>,
);

impl Drive<'_> {
    #[cfg(target_os = "linux")]
    fn on_interface(self, interface: &str, motion: &Motion) -> anyhow::Result<Driven> {
        let port = port::InterfacePort::open(interface, port::WaitMode::Blocking)?;
        let server = ControlServer::open(self.options.name.as_deref())?;
        let ready = self.bring_up(port, interface, &server, motion)?;
        self.over(ready, &server, interface)
    }

    #[cfg(not(target_os = "linux"))]
    fn on_interface(self, interface: &str, _: &Motion) -> anyhow::Result<Driven> {
        anyhow::bail!(
            "frames on an interface such as `{interface}` need Linux; --sim works everywhere"
        )
    }

    /// A thread of this program is the segment. It begins with the loop: until then time is the segment's own, as
    /// a busy machine may hold a second thread back for longer than anybody waits for an answer.
    fn on_virtual(self, plan: &Plan, name: &str, motion: &Motion) -> anyhow::Result<Driven> {
        let server = ControlServer::open(self.options.name.as_deref())?;
        let wire = WirePort::new(plan.build()?);
        let (near, far) = port::pair();
        let (ready, wire) = self.bring_up(wire, name, &server, motion)?.over(near);
        let segment = Server::new(far, wire.into_segment(), Pace::AtOnce);
        beside(segment, self.measuring.tuning.policy, || {
            self.over(ready, &server, name)
        })
    }

    /// Brings the segment up, while others see that and may end it.
    fn bring_up<P: Port>(
        self,
        port: P,
        name: &str,
        server: &ControlServer,
        motion: &Motion,
    ) -> anyhow::Result<Ready<P>> {
        let work = || ready::bring_up(port, name, self, motion);
        match server.while_bringing_up(self.stop, work) {
            (Err(error), Some(by)) => Err(error.context(format!("ended by {by}"))),
            (ready, _) => ready,
        }
    }

    fn over<P: Port + Send + 'static>(
        self,
        ready: Ready<P>,
        server: &ControlServer,
        name: &str,
    ) -> anyhow::Result<Driven> {
        let devices = ready.devices.len();
        let layout = ready.cycle.layout().clone();
        let axes: Vec<_> = ready.runners.iter().map(|it| it.axis().device()).collect();
        let readers = self.options.readers;
        let image = ProcessImage::open(readers, server, &layout, &ready.mapped, &axes)?;
        let (run, recorders, phase) = self.begin(&ready, name)?;
        let load = self
            .options
            .load
            .map(|kind| load::start(kind, self.stop))
            .transpose()?;
        let interval = self.measuring.session.interval;
        let ongoing = session::start(run, interval, self.measuring.shield.as_ref())?;
        let shared = Shared::new(self.settings, image);
        let names = ready.devices.iter().map(motion::name).collect();
        let supervisor = SegmentSupervisor::new(ready.devices, &layout, Arc::clone(&shared.health))
            .with_settings(SupervisorSettings::for_cycle(
                self.settings.interval.as_duration(),
            ))
            .with_setup(ready.setup);
        let live = self.live(&shared, &supervisor, names);
        let orders = Orders {
            link: ready.link,
            cycle: ready.cycle,
            recorders,
            phase,
            runners: ready.runners,
            policy: ready.policy,
            device_table: supervisor.device_table(),
            beats: self.beats(),
            warm_up: self.options.warm_up.0,
        };
        let member = self.member(orders, &shared);
        let worked = self.work(&ongoing, member, (supervisor, server), live, &shared);
        let loaded = load.map(load::end).transpose()?;
        let snapshot = shared.timing.snapshot();
        let ended = shared
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (ended, moved) =
            ended.map_or_else(Default::default, |(ended, moved)| (Some(ended), moved));
        note(&ongoing.running, &snapshot, &moved, loaded)?;
        note_waits(&ongoing.running, &shared.image);
        ongoing.finish(worked?)?;
        Driven {
            devices,
            frames_a_cycle: layout.frames.len(),
            snapshot,
            ended,
            moved,
        }
        .checked()
    }

    /// The run, before anything was measured, and its series.
    fn begin<P>(self, ready: &Ready<P>, name: &str) -> anyhow::Result<Begun> {
        let mut run = session::begin(&self.measuring.session)?;
        let layout = ready.cycle.layout();
        let parameters = &mut run.run_mut().parameters;
        parameters.insert("segment".to_owned(), name.into());
        parameters.insert("devices".to_owned(), ready.devices.len().into());
        parameters.insert("axes".to_owned(), ready.runners.len().into());
        parameters.insert("output_bytes".to_owned(), layout.outputs.into());
        parameters.insert("input_bytes".to_owned(), layout.inputs.into());
        let cycle = self.settings.interval.as_duration();
        let recorders = Recorders::of(&mut run, self.measuring, cycle)?;
        let phase = ready.phase.map(|settings| {
            let recorders = ClockRecorders::of(&mut run, self.measuring, cycle)?;
            anyhow::Ok((settings, recorders))
        });
        let phase = phase.transpose()?;
        Ok((run, recorders, phase))
    }

    /// Beats until the loop is asked to end.
    fn beats(self) -> Option<u64> {
        let cycle = self.settings.interval.as_duration().as_nanos().max(1);
        let warm_up = self.options.warm_up.0;
        let beats = self
            .options
            .duration
            .map(|it| (warm_up + it.0).as_nanos() / cycle);
        beats.map(|it| u64::try_from(it).unwrap_or(u64::MAX))
    }

    fn live(self, shared: &Shared, supervisor: &SegmentSupervisor, names: Vec<String>) -> Live {
        Live {
            timing: Arc::clone(&shared.timing),
            health: Arc::clone(&shared.health),
            notices: supervisor.notices().subscribe(NOTICES),
            devices: u16::try_from(names.len()).unwrap_or(u16::MAX),
            names,
            begun: clock::now(),
            was_well: false,
            quiet: output::is_quiet(),
            progress: Progress::new("driving the segment", self.options.duration.map(|it| it.0)),
            shown_s: 0,
            incidents: Incidents::default(),
            lines: Lines::default(),
        }
    }

    /// Loop, supervisor and control socket, until all have ended.
    fn work(
        self,
        ongoing: &Ongoing,
        member: Member,
        (mut supervisor, server): (SegmentSupervisor, &ControlServer),
        mut live: Live,
        shared: &Shared,
    ) -> Result<EndedBy, MeasuringThreadError> {
        let (device_table, notices) = (supervisor.device_table(), supervisor.notices());
        let told = Told {
            device_table: &device_table,
            notices: &notices,
            health: &shared.health,
            timing: &shared.timing,
            queue: &shared.queue,
            image: &shared.image,
            actuators: &shared.actuators,
            handle: shared.image.has_axes().then_some(&*shared.handle),
            interval: self.settings.interval.as_duration(),
        };
        let monitor = DriveFaultMonitor {
            handle: &shared.handle,
            device_table: &device_table,
            queue: &shared.queue,
            name: server.name(),
            quiet: output::is_quiet(),
        };
        let guard = ShutdownGuard {
            halt: &shared.halt,
            at_work: &shared.at_work,
            queue: &shared.queue,
            patience: self.shutdown_cycles(),
        };
        std::thread::scope(|scope| {
            let _parts = guard;
            scope.spawn(|| server.serve(&told, &shared.halt));
            scope.spawn(|| monitor.watch(&shared.halt));
            scope.spawn(move || {
                let mut client = AcyclicClient::of_supervisor(&shared.queue, RETRY_POLICY);
                // It ends with the loop.
                let _ = supervisor.run(&mut client, &shared.halt);
            });
            measuring_threads::work(ongoing, vec![member], self.stop, &mut live)
        })
    }

    /// How long the loop may go on once it is to end, and some more for a busy machine.
    fn shutdown_cycles(self) -> Duration {
        let cycles = u32::try_from(self.settings.shutdown_cycles).unwrap_or(u32::MAX);
        let shutdown_cycles = self.settings.interval.as_duration().saturating_mul(cycles);
        shutdown_cycles.saturating_add(Duration::from_secs(5))
    }

    /// The thread that is the loop.
    fn member<P: Port + Send + 'static>(self, orders: Orders<P>, shared: &Shared) -> Member {
        let shared = shared.clone();
        let settings = *self.settings;
        let work = move |context: &mut LoopContext<'_>| {
            let _at_work = AtWork::begin(&shared.at_work);
            let done = orders.obey(&settings, context, &shared);
            *shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            shared.halt.store(true, Ordering::Relaxed);
            shared.queue.end();
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
        match self.ended.map(|it| it.by) {
            Some(LoopEndedBy::Overrun) => anyhow::bail!(
                "the loop ended, as --overrun stop asks: cycle {} was not done when the next was due",
                self.snapshot.cycles
            ),
            _ => Ok(self),
        }
    }
}

/// Works beside a thread that is the segment, which ends with it, also by a panic.
fn beside<R>(mut server: Server<PairPort>, policy: Policy, work: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&mut server, policy, &done));
        let _ends = Ends(&done);
        work()
    })
}

/// Sets a flag at its end, however that comes.
pub(super) struct Ends<'f>(pub(super) &'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
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

/// How many cycles waited for who reads what the loop posts.
fn note_waits(running: &RunningRun, image: &ProcessImage) {
    if let Some(waits) = image.waits() {
        running.update(|run| {
            run.parameters
                .insert("reader_waits".to_owned(), waits.into());
        });
    }
}

/// What the run is to keep besides its series.
fn note(
    running: &RunningRun,
    snapshot: &Snapshot,
    moved: &Moved,
    load: Option<serde_json::Value>,
) -> anyhow::Result<()> {
    let told = serde_json::to_value(snapshot).context("cannot note what the loop counted")?;
    let axes = serde_json::to_value(moved).context("cannot note what the axes did")?;
    running.update(|run| {
        run.parameters.insert("bus".to_owned(), told);
        run.parameters.insert("motion".to_owned(), axes);
        if let Some(load) = load {
            run.parameters.insert("load_done".to_owned(), load);
        }
    });
    if let Some(cause) = moved.stopped() {
        running.add_warning(Warning {
            id: "axes_stopped".to_owned(),
            text: format!("all axes were stopped: {cause}"),
            remedy: Some(
                "[safety] of the motion's file says what is tolerated (docs/ethercat-motion.md)"
                    .to_owned(),
            ),
        });
    }
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use kadenz_ethercat::sim::humanoid::humanoid;

    use super::*;

    #[test]
    fn the_segment_s_thread_ends_with_a_loop_that_panics() {
        let (near, far) = port::pair();
        let server = Server::new(far, humanoid(1).build().unwrap(), Pace::AtOnce);
        let work = AssertUnwindSafe(|| beside(server, Policy::Other, || panic!("the loop fails")));
        // Without that this waits for ever.
        assert!(catch_unwind(work).is_err());
        drop(near);
    }
}
