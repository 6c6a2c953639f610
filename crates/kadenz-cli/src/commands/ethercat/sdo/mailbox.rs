//! The mailbox of the device that is meant.

use anyhow::Context as _;
#[cfg(target_os = "linux")]
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::main_device::from_esi::Described;
use kadenz_ethercat::main_device::mailbox::Mail;
use kadenz_ethercat::wire::State;

#[cfg(target_os = "linux")]
use crate::commands::ethercat::asked::{self, ControlClient};
use crate::commands::ethercat::device::{ToldDevice, Which, whose};
use crate::commands::ethercat::esi::DevicesOptions;
use crate::commands::ethercat::operate;
use crate::output;

/// Whom something was asked, for JSON.
pub(super) struct Asked {
    pub(super) segment: String,
    pub(super) device: ToldDevice,
    /// For words.
    pub(super) whose: String,
}

#[cfg(target_os = "linux")]
impl Asked {
    /// A device of a loop that runs.
    pub(super) fn by_loop(control: &ControlClient, device: &DeviceStatus) -> Self {
        Self {
            segment: control.segment(),
            device: ToldDevice::asked(device),
            whose: asked::whose(device),
        }
    }
}

/// Asks one device by its mailbox, with what its ESI file says of it; it is brought to PREOP first, as that file says, if
/// it has none yet.
pub(super) fn with_mailbox<R>(
    options: &DevicesOptions,
    which: &Which,
    work: impl FnOnce(&mut Registers<'_>, &mut Mail<'_>, Option<&Described>) -> anyhow::Result<R>,
) -> anyhow::Result<(Asked, R)> {
    let descriptions = options.esi.read()?;
    let mut segment = options.open()?;
    let mut met = segment.survey()?;
    let place = which.one_among(&met)?;
    let device = &met[place].device;
    anyhow::ensure!(
        device.has_coe(),
        "{} has no objects: its mailbox speaks no CoE",
        whose(device)
    );
    let is_asleep = met[place].status.state() == Some(State::Init);
    if is_asleep {
        segment.ensure_alone()?;
    }
    if is_asleep || met[place].device.station.0 == 0 {
        met = segment.adopt()?;
    }
    let matched = options.esi.matched(&descriptions, &[&met[place].device])?;
    if is_asleep {
        let met = &mut met[place];
        segment.ask(|registers| -> anyhow::Result<()> {
            operate::to_pre_op(registers, met, &matched)?;
            let set_up = matched.set_up(registers, &mut met.device);
            set_up.with_context(|| whose(&met.device))
        })?;
        output::note(&format!(
            "{} was in INIT, and is in PREOP now",
            whose(&met.device)
        ));
    }
    let device = &mut met[place].device;
    let whom = Asked {
        segment: segment.name.clone(),
        device: ToldDevice::of(device),
        whose: whose(device),
    };
    let described = matched.of(device);
    let mut mail = device.mail().with_context(|| whom.whose.clone())?;
    let done = segment.ask(|registers| work(registers, &mut mail, described));
    let done = done.with_context(|| whom.whose.clone())?;
    for emergency in &device.emergencies {
        output::note(&format!(
            "{}: emergency 0x{:04X} (error register 0x{:02X})",
            whom.whose, emergency.code, emergency.register
        ));
    }
    Ok((whom, done))
}
