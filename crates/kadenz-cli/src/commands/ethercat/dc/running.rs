//! Clocks of a running loop's devices, as they stand.

use anyhow::Context as _;
use kadenz_ethercat::control::desk::{Answer, Question};
use kadenz_ethercat::control::steward::DeviceStatus;
use kadenz_ethercat::wire::register::{
    DC_DELAY, DC_DIFFERENCE, DC_OFFSET, DC_SYSTEM_TIME, FEATURES, features,
};

use super::{Told, ToldClock};
use crate::commands::ethercat::asked::{Desk, nonsense, whose};
use crate::commands::ethercat::device::ToldDevice;

pub(super) fn look(mut desk: Desk) -> anyhow::Result<Told> {
    let devices = desk.devices()?;
    let mut told = Vec::with_capacity(devices.len());
    for device in &devices {
        told.push(clock(&mut desk, device)?);
    }
    // The others follow the first that has one.
    let reference = told.iter().find(|it| it.bits.is_some());
    Ok(Told {
        version: 1,
        segment: desk.segment(),
        reference: reference.map(|it| it.device.position),
        alignment: None,
        devices: told,
    })
}

fn clock(desk: &mut Desk, device: &DeviceStatus) -> anyhow::Result<ToldClock> {
    let bits = bits(desk, device)?;
    let mut told = ToldClock {
        device: ToldDevice::asked(device),
        bits,
        parent: None,
        parent_port: None,
        delay_ns: 0,
        delay_is_measured: None,
        rate_ppb: None,
        offset_ns: None,
        difference_ns: None,
    };
    let Some(bits) = bits else { return Ok(told) };
    let delay = read(desk, device, DC_DELAY)?;
    told.delay_ns = delay.map_or(0, u32::from_le_bytes);
    told.offset_ns = match bits {
        32 => read(desk, device, DC_OFFSET)?.map(|it| u32::from_le_bytes(it).into()),
        _ => read(desk, device, DC_OFFSET)?.map(u64::from_le_bytes),
    };
    let difference = read(desk, device, DC_DIFFERENCE)?;
    told.difference_ns = difference.map(|it| signed(u32::from_le_bytes(it)));
    Ok(told)
}

/// Bits of its time; `None` for a device without a clock, also for one that tells of a clock that does not answer.
fn bits(desk: &mut Desk, device: &DeviceStatus) -> anyhow::Result<Option<u8>> {
    let features = read(desk, device, FEATURES)?.map_or(0, u16::from_le_bytes);
    if features & features::DC == 0 || read::<4>(desk, device, DC_SYSTEM_TIME)?.is_none() {
        return Ok(None);
    }
    Ok(Some(match features & features::DC_64 {
        0 => 32,
        _ => 64,
    }))
}

/// Bit 31 is set where the clock is behind, the others say by how much.
fn signed(difference: u32) -> i64 {
    let magnitude = i64::from(difference & 0x7FFF_FFFF);
    match difference >> 31 {
        0 => magnitude,
        _ => -magnitude,
    }
}

/// `None` where the device does not answer there.
fn read<const N: usize>(
    desk: &mut Desk,
    device: &DeviceStatus,
    address: u16,
) -> anyhow::Result<Option<[u8; N]>> {
    let answer = desk.client.ask(&Question::RegisterRead {
        device: device.device,
        address,
        length: u16::try_from(N)?,
    });
    match answer.with_context(|| whose(device))? {
        Answer::Bytes(bytes) => Ok(bytes.try_into().ok()),
        _ => Err(nonsense(&desk.name)),
    }
}
