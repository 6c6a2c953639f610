//! Objects of a running loop's devices, and what they are.

use anyhow::Context as _;
use kadenz_ethercat::control::desk::{Answer, ClientError, Question};
use kadenz_ethercat::control::steward::DeviceStatus;
use kadenz_ethercat::main_device::dictionary::{Entry, Object};
use kadenz_ethercat::wire::coe::{Access, Address, DataType, ObjectCode};

use super::super::mailbox::Asked;
use super::{Described, Information, List, tell};
use crate::commands::ethercat::asked::{Desk, nonsense, whose};
use crate::output::Outcome;

pub(super) fn list(options: &List, mut desk: Desk) -> anyhow::Result<Outcome> {
    let device = desk.device(&options.device)?;
    let answer = desk.client.ask(&Question::SdoList {
        device: device.device,
    });
    let Answer::Indices(indices) = answer.with_context(|| whose(&device))? else {
        return Err(nonsense(&desk.name));
    };
    let described = indices
        .into_iter()
        .map(|index| describe(&mut desk, &device, index, None));
    let described = described.collect::<anyhow::Result<Vec<_>>>()?;
    tell(Asked::by_loop(&desk, &device), &described, options.json)
}

pub(super) fn info(options: &Information, mut desk: Desk) -> anyhow::Result<Outcome> {
    let device = desk.device(&options.device)?;
    let object = options.object;
    let described = describe(&mut desk, &device, object.index, object.sub)?;
    tell(Asked::by_loop(&desk, &device), &[described], options.json)
}

/// An object with all of its entries, or the one that is wanted.
fn describe(
    desk: &mut Desk,
    device: &DeviceStatus,
    index: u16,
    wanted: Option<u8>,
) -> anyhow::Result<Described> {
    let object = object(desk, device, index)?;
    let subs = match wanted {
        Some(sub) => sub..=sub,
        None => 0..=object.highest_sub,
    };
    let mut entries = Vec::new();
    for sub in subs {
        let answer = desk.client.ask(&Question::SdoInfo {
            device: device.device,
            index,
            sub,
        });
        match answer {
            // A gap in an array.
            Err(ClientError::Refused(_)) if sub > 0 && wanted.is_none() => {}
            answer => {
                let entry = entry(desk, device, Address::new(index, sub), answer)?;
                let value = value_of(desk, device, &entry)?;
                entries.push((entry, value));
            }
        }
    }
    Ok(Described { object, entries })
}

fn object(desk: &mut Desk, device: &DeviceStatus, index: u16) -> anyhow::Result<Object> {
    let answer = desk.client.ask(&Question::SdoObject {
        device: device.device,
        index,
    });
    match answer.with_context(|| whose(device))? {
        Answer::Object {
            name,
            code,
            data_type,
            highest_sub,
        } => Ok(Object {
            index,
            data_type: DataType(data_type),
            highest_sub,
            code: ObjectCode::from_number(code),
            name,
        }),
        _ => Err(nonsense(&desk.name)),
    }
}

fn entry(
    desk: &Desk,
    device: &DeviceStatus,
    address: Address,
    answer: Result<Answer, ClientError>,
) -> anyhow::Result<Entry> {
    match answer.with_context(|| whose(device))? {
        Answer::Entry {
            name,
            data_type,
            bits,
            access,
        } => Ok(Entry {
            address,
            data_type: DataType(data_type),
            bits,
            access: Access(access),
            name,
        }),
        _ => Err(nonsense(&desk.name)),
    }
}

/// What stands there; `None` where it may not be read.
fn value_of(
    desk: &mut Desk,
    device: &DeviceStatus,
    entry: &Entry,
) -> anyhow::Result<Option<Vec<u8>>> {
    if !entry.access.any(Access::READ) {
        return Ok(None);
    }
    let answer = desk.client.ask(&Question::SdoRead {
        device: device.device,
        index: entry.address.index,
        sub: entry.address.sub,
    });
    match answer {
        Ok(Answer::Bytes(bytes)) => Ok(Some(bytes)),
        Ok(_) => Err(nonsense(&desk.name)),
        Err(ClientError::Refused(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
