//! The objects of the selected device, through its mailbox or through a running loop.

use anyhow::Context as _;
use kadenz::ethercat::main_device::from_esi::Described;
use kadenz::ethercat::main_device::objects::{MailboxObjects, Objects};
use kadenz::ethercat::main_device::survey::SurveyedDevice;
#[cfg(target_os = "linux")]
use kadenz::ethercat::running_loop::control_socket::LoopObjects;
use kadenz::ethercat::wire::State;

use crate::commands::ethercat::access::DeviceAccess;
use crate::commands::ethercat::device::{Device, DeviceSelector, label_of};
use crate::commands::ethercat::esi::DevicesOptions;
use crate::commands::ethercat::segment::{Segment, labelled};
use crate::output;

/// The device that answered, and its segment.
pub(super) struct AnsweringDevice {
    pub(super) segment: String,
    pub(super) device: Device,
}

/// Accesses the objects of one device, with its ESI file's description. On a segment, a device without a mailbox yet
/// is brought to PREOP first, by that file.
pub(super) fn with_objects<R>(
    options: &DevicesOptions,
    which: &DeviceSelector,
    work: impl FnOnce(&mut dyn Objects, Option<&Described>) -> anyhow::Result<R>,
) -> anyhow::Result<(AnsweringDevice, R)> {
    let mut access = options.open()?;
    let (device, done) = match &mut access {
        DeviceAccess::Segment(segment) => by_mailbox(segment, options, which, work)?,
        #[cfg(target_os = "linux")]
        DeviceAccess::Loop(running) => {
            let device = running.device(which)?;
            let mut objects = LoopObjects::new(&mut running.client, device.position.into());
            let done = work(&mut objects, None).with_context(|| device.label())?;
            (device, done)
        }
    };
    let segment = access.name();
    Ok((AnsweringDevice { segment, device }, done))
}

fn by_mailbox<R>(
    segment: &mut Segment,
    options: &DevicesOptions,
    which: &DeviceSelector,
    work: impl FnOnce(&mut dyn Objects, Option<&Described>) -> anyhow::Result<R>,
) -> anyhow::Result<(Device, R)> {
    let descriptions = options.esi.read()?;
    let mut met = segment.survey()?;
    let place = which.one_among(&met)?;
    let SurveyedDevice { device, status, .. } = &met[place];
    anyhow::ensure!(
        device.has_coe(),
        "{} has no objects: its mailbox does not support CoE",
        label_of(device)
    );
    let is_in_init = status.state() == Some(State::Init);
    if is_in_init {
        segment.ensure_alone()?;
    }
    if is_in_init || device.station.0 == 0 {
        met = segment.adopt()?;
    }
    let met = &mut met[place];
    let matched = options.esi.matched(&descriptions, &[&met.device])?;
    let label = label_of(&met.device);
    if is_in_init {
        segment.to_pre_op(met, &matched).map_err(labelled)?;
        let set_up = segment.ask(|registers| matched.set_up(registers, &mut met.device));
        set_up.with_context(|| label.clone())?;
        output::note(&format!("{label} was in INIT, and is in PREOP now"));
    }
    let answered = Device::from(&*met);
    let described = matched.of(&met.device);
    let mail = met.device.mail().with_context(|| label.clone())?;
    let done = segment
        .ask(|registers| work(&mut MailboxObjects::new(registers, mail), described))
        .with_context(|| label.clone())?;
    for emergency in &met.device.emergencies {
        output::note(&format!(
            "{label}: emergency 0x{:04X} (error register 0x{:02X})",
            emergency.code, emergency.register
        ));
    }
    Ok((answered, done))
}
