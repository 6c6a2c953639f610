//! Clocks of a running loop's devices, as they stand.

use anyhow::Context as _;
use kadenz_ethercat::control::control_socket::{Answer, Question};
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::main_device::clocks::difference_ns;
use kadenz_ethercat::wire::register::{
    DC_DELAY, DC_DIFFERENCE, DC_OFFSET, DC_SYSTEM_TIME, FEATURES, features,
};
use kadenz_report::document::Version;

use super::{ClockReport, ToldClock};
use crate::commands::ethercat::asked::{ControlClient, nonsense, whose};
use crate::commands::ethercat::device::ToldDevice;
use crate::output;

pub(super) fn look(mut control: ControlClient) -> anyhow::Result<ClockReport> {
    let devices = control.devices()?;
    let mut told = Vec::with_capacity(devices.len());
    let mut silent = None;
    for device in &devices {
        let found = find(&mut control, device)?;
        if found == Found::Silence {
            output::note(&format!("{} does not answer", whose(device)));
            silent = silent.or(Some(told.len()));
        }
        told.push(clock(&mut control, device, found)?);
    }
    // The others follow the first that has one; nobody knows whether a silent one has.
    let heard = &told[..silent.unwrap_or(told.len())];
    let reference = heard.iter().find(|it| it.bits.is_some());
    let silent = silent.filter(|_| reference.is_none());
    Ok(ClockReport {
        version: Version,
        segment: control.segment(),
        reference: reference.map(|it| it.device.position),
        silent: silent.map(|it| told[it].device.position),
        alignment: None,
        devices: told,
    })
}

fn clock(
    control: &mut ControlClient,
    device: &DeviceStatus,
    found: Found,
) -> anyhow::Result<ToldClock> {
    let bits = match found {
        Found::Clock(bits) => Some(bits),
        Found::Silence | Found::NoClock => None,
    };
    let mut told = ToldClock {
        device: ToldDevice::asked(device),
        bits,
        parent: None,
        parent_port: None,
        delay_ns: None,
        delay_is_measured: None,
        rate_ppb: None,
        offset_ns: None,
        difference_ns: None,
    };
    let Some(bits) = bits else { return Ok(told) };
    let delay = read(control, device, DC_DELAY)?;
    told.delay_ns = delay.map(u32::from_le_bytes);
    told.offset_ns = match bits {
        32 => read(control, device, DC_OFFSET)?.map(|it| u32::from_le_bytes(it).into()),
        _ => read(control, device, DC_OFFSET)?.map(u64::from_le_bytes),
    };
    let difference = read(control, device, DC_DIFFERENCE)?;
    told.difference_ns = difference.map(|it| difference_ns(u32::from_le_bytes(it)));
    Ok(told)
}

/// What a device has of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// It does not answer.
    Silence,
    /// None, or it tells of one that does not answer.
    NoClock,
    /// One whose time has so many bits.
    Clock(u8),
}

fn find(control: &mut ControlClient, device: &DeviceStatus) -> anyhow::Result<Found> {
    let Some(features) = read(control, device, FEATURES)?.map(u16::from_le_bytes) else {
        return Ok(Found::Silence);
    };
    if features & features::DC == 0 || read::<4>(control, device, DC_SYSTEM_TIME)?.is_none() {
        return Ok(Found::NoClock);
    }
    Ok(Found::Clock(match features & features::DC_64 {
        0 => 32,
        _ => 64,
    }))
}

/// `None` where the device does not answer there.
fn read<const N: usize>(
    control: &mut ControlClient,
    device: &DeviceStatus,
    address: u16,
) -> anyhow::Result<Option<[u8; N]>> {
    let answer = control.client.ask(&Question::RegisterRead {
        device: device.device,
        address,
        length: u16::try_from(N)?,
    });
    match answer.with_context(|| whose(device))? {
        Answer::Bytes(bytes) => Ok(bytes.try_into().ok()),
        _ => Err(nonsense(&control.name)),
    }
}

#[cfg(test)]
mod tests {
    use kadenz_ethercat::control::control_socket::Reply;
    use kadenz_report::document::Answer as _;

    use super::*;
    use crate::commands::ethercat::asked::scripted::with_a_server;

    /// What is told of three devices with clocks, of which one does not answer.
    fn with_a_silent_one(silent: usize) -> ClockReport {
        let answer = |question| match question {
            Question::RegisterRead {
                device,
                address,
                length,
            } => Reply::Ok(Answer::Bytes(match (device == silent, address) {
                (true, _) => Vec::new(),
                (false, FEATURES) => features::DC.to_le_bytes().to_vec(),
                (false, _) => [&[7][..], &vec![0; usize::from(length) - 1]].concat(),
            })),
            other => panic!("{other:?}"),
        };
        with_a_server(3, answer, |control| look(control).unwrap())
    }

    #[test]
    fn the_reference_is_not_known_where_a_device_before_it_is_silent() {
        let told = with_a_silent_one(0);
        assert_eq!(told.reference, None);
        let said = told.document().terminal().to_string();
        assert!(
            said.contains("not known: device 0 does not answer"),
            "{said}"
        );
        let json = serde_json::to_value(&told).unwrap();
        assert_eq!(json["devices"][0]["delay_ns"], serde_json::Value::Null);
        assert_eq!(json["devices"][1]["delay_ns"], 7);
    }

    #[test]
    fn a_silent_device_behind_the_reference_hides_it_not() {
        let told = with_a_silent_one(1);
        assert_eq!(told.reference, Some(0));
        let said = told.document().terminal().to_string();
        assert!(said.contains("clock is that of device 0"), "{said}");
        assert_eq!(told.devices[1].bits, None);
    }
}
