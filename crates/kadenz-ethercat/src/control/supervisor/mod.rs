//! The supervisor: brings all devices to OP while the loop runs, and back after a fault.
//!
//! It is an ordinary thread whose questions the loop carries, at most one a cycle, so it neither stops nor delays
//! process data. The loop's [`Health`] shows it cheaply that something is wrong; then, and every
//! [`SupervisorSettings::look_every`] besides, it looks at every position: which SubDevice is there, in which
//! state, with which links. It believes a change only when it saw it twice, since a working counter may be skewed
//! or a bit flipped.
//!
//! - A device that kept its power behind a cut cable still has its address and its settings: its error is
//!   acknowledged and it goes back to its state.
//! - A device that lost power has no address. It gets an address that no device ever had, by which the supervisor
//!   reads its identity (positions shift when a device before it comes or goes), and then gets its own and all
//!   its settings.
//! - A device that was configured but absent at the start is the same case.
//! - An unknown device keeps its temporary address, is brought to INIT without FMMUs, and raises a notice.
//!
//! The supervisor tries a device that refuses again after pauses that grow, up to [`MAX_PAUSE`].
//!
//! In real time a supervisor runs on a thread of its own, by a
//! [`AcyclicClient`](crate::main_device::acyclic::AcyclicClient) of the loop's queue, with `&*health`
//! among the loop's observers. In virtual time a [`InlineLoop`](super::inline_loop::InlineLoop) is both:
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! use kadenz_ethercat::control::{inline_loop::InlineLoop, supervisor::SegmentSupervisor};
//! use kadenz_ethercat::main_device::exchange::Exchange;
//! # use kadenz_ethercat::main_device::bring_up::find;
//! # use kadenz_ethercat::main_device::cycle::{BESIDES, Cycle};
//! # use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
//! # use kadenz_ethercat::main_device::{layout::{Layout, room}, link::Link};
//! # use kadenz_ethercat::sim::WirePort;
//! # use kadenz_ethercat::sim::humanoid::humanoid;
//! # let mut link = Link::new(WirePort::new(humanoid(6).build()?), 1);
//! # let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! # let devices = find(&mut Registers::by(&mut exchange))?;
//! # let demands: Vec<_> = devices.iter().map(|it| it.process_data.demand()).collect();
//! let layout = Layout::of(&demands, room(BESIDES))?;
//! let cycle = Cycle::new(layout.clone(), None)?;
//! let mut inline_loop = InlineLoop::new(link, cycle, Duration::from_millis(1));
//! let mut supervisor = SegmentSupervisor::new(devices, &layout, inline_loop.health());
//! let mut notices = supervisor.notices().subscribe(100);
//! while !supervisor.device_table().is_well() {
//!     let pause = supervisor.step(&mut inline_loop)?;
//!     inline_loop.pause(pause);
//! }
//! let lines = std::iter::from_fn(|| notices.try_next()).map(|it| it.to_string());
//! assert!(lines.into_iter().any(|it| it.ends_with(", 0x1001): PREOP -> SAFEOP")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod device_table;
mod identity;
mod presence;
mod recover;
mod setup_pool;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

pub use crate::main_device::place::Serials;
pub use device_table::{DeviceStatus, DeviceTable, NoDevice, ObjectError};

use super::health::Health;
use super::notice::{Event, NoticeDevice, Notices};
use crate::main_device::configure::ConfigureError;
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::{Exchange, ExchangeError, ExchangeResult, Registers};
use crate::main_device::layout::{Layout, Share};
use crate::wire::sii::Identity;
use crate::wire::{ETHERNET_HEADER, State};
use batch::Batch;
use identity::StationStatus;
use setup_pool::SetupPool;

/// The longest pause before the supervisor tries a device that refused again.
pub const MAX_PAUSE: Duration = Duration::from_millis(500);
/// The interval at which the supervisor reads the loop's health when all is well.
const GLANCE: Duration = Duration::from_millis(5);
/// How long set-ups go on before the supervisor looks at all devices again: where nothing else changes, and where
/// others are on their way too.
const SETUP_POLL_IDLE: Duration = Duration::from_millis(40);
const SETUP_POLL_BUSY: Duration = Duration::from_millis(10);
/// The longest pause between two looks when all is not well but nothing changes.
const MAX_CALM: Duration = Duration::from_millis(20);
/// The time of a byte at 100 Mbit/s, in ns.
const BYTE_NS: u128 = 80;
/// Bytes of a frame besides its datagrams: headers, preamble, check sequence, gap.
const AROUND: usize = ETHERNET_HEADER + 2 + 24;

/// The supervisor's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupervisorSettings {
    /// The interval of looks at every device when the loop's health is good.
    pub look_every: Duration,
    /// The interval at which it reads error counters.
    pub count_every: Duration,
    /// Whether a device of another serial number may replace one that is gone.
    pub serials: Serials,
    /// Bytes of datagrams in a frame of its questions, of which one goes beside the process data each cycle. A
    /// longer question, such as a large mailbox, goes alone.
    pub frame_bytes: usize,
}

impl SupervisorSettings {
    /// Settings for a loop of that cycle: a frame of questions takes the wire for an eighth of it at most, and
    /// leaves the rest to the process data.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kadenz_ethercat::control::supervisor::SupervisorSettings;
    ///
    /// let bytes = |us| SupervisorSettings::for_cycle(Duration::from_micros(us)).frame_bytes;
    /// // All that a frame carries, and what takes 31 us at 100 Mbit/s.
    /// assert_eq!((bytes(1_000), bytes(250)), (1_498, 350));
    /// ```
    #[must_use]
    pub fn for_cycle(cycle: Duration) -> Self {
        let bytes = usize::try_from(cycle.as_nanos() / 8 / BYTE_NS).unwrap_or(usize::MAX);
        Self {
            look_every: Duration::from_millis(100),
            count_every: Duration::from_secs(1),
            serials: Serials::default(),
            frame_bytes: bytes.saturating_sub(AROUND).min(batch::MAX),
        }
    }
}

impl Default for SupervisorSettings {
    /// For cycles of 1 ms.
    fn default() -> Self {
        Self::for_cycle(Duration::from_millis(1))
    }
}

/// A user's set-up of a device in PREOP, before its process data is configured: objects that it needs, a clock's
/// settings. Many set-ups run side by side, each on a thread of its own whose questions the supervisor carries; a
/// set-up must end when a question has no answer.
pub type Setup =
    Box<dyn Fn(&mut SubDevice, &mut Registers<'_>) -> Result<(), ConfigureError> + Send + Sync>;

/// A device as the supervisor watches it.
#[derive(Debug)]
struct SupervisedDevice {
    label: NoticeDevice,
    identity: Identity,
    alias: u16,
    share: Share,
    has_coe: bool,
    /// Its position when it was configured.
    first: u16,
    position: Option<u16>,
    /// Whether its absence or presence was reported.
    is_reported: bool,
    /// The last status seen; `row` is the last one that was seen twice.
    seen: Option<StationStatus>,
    row: Option<StationStatus>,
    /// AL status as reported last.
    status: u16,
    /// Whether its process data is set up, as far as is known.
    configured: bool,
    /// The states before and after the requested change, and its deadline.
    pending: Option<(State, State, MonotonicTime)>,
    /// Whether it has mailboxes, and so firmware behind them.
    has_firmware: bool,
    /// Whether its error was acknowledged just now, and still stands.
    acknowledged: bool,
    /// The time until which that error may stand, as its firmware has not looked yet.
    grace: Option<MonotonicTime>,
    /// Whether its set-up in PREOP is done.
    set_up: bool,
    troubles: u32,
    not_before: MonotonicTime,
    /// The time since which it has been well.
    well: Option<MonotonicTime>,
    /// The last of its wanted states that it reached.
    reached: Option<State>,
    /// Whether it was lost or left its wanted state, and is not back yet.
    missed: bool,
    moved: bool,
    counters: Option<[u8; watch::COUNTERS]>,
}

/// Watches a segment and repairs its state. See the module.
pub struct SegmentSupervisor {
    device_table: Arc<DeviceTable>,
    notices: Arc<Notices>,
    health: Arc<Health>,
    settings: SupervisorSettings,
    pool: SetupPool,
    watched: Vec<SupervisedDevice>,
    unconfigured: Vec<presence::UnconfiguredDevice>,
    /// Stations by position, as seen last.
    before: Option<Vec<u16>>,
    wire: bool,
    temporary: u16,
    calm: Duration,
    look: MonotonicTime,
    mail: MonotonicTime,
    count: MonotonicTime,
    reported: watch::LastReported,
}

/// The result of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PollOutcome {
    /// A change must be seen once more.
    Unsure,
    /// Something changed, or is being done.
    Moving,
    /// Nothing changes now.
    Calm,
}

/// The loop that carries the questions has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the loop has ended; start it again, and then the supervisor")]
pub struct SupervisorEnded;

impl SegmentSupervisor {
    /// A supervisor of devices with process data of this layout. The devices may be as
    /// [`find`](crate::main_device::bring_up::find) or [`prepare`](crate::main_device::bring_up::prepare) left
    /// them, or absent.
    #[must_use]
    pub fn new(devices: Vec<SubDevice>, layout: &Layout, health: Arc<Health>) -> Self {
        let watched = devices.iter().zip(&layout.shares).enumerate();
        let watched =
            watched.map(|(number, (device, share))| SupervisedDevice::of(number, device, share));
        let watched = watched.collect();
        let device_table = Arc::new(DeviceTable::new(devices));
        Self {
            watched,
            pool: SetupPool::new(Arc::clone(&device_table), None),
            device_table,
            notices: Arc::new(Notices::new()),
            health,
            settings: SupervisorSettings::default(),
            unconfigured: Vec::new(),
            before: None,
            wire: true,
            temporary: presence::FIRST_TEMPORARY,
            calm: Duration::ZERO,
            look: MonotonicTime::from_ns(0),
            mail: MonotonicTime::from_ns(0),
            count: MonotonicTime::from_ns(0),
            reported: watch::LastReported::default(),
        }
    }

    /// The same with other settings.
    #[must_use]
    pub fn with_settings(self, settings: SupervisorSettings) -> Self {
        Self { settings, ..self }
    }

    /// The same with a set-up that runs whenever a device is in PREOP on its way up.
    #[must_use]
    pub fn with_setup(self, setup: Setup) -> Self {
        let pool = SetupPool::new(Arc::clone(&self.device_table), Some(setup));
        Self { pool, ..self }
    }

    /// The devices, for other threads.
    #[must_use]
    pub fn device_table(&self) -> Arc<DeviceTable> {
        Arc::clone(&self.device_table)
    }

    /// The notices, for other threads.
    #[must_use]
    pub fn notices(&self) -> Arc<Notices> {
        Arc::clone(&self.notices)
    }

    /// The loop's health.
    #[must_use]
    pub fn health(&self) -> Arc<Health> {
        Arc::clone(&self.health)
    }

    /// Works until `stop` is set or the loop ends. Waits.
    ///
    /// # Errors
    /// [`SupervisorEnded`] when the loop carries no more questions.
    pub fn run(
        &mut self,
        exchange: &mut dyn Exchange,
        stop: &AtomicBool,
    ) -> Result<(), SupervisorEnded> {
        while !stop.load(Ordering::Relaxed) {
            let pause = self.step(exchange)?;
            if !pause.is_zero() {
                exchange.pause(pause);
            }
        }
        Ok(())
    }

    /// Takes one look, and acts on it by some questions. Returns the pause until the next.
    ///
    /// # Errors
    /// [`SupervisorEnded`] when the loop carries no more questions.
    pub fn step(&mut self, exchange: &mut dyn Exchange) -> Result<Duration, SupervisorEnded> {
        let now = exchange.now();
        self.report_frames(now);
        if now < self.look && self.is_well() && self.pool.is_idle() {
            return Ok(GLANCE);
        }
        let looked = self.look(exchange);
        let looked = looked.and_then(|it| self.serve_pool(exchange, it));
        let now = exchange.now();
        self.look = now + self.settings.look_every;
        match looked {
            Ok(looked) => Ok(self.pause(looked)),
            Err(ExchangeError::Ended) => Err(SupervisorEnded),
            // Only the answer was damaged: the supervisor asks again.
            Err(ExchangeError::Frame(_)) => Ok(self.pause(PollOutcome::Unsure)),
            // Questions may get lost while process data still comes back.
            Err(_) if self.health.snapshot().silent == 0 => Ok(self.pause(PollOutcome::Unsure)),
            Err(_) => {
                self.lose_wire(now);
                Ok(self.pause(PollOutcome::Calm))
            }
        }
    }

    /// Lets set-ups go on for a while; how long depends on what else there is to do.
    fn serve_pool(
        &mut self,
        exchange: &mut dyn Exchange,
        looked: PollOutcome,
    ) -> ExchangeResult<PollOutcome> {
        if !self.pool.is_busy() {
            return Ok(looked);
        }
        let most = match looked {
            PollOutcome::Calm => SETUP_POLL_IDLE,
            PollOutcome::Unsure | PollOutcome::Moving => SETUP_POLL_BUSY,
        };
        let bytes = self.settings.frame_bytes;
        self.pool.serve(exchange, (SETUP_POLL_BUSY, most), bytes)?;
        Ok(PollOutcome::Moving)
    }

    fn pause(&mut self, looked: PollOutcome) -> Duration {
        self.calm = match looked {
            PollOutcome::Unsure | PollOutcome::Moving => Duration::ZERO,
            PollOutcome::Calm => (self.calm * 2).clamp(Duration::from_millis(1), MAX_CALM),
        };
        self.calm
    }

    /// Whether, by the loop's health, all is well now and was so at the last look.
    fn is_well(&self) -> bool {
        let there = self.watched.len() + self.unconfigured.len();
        let known = self
            .watched
            .iter()
            .enumerate()
            .all(|(device, it)| it.is_well(self.wanted(device)));
        known && self.health.snapshot().is_well(there as u16)
    }

    fn wanted(&self, device: usize) -> State {
        self.device_table.wanted(device).unwrap_or(State::Init)
    }

    fn look(&mut self, exchange: &mut dyn Exchange) -> ExchangeResult<PollOutcome> {
        let Some(rows) = identity::survey(exchange, self.batch())? else {
            return Ok(PollOutcome::Unsure);
        };
        let now = exchange.now();
        if !std::mem::replace(&mut self.wire, true) {
            self.notices.publish(now, None, Event::WireBack);
        }
        let stations: Vec<_> = rows.iter().map(|it| it.station).collect();
        if self.before.as_ref() != Some(&stations) {
            self.before = Some(stations);
            return Ok(PollOutcome::Unsure);
        }
        let mut looked = self.note_presence(exchange, &rows)?;
        looked = looked.max(self.note_rows(&rows, now));
        looked = looked.max(self.recover(exchange)?);
        self.fetch_mail(exchange)?;
        self.count_errors(exchange)?;
        Ok(looked)
    }

    fn lose_wire(&mut self, now: MonotonicTime) {
        if std::mem::replace(&mut self.wire, false) {
            self.notices.publish(now, None, Event::WireLost);
        }
        self.before = None;
        for device in 0..self.watched.len() {
            self.lose(device, now);
        }
    }

    /// A batch for the questions of a look.
    fn batch(&self) -> Batch {
        Batch::of(self.settings.frame_bytes)
    }

    fn report(&self, device: usize, now: MonotonicTime, event: Event) {
        let label = self.watched[device].label.clone();
        self.notices.publish(now, Some(label), event);
    }
}

impl PollOutcome {
    /// The result that needs the sooner look.
    fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::Calm, other) => other,
            (this, Self::Calm) => this,
            (Self::Moving, Self::Moving) => Self::Moving,
            _ => Self::Unsure,
        }
    }
}

impl SupervisedDevice {
    fn of(number: usize, device: &SubDevice, share: &Share) -> Self {
        let demand = device.process_data.demand();
        let nothing = demand.outputs == 0 && demand.inputs == 0;
        Self {
            label: NoticeDevice {
                device: number,
                name: device.called(),
                station: device.station.0,
            },
            identity: device.identity,
            alias: device.alias,
            share: share.clone(),
            has_coe: device.has_coe(),
            has_firmware: device.has_mailbox(),
            first: device.position.0,
            position: None,
            is_reported: false,
            seen: None,
            row: None,
            status: 0,
            configured: nothing || !device.process_data.fmmus.is_empty(),
            pending: None,
            acknowledged: false,
            grace: None,
            set_up: false,
            troubles: 0,
            not_before: MonotonicTime::from_ns(0),
            well: None,
            reached: None,
            missed: false,
            moved: false,
            counters: None,
        }
    }

    fn is_well(&self, wanted: State) -> bool {
        self.position.is_some() && self.row.is_some() && self.status == u16::from(wanted.number())
    }
}

impl std::fmt::Debug for SegmentSupervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentSupervisor")
            .field("settings", &self.settings)
            .field("watched", &self.watched)
            .field("unconfigured", &self.unconfigured)
            .field("wire", &self.wire)
            .finish_non_exhaustive()
    }
}
