//! The segment, the loop and the supervisor, from the first frame to the last.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use anyhow::Context as _;
use kadenz::ethercat::{CycleSeries, note_loop};
use kadenz_ethercat::control::cyclic::{Ended, EndedBy as LoopEndedBy, Settings};
use kadenz_ethercat::control::notice::Incidents;
use kadenz_ethercat::control::phase::Settings as PhaseSettings;
use kadenz_ethercat::control::supervisor::{SegmentSupervisor, Settings as SupervisorSettings};
use kadenz_ethercat::control::timing::Snapshot;
use kadenz_ethercat::motion::{self, Stopped};
use kadenz_ethercat::port::{self, Port, WirePort};
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
use kadenz_rt::tuning::{Policy, Tuning};

use super::control_socket::{ControlServer, Told};
use super::lines::Lines;
use super::live::Live;
use super::moving::Moved;
use super::orders::{Orders, Shared};
use super::process_image::ProcessImage;
use super::ready::{self, Motion, Ready};
use super::recording::ClockRecorders;
use super::{Options, load};
use crate::commands::ethercat::segment::Place;
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
    CycleSeries,
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
        // As urgent as the loop less one, so that a loaded machine delays the wire as little as it can.
        let tuning = match self.measuring.tuning.policy {
            Policy::Fifo(priority) if priority > 1 => Tuning::fifo(priority - 1),
            _ => Tuning::default(),
        };
        segment.serve_while(&tuning, || self.over(ready, &server, name))
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
        let layout = ready.prepared.cycle.layout().clone();
        let axes: Vec<_> = ready.runners.iter().map(|it| it.axis().device()).collect();
        let readers = self.options.readers;
        let image = ProcessImage::open(readers, server, &layout, &ready.mapped, &axes)?;
        let (run, series, phase) = self.begin(&ready, name)?;
        let load = self
            .options
            .load
            .map(|kind| load::start(kind, self.stop))
            .transpose()?;
        let interval = self.measuring.session.interval;
        let ongoing = session::start(run, interval, self.measuring.shield.as_ref())?;
        let shared = Shared::new(self.settings, image);
        let names = ready.devices.iter().map(motion::name).collect();
        let supervisor =
            SegmentSupervisor::new(ready.devices, &layout, Arc::clone(&shared.threads.health))
                .with_settings(SupervisorSettings::for_cycle(
                    self.settings.interval.as_duration(),
                ))
                .with_setup(ready.setup);
        let live = self.live(&shared, &supervisor, names);
        let orders = Orders {
            prepared: ready.prepared,
            series,
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
        let snapshot = shared.threads.timing.snapshot();
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
        let layout = ready.prepared.cycle.layout();
        let parameters = &mut run.run_mut().parameters;
        parameters.insert("segment".to_owned(), name.into());
        parameters.insert("devices".to_owned(), ready.devices.len().into());
        parameters.insert("axes".to_owned(), ready.runners.len().into());
        parameters.insert("output_bytes".to_owned(), layout.outputs.into());
        parameters.insert("input_bytes".to_owned(), layout.inputs.into());
        let cycle = self.settings.interval.as_duration();
        let (deadline, raw) = (self.measuring.deadline, self.measuring.session.raw);
        let series = CycleSeries::add(cycle, deadline, raw, |spec| run.series(spec))?;
        let phase = ready.phase.map(|settings| {
            let recorders = ClockRecorders::of(&mut run, self.measuring, cycle)?;
            anyhow::Ok((settings, recorders))
        });
        let phase = phase.transpose()?;
        Ok((run, series, phase))
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
            timing: Arc::clone(&shared.threads.timing),
            health: Arc::clone(&shared.threads.health),
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
        (supervisor, server): (SegmentSupervisor, &ControlServer),
        mut live: Live,
        shared: &Shared,
    ) -> Result<EndedBy, MeasuringThreadError> {
        let threads = &shared.threads;
        let (device_table, notices) = (supervisor.device_table(), supervisor.notices());
        let told = Told {
            device_table: &device_table,
            notices: &notices,
            health: &threads.health,
            timing: &threads.timing,
            queue: &threads.queue,
            image: &shared.image,
            actuators: &threads.actuators,
            handle: shared.image.has_axes().then_some(&*threads.handle),
            interval: self.settings.interval.as_duration(),
        };
        std::thread::scope(|scope| {
            let _guard = threads.shutdown_guard();
            scope.spawn(|| server.serve(&told, &threads.halt));
            scope.spawn(|| {
                threads.monitor_faults(&device_table, |stopped| {
                    tell_stopped(stopped, server.name());
                });
            });
            scope.spawn(|| threads.supervise(supervisor));
            measuring_threads::work(ongoing, vec![member], self.stop, &mut live)
        })
    }

    /// The thread that is the loop.
    fn member<P: Port + Send + 'static>(self, orders: Orders<P>, shared: &Shared) -> Member {
        let shared = shared.clone();
        let settings = *self.settings;
        let work = move |context: &mut LoopContext<'_>| {
            let done = orders.obey(&settings, context, &shared);
            *shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        };
        Member {
            series: CycleSeries::ALL.map(str::to_owned).to_vec(),
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

/// Sets a flag at its end, however that comes.
pub(super) struct Ends<'f>(pub(super) &'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Says that all axes were stopped, and what lets them go on.
fn tell_stopped(stopped: &Stopped, name: Option<&str>) {
    if output::is_quiet() {
        return;
    }
    let remedy = name.map_or_else(String::new, |name| {
        format!("\n  `kadenz ethercat reset --loop {name}` lets them go on")
    });
    output::note(&format!("all axes are stopped: {}{remedy}", stopped.why));
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
    note_loop(running, snapshot);
    let axes = serde_json::to_value(moved).context("cannot note what the axes did")?;
    running.update(|run| {
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
    Ok(())
}
