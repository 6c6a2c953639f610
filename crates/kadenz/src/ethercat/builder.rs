use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kadenz_ethercat::control::cyclic::{LoopMode, LoopSettings, Overrun};
use kadenz_ethercat::control::supervisor::Setup;
use kadenz_ethercat::main_device::configure::ConfigureError;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::main_device::expected::Expected;
use kadenz_ethercat::main_device::from_esi::{Descriptions, Matched};
use kadenz_ethercat::motion;
use kadenz_ethercat::port::Port;
#[cfg(target_os = "linux")]
use kadenz_ethercat::running_loop::control_socket::{ControlServer, ControlServerError};
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::file::SegmentPlan;
use kadenz_rt::beat::{Interval, Rate};
use kadenz_rt::sleep::SleeperKind;
use kadenz_rt::tuning::Tuning;
use kadenz_rt::units;

use super::acyclic_access::DeviceSetup;
use super::bring_up::bring_up;
use super::control_socket::ControlSocket;
use super::error::{BringUpNetworkError, OpenNetworkError};
use super::event::{Events, NetworkEvent};
use super::network::{Network, StopHandle, Wire};
use super::process_image::Readers;
use crate::recording::Recording;

/// How long bring-up is tried again while devices do not answer.
const BRING_UP: Duration = Duration::from_secs(10);
/// How long the loop continues after its stop handle was set.
const SHUTDOWN: Duration = Duration::from_millis(100);
/// Valid cycle times of a fieldbus.
const CYCLES: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(20)..=Duration::from_secs(1);

pub(super) enum Connection {
    Interface(Box<dyn Port + Send>),
    Sim(Box<WirePort>),
}

/// A network before it is brought up: its cycle, the tuning of its loop, its devices, and their motion. From
/// [`Network::open`].
#[must_use]
pub struct NetworkBuilder<'a> {
    pub(super) connection: Connection,
    pub(super) plan: Plan<'a>,
}

/// What happens with expected devices that do not answer within the bring-up timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Missing {
    /// Bring-up fails, and the error names them.
    #[default]
    Refused,
    /// The loop starts without them. They are configured by the file, and brought to OP when they come.
    JoinLater,
}

/// The motion of the drives.
pub(super) enum Motion {
    Planned(motion::Plan),
    Demo,
}

/// The user's choice among the options of ESI files.
type Chooser = Box<
    dyn Fn(&[SubDevice], &mut Matched) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync,
>;

/// All settings of a network before its bring-up.
pub(super) struct Plan<'a> {
    pub(super) name: String,
    pub(super) interval: Interval,
    pub(super) mode: LoopMode,
    pub(super) overrun: Overrun,
    pub(super) shutdown: Duration,
    pub(super) warm_up: Duration,
    pub(super) duration: Option<Duration>,
    pub(super) deadline: Option<Duration>,
    pub(super) tuning: Tuning,
    pub(super) sleeper: SleeperKind,
    pub(super) recording: Option<&'a Recording>,
    pub(super) setup: Option<Arc<Setup>>,
    pub(super) stop: StopHandle,
    pub(super) descriptions: Descriptions,
    pub(super) choose: Option<Chooser>,
    pub(super) bring_up_timeout: Duration,
    pub(super) expected: Expected,
    pub(super) missing: Missing,
    pub(super) follows_reference: bool,
    pub(super) sync0: Option<Duration>,
    pub(super) motion: Option<Motion>,
    pub(super) control: ControlSocket,
    pub(super) readers: Readers,
    pub(super) events: Events,
}

impl Plan<'_> {
    /// The loop's settings. Its shutdown takes as long as the user says, or as axes need to come to rest.
    pub(super) fn settings(&self) -> LoopSettings {
        let cycle = self.cycle();
        let said = u64::try_from(self.shutdown.as_nanos() / cycle.as_nanos()).unwrap_or(u64::MAX);
        let safety = match &self.motion {
            Some(Motion::Planned(motion)) => Some(motion.safety),
            Some(Motion::Demo) => Some(motion::Policy::default()),
            None => None,
        };
        let axes = safety.map_or(0, |it| it.shutdown_cycles(cycle));
        LoopSettings {
            interval: self.interval,
            mode: self.mode,
            spin: Duration::ZERO,
            overrun: self.overrun,
            start: None,
            cycles: None,
            shutdown_cycles: said.max(axes),
        }
    }

    pub(super) fn cycle(&self) -> Duration {
        self.interval.as_duration().max(Duration::from_nanos(1))
    }

    /// Cycles until the loop is asked to end, with those of the warm-up.
    pub(super) fn beats(&self) -> Option<u64> {
        let beats = self
            .duration
            .map(|it| (self.warm_up + it).as_nanos() / self.cycle().as_nanos());
        beats.map(|it| u64::try_from(it).unwrap_or(u64::MAX))
    }
}

impl<'a> NetworkBuilder<'a> {
    pub(super) fn new(name: &str, connection: Connection) -> Result<Self, OpenNetworkError> {
        let plan = Plan {
            name: name.to_owned(),
            interval: "1kHz".parse::<Rate>()?.interval(),
            mode: LoopMode::Pipelined,
            overrun: Overrun::Skip,
            shutdown: SHUTDOWN,
            warm_up: Duration::ZERO,
            duration: None,
            deadline: None,
            tuning: Tuning::default(),
            sleeper: SleeperKind::recommended(),
            recording: None,
            setup: None,
            stop: StopHandle::default(),
            descriptions: Descriptions::default(),
            choose: None,
            bring_up_timeout: BRING_UP,
            expected: Expected::default(),
            missing: Missing::Refused,
            follows_reference: false,
            sync0: None,
            motion: None,
            control: ControlSocket::default(),
            readers: Readers::Seqlock,
            events: Events::default(),
        };
        Ok(Self { connection, plan })
    }

    /// The segment's name in a recording and in errors; by default the text that opened it.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.plan.name);
        self
    }

    /// Cycles a second, with the unit: `1kHz`, which is the default.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where the text is not a rate, or a cycle would not be 20 us to 1 s long.
    pub fn cycle(self, rate: &str) -> Result<Self, OpenNetworkError> {
        self.interval(rate.parse::<Rate>()?.interval())
            .map_err(|_| OpenNetworkError::Cycle(rate.to_owned()))
    }

    /// Time from cycle to cycle, as a value.
    ///
    /// # Errors
    /// [`OpenNetworkError::Cycle`] where the interval is not 20 us to 1 s long.
    pub fn interval(mut self, interval: Interval) -> Result<Self, OpenNetworkError> {
        self.plan.interval = interval;
        match CYCLES.contains(&interval.as_duration()) {
            true => Ok(self),
            false => Err(OpenNetworkError::Cycle(interval.to_string())),
        }
    }

    /// When the loop receives the answers; by default in the next cycle ([`LoopMode::Pipelined`]).
    pub fn mode(mut self, mode: LoopMode) -> Self {
        self.plan.mode = mode;
        self
    }

    /// How late a cycle may begin, with the unit: `100us`. A recording counts what is later as missed.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where the text is not a duration.
    pub fn deadline(mut self, limit: &str) -> Result<Self, OpenNetworkError> {
        self.plan.deadline = Some(units::duration(limit)?);
        Ok(self)
    }

    /// The requested tuning of the loop's thread: priority, locked memory, CPUs. Where the system refuses a part, the
    /// loop runs without it, and a recording has a warning with the remedy.
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.plan.tuning = tuning;
        self
    }

    /// How the loop sleeps; [`SleeperKind::Spin`] wakes up with less delay and takes more of the CPU.
    pub fn sleeper(mut self, sleeper: SleeperKind) -> Self {
        self.plan.sleeper = sleeper;
        self
    }

    /// What the loop does with missed release times; by default it skips them.
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.plan.overrun = overrun;
        self
    }

    /// How long the loop continues after its stop handle was set or the law returned
    /// [`Flow::ShutDown`](super::Flow::ShutDown), so that the control law can bring the axes to rest
    /// ([`Io::is_ending`](super::Io::is_ending)); 100 ms by default. With a [`motion`](Self::motion) the loop ends as
    /// soon as its axes are at rest, and the span grows where they need more.
    pub fn shutdown(mut self, span: Duration) -> Self {
        self.plan.shutdown = span;
        self
    }

    /// How long the loop runs before the first recorded cycle; 0 by default. Series of the
    /// [`reference_clock`](Self::reference_clock) hold every cycle, also those of the warm-up and the shutdown.
    pub fn warm_up(mut self, span: Duration) -> Self {
        self.plan.warm_up = span;
        self
    }

    /// Stops the loop, as its stop handle would, so long after the warm-up. Of later cycles only the series of the
    /// [`reference_clock`](Self::reference_clock) are recorded.
    pub fn duration(mut self, span: Duration) -> Self {
        self.plan.duration = Some(span);
        self
    }

    /// Records the loop: the lateness of each cycle, its period, the time on the bus and in the control law
    /// ([`CycleSeries`](super::CycleSeries)), and the lost frames.
    pub fn record<'b>(self, run: &'b Recording) -> NetworkBuilder<'b>
    where
        'a: 'b,
    {
        let plan = Plan {
            recording: Some(run),
            ..self.plan
        };
        NetworkBuilder {
            connection: self.connection,
            plan,
        }
    }

    /// Sets up each device in PREOP: writes objects, assigns PDOs. The loop repeats it, on another thread, with a
    /// device that lost its power.
    ///
    /// ```
    /// use kadenz::ethercat::Network;
    ///
    /// let net = Network::sim(10)?.setup(|device| match device.name().as_str() {
    ///     "left knee" => {
    ///         device.write(0x6060, 8_i8)?; // cyclic synchronous position
    ///         device.write(0x6065, 0x2_0000_u32) // following error window
    ///     }
    ///     _ => Ok(()),
    /// });
    /// let net = net.bring_up()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn setup(
        mut self,
        setup: impl Fn(&mut DeviceSetup<'_, '_, '_>) -> Result<(), ConfigureError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let setup = move |device: &mut SubDevice, registers: &mut Registers<'_>| {
            setup(&mut DeviceSetup { device, registers })
        };
        self.plan.setup = Some(Arc::new(Box::new(setup)));
        self
    }

    /// Configures devices by an ESI file of their vendor, or the files of a folder: PDOs, values that are written
    /// before SAFEOP, SYNC0, names. Devices without a description are configured by their SII.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where the files cannot be read, or describe no device.
    pub fn esi(self, path: impl AsRef<Path>) -> Result<Self, OpenNetworkError> {
        let path = path.as_ref();
        let descriptions = Descriptions::read(path)?;
        match descriptions.is_empty() {
            true => Err(OpenNetworkError::NoDescription(path.to_owned())),
            false => Ok(self.descriptions(descriptions)),
        }
    }

    /// As [`esi`](Self::esi), with descriptions that are already read.
    pub fn descriptions(mut self, descriptions: Descriptions) -> Self {
        self.plan.descriptions = descriptions;
        self
    }

    /// Chooses among the options of ESI files, by [`Matched::choose`]: PDOs, operation modes. Called before devices are
    /// configured, at each try. An error ends bring-up as [`BringUpNetworkError::Choice`].
    pub fn choose<E: Into<Box<dyn Error + Send + Sync>>>(
        mut self,
        choose: impl Fn(&[SubDevice], &mut Matched) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.plan.choose = Some(Box::new(move |devices, matched| {
            choose(devices, matched).map_err(Into::into)
        }));
        self
    }

    /// How long bring-up is tried again while devices do not answer; 10 s by default.
    pub fn bring_up_timeout(mut self, span: Duration) -> Self {
        self.plan.bring_up_timeout = span;
        self
    }

    /// All devices of the segment, as a segment's TOML file: bring-up waits for them. By default it waits for the
    /// largest number seen during its tries.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where the file is not a segment's.
    pub fn expected(
        mut self,
        file: impl AsRef<Path>,
        missing: Missing,
    ) -> Result<Self, OpenNetworkError> {
        self.plan.expected = Expected::of(SegmentPlan::read(file.as_ref())?)?;
        self.plan.missing = missing;
        Ok(self)
    }

    /// Sets and aligns all distributed clocks, and lets the loop follow the reference clock. A recording has its offset
    /// and drift as series.
    pub fn reference_clock(mut self) -> Self {
        self.plan.follows_reference = true;
        self
    }

    /// Starts SYNC0 (and SYNC1) on each device whose SII or ESI file requests it, by this shift later than each whole
    /// cycle. SYNC0 needs the [`reference_clock`](Self::reference_clock), which the loop then follows. The shift must
    /// be shorter than the cycle; otherwise bring-up fails.
    pub fn sync0(mut self, shift: Duration) -> Self {
        self.plan.sync0 = Some(shift);
        self.reference_clock()
    }

    /// Moves drives by a plan, for example of a [file](kadenz_ethercat::motion::file), before the control law of each
    /// cycle. The plan determines cycle, mode and the treatment of missed release times, unless they are set after
    /// this.
    ///
    /// # Errors
    /// [`OpenNetworkError::Cycle`] where the plan's cycle is not 20 us to 1 s long.
    pub fn motion(mut self, plan: motion::Plan) -> Result<Self, OpenNetworkError> {
        let interval = Interval::try_from(plan.cycle);
        let interval =
            interval.map_err(|it| OpenNetworkError::Cycle(format!("{:?} ({it})", plan.cycle)))?;
        (self.plan.mode, self.plan.overrun) = (plan.mode, plan.overrun);
        self.plan.motion = Some(Motion::Planned(plan));
        self.interval(interval)
    }

    /// Moves every drive back and forth by 0.2 rad: only where nothing can be hit.
    pub fn demo_motion(mut self) -> Self {
        self.plan.motion = Some(Motion::Demo);
        self
    }

    /// Opens a socket of that name, at which other programs of this user see the devices and the process data, set
    /// outputs, and stop and reset axes: `kadenz ethercat stats NAME`, and all commands with `--loop NAME`. It answers
    /// during bring-up and while the loop runs. Linux.
    ///
    /// # Errors
    /// [`ControlServerError`] where the name is in use, or the folder is another user's.
    #[cfg(target_os = "linux")]
    pub fn control_socket(self, name: &str) -> Result<Self, ControlServerError> {
        Ok(self.control_server(ControlServer::open(name)?))
    }

    /// As [`control_socket`](Self::control_socket), with a server that is already open.
    #[cfg(target_os = "linux")]
    pub fn control_server(mut self, server: ControlServer) -> Self {
        // Each client needs a descriptor. Where the limit cannot be raised, it bounds the number of clients.
        let _ = kadenz_rt::net::listener::raise_open_files();
        self.plan.control.server = Some(server);
        self
    }

    /// How other programs read the process image that the control socket shows.
    pub fn process_image(mut self, readers: Readers) -> Self {
        self.plan.readers = readers;
        self
    }

    /// Sends events for the user during bring-up and while the loop runs, for example
    /// `lost: 8 (left knee), link down at port 1 of 7 (left hip pitch)`; never in the cycles of the loop.
    pub fn on_event(
        mut self,
        listener: impl Fn(&NetworkEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.plan.events = Events(Some(Box::new(listener)));
        self
    }

    /// A handle that ends bring-up and the loop, for another thread or a signal's handler.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.plan.stop.clone()
    }

    /// Uses an existing handle to end bring-up and the loop.
    pub fn stopped_by(mut self, stop: StopHandle) -> Self {
        self.plan.stop = stop;
        self
    }

    /// Finds all devices, configures them and brings them to SAFEOP; the loop brings them to OP. While devices do not
    /// answer, it tries again, for as long as the [timeout](Self::bring_up_timeout). Blocks.
    ///
    /// # Errors
    /// [`BringUpNetworkError`], which names the device where one caused it.
    pub fn bring_up(self) -> Result<Network<'a>, BringUpNetworkError> {
        let mut plan = self.plan;
        if plan.follows_reference && plan.missing == Missing::JoinLater {
            return Err(BringUpNetworkError::ClockOfMissing);
        }
        let cycle = plan.interval.as_duration();
        if let Some(shift) = plan.sync0.filter(|it| *it >= cycle) {
            return Err(BringUpNetworkError::Shift { shift, cycle });
        }
        match self.connection {
            Connection::Interface(port) => {
                let (prepared, devices, configured) = bring_up(port, &mut plan)?;
                let wire = Wire::Interface(Box::new(prepared));
                Network::new(wire, devices, configured, plan)
            }
            Connection::Sim(port) => {
                let (prepared, devices, configured) = bring_up(*port, &mut plan)?;
                let wire = Wire::Sim(Box::new(prepared));
                Network::new(wire, devices, configured, plan)
            }
        }
    }
}

impl std::fmt::Debug for NetworkBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkBuilder")
            .field("name", &self.plan.name)
            .field("interval", &self.plan.interval)
            .finish_non_exhaustive()
    }
}
