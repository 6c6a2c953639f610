//! `kadenz ethercat sdo`.

pub(super) mod dictionary;
pub(super) mod transfer;

use std::str::FromStr;

use anyhow::Context as _;
use kadenz::ethercat::main_device::from_esi::Described;
use kadenz::ethercat::main_device::objects::{MailboxObjects, Objects};
use kadenz::ethercat::main_device::survey::SurveyedDevice;
#[cfg(target_os = "linux")]
use kadenz::ethercat::running_loop::control_socket::LoopObjects;
use kadenz::ethercat::value::number;
use kadenz::ethercat::wire::State;
use kadenz::ethercat::wire::coe::Address;

use crate::commands::ethercat::access::DeviceAccess;
use crate::commands::ethercat::device::{Device, DeviceSelector, label_of};
use crate::commands::ethercat::esi::DevicesOptions;
use crate::commands::ethercat::segment::{Segment, labelled};
use crate::output;

commands! {
    /// Read, write and list the objects of a device.
    ///
    /// Uses CoE's SDOs, through the mailbox of one device. A device in INIT has no mailbox yet; the command brings it
    /// to PREOP first.
    enum Sdo {
        Read(transfer::SdoReadOptions) = transfer::read;
        Write(transfer::SdoWriteOptions) = transfer::write;
        List(dictionary::SdoListOptions) = dictionary::list;
        Info(dictionary::Information) = dictionary::info;
    }
}

/// An object's index, with an entry's sub-index or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectAddress {
    pub(super) index: u16,
    pub(super) sub: Option<u8>,
}

impl ObjectAddress {
    /// The entry: that of sub-index 0 where none was named.
    pub(super) fn entry(self) -> Address {
        Address::new(self.index, self.sub.unwrap_or(0))
    }
}

impl FromStr for ObjectAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "`{text}` is not a valid object; write its index in hexadecimal, and its sub-index behind it: 0x1018:1"
            )
        };
        let (index, sub) = match text.split_once(':') {
            Some((index, sub)) => (index, Some(sub)),
            None => (text, None),
        };
        let index = number::hexadecimal(index).ok_or_else(refused)?;
        let sub = sub.map(|sub| number::unsigned(sub).ok_or_else(refused));
        let sub = sub.transpose()?;
        Ok(Self { index, sub })
    }
}

/// The device that answered, and its segment.
struct AnsweringDevice {
    segment: String,
    device: Device,
}

/// Accesses the objects of one device, with its ESI file's description. On a segment, a device without a mailbox yet
/// is brought to PREOP first, by that file.
fn with_objects<R>(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_is_shown() {
        for sub in 0..=u8::MAX {
            let address = Address::new(0x1C32, sub);
            let read: ObjectAddress = address.to_string().parse().unwrap();
            assert_eq!(read.entry(), address);
        }
    }

    #[test]
    fn an_object_is_an_index_and_perhaps_a_sub_index() {
        let of = |text: &str| text.parse::<ObjectAddress>().unwrap();
        assert_eq!(of("0x6041").entry(), Address::new(0x6041, 0));
        assert_eq!(of("0x1018:1").entry(), Address::new(0x1018, 1));
        assert_eq!(of("0x1018:0x0a").sub, Some(10));
        assert_eq!(of("0x6000:10").sub, Some(10));
        for text in [
            "",
            "6041",
            "0x",
            "0x10000",
            "0x1018:",
            "0x1018:256",
            "0x1018:1:2",
            "-1",
        ] {
            let error = text.parse::<ObjectAddress>().unwrap_err();
            assert!(error.contains("0x1018:1"), "{error}");
        }
    }
}
