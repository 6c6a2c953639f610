//! Brings a wire with power on it to a segment in SAFEOP, ready for its first cycle.
//!
//! ```
//! use kadenz_ethercat::main_device::bring_up::{find, prepare};
//! use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
//! use kadenz_ethercat::main_device::link::Link;
//! use kadenz_ethercat::sim::WirePort;
//! use kadenz_ethercat::sim::humanoid::humanoid;
//!
//! let mut link = Link::new(WirePort::new(humanoid(59).build()?), 1);
//! let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
//! let mut registers = Registers::by(&mut exchange);
//! let mut devices = find(&mut registers)?;
//! let cycle = prepare(&mut registers, &mut devices, None)?;
//! assert_eq!(cycle.layout().shares.len(), 59);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::error::Error;
use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;

use super::configure::{self, ConfigureError};
use super::cycle::{BESIDES, Cycle};
use super::device::SubDevice;
use super::discover::{self, DiscoverError, FIRST_STATION};
use super::exchange::{
    BlockingExchange, Exchange, ExchangeError, ExchangeResult, FrameBuffer, Registers, RetryPolicy,
    Target,
};
use super::layout::{Layout, LayoutError, room};
use super::link::Link;
use super::mailbox::MailError;
use crate::port::Port;
use crate::wire::{Configured, OverflowError};

/// The pause between two tries to bring a segment up.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The reason why a segment is not ready.
#[derive(Debug, thiserror::Error)]
pub enum BringUpError {
    /// The SubDevices could not be discovered.
    #[error("{0}")]
    Discover(#[from] DiscoverError),
    /// Some expected devices do not answer.
    #[error("no answer from {devices}; is the power on, and are the cables whole?")]
    Missing {
        /// The missing devices, in words.
        devices: String,
    },
    /// A missing device may be one that is there and taken for another.
    #[error(
        "{devices} cannot be distinguished from present devices of the same product; add serial numbers or aliases to \
         the segment file, or start when all devices are present"
    )]
    Ambiguous {
        /// The missing devices, in words.
        devices: String,
    },
    /// Some devices came or went before all were configured.
    #[error(
        "devices answered: {before} at first, {now} now; look for a loose cable, and try again"
    )]
    Changed {
        /// How many answered at first.
        before: u16,
        /// How many answer now.
        now: u16,
    },
    /// A device could not be configured.
    #[error("SubDevice {position} ({name}): {source}")]
    Configure {
        /// The position of the SubDevice, from 0.
        position: u16,
        /// The name of the SubDevice.
        name: String,
        /// The error of the configuration.
        source: ConfigureError,
    },
    /// The process data does not fit.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A frame of the cycle has no room.
    #[error(transparent)]
    Overflow(#[from] OverflowError),
}

/// Another MainDevice drives the segment.
#[derive(Debug, thiserror::Error)]
#[error(
    "another MainDevice exchanges frames on {0}: this would change states beneath it; end it first, or reach the \
     devices of a running loop by --loop"
)]
pub struct NotAloneError(pub String);

/// How long the function listens for another MainDevice: longer than the longest cycle that a loop may have, 1 s.
const LISTEN_TIME: Duration = Duration::from_millis(1050);

/// How long it listens at once. No other program sends on a port that is not shared: one such span is enough there.
const LISTEN_PART: Duration = Duration::from_millis(50);

/// How long it first receives frames that this link gave up before: they come too late, from no other MainDevice.
const SETTLE_TIME: Duration = Duration::from_millis(5);

/// Refuses where frames of another MainDevice arrive at the interface of that name: to change states beneath a running
/// robot stops it, or worse. Waits.
///
/// # Errors
/// [`NotAloneError`].
pub fn ensure_alone<P: Port>(link: &mut Link<P>, name: &str) -> Result<(), NotAloneError> {
    let retry = RetryPolicy::default();
    BlockingExchange { link, retry }.pause(SETTLE_TIME);
    let (begin, is_shared) = (link.now(), link.port_mut().is_shared());
    // Another MainDevice may have this link's source address: its frames count as late.
    let late_before = link.counts().late;
    loop {
        BlockingExchange { link, retry }.pause(LISTEN_PART);
        let counts = link.counts();
        if counts.foreign > 0 || counts.late > late_before {
            return Err(NotAloneError(name.to_owned()));
        }
        if !is_shared || link.now().remaining(begin) >= LISTEN_TIME {
            return Ok(());
        }
    }
}

/// The way to a segment until the user ends the work; then every exchange is [`ExchangeError::Ended`].
pub struct StoppableExchange<'x> {
    /// The exchange that the work goes through.
    pub segment: &'x mut dyn Exchange,
    /// Whether the user asked to end.
    pub is_stopped: &'x dyn Fn() -> bool,
}

impl StoppableExchange<'_> {
    fn ensure_wanted(&self) -> ExchangeResult {
        match (self.is_stopped)() {
            true => Err(ExchangeError::Ended),
            false => Ok(()),
        }
    }
}

impl Exchange for StoppableExchange<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        self.ensure_wanted()?;
        self.segment.exchange(frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        self.ensure_wanted()?;
        self.segment.exchange_once(frame)
    }

    fn pause(&mut self, span: Duration) {
        self.segment.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.segment.now()
    }
}

/// Whether an error comes from the user's request to end.
#[must_use]
pub fn is_ended(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|it| matches!(it.downcast_ref(), Some(ExchangeError::Ended)))
}

/// Finds all SubDevices, brings them to PREOP and reads the process data of each. Waits, allocates.
///
/// # Errors
/// [`BringUpError`]: the first SubDevice that fails ends it.
pub fn find(registers: &mut Registers<'_>) -> Result<Vec<SubDevice>, BringUpError> {
    let mut devices = discover::discover(registers)?;
    configure(registers, &mut devices)?;
    Ok(devices)
}

/// Brings SubDevices that are in INIT to PREOP and reads the process data of each. Waits, allocates.
///
/// # Errors
/// [`BringUpError`]: the first SubDevice that fails ends it.
pub fn configure(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
) -> Result<(), BringUpError> {
    for device in devices {
        configure::to_pre_op(registers, device).map_err(because(device))?;
        configure::read_process_data(registers, device)
            .map_err(|source| because(device)(source))?;
    }
    Ok(())
}

/// Lays out the process data of all and brings them to SAFEOP. `reference` is the SubDevice whose clock
/// the others follow. Waits, allocates.
///
/// # Errors
/// [`BringUpError`]: the first SubDevice that fails ends it.
pub fn prepare(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    reference: Option<Configured>,
) -> Result<Cycle, BringUpError> {
    let demands: Vec<_> = devices.iter().map(|it| it.process_data.demand()).collect();
    let layout = Layout::of(&demands, room(BESIDES))?;
    for (device, share) in devices.iter_mut().zip(&layout.shares) {
        configure::to_safe_op(registers, device, share)
            .map_err(|source| because(device)(source))?;
    }
    Ok(Cycle::new(layout, reference)?)
}

/// Tries to bring a segment up, from the beginning each time, until it is done. After an error a new try begins where
/// `again` says so and `within` has not passed since the first began. Waits.
///
/// # Errors
/// The error of the last try.
pub fn retry<T, E>(
    exchange: &mut dyn Exchange,
    within: Duration,
    mut attempt: impl FnMut(&mut dyn Exchange) -> Result<T, E>,
    mut again: impl FnMut(&E) -> bool,
) -> Result<T, E> {
    let end = exchange.now() + within;
    loop {
        let error = match attempt(exchange) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if exchange.now() >= end || !again(&error) {
            return Err(error);
        }
        exchange.pause(RETRY_INTERVAL);
    }
}

/// Whether an error says that frames or devices did not answer, so that a new try may help. Devices would refuse again
/// what they refused.
#[must_use]
pub fn is_passing(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|it| {
        let exchange = it.downcast_ref::<ExchangeError>();
        let bring_up = it.downcast_ref::<BringUpError>();
        exchange.is_some_and(|it| !matches!(it, ExchangeError::Ended))
            || matches!(
                it.downcast_ref(),
                Some(MailError::Silent { .. } | MailError::Lost { .. })
            )
            || matches!(it.downcast_ref(), Some(DiscoverError::NoSubDevice))
            || matches!(
                bring_up,
                Some(BringUpError::Missing { .. } | BringUpError::Changed { .. })
            )
    })
}

/// The address of the SubDevice that did not answer, where the error comes from that. A SubDevice without an address
/// yet is named by the address that its position will have.
#[must_use]
pub fn silent(error: &(dyn Error + 'static)) -> Option<Configured> {
    let target = causes(error).find_map(|it| {
        match it.downcast_ref::<ExchangeError>() {
            Some(ExchangeError::WorkingCounter { target, .. }) => return Some(*target),
            Some(_) => return None,
            None => {}
        }
        match it.downcast_ref::<MailError>()? {
            MailError::Silent { target, .. } | MailError::Lost { target, .. } => Some(*target),
            _ => None,
        }
    });
    match target? {
        Target::Of(station) => Some(station),
        Target::At(position) => Some(Configured(FIRST_STATION.wrapping_add(position.0))),
        Target::All(_) => None,
    }
}

/// An error and its causes.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |it: &&'e (dyn Error + 'static)| {
        (**it).source()
    })
}

pub(super) fn because(device: &SubDevice) -> impl FnOnce(ConfigureError) -> BringUpError {
    let (position, name) = (device.position.0, device.called());
    move |source| BringUpError::Configure {
        position,
        name,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::sim::WirePort;
    use crate::sim::humanoid::humanoid;
    use crate::wire::{Command, DatagramAddress, FrameWriter};

    /// A wire on which another program sends one frame, at a time.
    struct Shared {
        wire: WirePort,
        sends_at: Option<MonotonicTime>,
    }

    impl Port for Shared {
        fn now(&self) -> MonotonicTime {
            self.wire.now()
        }
        fn is_shared(&self) -> bool {
            true
        }
        fn send(&mut self, frame: &[u8]) -> io::Result<()> {
            self.wire.send(frame)
        }
        fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
            self.wire.receive(frame)
        }
        fn wait(&mut self, until: MonotonicTime) -> io::Result<bool> {
            if let Some(at) = self.sends_at.take_if(|it| *it <= until) {
                self.wire.wait(at)?;
                self.wire.send(&foreign_frame())?;
            }
            self.wire.wait(until)
        }
    }

    fn foreign_frame() -> Vec<u8> {
        let mut buffer = [0; 60];
        let mut writer = FrameWriter::new(&mut buffer, [2; 6]).unwrap();
        let all = DatagramAddress::broadcast(0x0130);
        writer.push(Command::Brd, 0, all, 2).unwrap();
        let length = writer.finish();
        buffer[..length].to_vec()
    }

    #[test]
    fn a_main_device_with_a_cycle_of_a_second_is_heard() {
        let alone = |sends_after: Option<Duration>| {
            let wire = WirePort::new(humanoid(2).build().unwrap());
            let sends_at = sends_after.map(|it| wire.now() + it);
            ensure_alone(&mut Link::new(Shared { wire, sends_at }, 1), "near")
        };
        assert!(alone(None).is_ok());
        assert!(alone(Some(Duration::from_secs(1))).is_err());
    }

    #[test]
    fn a_frame_that_this_link_gave_up_is_that_of_no_other_main_device() {
        let wire = WirePort::new(humanoid(2).build().unwrap());
        let sends_at = None;
        let port: Box<dyn Port> = Box::new(Shared { wire, sends_at });
        let mut link = Link::new(port, 1);
        let sent = link.send(&mut foreign_frame()).unwrap();
        link.give_up(&sent);
        assert!(ensure_alone(&mut link, "near").is_ok());
        assert_eq!(link.counts().late, 1);
    }
}
