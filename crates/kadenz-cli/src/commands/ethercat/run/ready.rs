//! Everybody found, configured and in SAFEOP; what they are to do is known.

use std::time::Duration;

use kadenz_ethercat::control::phase::Settings as PhaseSettings;
use kadenz_ethercat::control::supervisor::Setup;
use kadenz_ethercat::control::threads::Prepared;
use kadenz_ethercat::main_device::bring_up::{self, is_ended};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Clocks, Epoch, Sync, Width, since_2000};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers};
use kadenz_ethercat::main_device::from_esi::{Descriptions, Matched};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::mapping::{self, MappedManager};
use kadenz_ethercat::motion::axis::DriveSetup;
use kadenz_ethercat::motion::{self, AxisRunner, Policy};
use kadenz_ethercat::port::Port;
use kadenz_ethercat::wire::{Configured, Position};
use kadenz_rt::clock::WallTime;

use super::BeatOption;
use super::bus::Drive;
use crate::commands::ethercat::device;
use crate::commands::ethercat::esi;
use crate::commands::ethercat::segment::RETRY_POLICY;
use crate::output;

/// What the drives are to do.
pub(super) enum Motion {
    /// As a file says.
    Planned(motion::Plan),
    /// To and fro.
    Demo,
    /// Nothing: they are not switched on.
    None,
}

/// What is known before the loop runs.
pub(super) struct Ready<P> {
    pub(super) prepared: Prepared<P>,
    pub(super) devices: Vec<SubDevice>,
    pub(super) runners: Vec<AxisRunner>,
    pub(super) policy: Policy,
    /// What is done again with a device that lost its power.
    pub(super) setup: Setup,
    /// How the beat follows the reference clock, where it does.
    pub(super) phase: Option<PhaseSettings>,
    /// What is in the process data of each.
    pub(super) mapped: Vec<Mapped>,
}

impl<P: Port> Ready<P> {
    /// The same over another port to the same segment; and the port it was over.
    pub(super) fn over<Q: Port>(self, port: Q) -> (Ready<Q>, P) {
        let (prepared, before) = self.prepared.over(port);
        let ready = Ready {
            prepared,
            devices: self.devices,
            runners: self.runners,
            policy: self.policy,
            setup: self.setup,
            phase: self.phase,
            mapped: self.mapped,
        };
        (ready, before)
    }
}

/// A device's name, and what its SyncManagers carry.
pub(super) type Mapped = (String, Vec<MappedManager>);

/// Finds and configures everybody, up to SAFEOP. Tries again where devices do not answer.
pub(super) fn bring_up<P: Port>(
    port: P,
    name: &str,
    drive: Drive<'_>,
    motion: &Motion,
) -> anyhow::Result<Ready<P>> {
    let descriptions = drive.options.esi.read()?;
    let mut expected = drive.options.bring_up.expected()?;
    let mut link = Link::of_process(port);
    bring_up::ensure_alone(&mut link, name)?;
    let mut way = BlockingExchange {
        link: &mut link,
        patience: RETRY_POLICY,
    };
    let work = |registers: &mut Registers<'_>, devices: &mut [SubDevice]| {
        configure(registers, devices, &descriptions, drive, motion)
    };
    let patience = &drive.options.bring_up;
    let (devices, configured) = patience.run(&mut way, &mut expected, drive.stop, work)?;
    configured.notes.iter().for_each(|it| output::note(it));
    drive.options.esi.tell(devices.iter(), &configured.matched);
    let interval_ns = drive.settings.interval.as_ns_f64().round() as u64;
    let drives = motion::as_commissioned(configured.drives, configured.clocks);
    Ok(Ready {
        prepared: Prepared {
            link,
            cycle: configured.cycle,
        },
        devices,
        runners: configured.runners,
        setup: esi::before(configured.matched, drives),
        policy: configured.policy,
        phase: configured.reference.map(|(_, width)| PhaseSettings {
            width,
            ..PhaseSettings::every(interval_ns)
        }),
        mapped: configured.mapped,
    })
}

/// What comes of configuring all devices.
struct ConfiguredSegment {
    matched: Matched,
    cycle: Cycle,
    runners: Vec<AxisRunner>,
    policy: Policy,
    drives: Vec<DriveSetup>,
    reference: Option<(Configured, Width)>,
    clocks: Option<Clocks>,
    mapped: Vec<Mapped>,
    /// What a user is to know of that, once it is done: what was tried in vain is of no interest.
    notes: Vec<String>,
}

/// Brings devices from INIT to SAFEOP.
fn configure(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    descriptions: &Descriptions,
    drive: Drive<'_>,
    motion: &Motion,
) -> anyhow::Result<ConfiguredSegment> {
    let options = drive.options;
    let esi = &options.esi;
    let matched = esi.configure(registers, devices, descriptions, &options.modes)?;
    let interval = drive.settings.interval.as_duration();
    let plan = match motion {
        Motion::Planned(plan) => Some(plan.clone()),
        Motion::Demo => Some(motion::demo(registers, devices)?),
        Motion::None => None,
    };
    let plan = plan.map(|plan| motion::Plan {
        cycle: interval,
        ..plan
    });
    let runners = match &plan {
        Some(plan) => plan.commission(registers, devices)?,
        None => Vec::new(),
    };
    let mut notes = Vec::new();
    let mapped = mapping_of_all(registers, devices, &matched, &mut notes)?;
    let drives = motion::setups(registers, devices, &runners, interval)?;
    let (reference, clocks) = match options.beat {
        BeatOption::Own => (None, None),
        BeatOption::Reference => {
            let (reference, clocks) = follow(registers, devices, &matched, drive, &mut notes)?;
            (Some(reference), Some(clocks))
        }
    };
    devices.iter_mut().for_each(|it| matched.correct(it));
    let station = reference.map(|(station, _)| station);
    Ok(ConfiguredSegment {
        cycle: bring_up::prepare(registers, devices, station)?,
        matched,
        runners,
        policy: plan.map(|it| it.safety).unwrap_or_default(),
        drives,
        reference,
        clocks,
        mapped,
        notes,
    })
}

/// Lets all clocks follow the reference, and devices pulse by them where that is asked for.
fn follow(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    matched: &Matched,
    drive: Drive<'_>,
    notes: &mut Vec<String>,
) -> anyhow::Result<((Configured, Width), Clocks)> {
    let (station, width, mut clocks) = align(registers, devices, notes)?;
    if let Some(shift) = drive.options.sync0 {
        let wanted = matched.pulses(
            devices,
            &clocks,
            u32::try_from(drive.settings.interval.as_duration().as_nanos())?,
            i32::try_from(shift.0.as_nanos())?,
        );
        notes.push(pulse(registers, devices, &mut clocks, wanted)?);
    }
    Ok(((station, width), clocks))
}

/// What is in everybody's process data, once it was chosen. The loop needs no names: a device that does
/// not tell has none.
fn mapping_of_all(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    matched: &Matched,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Mapped>> {
    let of_one = |device: &mut SubDevice| {
        let mut managers = match mapping::read(registers, device) {
            Ok(managers) => managers,
            Err(error) if bring_up::is_passing(&error) || is_ended(&error) => {
                return Err(error.into());
            }
            Err(error) => {
                notes.push(format!(
                    "{}: what is in its process data is not known: {error}",
                    device::whose(device)
                ));
                Vec::new()
            }
        };
        if let Some(described) = matched.of(device) {
            described.name_entries(&mut managers);
        }
        Ok((motion::name(device), managers))
    };
    devices.iter_mut().map(of_one).collect()
}

/// How far ahead pulses start.
const LEAD: Duration = Duration::from_millis(100);

/// Lets devices pulse as their ESI files or their memories ask for; says how many.
fn pulse(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    clocks: &mut Clocks,
    wanted: Vec<(Position, Sync)>,
) -> anyhow::Result<String> {
    anyhow::ensure!(
        !wanted.is_empty(),
        "--sync0: no device of this segment asks for pulses in its memory or its ESI file; leave it out"
    );
    let words = format!(
        "{} of {} devices pulse by SYNC0",
        wanted.len(),
        devices.len()
    );
    clocks.pulse(registers, wanted, LEAD)?;
    Ok(words)
}

/// Sets all clocks and lets them follow the reference.
fn align(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    notes: &mut Vec<String>,
) -> anyhow::Result<(Configured, Width, Clocks)> {
    let clocks = clocks::measure(registers, devices, &clocks::Settings::default())?;
    let reference = clocks.reference();
    let found = clocks
        .devices()
        .iter()
        .find(|it| Some(it.station) == reference);
    let Some((reference, width)) = found.and_then(|it| Some((it.station, it.width?))) else {
        anyhow::bail!("--beat reference: no device of this segment has a clock; take --beat own");
    };
    clocks.set(registers, Epoch::Now(since_2000(WallTime::now())))?;
    let aligned = clocks.align(registers, &Bounds::default(), &mut |_| {})?;
    notes.push(format!(
        "clocks: after {} frames none says that it is off the reference by more than {} ns",
        aligned.frames, aligned.worst_ns
    ));
    Ok((reference, width, clocks))
}
