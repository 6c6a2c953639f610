use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kadenz_ethercat::control::cyclic::{
    CycleContext, CycleReport, Ended, EndedBy, Free, Observer as _, RealTime,
};
use kadenz_ethercat::control::supervisor::{SegmentSupervisor, Settings as SupervisorSettings};
use kadenz_ethercat::control::threads::{LoopThreads, Prepared};
use kadenz_ethercat::control::timing::Snapshot;
use kadenz_ethercat::main_device::layout::Layout;
use kadenz_ethercat::main_device::placed::{Placed, placed};
use kadenz_ethercat::port::{self, Port, WirePort};
use kadenz_ethercat::sim::file::Plan as SimPlan;
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::serve::{Pace, Server};
use kadenz_ethercat::wire::coe::Address;
use kadenz_ethercat::wire::sii::Direction;
use kadenz_record::numbers;
use kadenz_rt::sleep::{self, SleeperOptions};
use kadenz_rt::tuning::{self, Policy, Tuning};

use super::builder::{Configured, Connection, NetworkBuilder, Plan, RETRY};
use super::error::{LookUpError, OpenNetworkError, RunNetworkError};
use super::io::{Flow, Io};
use super::object::{Input, ObjectValue, Output, Place, fits};
use super::recorder::{CycleRecorder, CycleSeries, note_loop};

/// Names of devices and objects that an error lists at most.
const MAX_NAMED: usize = 20;

/// A segment of EtherCAT whose devices are found and configured, and wait in SAFEOP for their loop.
///
/// See the [module](super).
pub struct Network<'a> {
    id: u64,
    wire: Wire,
    devices: Vec<Configured>,
    layout: Layout,
    plan: Plan<'a>,
}

/// The way to the segment.
pub(super) enum Wire {
    Interface(Box<Prepared<Box<dyn Port + Send>>>),
    /// In time of its own until the loop runs.
    Sim(Box<Prepared<WirePort>>),
}

/// Ends a loop or a bring-up from another thread, or from a signal's handler. Clones end the same.
///
/// # Real-time safety
/// Every method is one atomic access.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(pub(super) Arc<AtomicBool>);

impl StopHandle {
    /// Asks the loop to end: its shutdown cycles follow, then its devices are left in PREOP.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked, or the loop has ended.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Network<'static> {
    /// The segment that is plugged into a network interface, for example `eth1`. Linux; needs the right to raw frames
    /// (root, or CAP_NET_RAW).
    ///
    /// # Errors
    /// [`OpenNetworkError`] where there is no such interface, or the right is missing.
    pub fn open(interface: &str) -> Result<NetworkBuilder<'static>, OpenNetworkError> {
        let port = interface_port(interface).map_err(OpenNetworkError::Interface)?;
        NetworkBuilder::new(interface, Connection::Interface(port))
    }

    /// A virtual humanoid of so many devices, 59 for the whole one: without hardware or rights, in real time.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where it cannot be made.
    pub fn sim(devices: usize) -> Result<NetworkBuilder<'static>, OpenNetworkError> {
        Self::simulated(&humanoid(devices))
    }

    /// A virtual segment of devices and faults of your own.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where it cannot be made.
    pub fn simulated(plan: &SimPlan) -> Result<NetworkBuilder<'static>, OpenNetworkError> {
        let port = WirePort::new(plan.build()?);
        let name = format!("sim:{}", plan.devices.len());
        NetworkBuilder::new(&name, Connection::Sim(Box::new(port)))
    }
}

#[cfg(target_os = "linux")]
fn interface_port(
    interface: &str,
) -> Result<Box<dyn Port + Send>, Box<dyn std::error::Error + Send + Sync>> {
    let port = port::InterfacePort::open(interface, port::WaitMode::Blocking)?;
    Ok(Box::new(port))
}

#[cfg(not(target_os = "linux"))]
fn interface_port(
    interface: &str,
) -> Result<Box<dyn Port + Send>, Box<dyn std::error::Error + Send + Sync>> {
    Err(format!(
        "frames on an interface such as `{interface}` need Linux; Network::sim works everywhere"
    )
    .into())
}

impl<'a> Network<'a> {
    pub(super) fn new(wire: Wire, devices: Vec<Configured>, plan: Plan<'a>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let layout = match &wire {
            Wire::Interface(prepared) => prepared.cycle.layout(),
            Wire::Sim(prepared) => prepared.cycle.layout(),
        };
        Self {
            id: NUMBER.fetch_add(1, Ordering::Relaxed),
            layout: layout.clone(),
            wire,
            devices,
            plan,
        }
    }

    /// All devices, in the order in which frames pass them.
    pub fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        (0..self.devices.len()).map(|position| self.at(position))
    }

    /// The device of a name, as its memory (SII) tells it.
    ///
    /// # Errors
    /// [`LookUpError`] where no device or several have that name; it lists those that there are.
    pub fn device(&self, name: &str) -> Result<Device<'_>, LookUpError> {
        let of_name = self.devices().filter(|it| it.name() == name);
        let positions: Vec<_> = of_name.map(|it| it.position).collect();
        match positions[..] {
            [position] => Ok(self.at(position)),
            [] => Err(LookUpError::NoDevice {
                name: name.to_owned(),
                known: listed(self.devices().map(|it| it.name())),
            }),
            _ => Err(LookUpError::SeveralDevices {
                name: name.to_owned(),
                positions,
            }),
        }
    }

    /// The device at a position, from 0.
    ///
    /// # Errors
    /// [`LookUpError::NoPosition`].
    pub fn device_at(&self, position: usize) -> Result<Device<'_>, LookUpError> {
        let last = self.devices.len().saturating_sub(1);
        match position < self.devices.len() {
            true => Ok(self.at(position)),
            false => Err(LookUpError::NoPosition { position, last }),
        }
    }

    fn at(&self, position: usize) -> Device<'_> {
        Device {
            id: self.id,
            configured: &self.devices,
            layout: &self.layout,
            position,
        }
    }

    /// What ends the loop, for another thread or a signal's handler.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.plan.stop.clone()
    }

    /// Runs the loop on the calling thread, tuned, until the law says [`Flow::Stop`] or the stop handle is set. A
    /// supervisor on a thread of its own brings devices to OP, and back there when something happened to them; no loss
    /// of frames, cables or devices ends the loop. At the end, also where the law panics, devices are left in PREOP.
    ///
    /// The law is called from the first cycle on, while devices still are on their way to OP;
    /// [`Io::is_fresh`] says of which the inputs are new.
    ///
    /// # Errors
    /// [`RunNetworkError`], before the first cycle; and where the loop ended by
    /// [`Overrun::Stop`](kadenz_ethercat::control::cyclic::Overrun::Stop).
    ///
    /// # Real-time safety
    /// After its start the loop allocates nothing, takes no lock, and makes no system call but to sleep, to read the
    /// clock and to send and receive frames; the law must do no more.
    pub fn run(
        self,
        law: impl FnMut(&mut Io<'_, '_>) -> Flow,
    ) -> Result<NetworkReport, RunNetworkError> {
        let running = Running {
            id: self.id,
            devices: self.devices,
            layout: self.layout,
            plan: self.plan,
        };
        match self.wire {
            Wire::Interface(prepared) => running.run(*prepared, law),
            Wire::Sim(prepared) => {
                let (near, far) = port::pair();
                let (prepared, wire) = prepared.over(near);
                let server = Server::new(far, wire.into_segment(), Pace::AtOnce);
                let tuning = running.tuning_of_segment();
                server.serve_while(&tuning, || running.run(prepared, law))
            }
        }
    }
}

impl fmt::Debug for Network<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("name", &self.plan.name)
            .field("devices", &self.devices.len())
            .finish_non_exhaustive()
    }
}

/// A network whose loop begins.
struct Running<'a> {
    id: u64,
    devices: Vec<Configured>,
    layout: Layout,
    plan: Plan<'a>,
}

impl<'a> Running<'a> {
    /// The thread that is the segment is as urgent as the loop less one, so that a loaded machine delays the wire as
    /// little as it can.
    fn tuning_of_segment(&self) -> Tuning {
        match self.plan.tuning.policy {
            Policy::Fifo(priority) if priority > 1 => Tuning::fifo(priority - 1),
            _ => Tuning::default(),
        }
    }

    fn run<P: Port>(
        self,
        mut prepared: Prepared<P>,
        mut law: impl FnMut(&mut Io<'_, '_>) -> Flow,
    ) -> Result<NetworkReport, RunNetworkError> {
        let (id, devices, frames) = (self.id, self.devices.len(), self.layout.frames.len());
        let mut time = RealTime::by(sleep::open(self.plan.sleeper, SleeperOptions::default())?);
        let mut recorder = self.recorder()?;
        let settings = self.plan.settings();
        let mut threads = LoopThreads::new(&settings, RETRY);
        threads.halt = Arc::clone(&self.plan.stop.0);
        let (plan, supervisor) = self.supervised(&threads);
        let mut controller = |context: &mut CycleContext<'_>| {
            if law(&mut Io::new(context, id)) == Flow::Stop {
                context.stop();
            }
        };
        let observer = |report: &CycleReport<'_>| {
            if let Some(recorder) = &mut recorder {
                recorder.cycle(report);
            }
        };
        let ended = std::thread::scope(|scope| {
            let _guard = threads.shutdown_guard();
            // Before this thread is tuned: what it starts would be tuned as it is.
            scope.spawn(|| threads.supervise(supervisor));
            let tuned = tuning::apply(&plan.tuning);
            if let Some(run) = plan.recording {
                run.note_tuning(&CycleSeries::ALL, tuned.measures.iter());
            }
            threads.run_loop(
                &mut prepared,
                &settings,
                &mut time,
                &mut Free,
                &mut controller,
                observer,
            )
        });
        let timing = threads.timing.snapshot();
        if let Some(run) = plan.recording {
            note_loop(run.running(), &timing);
        }
        match ended.by {
            EndedBy::Overrun => Err(RunNetworkError::Overrun(ended.cycles)),
            _ => Ok(NetworkReport {
                devices,
                frames,
                ended,
                timing,
            }),
        }
    }

    /// The supervisor of its devices, and what else was said of it.
    fn supervised(self, threads: &LoopThreads) -> (Plan<'a>, SegmentSupervisor) {
        let mut plan = self.plan;
        let devices = self.devices.into_iter().map(|it| it.0).collect();
        let cycle = plan.rate.interval().as_duration();
        let health = Arc::clone(&threads.health);
        let supervisor = SegmentSupervisor::new(devices, &self.layout, health)
            .with_settings(SupervisorSettings::for_cycle(cycle));
        let supervisor = match plan.setup.take() {
            Some(setup) => supervisor.with_setup(setup),
            None => supervisor,
        };
        (plan, supervisor)
    }

    /// What records the loop, where it is recorded.
    fn recorder(&self) -> Result<Option<CycleRecorder>, RunNetworkError> {
        let Some(run) = self.plan.recording else {
            return Ok(None);
        };
        let cycle = self.plan.rate.interval().as_duration();
        let deadline = self.plan.deadline;
        let series = CycleSeries::add(cycle, deadline, false, |spec| run.series(spec))?;
        run.running().update(|noted| {
            let parameters = [
                ("segment", self.plan.name.clone().into()),
                ("devices", self.devices.len().into()),
                ("output_bytes", self.layout.outputs.into()),
                ("input_bytes", self.layout.inputs.into()),
            ];
            for (name, value) in parameters {
                noted.parameters.insert(name.to_owned(), value);
            }
        });
        Ok(Some(series.begin(run.start(), cycle)))
    }
}

/// A device of a [`Network`].
#[derive(Debug, Clone, Copy)]
pub struct Device<'n> {
    id: u64,
    configured: &'n [Configured],
    layout: &'n Layout,
    position: usize,
}

impl Device<'_> {
    /// Its name, as its memory (SII) tells it; empty where it does not. Allocates.
    #[must_use]
    pub fn name(&self) -> String {
        self.configured[self.position].0.called()
    }

    /// Its position, from 0, in the order in which frames pass devices.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// A handle of an object in its inputs: an index (`0x6064`), or index and sub-index (`(0x6000, 1)`).
    ///
    /// # Errors
    /// [`LookUpError`] where the object is not mapped, or not as a `T`; it says what is.
    pub fn input<T: ObjectValue>(
        &self,
        object: impl Into<Address>,
    ) -> Result<Input<T>, LookUpError> {
        self.place::<T>(object.into(), Direction::Inputs)
            .map(Input::at)
    }

    /// A handle of an object in its outputs, as [`input`](Self::input).
    ///
    /// # Errors
    /// As there.
    pub fn output<T: ObjectValue>(
        &self,
        object: impl Into<Address>,
    ) -> Result<Output<T>, LookUpError> {
        self.place::<T>(object.into(), Direction::Outputs)
            .map(Output::at)
    }

    fn place<T: ObjectValue>(
        &self,
        address: Address,
        direction: Direction,
    ) -> Result<Place, LookUpError> {
        let (_, managers) = &self.configured[self.position];
        let mut all = placed(managers, &self.layout.shares[self.position]);
        all.retain(|it| it.direction == direction && it.entry.address.is_some());
        let word = match direction {
            Direction::Inputs => "inputs",
            Direction::Outputs => "outputs",
        };
        let mut found = all.iter().filter(|it| it.entry.address == Some(address));
        let (first, more) = (found.next(), found.next());
        let Some(first) = first else {
            return Err(LookUpError::NotMapped {
                device: self.name(),
                direction: word,
                address,
                mapped: listed(all.iter().map(described)),
            });
        };
        if more.is_some() {
            return Err(LookUpError::Ambiguous {
                device: self.name(),
                direction: word,
                address,
            });
        }
        let bits = usize::from(first.entry.bits);
        if !fits::<T>(bits, first.entry.data_type) {
            return Err(LookUpError::Type {
                device: self.name(),
                address,
                mapped: described(first),
                asked: T::NAME,
            });
        }
        Ok(Place {
            network: self.id,
            device: self.position,
            bit: first.bit,
            bits,
        })
    }
}

/// An entry for people, as `0x6064:00 Position actual value (INTEGER32, 32 bits)`.
fn described(it: &Placed<'_>) -> String {
    let entry = it.entry;
    let address = entry.address.map(|it| it.to_string()).unwrap_or_default();
    let data_type = match entry.data_type.and_then(super::object::type_name) {
        Some(name) => format!("{name}, "),
        None => String::new(),
    };
    let name = match entry.name.as_str() {
        "" => String::new(),
        name => format!(" {name}"),
    };
    format!("{address}{name} ({data_type}{} bits)", entry.bits)
}

/// The first of them, for people.
fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.collect();
    let mut text = names[..names.len().min(MAX_NAMED)].join(", ");
    if names.len() > MAX_NAMED {
        text += &format!(" and {} more", names.len() - MAX_NAMED);
    }
    match text.is_empty() {
        true => "none".to_owned(),
        false => text,
    }
}

/// What came of a loop. It displays as one line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkReport {
    /// Devices on the segment.
    pub devices: usize,
    /// Frames of a cycle.
    pub frames: usize,
    /// How the loop ended.
    pub ended: Ended,
    /// How well it kept its beat, and what was lost.
    pub timing: Snapshot,
}

impl fmt::Display for NetworkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (timing, frames) = (&self.timing, &self.timing.frames);
        write!(
            f,
            "{} devices, {} in a cycle; {} cycles, {} frames lost, {} late, {} wrong working counters, {} \
             overruns, {} beats left out",
            self.devices,
            numbers::counted(self.frames as u64, "frame"),
            numbers::thousands(timing.cycles),
            numbers::thousands(frames.lost),
            numbers::thousands(frames.late),
            numbers::thousands(frames.working_counter_mismatches),
            numbers::thousands(timing.overruns),
            numbers::thousands(timing.skipped_beats),
        )
    }
}
