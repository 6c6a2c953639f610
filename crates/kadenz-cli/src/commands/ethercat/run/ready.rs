//! Everybody found, configured and in SAFEOP; what they are to do is known.

use std::time::Duration;

use kadenz_ethercat::control::phase::Settings as PhaseSettings;
use kadenz_ethercat::control::steward::Setup;
use kadenz_ethercat::main_device::bring_up::{self, BringUpError};
use kadenz_ethercat::main_device::clocks::{self, Bounds, Clocks, Epoch, Sync, Width, since_2000};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::{Registers, Waiting};
use kadenz_ethercat::main_device::from_esi::Matched;
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::mapping::{self, MappedManager};
use kadenz_ethercat::motion::{self, Player, Policy};
use kadenz_ethercat::port::Port;
use kadenz_ethercat::wire::{Configured, Position};
use kadenz_rt::clock::WallTime;

use super::BeatOption;
use super::bus::Drive;
use crate::commands::ethercat::device;
use crate::commands::ethercat::esi;
use crate::commands::ethercat::segment::{self, PATIENCE};
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
    pub(super) link: Link<P>,
    pub(super) devices: Vec<SubDevice>,
    pub(super) cycle: Cycle,
    pub(super) players: Vec<Player>,
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
        let ready = Ready {
            link: Link::new(port, segment::who()),
            devices: self.devices,
            cycle: self.cycle,
            players: self.players,
            policy: self.policy,
            setup: self.setup,
            phase: self.phase,
            mapped: self.mapped,
        };
        (ready, self.link.into_port())
    }
}

/// A device's name, and what its SyncManagers carry.
pub(super) type Mapped = (String, Vec<MappedManager>);

/// Finds and configures everybody, up to SAFEOP.
pub(super) fn bring_up<P: Port>(
    port: P,
    name: &str,
    drive: Drive<'_>,
    motion: Motion,
) -> anyhow::Result<Ready<P>> {
    let descriptions = drive.options.esi.read()?;
    let mut link = Link::new(port, segment::who());
    segment::ensure_alone(&mut link, name)?;
    let mut way = Waiting {
        link: &mut link,
        patience: PATIENCE,
    };
    let mut registers = Registers::by(&mut way);
    let esi = &drive.options.esi;
    let (mut devices, matched) = esi.find(&mut registers, &descriptions, &drive.options.modes)?;
    esi.tell(devices.iter(), &matched);
    let interval = drive.settings.interval.as_duration();
    let plan = match motion {
        Motion::Planned(plan) => Some(plan),
        Motion::Demo => Some(motion::demo(&mut registers, &mut devices)?),
        Motion::None => None,
    };
    let plan = plan.map(|plan| motion::Plan {
        cycle: interval,
        ..plan
    });
    let players = match &plan {
        Some(plan) => plan.commission(&mut registers, &mut devices)?,
        None => Vec::new(),
    };
    let mapped = mapping_of_all(&mut registers, &mut devices, &matched);
    let drives = motion::setups(&mut registers, &mut devices, &players, interval)?;
    let (reference, clocks) = match drive.options.beat {
        BeatOption::Own => (None, None),
        BeatOption::Reference => {
            let (station, width, mut clocks) = align(&mut registers, &devices)?;
            if let Some(shift) = drive.options.sync0 {
                let wanted = matched.pulses(
                    &devices,
                    &clocks,
                    u32::try_from(interval.as_nanos())?,
                    i32::try_from(shift.0.as_nanos())?,
                );
                pulse(&mut registers, &devices, &mut clocks, wanted)?;
            }
            (Some((station, width)), Some(clocks))
        }
    };
    let station = reference.map(|(station, _)| station);
    devices.iter_mut().for_each(|it| matched.correct(it));
    let cycle = bring_up::prepare(&mut registers, &mut devices, station)
        .map_err(|error: BringUpError| anyhow::Error::new(error))?;
    let interval_ns = drive.settings.interval.as_ns_f64().round() as u64;
    Ok(Ready {
        link,
        devices,
        cycle,
        players,
        setup: esi::before(matched, motion::as_commissioned(drives, clocks)),
        policy: plan.map(|it| it.safety).unwrap_or_default(),
        phase: reference.map(|(_, width)| PhaseSettings {
            width,
            ..PhaseSettings::every(interval_ns)
        }),
        mapped,
    })
}

/// What is in everybody's process data, once it was chosen. The loop needs no names: a device that does
/// not tell has none.
fn mapping_of_all(
    registers: &mut Registers<'_>,
    devices: &mut [SubDevice],
    matched: &Matched,
) -> Vec<Mapped> {
    let of_one = |device: &mut SubDevice| {
        let mut managers = mapping::read(registers, device).unwrap_or_else(|error| {
            output::note(&format!(
                "{}: what is in its process data is not known: {error}",
                device::whose(device)
            ));
            Vec::new()
        });
        if let Some(described) = matched.of(device) {
            described.name_entries(&mut managers);
        }
        (motion::name(device), managers)
    };
    devices.iter_mut().map(of_one).collect()
}

/// How far ahead pulses start.
const LEAD: Duration = Duration::from_millis(100);

/// Lets devices pulse as their ESI files or their memories ask for.
fn pulse(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
    clocks: &mut Clocks,
    wanted: Vec<(Position, Sync)>,
) -> anyhow::Result<()> {
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
    output::note(&words);
    Ok(())
}

/// Sets all clocks and lets them follow the reference.
fn align(
    registers: &mut Registers<'_>,
    devices: &[SubDevice],
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
    output::note(&format!(
        "clocks: after {} frames none says that it is off the reference by more than {} ns",
        aligned.frames, aligned.worst_ns
    ));
    Ok((reference, width, clocks))
}
