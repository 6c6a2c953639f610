//! Brings a segment from power-on to SAFEOP of all devices; the plan of what they do is known.

use std::cell::Cell;
use std::time::Duration;

use kadenz_ethercat::control::phase::PhaseSettings;
use kadenz_ethercat::control::supervisor::Setup;
use kadenz_ethercat::main_device::bring_up::{self, StoppableExchange, is_ended, retry};
use kadenz_ethercat::main_device::clocks::{
    self, Bounds, ClockError, Clocks, Epoch, Sync, Width, since_2000,
};
use kadenz_ethercat::main_device::configure;
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Exchange, Registers, RetryPolicy};
use kadenz_ethercat::main_device::expected::{Expected, FoundDevices};
use kadenz_ethercat::main_device::from_esi::{self, Matched};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::mapping::{self, MappedManager};
use kadenz_ethercat::motion::{self, AxisRunner, Policy};
use kadenz_ethercat::port::Port;
use kadenz_ethercat::running_loop::threads::Prepared;
use kadenz_ethercat::wire::{Configured as Station, Position};
use kadenz_rt::clock::WallTime;

use super::builder::{Missing, Motion, Plan};
use super::error::BringUpNetworkError;
use super::event::NetworkEvent;

/// How far ahead pulses start.
const LEAD: Duration = Duration::from_millis(100);

/// A device's name, and the contents of its SyncManagers.
pub(super) type Mapped = (String, Vec<MappedManager>);

type Brought<T> = Result<T, BringUpNetworkError>;

/// The result of configuring all devices.
pub(super) struct Configured {
    pub(super) mapped: Vec<Mapped>,
    pub(super) runners: Vec<AxisRunner>,
    pub(super) policy: Policy,
    /// The set-up that is repeated with a device that lost its power.
    pub(super) setup: Setup,
    /// How the loop follows the reference clock, where it does.
    pub(super) phase: Option<PhaseSettings>,
    /// Notes about the successful try for the user; those of failed tries are dropped.
    notes: Vec<String>,
}

/// A segment in SAFEOP, its devices, and how they were configured.
pub(super) type BroughtUp<P> = (Prepared<P>, Vec<SubDevice>, Configured);

/// Finds and configures all devices, up to SAFEOP, while clients of the control socket see that and may end it.
pub(super) fn bring_up<P: Port>(port: P, plan: &mut Plan<'_>) -> Brought<BroughtUp<P>> {
    let mut expected = std::mem::take(&mut plan.expected);
    let mut link = Link::of_process(port);
    let attempts = Attempts::new(plan);
    let work = || {
        bring_up::ensure_alone(&mut link, &plan.name)?;
        let mut segment = BlockingExchange {
            link: &mut link,
            retry: RetryPolicy::BUSY_HOST,
        };
        attempts.run(&mut segment, &mut expected)
    };
    let (worked, by) = plan.control.while_bringing_up(&plan.stop, work);
    let (devices, (cycle, configured)) = worked.map_err(|error| error.ended_by(by))?;
    let notes = &configured.notes;
    notes.iter().for_each(|it| plan.events.note(it));
    Ok((Prepared { link, cycle }, devices, configured))
}

/// The tries of a bring-up, while devices do not answer.
struct Attempts<'p, 'a> {
    plan: &'p Plan<'a>,
    /// Whether the event of a second try was sent.
    is_reported: Cell<bool>,
    /// The station of the last device that did not answer.
    silent: Cell<Option<Station>>,
}

impl<'p, 'a> Attempts<'p, 'a> {
    fn new(plan: &'p Plan<'a>) -> Self {
        Self {
            plan,
            is_reported: Cell::new(false),
            silent: Cell::new(None),
        }
    }

    /// Returns whether to try again, and sends the event of the first repetition.
    fn again(&self, error: &BringUpNetworkError) -> bool {
        let plan = self.plan;
        self.silent.set(error.silent().or(self.silent.get()));
        let again = error.is_passing() && !plan.stop.is_set();
        if again && !self.is_reported.replace(true) {
            let within = plan.bring_up_timeout;
            plan.events.send(&NetworkEvent::Retrying { error, within });
        }
        again
    }

    /// Tries until all expected devices are configured, or, where that is allowed, those that answer; returns the
    /// devices, and the result of configuring them.
    fn run(
        &self,
        segment: &mut dyn Exchange,
        expected: &mut Expected,
    ) -> Brought<(Vec<SubDevice>, (Cycle, Configured))> {
        let plan = self.plan;
        let is_stopped = || plan.stop.is_set();
        let segment = &mut StoppableExchange {
            segment,
            is_stopped: &is_stopped,
        };
        let (within, begun) = (plan.bring_up_timeout, segment.now());
        let again = |error: &BringUpNetworkError| self.again(error);
        let work = |registers: &mut Registers<'_>, devices: &mut [SubDevice]| {
            configure(registers, devices, plan)
        };
        let complete = |segment: &mut dyn Exchange| {
            expected.bring_up(segment, FoundDevices::ensure_complete, work)
        };
        let error = match retry(segment, within, complete, again) {
            Ok(done) => {
                if self.is_reported.get() {
                    let after = segment.now().remaining(begun);
                    plan.events.send(&NetworkEvent::BroughtUp { after });
                }
                return Ok(done);
            }
            Err(error) => error,
        };
        if !again(&error) || plan.missing == Missing::Refused {
            return Err(self.failed(error, expected));
        }
        let mut without = None;
        let partly = |segment: &mut dyn Exchange| {
            let accept = |found: &FoundDevices| {
                without = (!found.missing.is_empty()).then(|| found.named_missing());
                found.ensure_unambiguous()
            };
            expected.bring_up(segment, accept, work)
        };
        let done = retry(segment, within, partly, again);
        if let (Ok(_), Some(devices)) = (&done, &without) {
            plan.events.send(&NetworkEvent::Without { devices });
        }
        done.map_err(|error| self.failed(error, expected))
    }

    /// Puts the name of the silent device before the error, where the error comes from its silence and names no device.
    fn failed(&self, error: BringUpNetworkError, expected: &Expected) -> BringUpNetworkError {
        if self.plan.stop.is_set() {
            return BringUpNetworkError::Stopped { by: None };
        }
        let is_unnamed = error.is_passing() && !error.names_missing();
        match self.silent.get().filter(|_| is_unnamed) {
            None => error,
            Some(station) => BringUpNetworkError::Silent {
                device: expected.label(station),
                within: self.plan.bring_up_timeout,
                source: Box::new(error),
            },
        }
    }
}

/// Brings devices from INIT to SAFEOP.
fn configure(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    plan: &Plan<'_>,
) -> Brought<(Cycle, Configured)> {
    let matched = from_esi::configure_chosen(
        registers,
        devices,
        &plan.descriptions,
        |devices, matched| match &plan.choose {
            Some(choose) => choose(devices, matched).map_err(BringUpNetworkError::Choice),
            None => Ok(()),
        },
    )?;
    set_up(registers, devices, plan, &matched)?;
    let cycle = plan.interval.as_duration();
    let motion = match &plan.motion {
        Some(Motion::Planned(motion)) => Some(motion.clone()),
        Some(Motion::Demo) => Some(motion::demo(registers, devices)?),
        None => None,
    };
    let motion = motion.map(|motion| motion::Plan { cycle, ..motion });
    let runners = match &motion {
        Some(motion) => motion.commission(registers, devices)?,
        None => Vec::new(),
    };
    let mut notes = Vec::new();
    let mapped = mapping_of_all(registers, devices, &matched, &mut notes)?;
    let drives = motion::setups(registers, devices, &runners, cycle)?;
    let followed = match plan.follows_reference {
        false => None,
        true => Some(follow(registers, devices, &matched, plan, &mut notes)?),
    };
    let (reference, clocks) = followed.unzip();
    devices.iter_mut().for_each(|it| matched.correct(it));
    let station = reference.map(|(station, _)| station);
    let cycle = bring_up::prepare(registers, devices, station)?;
    if !plan.descriptions.is_empty() {
        notes.extend(matched.notes(devices.iter()));
    }
    let (setup, drives) = (plan.setup.clone(), motion::as_commissioned(drives, clocks));
    let interval_ns = plan.interval.as_ns_f64().round() as u64;
    let configured = Configured {
        mapped,
        runners,
        policy: motion.map(|it| it.safety).unwrap_or_default(),
        setup: Box::new(move |device, registers| {
            matched.set_up(registers, device)?;
            if let Some(setup) = &setup {
                setup(device, registers)?;
            }
            drives(device, registers)
        }),
        phase: reference.map(|(_, width)| PhaseSettings {
            width,
            ..PhaseSettings::every(interval_ns)
        }),
        notes,
    };
    Ok((cycle, configured))
}

/// Runs the user's set-up of devices in PREOP.
fn set_up(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    plan: &Plan<'_>,
    matched: &Matched,
) -> Brought<()> {
    let Some(setup) = &plan.setup else {
        return Ok(());
    };
    for device in devices {
        let done =
            setup(device, registers).and_then(|()| configure::read_process_data(registers, device));
        done.map_err(|source| BringUpNetworkError::Setup {
            device: device.label(),
            source,
        })?;
        matched.correct(device);
    }
    Ok(())
}

/// The content of the process data of each device, once PDOs are assigned. A device that does not tell its mapping has
/// none: no handle of its objects can then be made.
fn mapping_of_all(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    matched: &Matched,
    notes: &mut Vec<String>,
) -> Brought<Vec<Mapped>> {
    let of_one = |device: &mut SubDevice| {
        let mut managers = match mapping::read(registers, device) {
            Ok(managers) => managers,
            Err(source) if bring_up::is_passing(&source) || is_ended(&source) => {
                let device = device.label();
                return Err(BringUpNetworkError::Mapping { device, source });
            }
            Err(error) => {
                notes.push(format!(
                    "{}: what is in its process data is not known: {error}",
                    device.label()
                ));
                Vec::new()
            }
        };
        if let Some(described) = matched.of(device) {
            described.name_entries(&mut managers);
        }
        Ok((device.called(), managers))
    };
    devices.iter_mut().map(of_one).collect()
}

/// Sets all clocks, lets them follow the reference clock, and starts SYNC0 where the plan says so.
fn follow(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    matched: &Matched,
    plan: &Plan<'_>,
    notes: &mut Vec<String>,
) -> Brought<((Station, Width), Clocks)> {
    let mut clocks = clocks::measure(registers, devices, &clocks::ClockSettings::default())?;
    let reference = clocks.reference();
    let found = clocks
        .devices()
        .iter()
        .find(|it| Some(it.station) == reference);
    let found = found.and_then(|it| Some((it.station, it.width?)));
    let reference = found.ok_or(BringUpNetworkError::NoClock)?;
    clocks.set(registers, Epoch::Now(since_2000(WallTime::now())))?;
    let aligned = clocks.align(registers, &Bounds::default(), &mut |_| {})?;
    notes.push(format!(
        "clocks: after {} frames none says that it is off the reference by more than {} ns",
        aligned.frames, aligned.worst_ns
    ));
    if let Some(shift) = plan.sync0 {
        let ns = |span: Duration| u32::try_from(span.as_nanos()).unwrap_or(u32::MAX);
        let cycle_ns = ns(plan.interval.as_duration());
        let shift_ns = i32::try_from(ns(shift)).unwrap_or(i32::MAX);
        let wanted = matched.pulses(devices, &clocks, cycle_ns, shift_ns);
        notes.push(pulse(registers, devices, &mut clocks, wanted)?);
    }
    Ok((reference, clocks))
}

/// Starts SYNC0 on the devices whose ESI files or SII request it; returns how many generate it.
fn pulse(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    clocks: &mut Clocks,
    wanted: Vec<(Position, Sync)>,
) -> Brought<String> {
    if wanted.is_empty() {
        return Err(BringUpNetworkError::NoPulses);
    }
    let (count, all) = (wanted.len(), devices.len());
    let pulses = clocks.pulse(registers, wanted, LEAD);
    pulses.map_err(ClockError::from)?;
    Ok(format!("{count} of {all} devices generate SYNC0"))
}
