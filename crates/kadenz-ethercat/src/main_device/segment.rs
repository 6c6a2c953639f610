//! A segment for tools: surveys SubDevices, brings them to states and exchanges process data, without a loop in real
//! time.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
#[cfg(target_os = "linux")]
use kadenz_rt::net::packet::PacketError;

use super::acyclic::AcyclicQueue;
use super::bring_up::{self, BringUpError, NotAloneError, because};
use super::configure::{self, ConfigureError};
use super::cycle::{BESIDES, Cycle, Outcome};
use super::device::SubDevice;
use super::discover::DiscoverError;
use super::exchange::{BlockingExchange, Exchange as _, Registers, RetryPolicy, Target};
use super::from_esi::Matched;
use super::layout::{Demand, Layout, LayoutError, room};
use super::link::Link;
use super::mapping::{self, MappedManager, ProcessDataMap, placed};
use super::states::{self, StateError};
use super::survey::{self, SurveyedDevice};
use crate::port::Port;
#[cfg(target_os = "linux")]
use crate::port::{InterfacePort, WaitMode};
use crate::wire::register::{AL_CONTROL, AL_STATUS_CODE, FMMU};
use crate::wire::{AlControl, AlStatusCode, State};

/// Interval of process data.
const INTERVAL: Duration = Duration::from_millis(1);
/// Timeout of a frame of process data: a busy host is late, and nothing here is real time.
const TIMEOUT: Duration = Duration::from_millis(20);
/// Cycles before the request for OP: a device first has to receive its outputs.
const CYCLES_BEFORE_OP: u32 = 5;

/// A segment that this process has opened. Methods that access devices wait and allocate.
///
/// ```
/// use kadenz_ethercat::main_device::from_esi::Matched;
/// use kadenz_ethercat::main_device::segment::OpenSegment;
/// use kadenz_ethercat::sim::humanoid::humanoid;
///
/// let mut segment = OpenSegment::new(humanoid(8).port()?, "sim:8");
/// segment.ensure_alone()?;
/// let mut met = segment.adopt()?;
/// let (all, esi) = ((0..met.len()).collect::<Vec<_>>(), Matched::default());
/// let data = segment.process_data(&mut met, &esi)?;
/// let mut cycle = segment.to_safe_op(&mut met, &all, &esi)?;
/// segment.to_op(&mut cycle, &met, &all)?;
/// assert!(segment.exchange(&mut cycle).is_whole());
/// let (inputs, outputs) = cycle.images();
/// for it in data.entries.iter().filter(|it| it.entry.address.is_some()) {
///     println!("{} of device {}: {:?}", it.entry.name, it.device, it.value((inputs, &*outputs)));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OpenSegment<P = Box<dyn Port>> {
    link: Link<P>,
    name: String,
}

#[cfg(target_os = "linux")]
impl OpenSegment {
    /// Opens the segment at a network interface, for example `eth1`. Linux; needs the right to raw frames (root, or
    /// CAP_NET_RAW).
    ///
    /// # Errors
    /// [`PacketError`]: no such interface, or no permission.
    pub fn open(interface: &str) -> Result<Self, PacketError> {
        let port = InterfacePort::open(interface, WaitMode::Blocking)?;
        Ok(Self::new(Box::new(port), interface))
    }
}

impl<P: Port> OpenSegment<P> {
    /// The segment behind a port; `name` is for errors.
    pub fn new(port: P, name: &str) -> Self {
        Self {
            link: Link::of_process(port),
            name: name.to_owned(),
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time by its port.
    #[must_use]
    pub fn now(&self) -> MonotonicTime {
        self.link.now()
    }

    /// Accesses registers.
    pub fn ask<R>(&mut self, work: impl FnOnce(&mut Registers<'_>) -> R) -> R {
        let mut exchange = BlockingExchange {
            link: &mut self.link,
            retry: RetryPolicy::BUSY_HOST,
        };
        work(&mut Registers::by(&mut exchange))
    }

    /// All devices; changes none.
    ///
    /// # Errors
    /// [`DiscoverError`], for example when no SubDevice answers.
    pub fn survey(&mut self) -> Result<Vec<SurveyedDevice>, DiscoverError> {
        self.ask(survey::survey)
    }

    /// All devices; assigns each a station address of its own.
    ///
    /// # Errors
    /// [`DiscoverError`], for example when no SubDevice answers.
    pub fn adopt(&mut self) -> Result<Vec<SurveyedDevice>, DiscoverError> {
        self.ask(|registers| {
            let mut met = survey::survey(registers)?;
            survey::adopt(registers, &mut met)?;
            Ok(met)
        })
    }

    /// Refuses where another MainDevice exchanges frames: changed states would stop its running robot, or worse.
    ///
    /// # Errors
    /// [`NotAloneError`].
    pub fn ensure_alone(&mut self) -> Result<(), NotAloneError> {
        bring_up::ensure_alone(&mut self.link, &self.name)
    }

    /// Brings a device to PREOP from any state. In INIT, it configures the mailboxes of the device's ESI file, if there
    /// is one. Returns whether that changed anything.
    ///
    /// # Errors
    /// [`BringUpError::Configure`].
    pub fn to_pre_op(
        &mut self,
        met: &mut SurveyedDevice,
        matched: &Matched,
    ) -> Result<bool, BringUpError> {
        let changed = self.ask(|registers| to_pre_op(registers, met, matched));
        changed.map_err(because(&met.device))
    }

    /// Reads the process data of all devices, as it is mapped now, in the layout that a
    /// [cycle](Self::to_safe_op) of all of them has. Devices in INIT are brought to PREOP, and also those with an ESI
    /// file, to be configured by it.
    ///
    /// # Errors
    /// [`BringUpError`]: the first device that fails ends it.
    pub fn process_data(
        &mut self,
        met: &mut [SurveyedDevice],
        matched: &Matched,
    ) -> Result<ProcessDataMap, BringUpError> {
        let mapped = self.ask(|registers| {
            let all = met.iter_mut().map(|it| {
                let mapped = mapped_managers(registers, it, matched);
                mapped.map_err(because(&it.device))
            });
            all.collect::<Result<Vec<_>, _>>()
        })?;
        let layout = layout(met, |_| true)?;
        let devices = mapped.iter().zip(&layout.shares).enumerate();
        let entries =
            devices.flat_map(|(device, (managers, share))| placed(device, managers, share));
        Ok(ProcessDataMap {
            outputs: layout.outputs,
            inputs: layout.inputs,
            frames: Some(layout.frames.len()),
            entries: entries.collect(),
        })
    }

    /// Brings the chosen devices, by their indices, to SAFEOP with the layout of their process data. The others are
    /// left out of the cycle: their FMMUs are cleared, since an earlier layout has the same logical addresses. One of
    /// them in OP takes part in no cycle then, and one with outputs leaves OP by its watchdog.
    ///
    /// # Errors
    /// [`BringUpError`]: the first device that fails ends it.
    pub fn to_safe_op(
        &mut self,
        met: &mut [SurveyedDevice],
        chosen: &[usize],
        matched: &Matched,
    ) -> Result<Cycle, BringUpError> {
        self.ask(|registers| {
            for place in chosen {
                let met = &mut met[*place];
                let configured = to_pre_op(registers, met, matched)
                    .and_then(|_| matched.learn(registers, &mut met.device));
                configured.map_err(because(&met.device))?;
            }
            clear_fmmus(registers, met)?;
            let layout = layout(met, |place| chosen.contains(&place))?;
            for place in chosen {
                let device = &mut met[*place].device;
                configure::to_safe_op(registers, device, &layout.shares[*place])
                    .map_err(|source| because(device)(source))?;
            }
            Ok(Cycle::new(layout, None)?)
        })
    }

    /// Brings the chosen devices, which are in SAFEOP, to OP while it exchanges process data. They stay there as long
    /// as [`exchange`](Self::exchange) is called, each time within their watchdog's time.
    ///
    /// # Errors
    /// [`BringUpError::Configure`]: the first device that fails ends it.
    pub fn to_op(
        &mut self,
        cycle: &mut Cycle,
        met: &[SurveyedDevice],
        chosen: &[usize],
    ) -> Result<(), BringUpError> {
        for _ in 0..CYCLES_BEFORE_OP {
            self.exchange(cycle);
        }
        let devices = chosen.iter().map(|place| &met[*place].device);
        for device in devices.clone() {
            let request = AlControl::request(State::Op).0;
            let asked = self.ask(|it| it.put_u16(device.target(), AL_CONTROL, request));
            asked.map_err(|source| because(device)(source.into()))?;
            self.exchange(cycle);
        }
        let end = self.now() + states::longest(State::Op);
        for device in devices {
            while !self.is_in_op(device, end).map_err(because(device))? {
                self.exchange(cycle);
            }
        }
        Ok(())
    }

    /// Exchanges the process data of one cycle, and waits for the rest of its millisecond.
    pub fn exchange(&mut self, cycle: &mut Cycle) -> Outcome {
        let begun = self.now();
        let outcome = cycle.exchange(&mut self.link, &AcyclicQueue::default(), begun + TIMEOUT);
        let rest = (begun + INTERVAL).remaining(self.now());
        BlockingExchange::over(&mut self.link).pause(rest);
        outcome
    }

    /// Whether a device is in OP; refused where it reports an error, or is not there at the end.
    fn is_in_op(&mut self, device: &SubDevice, end: MonotonicTime) -> Result<bool, ConfigureError> {
        let wanted = State::Op;
        let status = self.ask(|it| states::read(it, device.target()))?;
        if status.error() {
            let code = self.ask(|it| it.get_u16(device.target(), AL_STATUS_CODE))?;
            let code = AlStatusCode(code);
            let refused = StateError::Refused {
                wanted,
                status,
                code,
            };
            return Err(refused.into());
        }
        if status.state() != Some(wanted) && self.now() >= end {
            let span = states::longest(wanted);
            let slow = StateError::TooSlow {
                wanted,
                status,
                span,
            };
            return Err(slow.into());
        }
        Ok(status.state() == Some(wanted))
    }
}

/// Clears the FMMUs of all devices.
fn clear_fmmus(registers: &mut Registers<'_>, met: &[SurveyedDevice]) -> Result<(), DiscoverError> {
    let all = Target::All(u16::try_from(met.len()).unwrap_or(u16::MAX));
    // Not every controller has all of these registers: how many devices take the write does not matter.
    registers.count_writing(all, FMMU, &[0; 256])?;
    Ok(())
}

/// Brings a device to PREOP from any state; returns whether that changed anything.
fn to_pre_op(
    registers: &mut Registers<'_>,
    met: &mut SurveyedDevice,
    matched: &Matched,
) -> Result<bool, ConfigureError> {
    met.status = states::read(registers, met.device.target())?;
    if met.status.state() == Some(State::Init) {
        matched.prepare(&mut met.device);
    }
    let device = &met.device;
    match met.status.state() {
        Some(State::PreOp) if !met.status.error() => return Ok(false),
        Some(State::PreOp | State::SafeOp | State::Op) => {
            states::reach(registers, device.target(), State::PreOp)?;
        }
        state => {
            if state != Some(State::Init) || met.status.error() {
                states::reach(registers, device.target(), State::Init)?;
            }
            configure::to_pre_op(registers, device)?;
        }
    }
    met.status = states::read(registers, device.target())?;
    Ok(true)
}

/// Reads the mapped entries of a device. A device with an ESI file is configured by it in PREOP first.
fn mapped_managers(
    registers: &mut Registers<'_>,
    met: &mut SurveyedDevice,
    matched: &Matched,
) -> Result<Vec<MappedManager>, ConfigureError> {
    let is_described = matched.of(&met.device).is_some();
    if is_described || met.status.state() == Some(State::Init) {
        to_pre_op(registers, met, matched)?;
    }
    matched.learn(registers, &mut met.device)?;
    let mut managers = mapping::read(registers, &mut met.device)?;
    if let Some(described) = matched.of(&met.device) {
        described.name_entries(&mut managers);
    }
    Ok(managers)
}

/// The layout of the chosen devices' process data; the others have none.
fn layout(
    met: &[SurveyedDevice],
    is_chosen: impl Fn(usize) -> bool,
) -> Result<Layout, LayoutError> {
    let demand = |(place, met): (usize, &SurveyedDevice)| match is_chosen(place) {
        true => met.device.process_data.demand(),
        false => Demand::default(),
    };
    let demands: Vec<Demand> = met.iter().enumerate().map(demand).collect();
    Layout::of(&demands, room(BESIDES))
}

#[cfg(test)]
mod tests;
