use std::time::Duration;

use kadenz_ethercat::control::cyclic::{Overrun, Settings};
use kadenz_ethercat::control::supervisor::Setup;
use kadenz_ethercat::control::threads::Prepared;
use kadenz_ethercat::main_device::bring_up::{self, UntilStopped, retry};
use kadenz_ethercat::main_device::configure::{self, ConfigureError};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, RetryPolicy};
use kadenz_ethercat::main_device::expected::{Expected, Found};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::mapping::{self, MappedManager};
use kadenz_ethercat::port::{Port, WirePort};
use kadenz_rt::beat::Rate;
use kadenz_rt::sleep::SleeperKind;
use kadenz_rt::tuning::Tuning;
use kadenz_rt::units;

use super::error::{BringUpNetworkError, OpenNetworkError};
use super::network::{Network, StopHandle, Wire};
use crate::recording::Recording;

/// How often and how long a question is asked: a computer that is busy answers late, a dead wire is told within a
/// second.
pub(super) const RETRY: RetryPolicy = RetryPolicy {
    answer: Duration::from_millis(100),
    tries: 10,
};
/// How long bring-up is tried again while devices do not answer.
const BRING_UP: Duration = Duration::from_secs(10);
/// How long the loop goes on after it is asked to stop.
const SHUTDOWN: Duration = Duration::from_millis(100);
/// Cycles that a fieldbus has.
const CYCLES: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(20)..=Duration::from_secs(1);

pub(super) enum Connection {
    Interface(Box<dyn Port + Send>),
    Sim(Box<WirePort>),
}

/// A network before it is brought up: its cycle, and what its loop asks of the machine. From [`Network::open`].
#[must_use]
pub struct NetworkBuilder<'a> {
    pub(super) connection: Connection,
    pub(super) plan: Plan<'a>,
}

/// All that was said of a network before.
pub(super) struct Plan<'a> {
    pub(super) name: String,
    pub(super) rate: Rate,
    pub(super) overrun: Overrun,
    pub(super) shutdown: Duration,
    pub(super) deadline: Option<Duration>,
    pub(super) tuning: Tuning,
    pub(super) sleeper: SleeperKind,
    pub(super) recording: Option<&'a Recording>,
    pub(super) setup: Option<Setup>,
    pub(super) stop: StopHandle,
}

impl Plan<'_> {
    pub(super) fn settings(&self) -> Settings {
        let interval = self.rate.interval();
        let cycle = interval.as_duration().max(Duration::from_nanos(1));
        Settings {
            interval,
            mode: Default::default(),
            spin: Duration::ZERO,
            overrun: self.overrun,
            start: None,
            cycles: None,
            shutdown_cycles: (self.shutdown.as_nanos() / cycle.as_nanos()) as u64,
        }
    }
}

impl<'a> NetworkBuilder<'a> {
    pub(super) fn new(name: &str, connection: Connection) -> Result<Self, OpenNetworkError> {
        let plan = Plan {
            name: name.to_owned(),
            rate: "1kHz".parse()?,
            overrun: Overrun::Skip,
            shutdown: SHUTDOWN,
            deadline: None,
            tuning: Tuning::default(),
            sleeper: SleeperKind::recommended(),
            recording: None,
            setup: None,
            stop: StopHandle::default(),
        };
        Ok(Self { connection, plan })
    }

    /// Cycles a second, with the unit: `1kHz`, which is the default.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where that is not a rate, or a cycle would not be 20 us to 1 s long.
    pub fn cycle(mut self, rate: &str) -> Result<Self, OpenNetworkError> {
        self.plan.rate = rate.parse()?;
        let cycle = self.plan.rate.interval().as_duration();
        match CYCLES.contains(&cycle) {
            true => Ok(self),
            false => Err(OpenNetworkError::Cycle(rate.to_owned())),
        }
    }

    /// How late a cycle may begin, with the unit: `100us`. A recording counts what is later as missed.
    ///
    /// # Errors
    /// [`OpenNetworkError`] where that is not a duration.
    pub fn deadline(mut self, limit: &str) -> Result<Self, OpenNetworkError> {
        self.plan.deadline = Some(units::duration(limit)?);
        Ok(self)
    }

    /// What the loop's thread asks of the machine: priority, locked memory, CPUs. What is refused the loop does
    /// without, and a recording has a warning with the remedy.
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.plan.tuning = tuning;
        self
    }

    /// How the loop sleeps; [`SleeperKind::Spin`] wakes up with less delay and takes more of the CPU.
    pub fn sleeper(mut self, sleeper: SleeperKind) -> Self {
        self.plan.sleeper = sleeper;
        self
    }

    /// What becomes of beats that were missed; without this they are skipped.
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.plan.overrun = overrun;
        self
    }

    /// How long the loop goes on after its stop handle was set, so that the control law can bring the axes to rest
    /// ([`Io::is_ending`](super::Io::is_ending)); 100 ms without this.
    pub fn shutdown(mut self, span: Duration) -> Self {
        self.plan.shutdown = span;
        self
    }

    /// Records the loop: how late each cycle began, its period, what the bus and what the control law took
    /// ([`CycleSeries`](super::CycleSeries)), and what was lost.
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

    /// What is to be done with each device in PREOP: objects that it needs, PDOs that are to be assigned. It is done
    /// again with a device that lost its power, on another thread, while the loop runs.
    pub fn setup(
        mut self,
        setup: impl Fn(&mut SubDevice, &mut Registers<'_>) -> Result<(), ConfigureError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.plan.setup = Some(Box::new(setup));
        self
    }

    /// What ends bring-up and the loop, for another thread or a signal's handler.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.plan.stop.clone()
    }

    /// Finds all devices, configures them and brings them to SAFEOP; the loop brings them to OP. While devices do
    /// not answer this is tried again, for 10 s. Waits.
    ///
    /// # Errors
    /// [`BringUpNetworkError`], which names the device.
    pub fn bring_up(self) -> Result<Network<'a>, BringUpNetworkError> {
        let plan = self.plan;
        Ok(match self.connection {
            Connection::Interface(port) => {
                let (prepared, found) = prepare(port, &plan)?;
                Network::new(Wire::Interface(Box::new(prepared)), found, plan)
            }
            Connection::Sim(port) => {
                let (prepared, found) = prepare(*port, &plan)?;
                Network::new(Wire::Sim(Box::new(prepared)), found, plan)
            }
        })
    }
}

impl std::fmt::Debug for NetworkBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkBuilder")
            .field("name", &self.plan.name)
            .field("rate", &self.plan.rate)
            .finish_non_exhaustive()
    }
}

/// A device that is configured, and what its SyncManagers carry.
pub(super) type Configured = (SubDevice, Vec<MappedManager>);

/// All devices in SAFEOP.
fn prepare<P: Port>(
    port: P,
    plan: &Plan<'_>,
) -> Result<(Prepared<P>, Vec<Configured>), BringUpNetworkError> {
    let mut link = Link::of_process(port);
    bring_up::ensure_alone(&mut link, &plan.name)?;
    let is_stopped = || plan.stop.is_set();
    let mut way = BlockingExchange {
        link: &mut link,
        patience: RETRY,
    };
    let mut way = UntilStopped {
        segment: &mut way,
        is_stopped: &is_stopped,
    };
    let mut expected = Expected::default();
    let again = |error: &BringUpNetworkError| !is_stopped() && error.is_passing();
    let attempt = retry(
        &mut way,
        BRING_UP,
        |segment| {
            expected.bring_up(segment, Found::ensure_complete, |registers, devices| {
                configure_all(registers, devices, plan.setup.as_ref())
            })
        },
        again,
    );
    match attempt {
        Ok((devices, (cycle, mapped))) => {
            let found = devices.into_iter().zip(mapped).collect();
            Ok((Prepared { link, cycle }, found))
        }
        Err(_) if is_stopped() => Err(BringUpNetworkError::Stopped),
        Err(error) => Err(error),
    }
}

fn configure_all(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    setup: Option<&Setup>,
) -> Result<(Cycle, Vec<Vec<MappedManager>>), BringUpNetworkError> {
    bring_up::configure(registers, devices)?;
    let mut mapped = Vec::with_capacity(devices.len());
    for device in devices.iter_mut() {
        if let Some(setup) = setup {
            let done = setup(device, registers)
                .and_then(|()| configure::learn_process_data(registers, device));
            done.map_err(|source| BringUpNetworkError::Setup {
                device: device.label(),
                source,
            })?;
        }
        let managers = mapping::read(registers, device);
        mapped.push(managers.map_err(|source| BringUpNetworkError::Mapping {
            device: device.label(),
            source,
        })?);
    }
    Ok((bring_up::prepare(registers, devices, None)?, mapped))
}
