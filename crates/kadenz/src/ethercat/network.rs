use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kadenz_ethercat::control::cyclic::EndedBy;
use kadenz_ethercat::control::supervisor::{SegmentSupervisor, SupervisorSettings};
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::RetryPolicy;
use kadenz_ethercat::main_device::layout::Layout;
use kadenz_ethercat::port::{self, Port};
use kadenz_ethercat::running_loop::threads::{LoopThreads, Prepared};
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::file::{MAX_DEVICES, SegmentPlan};
use kadenz_ethercat::sim::humanoid::humanoid;
use kadenz_ethercat::sim::serve::{Pace, Server};
use kadenz_record::run::folder::RunningRun;
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::sleep::{self, SleeperOptions};
use kadenz_rt::tuning::{self, Policy, Tuning};

use super::acyclic_access::{EndRequests, NetworkMonitor};
use super::bring_up::{Configured, Mapped};
use super::builder::{Connection, NetworkBuilder, Plan};
use super::control_socket::ControlContext;
use super::device::{Device, LookedUpOutputs, position_of};
use super::error::{BringUpNetworkError, LookUpError, OpenNetworkError, RunNetworkError};
use super::event::{KEPT_NOTICES, NetworkEvent};
use super::io::{Flow, Io};
use super::network_loop::{LoopParts, NetworkLoop, NetworkReport};
use super::process_image::ProcessImage;
use super::recorder::{self, CycleSeries, NetworkRecorder};
use crate::machine;
use crate::recording::Recording;

/// An EtherCAT segment whose devices are found and configured, and wait in SAFEOP for their loop.
///
/// See the [module](super).
pub struct Network<'a> {
    id: u64,
    wire: Wire,
    layout: Layout,
    mapped: Vec<Mapped>,
    outputs: LookedUpOutputs,
    supervisor: SegmentSupervisor,
    threads: LoopThreads,
    /// Dropped when the loop has ended, or where it does not begin.
    _requests: EndRequests,
    parts: LoopParts,
    image: Arc<ProcessImage>,
    record: Option<RunRecording<'a>>,
    plan: Plan<'a>,
}

/// A run that is being recorded by [`kadenz_record`], for [`Network::record_in`].
#[derive(Clone, Copy, Debug)]
pub struct RunRecording<'a> {
    /// The run that the network's series are added to.
    pub running: &'a RunningRun,
    /// When the run began, on the clock that [`now`](kadenz_rt::clock::now) reads; times of samples count from here.
    pub start: MonotonicTime,
    /// How late a cycle may begin.
    pub deadline: Option<Duration>,
    /// Whether every sample is kept.
    pub raw: bool,
}

impl<'a> RunRecording<'a> {
    /// A recording of this crate.
    pub(super) fn of(run: &'a Recording, deadline: Option<Duration>) -> Self {
        Self {
            running: run.running(),
            start: run.start(),
            deadline,
            raw: run.keeps_samples(),
        }
    }
}

/// The connection to the segment.
pub(super) enum Wire {
    Interface(Box<Prepared<Box<dyn Port + Send>>>),
    /// A virtual segment, in virtual time until the loop runs.
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

    /// Whether the handle was set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A handle that is set when the flag is set, for example by a signal's handler.
impl From<Arc<AtomicBool>> for StopHandle {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

impl Network<'static> {
    /// Opens the segment that is plugged into a network interface, for example `eth1`. Linux; needs the right to raw
    /// frames (root, or CAP_NET_RAW).
    ///
    /// # Errors
    /// [`OpenNetworkError`] where there is no such interface, or the right is missing.
    pub fn open(interface: &str) -> Result<NetworkBuilder<'static>, OpenNetworkError> {
        let port = interface_port(interface).map_err(OpenNetworkError::Interface)?;
        NetworkBuilder::new(interface, Connection::Interface(port))
    }

    /// Opens a segment by a text: `eth1` is an interface, `sim:59` as [`sim`](Self::sim), `sim:robot.toml` the segment
    /// that the file describes.
    ///
    /// # Errors
    /// As of [`open`](Self::open), [`sim`](Self::sim) and [`simulated`](Self::simulated).
    pub fn open_segment(segment: &str) -> Result<NetworkBuilder<'static>, OpenNetworkError> {
        let Some(of) = segment.strip_prefix("sim:") else {
            return Self::open(segment);
        };
        match of.parse() {
            Ok(devices) => Self::sim(devices),
            Err(_) => Self::simulated(&SegmentPlan::read(std::path::Path::new(of))?),
        }
    }

    /// A virtual humanoid of 1 to 200 devices, 59 for the complete one: without hardware or rights, in real time.
    ///
    /// # Errors
    /// [`OpenNetworkError::Devices`] where the number is outside that range.
    pub fn sim(devices: usize) -> Result<NetworkBuilder<'static>, OpenNetworkError> {
        match (1..=MAX_DEVICES).contains(&devices) {
            true => Self::simulated(&humanoid(devices)),
            false => Err(OpenNetworkError::Devices(devices)),
        }
    }

    /// A virtual segment of devices and faults of your own.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where it cannot be made.
    pub fn simulated(plan: &SegmentPlan) -> Result<NetworkBuilder<'static>, OpenNetworkError> {
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
    pub(super) fn new(
        wire: Wire,
        devices: Vec<SubDevice>,
        configured: Configured,
        plan: Plan<'a>,
    ) -> Result<Self, BringUpNetworkError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let layout = match &wire {
            Wire::Interface(prepared) => prepared.cycle.layout(),
            Wire::Sim(prepared) => prepared.cycle.layout(),
        };
        let layout = layout.clone();
        let settings = plan.settings();
        let axes: Vec<_> = configured
            .runners
            .iter()
            .map(|it| it.axis().device())
            .collect();
        let image = ProcessImage::open(
            plan.readers,
            plan.control.name(),
            &layout,
            &configured.mapped,
            &axes,
            plan.cycle(),
            |why| plan.events.note(why),
        )?;
        let threads = LoopThreads::new(&settings, RetryPolicy::BUSY_HOST);
        let health = Arc::clone(&threads.health);
        Ok(Self {
            id: NUMBER.fetch_add(1, Ordering::Relaxed),
            supervisor: SegmentSupervisor::new(devices, &layout, health)
                .with_settings(SupervisorSettings::for_cycle(plan.cycle()))
                .with_setup(configured.setup),
            wire,
            layout,
            mapped: configured.mapped,
            outputs: LookedUpOutputs::default(),
            _requests: EndRequests(Arc::clone(&threads.queue)),
            threads,
            parts: LoopParts {
                settings,
                runners: configured.runners,
                policy: configured.policy,
                phase: configured.phase,
            },
            image: Arc::new(image),
            record: plan
                .recording
                .map(|run| RunRecording::of(run, plan.deadline)),
            plan,
        })
    }

    /// All devices, in the order in which frames pass them.
    pub fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        (0..self.mapped.len()).map(|position| self.at(position))
    }

    /// The device of a name: the long one of its memory (SII), as `left knee`, or the short one where no other has it.
    ///
    /// # Errors
    /// [`LookUpError`] where no device or several have that name; the error lists the names or positions.
    pub fn device(&self, name: &str) -> Result<Device<'_>, LookUpError> {
        Ok(self.at(position_of(&self.supervisor.device_table(), name)?))
    }

    /// The device at a position, from 0.
    ///
    /// # Errors
    /// [`LookUpError::NoPosition`].
    pub fn device_at(&self, position: usize) -> Result<Device<'_>, LookUpError> {
        let last = self.mapped.len().saturating_sub(1);
        match position < self.mapped.len() {
            true => Ok(self.at(position)),
            false => Err(LookUpError::NoPosition { position, last }),
        }
    }

    fn at(&self, position: usize) -> Device<'_> {
        Device {
            id: self.id,
            mapped: &self.mapped,
            layout: &self.layout,
            position,
            outputs: &self.outputs,
        }
    }

    pub(super) fn cycle(&self) -> Duration {
        self.plan.cycle()
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.plan.deadline
    }

    /// A handle that ends the loop, for another thread or a signal's handler.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.plan.stop.clone()
    }

    /// The live state of the loop, its devices and its axes.
    #[must_use]
    pub fn monitor(&self) -> NetworkMonitor {
        NetworkMonitor {
            timing: Arc::clone(&self.threads.timing),
            health: Arc::clone(&self.threads.health),
            notices: self.supervisor.notices(),
            device_table: self.supervisor.device_table(),
            axes: Arc::clone(&self.threads.handle),
            queue: Arc::clone(&self.threads.queue),
        }
    }

    /// Number of axes that the motion moves.
    #[must_use]
    pub fn axes(&self) -> usize {
        self.parts.runners.len()
    }

    /// Records the loop, as [`NetworkBuilder::record`] does, into a run that your program writes by `kadenz_record`.
    #[must_use]
    pub fn record_in<'b>(self, run: RunRecording<'b>) -> Network<'b>
    where
        'a: 'b,
    {
        Network {
            record: Some(run),
            ..self
        }
    }

    /// Runs the loop on the calling thread, tuned, until the law returns [`Flow::Stop`], or to the end of its shutdown
    /// cycles after the law returned [`Flow::ShutDown`] or the stop handle was set. A supervisor on a thread of its own
    /// brings devices to OP, and back to it after a fault; no loss of frames, cables or devices ends the loop. At the
    /// end, also where the law panics, the loop leaves devices in PREOP.
    ///
    /// The law is called from the first cycle on, while devices are still on their way to OP; [`Io::is_fresh`] says
    /// whether an input is new. A [`motion`](NetworkBuilder::motion) moves its axes before the law, and requests of the
    /// [control socket](NetworkBuilder::control_socket) set outputs after it.
    ///
    /// # Errors
    /// [`RunNetworkError`], before the first cycle; and where the loop ended by
    /// [`Overrun::Stop`](kadenz_ethercat::control::cyclic::Overrun::Stop).
    ///
    /// # Real-time safety
    /// After its start the loop allocates nothing, takes no lock, and makes no system call but to sleep, to read the
    /// clock, to send and receive frames, and to wake a thread that waits for an acyclic request (an SDO, a register)
    /// when that request ends: a futex call, by `unpark`. The law must do no more. With
    /// [`Readers::PiMutex`](super::Readers::PiMutex) the loop waits for one reader at most.
    pub fn run(
        self,
        law: impl FnMut(&mut Io<'_, '_>) -> Flow,
    ) -> Result<NetworkReport, RunNetworkError> {
        let mut sleeper = sleep::open(self.plan.sleeper, SleeperOptions::default())?;
        let (tuning, record) = (self.plan.tuning.clone(), self.record);
        let work = |network_loop: NetworkLoop| {
            let tuned = tuning::apply(&tuning);
            if let Some(record) = record {
                machine::note_tuning(record.running, &CycleSeries::ALL, tuned.measures.iter());
            }
            network_loop.run(None, sleeper.as_mut(), law);
        };
        let ((), report) = self.with_loop(work)?;
        let Some(report) = report else {
            unreachable!("the work above runs the loop, which leaves its outcome")
        };
        match report.ended.by {
            EndedBy::Overrun => Err(RunNetworkError::Overrun(report.ended.cycles)),
            _ => Ok(report),
        }
    }

    /// Starts the threads beside the loop, and passes the loop to `work`, which runs it on a thread of its own choice.
    /// Returns the result of `work`, and the loop's report, where it ran. `work` returns after the loop has ended: it
    /// joins the thread. Where it returns earlier, this stops the loop, and waits for its shutdown and 5 s at most.
    ///
    /// `work` is called on the calling thread. It tunes the threads that it starts.
    ///
    /// # Errors
    /// [`RunNetworkError::Series`], before `work` is called.
    pub fn with_loop<R>(
        self,
        work: impl FnOnce(NetworkLoop) -> R,
    ) -> Result<(R, Option<NetworkReport>), RunNetworkError> {
        let recorder = self.record.map(|run| self.recorder(run)).transpose()?;
        if self.plan.control.name().is_none()
            && let Some(idle) = self.outputs.idle_drives(&self.mapped, &self.parts.runners)
        {
            recorder::warn_of_idle_drives(self.record, &self.plan.events, &idle);
        }
        // The loop's priority less one, so that a loaded machine delays the virtual wire as little as possible.
        let tuning = match self.plan.tuning.policy {
            Policy::Fifo(priority) if priority > 1 => Tuning::fifo(priority - 1),
            _ => Tuning::default(),
        };
        let beside = Beside {
            devices: self.mapped.len(),
            frames: self.layout.frames.len(),
            supervisor: self.supervisor,
            threads: self.threads,
            image: self.image,
            record: self.record,
            plan: self.plan,
        };
        let network_loop =
            |prepared| NetworkLoop::new(self.id, prepared, self.parts, recorder, &beside);
        Ok(match self.wire {
            Wire::Interface(prepared) => {
                let network_loop = network_loop(*prepared);
                beside.work(network_loop, work)
            }
            Wire::Sim(prepared) => {
                let (near, far) = port::pair();
                let (prepared, wire) = prepared.over(Box::new(near) as Box<dyn Port + Send>);
                let network_loop = network_loop(prepared);
                let server = Server::new(far, wire.into_segment(), Pace::AtOnce);
                server.serve_while(&tuning, || beside.work(network_loop, work))
            }
        })
    }

    /// The recorder of the loop in a run, with the segment's description.
    fn recorder(&self, run: RunRecording<'_>) -> Result<NetworkRecorder, RunNetworkError> {
        let follows_reference = self.parts.phase.is_some();
        let recorder = NetworkRecorder::add(run, self.plan.cycle(), follows_reference)?;
        run.running.update(|noted| {
            let parameters = [
                ("segment", self.plan.name.clone().into()),
                ("devices", self.mapped.len().into()),
                ("axes", self.axes().into()),
                ("output_bytes", self.layout.outputs.into()),
                ("input_bytes", self.layout.inputs.into()),
            ];
            for (name, value) in parameters {
                noted.parameters.insert(name.to_owned(), value);
            }
        });
        Ok(recorder)
    }
}

impl fmt::Debug for Network<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("name", &self.plan.name)
            .field("devices", &self.mapped.len())
            .finish_non_exhaustive()
    }
}

/// The threads beside the loop.
pub(super) struct Beside<'a> {
    devices: usize,
    frames: usize,
    pub(super) supervisor: SegmentSupervisor,
    pub(super) threads: LoopThreads,
    pub(super) image: Arc<ProcessImage>,
    record: Option<RunRecording<'a>>,
    pub(super) plan: Plan<'a>,
}

impl Beside<'_> {
    /// Runs supervisor, fault monitor and control socket, until the work is done and all have ended.
    fn work<R>(
        self,
        network_loop: NetworkLoop,
        work: impl FnOnce(NetworkLoop) -> R,
    ) -> (R, Option<NetworkReport>) {
        let (threads, supervisor) = (self.threads, self.supervisor);
        let Plan {
            control, events, ..
        } = self.plan;
        let (device_table, notices) = (supervisor.device_table(), supervisor.notices());
        let listening = events.is_heard().then(|| notices.subscribe(KEPT_NOTICES));
        let outcome = network_loop.outcome();
        let context = ControlContext {
            device_table: &device_table,
            notices: &notices,
            threads: &threads,
            image: &self.image,
        };
        let worked = std::thread::scope(|scope| {
            let _guard = threads.shutdown_guard();
            // Before the work begins: threads inherit the tuning of the thread that starts them.
            scope.spawn(|| control.serve(&context));
            if self.image.has_axes() {
                scope.spawn(|| {
                    threads.monitor_faults(&device_table, |stopped| {
                        events.send(&NetworkEvent::AxesStopped(stopped));
                    });
                });
            }
            if let Some(notices) = listening {
                scope.spawn(|| {
                    threads.monitor_incidents(notices, self.devices, |incident| {
                        events.send(&NetworkEvent::Incident(incident));
                    });
                });
            }
            scope.spawn(|| threads.supervise(supervisor));
            work(network_loop)
        });
        let report = outcome.report(self.devices, self.frames, &threads);
        if let (Some(run), Some(report)) = (self.record, &report) {
            recorder::note(run.running, report, self.image.waits());
        }
        (worked, report)
    }
}
