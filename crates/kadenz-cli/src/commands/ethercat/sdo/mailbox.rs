//! The mailbox of the device that is meant.

use anyhow::Context as _;
#[cfg(target_os = "linux")]
use kadenz_ethercat::control::steward::DeviceStatus;
use kadenz_ethercat::main_device::exchange::Registers;
use kadenz_ethercat::main_device::mailbox::Mail;
use kadenz_ethercat::wire::State;

#[cfg(target_os = "linux")]
use crate::commands::ethercat::asked::{self, Desk};
use crate::commands::ethercat::device::{ToldDevice, Which, whose};
use crate::commands::ethercat::operate;
use crate::commands::ethercat::segment::{Segment, SegmentOptions};
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
    pub(super) fn by_loop(desk: &Desk, device: &DeviceStatus) -> Self {
        Self {
            segment: desk.segment(),
            device: ToldDevice::asked(device),
            whose: asked::whose(device),
        }
    }
}

/// Asks one device by its mailbox; it is brought to PREOP first if it has none yet.
pub(super) fn with_mailbox<R>(
    options: &SegmentOptions,
    which: &Which,
    work: impl FnOnce(&mut Registers<'_>, &mut Mail<'_>) -> anyhow::Result<R>,
) -> anyhow::Result<(Asked, R)> {
    let mut segment = Segment::open(options)?;
    let mut met = segment.survey()?;
    let place = which.one_among(&met)?;
    let device = &met[place].device;
    anyhow::ensure!(
        device.has_coe(),
        "{} has no objects: its mailbox speaks no CoE",
        whose(device)
    );
    if met[place].status.state() == Some(State::Init) {
        segment.ensure_alone()?;
        met = segment.adopt()?;
        segment.ask(|registers| operate::to_pre_op(registers, &mut met[place]))?;
        output::note(&format!(
            "{} was in INIT, and is in PREOP now",
            whose(&met[place].device)
        ));
    } else if met[place].device.station.0 == 0 {
        met = segment.adopt()?;
    }
    let device = &mut met[place].device;
    let whom = Asked {
        segment: segment.name.clone(),
        device: ToldDevice::of(device),
        whose: whose(device),
    };
    let mut mail = device.mail().with_context(|| whom.whose.clone())?;
    let done = segment.ask(|registers| work(registers, &mut mail));
    let done = done.with_context(|| whom.whose.clone())?;
    for emergency in &device.emergencies {
        output::note(&format!(
            "{}: emergency 0x{:04X} (error register 0x{:02X})",
            whom.whose, emergency.code, emergency.register
        ));
    }
    Ok((whom, done))
}
